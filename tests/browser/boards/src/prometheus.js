// Grafana's data source of Prometheus is under another licence and asks a Grafana's backend. This one asks Prometheus
// itself, and gives data frames as that does: by legends, as a table, or as the buckets of a heat map.
import { FieldType, toDataFrame } from "@grafana/data";
import { RuntimeDataSource, sceneGraph } from "@grafana/scenes";

const POINTS_MAX = 11000; // Prometheus refuses a range of more

export class Prometheus extends RuntimeDataSource {
  constructor(url, uid) {
    super("prometheus", uid);
    this.url = url;
  }

  async query(request) {
    const asked = request.targets.filter((target) => target.expr);
    const answers = await Promise.all(asked.map((target) => this.framesOf(target, request)));
    return { data: answers.flat() };
  }

  async framesOf(target, request) {
    const stepS = stepOf(target, request);
    const expr = interpolated(target.expr, request, stepS);
    const from = request.range.from.valueOf() / 1000;
    const to = request.range.to.valueOf() / 1000;
    if (target.instant) {
      const result = await this.ask("query", { query: expr, time: to });
      return target.format === "table" ? [tableOf(result, target)] : linesOf(pointsOf(result), target, stepS);
    }
    // As Grafana does, so that points stay where they are when the range moves.
    const start = Math.floor(from / stepS) * stepS;
    const end = Math.floor(to / stepS) * stepS;
    const result = await this.ask("query_range", { query: expr, start, end, step: stepS });
    return target.format === "heatmap" ? bucketsOf(result, target, stepS) : linesOf(result, target, stepS);
  }

  async metricFindQuery(query) {
    const [, metric, label] = /^label_values\((\w+), (\w+)\)$/.exec(query.query ?? query);
    const series = await this.ask("series", { "match[]": metric, start: 0 });
    return [...new Set(series.map((labels) => labels[label]))].filter(Boolean).map((text) => ({ text }));
  }

  async ask(path, parameters) {
    const answer = await fetch(`${this.url}/api/v1/${path}?${new URLSearchParams(parameters)}`);
    const said = await answer.json();
    if (said.status !== "success") throw new Error(`${parameters.query}: ${said.error}`);
    return said.data.result ?? said.data;
  }
}

function stepOf(target, request) {
  const rangeS = (request.range.to.valueOf() - request.range.from.valueOf()) / 1000;
  return Math.ceil(Math.max(secondsOf(target.interval), request.intervalMs / 1000, rangeS / POINTS_MAX));
}

function secondsOf(interval) {
  return Number(/^(\d+)s$/.exec(interval)[1]);
}

function interpolated(expr, request, stepS) {
  // Grafana's: at least four scrapes, and a scrape more than the step.
  const rateS = Math.max(stepS + secondsOf("5s"), 4 * secondsOf("5s"));
  const said = expr.replaceAll("$__rate_interval", `${rateS}s`).replaceAll("$__interval", `${stepS}s`);
  return sceneGraph.interpolate(request.scopedVars.__sceneObject.value.valueOf(), said, request.scopedVars, regex);
}

function regex(value) {
  const escaped = [value].flat().map((each) => each.replace(/[\\^$.*+?()[\]{}|]/g, "\\\\$&"));
  return Array.isArray(value) ? `(${escaped.join("|")})` : value;
}

function pointsOf(result) {
  return result.map(({ metric, value }) => ({ metric, values: [value] }));
}

function linesOf(result, target, stepS) {
  return result.map(({ metric, values }) =>
    toDataFrame({
      refId: target.refId,
      fields: [
        timesOf(values, stepS),
        {
          name: "Value",
          type: FieldType.number,
          labels: metric,
          config: { displayNameFromDS: legendOf(target, metric) },
          values: values.map(([, value]) => Number(value)),
        },
      ],
    }),
  );
}

function timesOf(values, stepS) {
  return {
    name: "Time",
    type: FieldType.time,
    config: { interval: stepS * 1000 }, // where points are further apart the line has a gap
    values: values.map(([at]) => at * 1000),
  };
}

function legendOf(target, labels) {
  if (target.legendFormat)
    return target.legendFormat.replace(/\{\{\s*(\w+)\s*\}\}/g, (_, label) => labels[label] ?? "");
  const { __name__: name = "", ...others } = labels;
  const said = Object.entries(others).map(([label, value]) => `${label}="${value}"`);
  return said.length || name ? `${name}{${said.join(", ")}}` : target.expr;
}

function tableOf(result, target) {
  const labels = [...new Set(result.flatMap(({ metric }) => Object.keys(metric)))].sort();
  return toDataFrame({
    refId: target.refId,
    fields: [
      { name: "Time", type: FieldType.time, values: result.map(({ value }) => value[0] * 1000) },
      ...labels.map((label) => ({
        name: label,
        type: FieldType.string,
        values: result.map(({ metric }) => metric[label] ?? ""),
      })),
      {
        name: `Value #${target.refId}`,
        type: FieldType.number,
        values: result.map(({ value }) => Number(value[1])),
      },
    ],
  });
}

function edgeOf({ metric }) {
  return metric.le === "+Inf" ? Infinity : Number(metric.le);
}

// One field for each bucket, lowest first, with the counts of that bucket alone: Prometheus has them with all below.
function bucketsOf(result, target, stepS) {
  if (!result.length) return [];
  const sorted = [...result].sort((one, other) => edgeOf(one) - edgeOf(other));
  const times = [...new Set(sorted.flatMap(({ values }) => values.map(([at]) => at)))].sort(
    (one, other) => one - other,
  );
  const counts = sorted.map(({ values }) => new Map(values));
  return [
    toDataFrame({
      refId: target.refId,
      meta: { type: "heatmap-rows" },
      fields: [
        timesOf(
          times.map((at) => [at]),
          stepS,
        ),
        ...sorted.map(({ metric }, bucket) => ({
          name: metric.le,
          type: FieldType.number,
          labels: metric,
          values: times.map((at) => {
            const below = bucket ? Number(counts[bucket - 1].get(at) ?? 0) : 0;
            return Math.max(0, Number(counts[bucket].get(at) ?? 0) - below);
          }),
        })),
      ],
    }),
  ];
}

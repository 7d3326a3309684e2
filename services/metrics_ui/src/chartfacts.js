/** What there is to draw in the documents of `compare`, `ab`, `sweep` and `history`, apart from how it is drawn. */

import { linearAxis, logAxis, nameAxis } from "./axes.js";
import { whole } from "./format.js";

/** @import {ChartFacts, ChartPoint, Contrast, Trend, JudgedFigure, PageFacts, SweepDocument} from "./facts-types.js" */

const SERIES = {
  latency_ns: "latency",
  latency_between_boundaries_ns: "between boundaries",
  service_time_ns: "service time",
};
/** How far the points of each series stand beside their percentile. */
const ASIDE = [0, 0.14, -0.14];
const IN_SWEEP = ["p50", "p99", "p99.9"];

/** The charts of a document; none if there is nothing in it to draw. @param {PageFacts["document"]} document */
export function chartsOf(document) {
  if ("contrasts" in document) return document.contrasts.flatMap(shiftChart);
  if ("rates" in document) return rateChart(document);
  if (!("workloads" in document)) return [];
  return document.workloads.flatMap(({ workload, figures }) => figures.map((trend) => trendChart(workload, trend)));
}

/** The shift of every percentile that was compared, with its interval. @param {Contrast} contrast @returns {ChartFacts[]} */
function shiftChart({ first, other, figures }) {
  const series = Object.entries(SERIES).map(([path, title], at) => ({
    title,
    aside: ASIDE[at],
    judged: figures.filter(({ figure, shift }) => shift && figure.startsWith(`${path}.p`)),
  }));
  const judged = series.flatMap((of) => of.judged);
  if (judged.length === 0) return [];
  const names = [...new Set(judged.map(percentileOf))].sort((one, two) => Number(one.slice(1)) - Number(two.slice(1)));
  const least = judged[0].least_share;
  const edges = judged
    .flatMap(({ shift }) => [shift?.estimate, shift?.low, shift?.high])
    .filter((edge) => edge != null);
  return [
    {
      title: `${other} against ${first}: shift by percentile, with 95% intervals`,
      x: nameAxis("percentile", names),
      y: linearAxis("shift", [...edges, least, -least], signedPercent),
      say: (y) => signedPercent(y, 1),
      lines: series
        .filter((of) => of.judged.length > 0)
        .map(({ title, aside, judged: of }) => ({
          title,
          points: of
            .map((each) => shiftPoint(each, title, names.indexOf(percentileOf(each)) + aside))
            .sort((one, two) => one.x - two.x),
        })),
      zones: [{ along: "y", from: -least, to: least, text: `differences below ${percent(least)} do not matter` }],
      rules: [{ along: "y", at: 0, text: "no shift" }],
      marks: "filled: better or worse; hollow: the same or undecided",
    },
  ];
}

/** @param {JudgedFigure} judged @param {string} title @param {number} x @returns {ChartPoint} */
function shiftPoint({ figure, verdict, shift }, title, x) {
  const { estimate = 0, low, high } = shift ?? {};
  const name = figure.slice(figure.indexOf(".") + 1);
  const within = low != null && high != null ? ` (${signedPercent(low, 1)} to ${signedPercent(high, 1)})` : "";
  const text = `${title} ${name}: ${signedPercent(estimate, 1)}${within}, ${verdict}`;
  return { x, y: estimate, low, high, name, text, filled: verdict === "better" || verdict === "worse" };
}

/** @param {JudgedFigure} judged */
function percentileOf({ figure }) {
  return figure.slice(figure.indexOf(".") + 1);
}

/** Medians of the percentiles at each rate, the objectives, and the limit. @param {SweepDocument} sweep @returns {ChartFacts[]} */
function rateChart({ rates, limit, held, latency_limits_ms: limits }) {
  const lines = IN_SWEEP.map((title) => ({
    title,
    points: rates.flatMap(({ rate, outcome, latency_ms: ms }) => {
      const y = ms[title];
      if (y === null || y === undefined) return [];
      const text = `${title} ${shortNumber(y)} ms at ${whole(rate)}/s: ${outcome}`;
      return [{ x: rate, y, name: whole(rate), text, filled: outcome === "held" }];
    }),
  })).filter(({ points }) => points.length > 0);
  if (lines.length === 0) return [];
  const values = [...lines.flatMap(({ points }) => points.map(({ y }) => y)), ...Object.values(limits)];
  const most = Math.max(...lines.flatMap(({ points }) => points.map(({ x }) => x)));
  const best = held && limit ? Number(limit.rate.toPrecision(3)) : held;
  return [
    {
      title: "Latency by offered rate",
      x: linearAxis("offered, messages a second", [0, most], whole),
      y: logAxis("latency, ms", values, shortNumber),
      say: (y) => `${shortNumber(y)} ms`,
      lines,
      zones: limit && held ? [{ along: "x", from: limit.low, to: limit.high, text: "95% interval of the limit" }] : [],
      rules: [
        ...Object.entries(limits).map(([name, ms]) => ({
          along: /** @type {const} */ ("y"),
          at: ms,
          text: `${name} ≤ ${shortNumber(ms)} ms`,
        })),
        ...(best ? [{ along: /** @type {const} */ ("x"), at: best, text: whole(best) }] : []),
      ],
      marks: "filled: held; hollow: broken or void",
    },
  ];
}

/** The values of a figure run by run, its medians and its changes. @param {string} workload @param {Trend} trend @returns {ChartFacts} */
function trendChart(workload, { title, divisor, values, changes }) {
  const runs = Object.keys(values);
  const points = runs.map((name, x) => {
    const y = values[name] / divisor;
    return { x: x + 1, y, name, text: `${name}: ${shortNumber(y)}`, filled: true };
  });
  const starts = [0, ...changes.map(({ run_id: id }) => runs.indexOf(id)), runs.length];
  const medians = changes.length > 0 ? [changes[0].before, ...changes.map(({ after }) => after)] : [];
  const steps = medians.flatMap((median, at) =>
    [starts[at] + 0.5, starts[at + 1] + 0.5].map((x) => {
      return { x, y: median / divisor, name: "", text: "", filled: true };
    }),
  );
  return {
    title: `${workload}: ${title}`,
    x: linearAxis("run, in the order of their starts", [1, Math.max(runs.length, 2)], (x) =>
      Number.isInteger(x) && x > 0 ? `${x}` : "",
    ),
    y: linearAxis(title, withRoom(points.map(({ y }) => y)), shortNumber),
    say: shortNumber,
    lines: [
      { title: "of the run", points },
      ...(steps.length > 0 ? [{ title: "median from change to change", points: steps, quiet: true }] : []),
    ],
    zones: [],
    rules: changes.map(({ run_id: id, shift }) => ({
      along: "x",
      at: runs.indexOf(id) + 0.5,
      text: signedPercent(shift, 1),
    })),
    marks: "",
    small: true,
  };
}

/** The values, and some beside them, so that an axis never makes noise of a few percent look like much. @param {number[]} values */
function withRoom(values) {
  const middle = [...values].sort((one, two) => one - two)[Math.floor(values.length / 2)];
  return [...values, middle * 0.9, middle * 1.1];
}

/** Four digits that count, and all those before the point. @param {number} value */
export function shortNumber(value) {
  return value !== 0 && Math.abs(value) < 1000 ? `${Number(value.toPrecision(4))}` : whole(value);
}

/** A share as percent with its sign. @param {number} value @param {number} [digits] as many as it takes if absent */
export function signedPercent(value, digits) {
  const text = digits === undefined ? `${Number((100 * value).toFixed(4))}` : (100 * value).toFixed(digits);
  return `${value > 0 && Number(text) > 0 ? "+" : ""}${text.replace("-", "−")}%`;
}

/** @param {number} value */
function percent(value) {
  return `${Number((100 * value).toFixed(2))}%`;
}

/** The figures and charts of a report, of what was measured or of the part of it that the reader has chosen. */

import { CurveChart } from "../charts/curve.js";
import { TimeChart } from "../charts/timechart.js";
import { Waterfall } from "../charts/waterfall.js";
import { h } from "../dom.js";
import { lagBins, lagPoints, uncounted } from "../facts.js";
import { axisLatency, axisNumber, fixed, latency, percentName, rate, share, whole } from "../format.js";
import { PERCENTS } from "../hdr.js";
import { keyFigures } from "./figures.js";
import { betweenFigure, latencyTable, rangeFigures, resultFigures, shownOr } from "./latencies.js";
import {
  PERCENT_LINES,
  percentileOverall,
  percentileRows,
  percentileSummary,
  rateLines,
  rateOverall,
  rateRows,
  rateSummary,
} from "./lines.js";
import { measuredPart } from "../phases.js";
import { END_TO_END, PROCESSED, SEND_LAG, SENT, SERVICE, STAGES, stageLatency, stagesOf } from "../steps.js";
import { View } from "../view.js";
import { countedHow, inWordsOf } from "../words.js";
import { Partitions } from "./partitions.js";
import { SlowSeconds } from "./slow.js";

/** @import {RunModel} from "../model.js" */
/** @import {Actions, Part, ReportData} from "../types.js" */

const THROUGHPUT = [
  { title: "offered", of: SENT },
  { title: "processed", of: PROCESSED },
];
const TRIPLE = [
  { title: "Intended send to receipt", of: END_TO_END },
  { title: "Actual send to receipt", of: SERVICE },
  { title: "Send lag, all messages", of: SEND_LAG },
];
/** @typedef {{chart: TimeChart, name: "cpus" | "pressure"}} MachineChart */

export class ReportCharts {
  /** @type {Part | null} what the reader has chosen */
  #chosen = null;

  /**
   * @param {ReportData} facts what the run controller says
   * @param {RunModel} model what the processes pushed
   * @param {Part} span of it
   */
  constructor(facts, model, span) {
    this.facts = facts;
    this.model = model;
    this.span = span;
    /** @type {Actions} */
    const actions = {
      brush: (from, to) => this.#choose({ from, to }),
      whole: () => this.#choose(null),
    };
    this.key = keyFigures([
      ...PERCENTS.map((percent) => `${percent === 50 ? "latency " : ""}${percentName(percent)}`),
      "max",
      "p99 between boundaries",
      "achieved",
      "CPU of the job",
      "backlog, most",
    ]);
    this.over = new TimeChart({
      title: "Latency, intended send to receipt",
      unit: "log scale",
      lines: PERCENT_LINES,
      log: true,
      height: 260,
      tick: axisLatency,
      text: latency,
      actions,
    });
    this.curve = new CurveChart({
      title: "Percentile curves",
      height: 260,
      lines: [
        { title: "intended to receipt", colour: "--p50", width: 2 },
        { title: "actual to receipt", colour: "--p99", dash: [7, 3] },
        { title: "send lag, all", colour: "--p9999", dash: [2, 2], width: 2 },
      ],
    });
    this.slow = new SlowSeconds(model, actions);
    this.rates = new TimeChart({
      title: "Throughput",
      unit: "messages/s",
      lines: rateLines(THROUGHPUT.map(({ title }) => title)),
      tick: axisNumber,
      text: rate,
      height: 170,
      actions,
    });
    this.lag = new TimeChart({
      title: "Backlog",
      unit: "messages, the highest in each bin",
      lines: [{ title: "backlog", colour: "--p50", fill: "--band" }],
      tick: axisNumber,
      text: whole,
      height: 170,
      actions,
    });
    this.cpus = this.#seriesChart("CPUs in use", "cpus", actions);
    this.pressure = this.#seriesChart("Time waited for a resource, and stolen", "pressure", actions);
    this.waterfall = new Waterfall(
      stagesOf(model).map((stage) => ({ ...stage, href: "#" })),
      (text) => inWordsOf(model, text),
    );
    this.partitions = new Partitions();
    this.triple = latencyTable("The triple of latencies", "from, to");
    this.element = h(
      "main",
      {},
      this.key.element,
      h(
        "p.about.marks-key",
        {},
        "Charts over time mark ",
        h("i.boundary"),
        "batch boundaries and ",
        h("i.gc"),
        "collections of 5 ms or more. Drag, or Shift and arrows, to look closer; double-click for all of what was measured.",
      ),
      h(
        "div.grid",
        {},
        h("div.widest", {}, this.slow.map),
        h("div.beside", {}, this.slow.worst.element),
        h("div.curve", {}, this.curve.element),
        h("div.over", {}, this.over.element),
        h("div.full", {}, this.slow.orders),
        h("div.full", {}, this.slow.where),
        h("div.half", {}, this.rates.element),
        h("div.half", {}, this.lag.element),
        h("div.full", {}, h("h2", {}, "Where the time goes"), this.waterfall.element, this.waterfall.sum),
        h("div.full", {}, this.triple.element),
        h("div.full", {}, this.partitions.element),
        h("div.half", {}, this.cpus.chart.element),
        h("div.half", {}, this.pressure.chart.element),
      ),
    );
  }

  draw() {
    const { model, span } = this;
    const measured = measuredPart(model.notes, { ...span, whole: true });
    const shown = this.#chosen ?? { from: measured.from, to: measured.to };
    const judged = this.#chosen ?? model.judged ?? shown;
    const view = new View(model, { ...shown, whole: false }, span);
    this.#figures(new View(model, { ...judged, whole: false }, span), view);
    this.#over(view);
    this.partitions.update(view);
    this.#machine(view);
  }

  /** @param {string} title @param {"cpus" | "pressure"} name @param {Actions} actions @returns {MachineChart} */
  #seriesChart(title, name, actions) {
    const { lines } = this.facts.charts[name];
    const text = name === "cpus" ? cpusOrNone : shareOrNone;
    const chart = new TimeChart({
      title,
      lines: rateLines(lines),
      tick: name === "cpus" ? axisNumber : share,
      text,
      height: 170,
      actions,
    });
    return { chart, name };
  }

  /** @param {Part | null} range */
  #choose(range) {
    this.#chosen = range;
    this.draw();
  }

  /** @param {View} judged @param {View} view */
  #figures(judged, view) {
    const hist = judged.hist(END_TO_END);
    const { result, latencies, clusters_min: clustersMin } = this.facts;
    this.key.set([
      ...(this.#chosen ? rangeFigures(hist) : resultFigures(result, latencies, clustersMin)),
      this.#chosen ? null : betweenFigure(result, latencies, clustersMin),
      { value: rate(result.achieved_rate_per_s), unit: "/s", sub: `offered ${rate(result.offered_rate_per_s)}` },
      { value: result.cpu_us_per_message?.toFixed(2) ?? "–", unit: "µs", sub: "a message" },
      { value: whole(result.backlog.messages_max), unit: "messages", sub: "as the controller saw" },
    ]);
    const hists = TRIPLE.map(({ of }) => judged.hist(of));
    this.curve.update(
      hists,
      TRIPLE.map(
        ({ title }, at) => `${title}: ${shownOr(hists[at], 50)} at p50, ${shownOr(hists[at], 99)} at p99`,
      ).join("; "),
    );
    this.triple.set(TRIPLE.map(({ title }, at) => ({ title: { text: title }, hist: hists[at] })));
    this.waterfall.update(
      STAGES.map(({ stage }) => judged.hist(stageLatency(stage))),
      hist,
    );
    const bins = view.histBins({ name: END_TO_END.name });
    this.over.update(view, percentileRows(bins), percentileOverall(hist, judged), percentileSummary(view, bins));
    this.slow.update(view, result, this.#chosen);
  }

  /** @param {View} view */
  #over(view) {
    const selectors = THROUGHPUT.map(({ of }) => of);
    this.rates.update(
      view,
      rateRows(view, selectors),
      rateOverall(view, selectors),
      rateSummary(view, THROUGHPUT, rate),
    );
    const points = view.has(SENT) && view.has(PROCESSED) ? lagPoints(view) : [];
    const most = Math.max(0, ...points.map(({ value }) => value));
    this.lag.update(
      view,
      lagBins(view, points).map(({ from, to, value }) => ({ from, to, values: [value] })),
      { label: "at the end", values: [points.at(-1)?.value ?? null] },
      `${whole(most)} messages at most were sent and not yet processed; ${countedHow(view.history)}`,
      uncounted(view, this.facts.result.backlog.messages_max),
    );
  }

  /** @param {View} view */
  #machine(view) {
    for (const { chart, name } of [this.cpus, this.pressure]) {
      const { lines, width_s: width, rows } = this.facts.charts[name];
      const inside = rows.filter(
        ([second]) => second * 1000 >= view.range.from - 1000 && second * 1000 < view.range.to,
      );
      chart.update(
        view,
        inside.map(([second, ...values]) => ({ from: second * 1000, to: (second + width) * 1000, values })),
        { label: "mean", values: lines.map((_line, at) => mean(inside.map(([, ...values]) => values[at]))) },
        lines
          .map((line, at) => `${line}: ${chart.given.text(mean(inside.map(([, ...values]) => values[at])))}`)
          .join(", "),
      );
    }
  }
}

/** @param {(number | null)[]} values */
function mean(values) {
  const known = values.filter((value) => value !== null);
  return known.length > 0 ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
}

/** @param {number | null} value */
function cpusOrNone(value) {
  return value === null ? "–" : fixed(value, 2);
}

/** @param {number | null} value */
function shareOrNone(value) {
  return value === null ? "–" : share(value);
}

/** The figures that count: of the result as result.json has them, else of the range, and which of the two they are. */

import { counted, fixed, latency, rate, whole } from "../format.js";
import { CPU, END_TO_END, PROCESSED, SENT } from "../steps.js";
import { View } from "../view.js";
import { apart, keyFigures } from "./figures.js";
import { betweenFigure, percentileFigure, resultFigures } from "./latencies.js";

/** @import {Hist} from "../hdr.js" */
/** @import {RunModel} from "../model.js" */
/** @import {ResultData} from "../types.js" */
/** @import {KeyFigure} from "./figures.js" */

const NAMES = [
  "latency p50",
  "p95",
  "p99",
  "p99 between boundaries",
  "p99.9",
  "p99.99",
  "max",
  "messages offered",
  "processed",
  "CPU a message",
  "lag",
];
const BETWEEN = 3;
const NOW_MS = 10_000;

export class Tiles {
  /** @param {RunModel} model */
  constructor(model) {
    this.model = model;
    this.figures = keyFigures(NAMES);
    this.element = this.figures.element;
  }

  /**
   * @param {View} view
   * @param {Hist} hist of the latencies
   * @param {number | null} lag in messages
   * @param {View | null} pinned what was judged of the run to compare with
   */
  update(view, hist, lag, pinned) {
    const compared = pinned ? figuresOf(pinned, pinned.hist(END_TO_END), null) : [];
    this.figures.set(figuresOf(view, hist, lag), compared);
  }
}

/** In the order of NAMES. @param {View} view @param {Hist} hist @param {number | null} lag @returns {(KeyFigure | null)[]} */
function figuresOf(view, hist, lag) {
  const result = view.judged && view.history.latencyRows.length > 1 ? view.history.result : null;
  const latencies = result ? ofResult(result, view) : ofRange(view, hist);
  const now = view.model.live ? nowOf(view) : null;
  /** @type {KeyFigure[]} */
  const rates = [SENT, PROCESSED].map((of) => ({
    value: rate(view.rate(of)),
    unit: "/s",
    sub: now ? `now ${rate(now.rate(of))}` : `${whole(view.grown(of))} in all`,
    number: view.rate(of),
  }));
  if (result) {
    const achieved = result.achieved_rate_per_s;
    rates[0] = { value: rate(achieved), unit: "/s", sub: "result", number: achieved };
  }
  return [...latencies, ...rates, cpuFigure(view, result), lagFigure(view, lag)];
}

/** @param {ResultData} result @param {View} view @returns {(KeyFigure | null)[]} */
function ofResult(result, view) {
  const { latencyRows: rows, limits } = view.history;
  const clustersMin = limits.clusters_min ?? 0;
  const figures = resultFigures(result, rows, clustersMin);
  const between = betweenFigure(result, rows, clustersMin);
  return [...figures.slice(0, BETWEEN), between, ...figures.slice(BETWEEN)];
}

/** @param {View} view @param {Hist} hist @returns {(KeyFigure | null)[]} */
function ofRange(view, hist) {
  const of = view.judged ? "result" : "of this range";
  const figures = [50, 95, 99, 99.9, 99.99].map((percent, at) =>
    percentileFigure(hist, percent, at === 0 ? of : "", view.history.limits.clusters_min),
  );
  /** @type {KeyFigure} */
  const max = {
    ...apart(latency(hist.count > 0 ? hist.maxUs : null)),
    sub: `of ${counted(hist.count, "sample")}`,
    number: hist.count > 0 ? hist.maxUs : null,
  };
  return [...figures.slice(0, BETWEEN), null, ...figures.slice(BETWEEN), max];
}

/** @param {View} view */
function nowOf({ model, span, history }) {
  return new View(model, { from: Math.max(span.from, span.to - NOW_MS), to: span.to, whole: false }, span, { history });
}

/** The job's CPU time for each message. @param {View} view @param {ResultData | null} result @returns {KeyFigure | null} */
function cpuFigure(view, result) {
  if (result) {
    const us = result.cpu_us_per_message;
    return us === null ? null : { value: fixed(us, 2), unit: "µs", sub: "result", number: us };
  }
  const jobs = view.numbers(CPU).filter(({ labels }) => labels.source?.startsWith("job"));
  const spent = view.flowed(jobs.map(({ name, labels }) => ({ name, labels: { source: labels.source } })));
  const done = view.flowed(PROCESSED) ?? 0;
  return jobs.length > 0 && spent !== null && done > 0
    ? { value: fixed((spent * 1e6) / done, 2), unit: "µs", sub: "", number: (spent * 1e6) / done }
    : null;
}

/** While the run goes on: at its end nothing is behind. @param {View} view @param {number | null} lag */
function lagFigure(view, lag) {
  const sentRate = view.rate(SENT) ?? 0;
  if (!view.model.live || lag === null) return null;
  const seconds = sentRate > 0 ? `${(lag / sentRate).toFixed(2)} s of load; ` : "";
  return { value: whole(lag), unit: "messages", sub: `${seconds}counted up to 2 s late` };
}

/** The standard detail of a step, the same for pipeline, worker and computation. */

import { CurveChart } from "../charts/curve.js";
import { Heatmap } from "../charts/heatmap.js";
import { TimeChart } from "../charts/timechart.js";
import { h } from "../dom.js";
import { axisLatency, axisNumber, counted, latency, rate } from "../format.js";
import { PERCENTS, percentile, supports } from "../hdr.js";
import { percentileTable } from "./latencies.js";
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

/** @import {Hist} from "../hdr.js" */
/** @import {Step} from "../steps.js" */
/** @import {Actions} from "../types.js" */
/** @import {HistBin, View} from "../view.js" */

export class Detail {
  /**
   * @param {Step} step
   * @param {Actions} actions
   * @param {HTMLElement[]} [more] small charts to stand with those of throughput
   */
  constructor(step, actions, more = []) {
    this.step = step;
    const units = [...new Set(step.throughput.map(({ unit }) => unit))];
    this.throughput = units.map((unit) => {
      const counters = step.throughput.filter((counter) => counter.unit === unit);
      const lines = rateLines(counters.map(({ title }) => title));
      const title = { "alerts/s": "Alerts", "outputs/s": "Outputs" }[unit] ?? "Throughput";
      return {
        chart: new TimeChart({ title, unit, lines, tick: axisNumber, text: rate, actions, height: 160 }),
        counters,
      };
    });
    this.latencies =
      step.latency === null
        ? null
        : {
            over: new TimeChart({
              title: "Latency percentiles over time",
              unit: "log scale",
              lines: PERCENT_LINES,
              log: true,
              tick: axisLatency,
              text: latency,
              actions,
              height: 230,
            }),
            heat: new Heatmap({ title: "Latency heatmap", actions, height: 230 }),
            curve: new CurveChart({
              title: "Percentile curve",
              lines: [{ title: step.title, colour: "--p50", width: 2 }],
              height: 230,
            }),
          };
    this.percentiles = percentileTable("Percentiles of the range");
    const large = this.latencies
      ? [...Object.values(this.latencies).map(({ element }) => element), this.percentiles.element]
      : [];
    const small = [...this.throughput.map(({ chart }) => chart.element), ...more];
    const size = small.length % 3 === 0 ? "third" : small.length % 2 === 0 ? "half" : "full";
    this.element = h(
      "div.grid",
      {},
      large.map((element) => h("div.half", {}, element)),
      small.map((element) => h(`div.${size}`, {}, element)),
    );
  }

  /** @param {View} view */
  update(view) {
    const { step } = this;
    for (const { chart, counters } of this.throughput) {
      const selectors = counters.map(({ of }) => of);
      chart.update(view, rateRows(view, selectors), rateOverall(view, selectors), rateSummary(view, counters, rate));
    }
    if (!this.latencies || step.latency === null) return;
    const bins = view.histBins(step.over);
    const hist = view.hist(step.latency);
    this.latencies.over.update(
      view,
      percentileRows(bins),
      percentileOverall(hist, view),
      percentileSummary(view, bins),
    );
    this.latencies.heat.update(view, bins, heatSummary(bins));
    this.latencies.curve.update([hist], curveSummary(hist));
    this.percentiles.set(hist);
  }

  release() {
    for (const { chart } of this.throughput) chart.release();
    for (const chart of Object.values(this.latencies ?? {})) chart.release();
  }
}

/** A histogram's percentiles in a sentence. @param {Hist} hist */
function curveSummary(hist) {
  const known = PERCENTS.filter((percent) => supports(hist, percent));
  return `${counted(hist.count, "sample")}: ${[
    ...known.map((percent) => `p${percent} ${latency(percentile(hist, percent))}`),
    `max ${latency(hist.maxUs)}`,
  ].join(", ")}`;
}

/** @param {HistBin[]} bins */
function heatSummary(bins) {
  const all = bins.reduce((sum, { hist }) => sum + hist.count, 0);
  const [least, most] = [
    Math.min(...bins.map(({ hist }) => hist.minUs)),
    Math.max(...bins.map(({ hist }) => hist.maxUs)),
  ];
  return `${counted(all, "sample")} in ${counted(bins.length, "bin")}, from ${latency(least)} to ${latency(most)}`;
}

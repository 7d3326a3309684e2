/** How lines are drawn, everywhere the same: by colour, and by dashes for those who do not see the colours. */

import { elapsed, latency, percentName } from "../format.js";
import { PERCENTS, shownPercentile } from "../hdr.js";

/** @import {Hist} from "../hdr.js" */
/** @import {Line, Overall, Row, ValueBin} from "../types.js" */
/** @import {HistBin, Selector, View} from "../view.js" */

/** @type {Line[]} */
export const PERCENT_LINES = [
  { title: "p50", colour: "--p50", width: 2 },
  { title: "p95", colour: "--p95", dash: [7, 3] },
  { title: "p99", colour: "--p99", width: 2 },
  { title: "p99.9", colour: "--p999", dash: [3, 2] },
  { title: "p99.99", colour: "--p9999", dash: [8, 3, 2, 3] },
  { title: "max", colour: "--max", width: 1 },
];

const RATE_LINES = [
  { colour: "--rate-1", width: 2 },
  { colour: "--rate-2", dash: [6, 3], width: 1.5 },
  { colour: "--rate-3", dash: [2, 2], width: 1.5 },
  { colour: "--rate-4", dash: [8, 3, 2, 3], width: 1.5 },
  { colour: "--p9999", dash: [1, 3], width: 2 },
  { colour: "--max", width: 1.5 },
  { colour: "--rate-1", dash: [3, 2], width: 1.5 },
  { colour: "--rate-2", dash: [1, 2], width: 2 },
  { colour: "--rate-3", dash: [9, 3], width: 1.5 },
  { colour: "--rate-4", dash: [12, 3, 2, 3], width: 1.5 },
];

/** Lines for counters, in their order. @param {string[]} titles @returns {Line[]} */
export function rateLines(titles) {
  return titles.map((title, at) => ({ title, ...RATE_LINES[at % RATE_LINES.length] }));
}

/**
 * Rows of percentiles and maximum, one a bin; null where a bin has too few samples.
 * @param {HistBin[]} bins
 * @returns {Row[]}
 */
export function percentileRows(bins) {
  return bins.map(({ from, to, hist }) => ({
    from,
    to,
    values: [...PERCENTS.map((percent) => shownPercentile(hist, percent)), hist.maxUs],
  }));
}

/**
 * The same of the whole range, or of the result, for a legend.
 * @param {Hist} hist
 * @param {View} view
 * @returns {Overall}
 */
export function percentileOverall(hist, view) {
  return {
    label: view.judged ? "result" : "range",
    values: [...PERCENTS.map((percent) => shownPercentile(hist, percent)), hist.count > 0 ? hist.maxUs : null],
  };
}

/** Rates over the whole range. @param {View} view @param {Selector[]} selectors @returns {Overall} */
export function rateOverall(view, selectors) {
  return { label: view.flowLabel, values: selectors.map((selector) => view.rate(selector)) };
}

/** Rates of several counters as rows. @param {View} view @param {Selector[]} selectors */
export function rateRows(view, selectors) {
  return rowsOf(
    selectors.map((selector) => (view.has(selector) ? view.rateBins(selector) : null)),
    view.rateBins([]),
  );
}

/** Newest values of several gauges as rows. @param {View} view @param {Selector[]} selectors */
export function gaugeRows(view, selectors) {
  return rowsOf(
    selectors.map((selector) => (view.has(selector) ? view.gaugeBins(selector) : null)),
    view.rateBins([]),
  );
}

/**
 * One figure of several histograms as rows; null where a bin of one has none.
 * @param {View} view
 * @param {Selector[][]} selectors for each line
 * @param {(hist: Hist) => number | null} figure
 * @returns {Row[]}
 */
export function histRows(view, selectors, figure) {
  /** @type {Map<number, Row>} */
  const byFrom = new Map();
  selectors.forEach((of, line) => {
    for (const { from, to, hist } of view.histBins(of)) {
      const row = byFrom.get(from) ?? { from, to, values: selectors.map(() => null) };
      row.values[line] = figure(hist);
      byFrom.set(from, row);
    }
  });
  return [...byFrom.values()].sort((one, other) => one.from - other.from);
}

/** @param {(ValueBin[] | null)[]} columns @param {ValueBin[]} bins @returns {Row[]} */
function rowsOf(columns, bins) {
  return columns.every((column) => column === null)
    ? []
    : bins.map(({ from, to }, at) => ({ from, to, values: columns.map((column) => column?.[at].value ?? null) }));
}

/**
 * What the percentiles over time say, in a sentence or two.
 * @param {View} view
 * @param {HistBin[]} bins
 */
export function percentileSummary(view, bins) {
  const rows = percentileRows(bins);
  const said = PERCENTS.flatMap((percent, at) => {
    const known = rows.map(({ values }) => values[at]).filter((value) => value !== null);
    if (known.length === 0) return [];
    const [least, most] = [Math.min(...known), Math.max(...known)];
    return [
      least === most
        ? `${percentName(percent)} ${latency(least)}`
        : `${percentName(percent)} ${latency(least)} to ${latency(most)}`,
    ];
  });
  const slowest = bins.reduce((found, bin) => (bin.hist.maxUs > found.hist.maxUs ? bin : found), bins[0]);
  const missing = PERCENTS.filter((_percent, at) => rows.every(({ values }) => values[at] === null));
  const most = Math.max(...bins.map(({ hist }) => hist.count));
  return [
    said.join(", "),
    slowest && `slowest ${latency(slowest.hist.maxUs)} at ${elapsed((slowest.from - view.begin) / 1000)}`,
    missing.length > 0 &&
      `n too small for ${missing.map(percentName).join(", ")} in bins of ${view.widthMs / 1000} s (at most ${most} samples)`,
  ]
    .filter(Boolean)
    .join("; ");
}

/**
 * What rates over time say.
 * @param {View} view
 * @param {{title: string, of: Selector}[]} throughput
 * @param {(value: number | null) => string} text
 */
export function rateSummary(view, throughput, text) {
  return throughput
    .filter(({ of }) => view.has(of))
    .map(({ title, of }) => {
      const values = view
        .rateBins(of)
        .map(({ value }) => value)
        .filter((value) => value !== null);
      const flow = view.flowLabel === "measured" ? " while measuring" : "";
      // Of a live run all of a short range may still be on its way.
      const bins =
        values.length > 0 ? `, ${text(Math.min(...values))} to ${text(Math.max(...values))} from bin to bin` : "";
      return `${title} ${text(view.rate(of))}${flow}${bins}`;
    })
    .join("; ");
}

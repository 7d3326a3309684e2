/** Tables of latency: a row a histogram, from its count to its maximum, in one unit. */

import { table } from "../dom.js";
import { apart } from "./figures.js";
import { NONE, counted, inUnit, latency, percentName, unitFor, whole } from "../format.js";
import { PERCENTS, clustersOf, meanUs, percentile, shownPercentile, supports } from "../hdr.js";

/** @import {Hist} from "../hdr.js" */
/** @import {Unit} from "../format.js" */
/** @import {Cell, ResultData} from "../types.js" */
/** @import {KeyFigure} from "./figures.js" */

const LISTED = [25, 50, 75, 90, 95, 99, 99.9, 99.99];

const TOO_SMALL = "n too small";

/**
 * @param {string} caption
 * @param {string} first the title of the first column
 * @returns {{element: HTMLElement, set: (rows: {title: Cell, hist: Hist}[]) => void}}
 */
export function latencyTable(caption, first) {
  const columns = [first, "n", "mean", ...PERCENTS.map(percentName), "max"].map((title, at) => ({
    title,
    numeric: at > 0,
  }));
  const made = table({ caption, columns });
  return {
    element: made.element,
    set: (rows) => {
      const hists = rows.map(({ hist }) => hist);
      const unit = unitFor(hists.flatMap((hist) => [meanUs(hist), shownPercentile(hist, 50)]));
      made.setUnits(columns.map((_column, at) => (at > 1 ? unit.name : "")));
      made.setRows(
        rows.map(({ title, hist }) => [
          title,
          whole(hist.count),
          inUnit(meanUs(hist), unit),
          ...PERCENTS.map((percent) => shown(hist, percent, unit)),
          inUnit(hist.count > 0 ? hist.maxUs : null, unit),
        ]),
      );
    },
  };
}

/**
 * A histogram's percentiles. They have no intervals: what is slow is slow together, so that samples of a range do not tell
 * how far a percentile may be off. Those of the result come with its verdict.
 * @param {string} caption
 * @returns {{element: HTMLElement, set: (hist: Hist) => void}}
 */
export function percentileTable(caption) {
  const columns = [{ title: "percentile" }, { title: "latency" }, { title: "samples above" }];
  const made = table({ caption, columns: columns.map((column, at) => ({ ...column, numeric: at > 0 })) });
  return {
    element: made.element,
    set: (hist) =>
      made.setRows([
        row("min", hist.minUs, hist),
        row("mean", meanUs(hist), hist),
        ...LISTED.map((percent) => [percentName(percent), shownOr(hist, percent), whole(above(hist, percent))]),
        row("max", hist.maxUs, hist),
      ]),
  };
}

/**
 * All latencies of the result, as the terminal and run.md have them, with intervals and clusters. Empty without rows.
 * @param {Element} element
 * @param {string[][]} rows the titles of the columns first
 * @param {string} [caption] of another table of the result
 */
export function fillResultTable(
  element,
  [head, ...rows],
  caption = "Latencies of the result, with their 95% intervals",
) {
  if (!head || element.childElementCount > 0) return;
  const columns = head.map((title, at) => ({ title, numeric: at > 0 }));
  const made = table({ caption, columns });
  made.setRows(rows);
  element.append(made.element);
}

/** @param {string} name @param {number | null} us @param {Hist} hist */
function row(name, us, hist) {
  return [name, hist.count > 0 ? latency(us) : NONE, ""];
}

/**
 * A percentile with its unit, or that its samples or clusters are too few.
 * @param {Hist} hist
 * @param {number} percent
 */
export function shownOr(hist, percent) {
  return supports(hist, percent) ? latency(percentile(hist, percent)) : missing(hist, percent);
}

/** Why a percentile is not shown. @param {Hist} hist @param {number} percent */
function missing(hist, percent) {
  if (hist.count === 0) return NONE;
  const clusters = clustersOf(hist, percent);
  return clusters === undefined ? TOO_SMALL : `${NONE} (${counted(clusters, "cluster")})`;
}

/**
 * A percentile as a key figure.
 * @param {Hist} hist
 * @param {number} percent
 * @param {string} sub what stands below it where it is shown
 * @param {number} [clustersMin] how many clusters it takes
 * @returns {KeyFigure}
 */
export function percentileFigure(hist, percent, sub, clustersMin) {
  const text = shownOr(hist, percent);
  if (supports(hist, percent) || hist.count === 0) {
    return { ...apart(text), sub, number: hist.count === 0 ? null : percentile(hist, percent) };
  }
  const needed =
    clustersOf(hist, percent) === undefined ? `n < ${whole(1000 / (100 - percent))}` : `${clustersMin} needed`;
  return { value: text, sub: needed, small: true };
}

/** Percentiles and maximum of a range as key figures. @param {Hist} hist @returns {KeyFigure[]} */
export function rangeFigures(hist) {
  const figures = PERCENTS.map((percent, at) => percentileFigure(hist, percent, at === 0 ? "of this range" : ""));
  return [...figures, maxFigure(hist.count > 0 ? hist.maxUs : null, hist.count)];
}

/**
 * The same as result.json has them: the run's figures, whatever was pushed.
 * @param {ResultData} result
 * @param {string[][]} rows see latencyRows
 * @param {number} clustersMin
 * @returns {KeyFigure[]}
 */
export function resultFigures({ latency_ns: ns, latency_samples: count }, rows, clustersMin) {
  const figures = PERCENTS.map((percent, at) => {
    const [value, text] = [ns[percentName(percent)], rows[1][at + 1]];
    if (value === null) return { value: count > 0 ? TOO_SMALL : NONE, small: count > 0 };
    if (text.startsWith(NONE)) return { value: text, sub: `${clustersMin} needed`, small: true };
    return { ...apart(latency(value / 1000)), sub: at === 0 ? "result" : "", number: value / 1000 };
  });
  return [...figures, maxFigure(ns.max === null ? null : ns.max / 1000, count)];
}

/**
 * The p99 of what met no boundary, as the result has it; null where there are no boundaries.
 * @param {ResultData} result
 * @param {string[][]} rows see latencyRows
 * @param {number} clustersMin
 * @returns {KeyFigure | null}
 */
export function betweenFigure({ boundaries, latency_between_boundaries_ns: between }, rows, clustersMin) {
  const ns = between?.p99 ?? null;
  if (!boundaries || ns === null) return null;
  const text = rows.find(([title]) => title.trim().startsWith("between"))?.[rows[0].indexOf("p99")] ?? "";
  if (text.startsWith(NONE)) return { value: text, sub: `${clustersMin} needed`, small: true };
  return { ...apart(latency(ns / 1000)), sub: "result", number: ns / 1000 };
}

/** @param {number | null} us @param {number} count */
function maxFigure(us, count) {
  return { ...apart(latency(us)), sub: `of ${counted(count, "sample")}`, number: us };
}

/** @param {Hist} hist @param {number} percent @param {Unit} unit */
function shown(hist, percent, unit) {
  return supports(hist, percent) ? inUnit(percentile(hist, percent), unit) : missing(hist, percent);
}

/** @param {Hist} hist @param {number} percent */
function above(hist, percent) {
  return Math.round((hist.count * Math.round((100 - percent) * 1e6)) / 1e8);
}

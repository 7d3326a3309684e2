/** Tables of latency: a row a histogram, from its count to its maximum, in one unit. */

import { table } from "../dom.js";
import { apart } from "./figures.js";
import { NONE, inUnit, latency, percentName, unitFor, whole } from "../format.js";
import { PERCENTS, confidence, meanUs, percentile, shownPercentile, supports } from "../hdr.js";

const LISTED = [25, 50, 75, 90, 95, 99, 99.9, 99.99];

export const TOO_SMALL = "n too small";

/**
 * @param {string} caption
 * @param {string} first the title of the first column
 * @returns {{element: HTMLElement, set: (rows: {title: any, hist: import("../hdr.js").Hist}[]) => void}}
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

/** A histogram's percentiles with their 95% intervals. @param {string} caption */
export function intervalTable(caption) {
  const columns = [
    { title: "percentile" },
    { title: "latency" },
    { title: "95% from" },
    { title: "to" },
    { title: "samples above" },
  ];
  const made = table({ caption, columns: columns.map((column, at) => ({ ...column, numeric: at > 0 })) });
  return {
    element: made.element,
    set: (hist) =>
      made.setRows([
        row("min", hist.minUs, hist),
        row("mean", meanUs(hist), hist),
        ...LISTED.map((percent) => {
          if (!supports(hist, percent))
            return [percentName(percent), hist.count > 0 ? TOO_SMALL : NONE, NONE, NONE, whole(above(hist, percent))];
          const [from, to] = confidence(hist, percent);
          return [
            percentName(percent),
            latency(percentile(hist, percent)),
            latency(from),
            latency(to),
            whole(above(hist, percent)),
          ];
        }),
        row("max", hist.maxUs, hist),
      ]),
  };
}

function row(name, us, hist) {
  return [name, hist.count > 0 ? latency(us) : NONE, "", "", ""];
}

/**
 * A percentile with its unit, or that its samples are too few.
 * @param {import("../hdr.js").Hist} hist
 * @param {number} percent
 */
export function shownOr(hist, percent) {
  if (hist.count === 0) return NONE;
  return supports(hist, percent) ? latency(percentile(hist, percent)) : TOO_SMALL;
}

/** Percentiles and maximum of a range as key figures. @param {import("../hdr.js").Hist} hist */
export function rangeFigures(hist) {
  const texts = PERCENTS.map((percent) => shownOr(hist, percent));
  return latencyFigures([...texts, latency(hist.count > 0 ? hist.maxUs : null)], hist.count, "of this range");
}

/** The same as result.json has them: the run's figures, whatever was pushed. @param {Object} result */
export function resultFigures({ latency_ns: ns, latency_samples: count }) {
  const texts = [...PERCENTS.map(percentName), "max"].map((name) => {
    if (ns[name] === null) return count > 0 ? TOO_SMALL : NONE;
    return latency(ns[name] / 1000);
  });
  return latencyFigures(texts, count, "result");
}

function latencyFigures(texts, count, origin) {
  return texts.map((text, at) => ({
    ...(text === TOO_SMALL ? { value: text, small: true } : apart(text)),
    sub: at === 0 ? origin : at === PERCENTS.length ? `of ${whole(count)} samples` : "",
  }));
}

function shown(hist, percent, unit) {
  if (hist.count === 0) return NONE;
  return supports(hist, percent) ? inUnit(percentile(hist, percent), unit) : TOO_SMALL;
}

function above(hist, percent) {
  return Math.round((hist.count * Math.round((100 - percent) * 1e6)) / 1e8);
}

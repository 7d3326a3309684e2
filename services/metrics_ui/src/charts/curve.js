/** The percentile curve: latency over 1/(1-q), both logarithmic. */

import { Figure } from "./figure.js";
import { axis, cursorKeys, latencyAxis, latencyScale, placed } from "./plot.js";
import { setText } from "../dom.js";
import { latency } from "../format.js";
import { clustersOf, percentiles } from "../hdr.js";
import { fileName, saveText } from "../save.js";
import { hgrmOf } from "../textfiles.js";
import { colour } from "../theme.js";

const STEPS_A_DECADE = 16;
/** 1/(1-q) to the percentile, exactly. */
const EXACT = new Map([
  [2, 50],
  [4, 75],
  [10, 90],
  [20, 95],
  [100, 99],
  [1000, 99.9],
  [10_000, 99.99],
  [100_000, 99.999],
  [1_000_000, 99.9999],
  [10_000_000, 99.99999],
]);
const TICKS = [...EXACT.keys()];

/** @import {Hist} from "../hdr.js" */
/** @import {Line} from "../types.js" */

/** @typedef {[xs: number[], ...lines: (number | null)[][]]} Columns */

export class CurveChart {
  /** @type {Columns | null} */
  #data = null;
  /** @type {Hist[]} */
  #hists = [];

  /** @param {{title: string, lines: Line[], height?: number}} given */
  constructor(given) {
    this.given = given;
    this.figure = new Figure({
      title: given.title,
      unit: "latency over 1/(1−q)",
      about: "What was observed, drawn as far as ten samples lie above.",
      columns: [{ title: "percentile" }, ...given.lines.map(({ title }) => ({ title }))],
    });
    this.values = given.lines.map((line) => this.figure.addKey(line));
    const [{ title: first }] = given.lines;
    this.figure.addTool("hgrm", `hgrm, ${first}`, () => {
      if (this.#hists.length > 0) saveText(fileName(first, "hgrm"), hgrmOf(this.#hists[0]));
    });
    this.place = placed(this.figure.plot, given.height ?? 240, (size) => this.#make(size));
    this.element = this.figure.element;
  }

  /** @param {Hist[]} hists one a line @param {string} summary */
  update(hists, summary) {
    const xs = curvePoints(Math.max(...hists.map(({ count }) => count)));
    const lines = hists.map((hist) => curveValues(hist, xs));
    this.#hists = hists;
    this.#data = [xs, ...lines];
    this.place.plot()?.setData(this.#data);
    this.#legend(this.place.plot()?.cursor.idx);
    this.figure.describe(
      xs.length > 0 ? summary : "Too few samples for any percentile.",
      () => xs.map((x, at) => [nameAt(x), ...lines.map((line) => latency(line[at]))]),
      () => [
        ["percentile", ...this.given.lines.map(({ title }) => `${title}, us`)],
        ...xs.map((x, at) => [percentAt(x), ...lines.map((line) => line[at])]),
      ],
    );
  }

  release() {
    this.figure.release();
    this.place.release();
  }

  /** @param {{width: number, height: number}} size */
  #make(size) {
    const { lines } = this.given;
    return new uPlot(
      {
        ...size,
        padding: [6, 18, 0, 0],
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false }, points: { size: 5, width: 1 } },
        scales: {
          x: { time: false, distr: 3, range: (_plot, _least, most) => [1, Math.max(most ?? 10, 10)] },
          y: latencyScale(),
        },
        axes: [
          axis({
            size: 26,
            space: 30,
            grid: { show: true, stroke: () => colour("--grid"), width: 1 },
            splits: ({
              scales: {
                x: { min = 0, max = 0 },
              },
            }) => TICKS.filter((tick) => tick >= min && tick <= max),
            filter: (_plot, splits) => splits,
            values: (plot, splits) => splits.map((x) => (plot.width < 560 && (x === 4 || x === 20) ? "" : nameAt(x))),
          }),
          latencyAxis(),
        ],
        series: [
          {},
          ...lines.map((line) => ({
            stroke: () => colour(line.colour),
            width: line.width ?? 1.5,
            dash: line.dash,
            points: { show: false },
          })),
        ],
        hooks: { init: [(plot) => cursorKeys(plot)], setCursor: [(plot) => this.#legend(plot.cursor.idx)] },
      },
      this.#data ?? [[], ...lines.map(() => [])],
      this.figure.plot,
    );
  }

  /**
   * Latencies at the cursor; else those at the 99th percentile, where it rests on enough clusters of time.
   * @param {number | null} [index]
   */
  #legend(index) {
    if (!this.#data) return;
    const [xs, ...columns] = this.#data;
    const at = index ?? xs.indexOf(100);
    this.figure.setWhen(at >= 0 && at < xs.length ? nameAt(xs[at]) : "");
    /** @param {number} line */
    const isShown = (line) => at >= 0 && (index != null || clustersOf(this.#hists[line], 99) === undefined);
    this.values.forEach((place, line) => setText(place, latency(isShown(line) ? (columns[line][at] ?? null) : null)));
  }
}

/**
 * Where the curve is drawn, 1/(1-q), as far as ten of so many samples lie above.
 * @param {number} count
 * @returns {number[]}
 */
function curvePoints(count) {
  const points = [];
  for (let step = 1; 10 ** (step / STEPS_A_DECADE) <= count / 10; step += 1) points.push(10 ** (step / STEPS_A_DECADE));
  return [...new Set([...points, ...TICKS.filter((tick) => tick <= count / 10)])].sort((one, other) => one - other);
}

/** The latency at each point, us; null beyond what the count supports. @param {Hist} hist @param {number[]} xs */
function curveValues(hist, xs) {
  const supported = xs.filter((x) => x <= hist.count / 10);
  const values = percentiles(hist, supported.map(percentAt));
  return xs.map((_x, at) => (at < values.length ? values[at] : null));
}

/** @param {number} x */
function percentAt(x) {
  return EXACT.get(x) ?? 100 * (1 - 1 / x);
}

/** @param {number} x */
function nameAt(x) {
  if (EXACT.has(x)) return `p${EXACT.get(x)}`;
  return `p${percentAt(x).toFixed(Math.max(1, Math.floor(Math.log10(x))))}`;
}

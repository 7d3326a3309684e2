/** Time by latency, with the number of samples as shade: a canvas hook on an empty uPlot, rows on bucket edges. */

import { Figure } from "./figure.js";
import { brushHooks, latencyAxis, marksHook, placed, timeAxis, timeCursor } from "./plot.js";
import { h, setText } from "../dom.js";
import { clockTime, counted, elapsed, latency, whole } from "../format.js";
import { countsByRow, rowLowest, rowOf, shownPercentile } from "../hdr.js";
import { channels, colour } from "../theme.js";

const LEGEND_STEPS = 6;
/** Lines over the map, if asked for, each with a casing in the colour of the paper, as the map has colours of its own. */
const OVER = [
  { title: "p50", colour: "--p50", width: 2 },
  { title: "max", colour: "--max", width: 1.5, dash: [4, 3] },
];

/** @import {Actions, Cell, Line, Plot, PlotData} from "../types.js" */
/** @import {HistBin, View} from "../view.js" */

/** @typedef {{from: number, to: number, rows: Map<number, number>}} Column */

export class Heatmap {
  /** @type {View | null} */
  #view = null;
  /** @type {Column[]} */
  #columns = [];
  #most = 1;
  /** @type {(number | null)[][]} p50 and maximum of each bin */
  #over = [];
  /** @type {[number, number]} from and to which one, if nothing was measured those of 1 to 32 ms */
  #rows = [40, 60];

  /** @param {{title: string, actions: Actions, height?: number, lines?: boolean}} given lines: p50 and max over it */
  constructor(given) {
    this.given = given;
    this.figure = new Figure({
      title: given.title,
      unit: "samples",
      columns: [
        { title: "from" },
        { title: "to" },
        { title: "latency from" },
        { title: "below" },
        { title: "samples" },
      ],
    });
    this.ramp = h("span.ramp");
    this.most = h("span");
    this.read = h("b");
    this.figure.legend.append(h("div.key", {}, h("span", {}, "1 ", this.ramp, " ", this.most), this.read));
    this.lines = given.lines ? OVER : [];
    this.values = this.lines.map((line) => this.figure.addKey(line));
    this.steps = Array.from({ length: LEGEND_STEPS }, () => this.ramp.appendChild(h("i")));
    this.place = placed(this.figure.plot, given.height ?? 240, (size) => this.#make(size));
    this.element = this.figure.element;
  }

  /**
   * @param {View} view
   * @param {HistBin[]} bins
   * @param {string} summary
   * @param {[least: number, most: number]} [of] the latencies that the axis has, us, if not those of the bins
   */
  update(view, bins, summary, of) {
    this.#view = view;
    this.#columns = heatColumns(bins);
    this.#most = Math.max(1, ...this.#columns.flatMap(({ rows }) => [...rows.values()]));
    this.#over = [
      bins.map(({ hist }) => shownPercentile(hist, 50)),
      bins.map(({ hist }) => (hist.count > 0 ? hist.maxUs : null)),
    ];
    // The warm-up is slow: the rows are those of the measured load, as far as there is any in the range.
    const measured = bins.filter(({ from, to }) => from >= view.flow.from && to <= view.flow.to);
    const ruling = measured.length > 0 ? measured : bins;
    const [least, most] = of ?? latencyRange(ruling);
    this.#rows = bins.length > 0 ? [rowOf(least), rowOf(most) + 1] : [40, 60];
    const cut = bins.some(({ hist }) => rowOf(hist.maxUs) >= this.#rows[1]);
    this.#colourLegend();
    const plot = this.place.plot();
    plot?.setData(this.#data(view));
    this.#read(plot);
    const said = `${summary}${cut ? "; slower ones of the warm-up are above the axis" : ""}`;
    this.figure.describe(
      bins.length > 0 ? said : "Nothing was measured in this range.",
      () => this.#table(view),
      () => this.#raw(),
    );
  }

  release() {
    this.figure.release();
    this.place.release();
  }

  /** @param {View} view @returns {PlotData} */
  #data({ begin }) {
    const xs = this.#columns.map(({ from, to }) => ((from + to) / 2 - begin) / 1000);
    return [xs, ...(this.lines.length > 0 ? this.#over.flatMap((line) => [line, line]) : [xs.map(() => null)])];
  }

  /** @param {{width: number, height: number}} size */
  #make(size) {
    const { actions } = this.given;
    const brush = brushHooks(() => this.#view?.begin ?? 0, actions);
    return new uPlot(
      {
        ...size,
        padding: [6, 18, 0, 0],
        legend: { show: false },
        cursor: { ...timeCursor(), y: true, points: { show: false } },
        scales: {
          x: { time: false, range: () => this.#xRange() },
          y: { distr: 3, range: () => [rowLowest(this.#rows[0]), rowLowest(this.#rows[1])] },
        },
        axes: [timeAxis(), latencyAxis()],
        series: this.lines.length > 0 ? [{}, ...this.lines.flatMap(cased)] : [{}, {}],
        hooks: {
          ...brush,
          drawClear: [marksHook(() => ({ view: this.#view }))],
          drawAxes: [(plot) => this.#paint(plot)],
          setCursor: [(plot) => this.#read(plot)],
        },
      },
      this.#view ? this.#data(this.#view) : [[], []],
      this.figure.plot,
    );
  }

  /** @returns {[number, number]} */
  #xRange() {
    if (!this.#view) return [0, 1];
    const { begin, range } = this.#view;
    return [(range.from - begin) / 1000, (range.to - begin) / 1000];
  }

  /** @param {Plot} plot */
  #paint(plot) {
    if (!this.#view) return;
    this.#colourLegend();
    const { ctx, bbox } = plot;
    const { begin } = this.#view;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const { from, to, rows } of this.#columns) {
      const left = Math.round(plot.valToPos((from - begin) / 1000, "x", true));
      const right = Math.max(left + 1, Math.round(plot.valToPos((to - begin) / 1000, "x", true)));
      for (const [row, count] of rows) {
        const bottom = Math.round(plot.valToPos(rowLowest(row), "y", true));
        const top = Math.round(plot.valToPos(rowLowest(row + 1), "y", true));
        ctx.fillStyle = heat(depth(count, this.#most));
        ctx.fillRect(left, top, right - left, Math.max(1, bottom - top));
      }
    }
    ctx.restore();
  }

  /** The cell at the cursor; all of them without one. @param {Plot | null} plot */
  #read(plot) {
    const { left = -1, top = -1, idx = null } = plot?.cursor ?? {};
    this.values.forEach((place, line) =>
      setText(place, left < 0 || idx === null ? "" : latency(this.#over[line][idx])),
    );
    if (!plot || !this.#view || left < 0) {
      this.figure.setWhen("range");
      setText(
        this.read,
        counted(
          this.#columns.reduce((sum, { rows }) => sum + total(rows), 0),
          "sample",
        ),
      );
      return;
    }
    const ms = this.#view.begin + plot.posToVal(left, "x") * 1000;
    const column = this.#columns.find(({ from, to }) => ms >= from && ms < to);
    this.figure.setWhen(elapsed((ms - this.#view.begin) / 1000), clockTime(ms));
    if (!plot.over.matches(":hover")) {
      setText(this.read, counted(column ? total(column.rows) : 0, "sample"));
      return;
    }
    const row = rowOf(plot.posToVal(top, "y"));
    setText(
      this.read,
      `${counted(column?.rows.get(row) ?? 0, "sample")} of ${latency(rowLowest(row))} to ${latency(rowLowest(row + 1))}`,
    );
  }

  #colourLegend() {
    setText(this.most, whole(this.#most));
    this.steps.forEach((step, at) => step.style.setProperty("background", heat(at / (LEGEND_STEPS - 1))));
  }

  #raw() {
    const cells = this.#columns.flatMap(({ from, to, rows }) =>
      [...rows.entries()]
        .sort(([one], [other]) => one - other)
        .map(([row, count]) => [from, to, rowLowest(row), rowLowest(row + 1), count]),
    );
    return [["from_unix_ms", "to_unix_ms", "from_us", "below_us", "samples"], ...cells];
  }

  /** @param {View} view @returns {Cell[][]} */
  #table({ begin }) {
    return this.#columns.flatMap(({ from, to, rows }) =>
      [...rows.entries()]
        .sort(([one], [other]) => one - other)
        .map(([row, count]) => [
          elapsed((from - begin) / 1000),
          elapsed((to - begin) / 1000),
          latency(rowLowest(row)),
          latency(rowLowest(row + 1)),
          whole(count),
        ]),
    );
  }
}

/** The least and the greatest latency, us. @param {HistBin[]} bins @returns {[least: number, most: number]} */
export function latencyRange(bins) {
  return [Math.min(...bins.map(({ hist }) => hist.minUs)), Math.max(...bins.map(({ hist }) => hist.maxUs))];
}

/** A line, and what is drawn below it so that it is seen on any shade. @param {Line} line */
function cased({ colour: name, width = 1.5, dash }) {
  const points = { show: false };
  return [
    { stroke: () => colour("--paper"), width: width + 2.5, points },
    { stroke: () => colour(name), width, dash, points },
  ];
}

/** The bins as columns of counts by row. @param {HistBin[]} bins @returns {Column[]} */
function heatColumns(bins) {
  return bins.map(({ from, to, hist }) => ({ from, to, rows: countsByRow(hist) }));
}

/** @param {Map<number, number>} rows */
function total(rows) {
  return [...rows.values()].reduce((sum, count) => sum + count, 0);
}

/**
 * Logarithmic, so that a single slow sample is seen beside thousands of fast ones.
 * @param {number} count
 * @param {number} most
 */
function depth(count, most) {
  return most <= 1 ? 1 : Math.log(count) / Math.log(most);
}

/** From pale over the accent to ink. @param {number} part 0 to 1 */
function heat(part) {
  const stops = ["--heat-0", "--heat-1", "--heat-2"].map(channels);
  const [low, high] = part < 0.5 ? [stops[0], stops[1]] : [stops[1], stops[2]];
  const within = part < 0.5 ? part * 2 : part * 2 - 1;
  return `rgb(${low.map((value, at) => Math.round(value + (high[at] - value) * within)).join(" ")})`;
}

/** Lines over time: rates, percentiles, gauges. All of them share cursor, brush, marks and the range. */

import { Figure } from "./figure.js";
import { axis, brushHooks, latencyAxis, latencyScale, marksHook, placed, timeAxis, timeCursor } from "./plot.js";
import { setText } from "../dom.js";
import { clockTime, elapsed } from "../format.js";
import { colour } from "../theme.js";

/** @import {Actions, Line, Overall, Plot, Row} from "../types.js" */
/** @import {View} from "../view.js" */

/** @typedef {[xs: number[], ...lines: (number | null)[][]]} Columns */

export class TimeChart {
  /** @type {View | null} */
  #view = null;
  /** @type {Columns | null} */
  #data = null;
  /** @type {Row[]} */
  #rows = [];
  /** @type {Overall} */
  #overall = { label: "", values: [] };

  /**
   * @param {{title: string, unit?: string, about?: string, lines: Line[], log?: boolean, height?: number,
   *          steps?: number[], tick: (value: number) => string, text: (value: number | null) => string,
   *          actions: Actions}} given
   *   steps: between lines of the grid; tick: a value on the axis; text: a value in legend and table, with its unit.
   */
  constructor(given) {
    this.given = given;
    const { title, unit, about, lines } = given;
    this.figure = new Figure({
      title,
      unit,
      about,
      columns: [{ title: "from" }, { title: "to" }, ...lines.map((line) => ({ title: line.title }))],
    });
    this.values = lines.map((line) => this.figure.addKey(line));
    this.place = placed(this.figure.plot, given.height ?? 200, (size) => this.#make(size));
    this.element = this.figure.element;
  }

  /**
   * @param {View} view
   * @param {Row[]} rows
   * @param {Overall} overall
   * @param {string} summary
   * @param {string} [none] what is said without any row
   */
  update(view, rows, overall, summary, none = "Nothing was measured in this range.") {
    this.#view = view;
    this.#rows = rows;
    this.#overall = overall;
    this.#data = this.#columns(view);
    this.place.plot()?.setData(this.#data);
    this.#legend(this.place.plot()?.cursor.idx);
    const text = this.given.text;
    this.figure.describe(
      rows.length > 0 ? summary : none,
      () =>
        rows.map(({ from, to, values }) => [
          elapsed((from - view.begin) / 1000),
          elapsed((to - view.begin) / 1000),
          ...values.map(text),
        ]),
      () => this.#raw(),
    );
  }

  /** Rows in plain numbers; latencies in us. */
  #raw() {
    const { lines, log, unit } = this.given;
    const titles = lines.map(({ title }) => [title, log ? "us" : unit].filter(Boolean).join(", "));
    return [
      ["from_unix_ms", "to_unix_ms", ...titles],
      ...this.#rows.map(({ from, to, values }) => [from, to, ...values]),
    ];
  }

  release() {
    this.figure.release();
    this.place.release();
  }

  /** x and each line, with a gap where nothing was measured for more than two bins. @param {View} view */
  #columns({ begin, widthMs }) {
    /** @type {number[]} */
    const xs = [];
    /** @type {(number | null)[][]} */
    const lines = this.given.lines.map(() => []);
    /** @type {number | null} */
    let before = null;
    for (const { from, to, values } of this.#rows) {
      if (before !== null && from - before > 2 * widthMs) {
        xs.push(((before + from) / 2 - begin) / 1000);
        for (const line of lines) line.push(null);
      }
      xs.push(((from + to) / 2 - begin) / 1000);
      values.forEach((value, at) => lines[at].push(value));
      before = to;
    }
    return /** @type {Columns} */ ([xs, ...lines]);
  }

  /** @param {{width: number, height: number}} size */
  #make(size) {
    const { lines, log = false, tick, steps } = this.given;
    const brush = brushHooks(() => this.#view?.begin ?? 0, this.given.actions);
    return new uPlot(
      {
        ...size,
        padding: [6, 18, 0, 0],
        legend: { show: false },
        cursor: timeCursor(),
        scales: {
          x: { time: false, range: () => this.#xRange() },
          y: log ? latencyScale() : { range: zeroRange },
        },
        axes: [
          timeAxis(),
          log
            ? latencyAxis()
            : axis({
                size: 58,
                space: 34,
                values: (_plot, splits) => splits.map(tick),
                ...(steps ? { incrs: steps } : {}),
              }),
        ],
        series: [
          {},
          ...lines.map(({ fill, ...line }) => ({
            stroke: () => colour(line.colour),
            fill: fill ? () => colour(fill) : undefined,
            width: line.width ?? 1.5,
            dash: line.dash,
            points: { show: isLone },
          })),
        ],
        hooks: {
          ...brush,
          drawClear: [marksHook(() => ({ view: this.#view }))],
          setCursor: [(plot) => this.#legend(plot.cursor.idx)],
        },
      },
      this.#data ?? [[], ...lines.map(() => [])],
      this.figure.plot,
    );
  }

  /** @returns {[number, number]} */
  #xRange() {
    if (!this.#view) return [0, 1];
    const { begin, range } = this.#view;
    return [(range.from - begin) / 1000, (range.to - begin) / 1000];
  }

  /** Values at the cursor, or those of the range. @param {number | null} [index] */
  #legend(index) {
    if (!this.#data || !this.#view) return;
    const { begin } = this.#view;
    const [xs, ...columns] = this.#data;
    const pointed = index !== null && index !== undefined && index < xs.length;
    if (pointed) this.figure.setWhen(elapsed(xs[index]), clockTime(begin + xs[index] * 1000));
    else this.figure.setWhen(this.#overall.label);
    this.values.forEach((place, line) => {
      setText(place, this.given.text((pointed ? columns[line][index] : this.#overall.values[line]) ?? null));
    });
  }
}

/** Whether a line has less than two points, so that only a mark shows it. @param {Plot} plot @param {number} at */
function isLone(plot, at) {
  return /** @type {Columns} */ (plot.data)[at].filter((value) => value !== null).length < 2;
}

/**
 * @param {Plot} _plot
 * @param {number} _least
 * @param {number} most
 * @returns {[number, number]}
 */
function zeroRange(_plot, _least, most) {
  return [0, most > 0 ? most * 1.08 : 1];
}

/** Lines over time: rates, percentiles, gauges. All of them share cursor, brush, marks and the range. */

import { Figure } from "./figure.js";
import { axis, brushHooks, latencyAxis, latencyScale, marksHook, placed, timeAxis, timeCursor } from "./plot.js";
import { setText } from "../dom.js";
import { clockTime, elapsed } from "../format.js";
import { colour } from "../theme.js";

/**
 * @typedef {{title: string, colour: string, dash?: number[], width?: number, fill?: string}} Line
 * @typedef {{from: number, to: number, values: (number | null)[]}} Row  One bin with the value of each line.
 * @typedef {{label: string, values: (number | null)[]}} Overall  What the legend shows while no moment is pointed at.
 */

export class TimeChart {
  #view = null;
  #data = null;
  #rows = [];
  #overall = { label: "", values: [] };

  /**
   * @param {{title: string, unit: string, about?: string, lines: Line[], log?: boolean, height?: number,
   *          steps?: number[], tick: (value: number) => string, text: (value: number | null) => string,
   *          actions: {brush: Function, whole: Function}}} given
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

  /** @param {import("../view.js").View} view @param {Row[]} rows @param {Overall} overall @param {string} summary */
  update(view, rows, overall, summary) {
    this.#view = view;
    this.#rows = rows;
    this.#overall = overall;
    this.#data = this.#columns();
    this.place.plot()?.setData(this.#data);
    this.#legend(this.place.plot()?.cursor.idx);
    const text = this.given.text;
    this.figure.describe(rows.length > 0 ? summary : "Nothing was measured in this range.", () =>
      rows.map(({ from, to, values }) => [
        elapsed((from - view.begin) / 1000),
        elapsed((to - view.begin) / 1000),
        ...values.map(text),
      ]),
    );
  }

  release() {
    this.figure.release();
    this.place.release();
  }

  /** x and each line, with a gap where nothing was measured for more than two bins. */
  #columns() {
    const { begin, widthMs } = this.#view;
    const columns = [[], ...this.given.lines.map(() => [])];
    let before = null;
    for (const { from, to, values } of this.#rows) {
      if (before !== null && from - before > 2 * widthMs) {
        columns.forEach((column, at) => column.push(at === 0 ? ((before + from) / 2 - begin) / 1000 : null));
      }
      columns[0].push(((from + to) / 2 - begin) / 1000);
      values.forEach((value, at) => columns[at + 1].push(value));
      before = to;
    }
    return columns;
  }

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
          ...lines.map((line) => ({
            stroke: () => colour(line.colour),
            fill: line.fill ? () => colour(line.fill) : undefined,
            width: line.width ?? 1.5,
            dash: line.dash,
            points: { show: (plot, at) => plot.data[at].filter((value) => value !== null).length < 2 },
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

  #xRange() {
    if (!this.#view) return [0, 1];
    const { begin, range } = this.#view;
    return [(range.from - begin) / 1000, (range.to - begin) / 1000];
  }

  /** Values at the cursor, or those of the range. */
  #legend(index) {
    if (!this.#data) return;
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

function zeroRange(_plot, _least, most) {
  return [0, most > 0 ? most * 1.08 : 1];
}

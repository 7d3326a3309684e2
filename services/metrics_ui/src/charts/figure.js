/** What all charts have around them: title, summary in words, legend, and a table twin of the same figures. */

import { h, setAttribute, setText, show, svg, table } from "../dom.js";
import { fileName, save, saveText } from "../save.js";
import { csvOf } from "../textfiles.js";
import { colour } from "../theme.js";
import { axisFont } from "./plot.js";

const TABLE_ROWS_MAX = 2000;
/** @import {Cell, Line} from "../types.js" */
/** @import {Table} from "../dom.js" */

/** @type {Set<Figure>} */
const figures = new Set();
let allTables = false;
let numbered = 0;

/** Show the tables of all charts, or none of them. @returns {boolean} whether they are shown now */
export function toggleAllTables() {
  allTables = !allTables;
  for (const figure of figures) figure.showTable(allTables);
  return allTables;
}

export class Figure {
  /** @type {() => Cell[][]} */
  #rows = () => [];
  /** @type {(() => (string | number | null)[][]) | undefined} */
  #raw;
  /** @type {Line[]} */
  #lines = [];
  /** @type {Table} */
  #table;

  /**
   * @param {{title: string, unit?: string, about?: string, columns: {title: string, unit?: string, numeric?: boolean}[]}} given
   *   about: what there is to know to read it; columns: of the table twin, numbers if it is not said of one.
   */
  constructor({ title, unit = "", about = "", columns }) {
    numbered += 1;
    const id = `figure-${numbered}`;
    this.title = title;
    this.columns = columns;
    this.plot = h("div.plot", { role: "img", "aria-label": title });
    this.when = h("b");
    this.clock = h("span");
    this.legend = h("div.legend", { "aria-hidden": "true" }, h("div.key", {}, this.when, this.clock));
    this.summary = h("p.summary", { id: `${id}-summary` });
    this.toggle = h("button.quiet", { type: "button", on: { click: () => this.showTable(!this.tabled) } }, "table");
    setAttribute(this.toggle, "aria-label", `${title} as a table`);
    this.tools = h("span.tools", {}, this.toggle);
    this.addTool("csv", "csv", () => saveText(fileName(title, "csv"), this.#csv(), "text/csv"));
    this.addTool("png", "png", () => this.#picture());
    this.#table = table({
      caption: `${title}${unit ? `, ${unit}` : ""}`,
      columns: columns.map((column) => ({ numeric: true, ...column })),
      quiet: true,
    });
    this.twin = h("div.twin", { hidden: true }, this.#table.element);
    this.element = h(
      "figure.chart",
      { "aria-labelledby": id },
      h("figcaption", {}, h("h3", { id }, title, unit && h("span.unit", {}, ` ${unit}`)), this.tools),
      this.legend,
      this.plot,
      this.twin,
      this.summary,
      about && h("p.about", {}, about),
    );
    this.tabled = false;
    figures.add(this);
    if (allTables) this.showTable(true);
  }

  /**
   * A line in the legend, with a place for its value below its name.
   * @param {Line} line
   * @returns {HTMLElement} the place
   */
  addKey(line) {
    const value = h("b");
    this.#lines.push(line);
    this.legend.append(h("div.key", {}, h("span", {}, swatch(line), line.title), value));
    return value;
  }

  /** A file that the chart gives. @param {string} text @param {string} kind in words @param {() => void} click */
  addTool(text, kind, click) {
    const button = h("button.quiet", { type: "button", on: { click } }, text);
    setAttribute(button, "aria-label", `${this.title} as ${kind}`);
    this.tools.prepend(button);
  }

  /** What the legend's values are of: a moment, or the range. @param {string} when @param {string} [clock] */
  setWhen(when, clock = "") {
    setText(this.when, when);
    setText(this.clock, clock);
  }

  /**
   * Say what is to be seen, and give the table's rows, which are worked out only if they are shown.
   * @param {string} text
   * @param {() => Cell[][]} rows
   * @param {() => (string | number | null)[][]} [raw] the same for a CSV file, as plain numbers, with titles first
   */
  describe(text, rows, raw) {
    setText(this.summary, text);
    setAttribute(this.plot, "aria-label", `${this.title}. ${text}`);
    this.#rows = rows;
    this.#raw = raw;
    if (this.tabled) this.#fill();
  }

  /** Put the unit of the twin's columns. @param {string[]} units */
  setUnits(units) {
    this.#table.setUnits(units);
  }

  /** The table instead of the chart, or the chart again. @param {boolean} shown */
  showTable(shown) {
    this.tabled = shown;
    show(this.twin, shown);
    show(this.plot, !shown);
    setText(this.toggle, shown ? "chart" : "table");
    setAttribute(this.toggle, "aria-label", `${this.title} as a ${shown ? "chart" : "table"}`);
    if (shown) this.#fill();
  }

  /** No longer among those that `toggleAllTables` reaches. */
  release() {
    figures.delete(this);
  }

  #csv() {
    if (this.#raw) return csvOf(this.#raw());
    const texts = this.#rows().map((row) => row.map((cell) => (typeof cell === "string" ? cell : cell.text)));
    return csvOf([this.columns.map(({ title }) => title), ...texts]);
  }

  /** The chart as it is drawn, with its title and the names of its lines above it. */
  #picture() {
    const canvas = this.plot.querySelector("canvas");
    const picture = document.createElement("canvas");
    const ctx = picture.getContext("2d");
    if (!canvas || !ctx) return;
    const ratio = window.devicePixelRatio || 1;
    [picture.width, picture.height] = [canvas.width, canvas.height + 44 * ratio];
    ctx.fillStyle = colour("--paper");
    ctx.fillRect(0, 0, picture.width, picture.height);
    ctx.drawImage(canvas, 0, 44 * ratio);
    ctx.scale(ratio, ratio);
    ctx.fillStyle = colour("--ink");
    ctx.font = `600 ${axisFont(13)}`;
    ctx.fillText(this.title, 8, 17);
    ctx.font = axisFont(11);
    this.#lines.reduce((left, line) => drawnKey(ctx, line, left), 8);
    picture.toBlob((blob) => blob && save(fileName(this.title, "png"), blob));
  }

  #fill() {
    const rows = this.#rows();
    this.#table.setRows(rows.slice(-TABLE_ROWS_MAX));
  }
}

/**
 * A line's swatch and name.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Line} line
 * @param {number} left
 * @returns {number} where the next one begins
 */
function drawnKey(ctx, { title, colour: name, dash = [], width = 1.5 }, left) {
  ctx.strokeStyle = colour(name);
  ctx.lineWidth = width;
  ctx.setLineDash(dash);
  ctx.beginPath();
  ctx.moveTo(left, 32);
  ctx.lineTo(left + 20, 32);
  ctx.stroke();
  ctx.fillText(title, left + 25, 36);
  return left + 41 + ctx.measureText(title).width;
}

/** @param {Line} line */
function swatch({ colour: name, dash = [], width = 1.5 }) {
  const line = svg("line", { x1: 0, y1: 5, x2: 20, y2: 5, "stroke-width": width, "stroke-dasharray": dash.join(" ") });
  line.style.setProperty("stroke", `var(${name})`);
  return svg("svg.swatch", { width: 20, height: 10, "aria-hidden": "true" }, line);
}

/** The whole run as a strip: a percentile over time, the phases, and the range that is shown, picked by dragging. */

import { h, setAttribute } from "../dom.js";
import { elapsed } from "../format.js";
import { PERCENTS, percentile, supports } from "../hdr.js";
import { axisFont } from "./plot.js";
import { warmUp } from "../phases.js";
import { END_TO_END, SENT } from "../steps.js";
import { colour, onTheme } from "../theme.js";

/** @import {Range} from "../range.js" */
/** @import {Actions, Note, Part} from "../types.js" */
/** @import {View} from "../view.js" */

/** @typedef {Part & {part: number}} ShapePoint  part: of the height */
/** @typedef {{percent: number, tail: ShapePoint[], rate: ShapePoint[]}} Shape */
/** @typedef {{whole: View, shape: Shape, range: Range}} Drawn */
/** @typedef {(ms: number) => number} Place  Where a time is, in pixels. */

const HEIGHT = 56;
const FOOT = 14;

export class Strip {
  /** @type {Drawn | null} */
  #drawn = null;
  /** @type {number | null} where dragging began, ms */
  #from = null;

  /** @param {Actions} actions */
  constructor(actions) {
    this.actions = actions;
    this.canvas = h("canvas.strip", { role: "img", height: HEIGHT });
    this.window = h("div.window", { "aria-hidden": "true" });
    this.element = h("div.stripbox", {}, this.canvas, this.window);
    this.canvas.addEventListener("pointerdown", (event) => this.#down(event));
    this.canvas.addEventListener("pointermove", (event) => this.#move(event));
    this.canvas.addEventListener("pointerup", (event) => this.#up(event));
    this.canvas.addEventListener("dblclick", () => actions.whole());
    new ResizeObserver(() => this.#paint()).observe(this.element);
    onTheme(() => this.#paint());
  }

  /** Which percentile the line is. */
  get percent() {
    return this.#drawn?.shape.percent ?? 99;
  }

  /**
   * @param {View} whole a view of the whole run
   * @param {Range} range what is shown
   */
  update(whole, range) {
    const shape = this.#drawn?.whole === whole ? this.#drawn.shape : shapeOf(whole);
    this.#drawn = { whole, shape, range };
    /** @param {number} ms */
    const seconds = (ms) => elapsed((ms - whole.begin) / 1000);
    setAttribute(
      this.canvas,
      "aria-label",
      `The whole run, ${seconds(whole.span.to)} long; shown is ${
        range.whole ? "all of it" : `${seconds(range.from)} to ${seconds(range.to)}`
      }.`,
    );
    this.#paint();
  }

  #paint() {
    const width = this.element.clientWidth;
    const ctx = this.canvas.getContext("2d");
    if (!this.#drawn || !ctx || width < 40) return;
    const { whole, shape, range } = this.#drawn;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = width * ratio;
    this.canvas.height = HEIGHT * ratio;
    ctx.scale(ratio, ratio);
    const { span, model } = whole;
    /** @type {Place} */
    const x = (ms) => ((ms - span.from) / (span.to - span.from)) * width;
    ctx.clearRect(0, 0, width, HEIGHT);
    for (const { from, to } of warmUp(model.notes, span)) {
      ctx.fillStyle = colour("--shade");
      ctx.fillRect(x(from), 0, x(to) - x(from), HEIGHT - FOOT);
    }
    this.#area(ctx, shape.rate, x, "--strip-rate");
    this.#line(ctx, shape.tail, x);
    this.#times(ctx, whole, width, x);
    this.#phases(ctx, model.notes, x, width);
    this.#frame(span, range, !range.whole);
  }

  /** @param {CanvasRenderingContext2D} ctx @param {ShapePoint[]} points @param {Place} x @param {string} name */
  #area(ctx, points, x, name) {
    ctx.fillStyle = colour(name);
    for (const { from, to, part } of points) {
      const height = part * (HEIGHT - FOOT - 14);
      ctx.fillRect(x(from), HEIGHT - FOOT - height, Math.max(1, x(to) - x(from) + 0.5), height);
    }
  }

  /** @param {CanvasRenderingContext2D} ctx @param {ShapePoint[]} points @param {Place} x */
  #line(ctx, points, x) {
    ctx.strokeStyle = colour("--rate-2");
    ctx.lineWidth = 1.25;
    ctx.beginPath();
    let before = -Infinity;
    for (const { from, to, part } of points) {
      const y = HEIGHT - FOOT - 2 - part * (HEIGHT - FOOT - 16);
      if (from - before > 2 * (to - from)) ctx.moveTo(x((from + to) / 2), y);
      else ctx.lineTo(x((from + to) / 2), y);
      before = to;
    }
    ctx.stroke();
  }

  /** @param {CanvasRenderingContext2D} ctx @param {View} whole @param {number} width @param {Place} x */
  #times(ctx, { span, begin }, width, x) {
    const step =
      [5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14_400].find((s) => x(span.from + s * 1000) >= 64) ?? 86_400;
    ctx.fillStyle = colour("--ink-2");
    ctx.strokeStyle = colour("--grid");
    ctx.font = axisFont(10);
    ctx.textBaseline = "bottom";
    ctx.beginPath();
    for (let s = 0; begin + s * 1000 <= span.to; s += step) {
      const at = x(begin + s * 1000);
      ctx.textAlign = s === 0 ? "left" : at > width - 16 ? "right" : "center";
      ctx.fillText(elapsed(s), at, HEIGHT);
    }
    ctx.moveTo(0, HEIGHT - FOOT + 0.5);
    ctx.lineTo(width, HEIGHT - FOOT + 0.5);
    ctx.stroke();
  }

  /** @param {CanvasRenderingContext2D} ctx @param {Note[]} notes @param {Place} x @param {number} width */
  #phases(ctx, notes, x, width) {
    ctx.textBaseline = "top";
    ctx.textAlign = "left";
    ctx.lineWidth = 1;
    let free = -Infinity;
    const phases = notes.filter(({ kind }) => kind === "phase");
    phases.forEach(({ unix_ms: ms, name }, at) => {
      const left = Math.round(x(ms)) + 0.5;
      ctx.strokeStyle = colour("--mark");
      ctx.beginPath();
      ctx.moveTo(left, 0);
      ctx.lineTo(left, HEIGHT - FOOT);
      ctx.stroke();
      const room = (at + 1 < phases.length ? x(phases[at + 1].unix_ms) : width) - left;
      const wide = ctx.measureText(name).width;
      if (left > free && wide + 6 < room) {
        ctx.fillStyle = colour("--ink-2");
        ctx.fillText(name, left + 4, 2);
        free = left + wide + 4;
      }
    });
  }

  /** Frame a part of the run. @param {Part} span of the run @param {Part} framed @param {boolean} shown */
  #frame(span, framed, shown) {
    const scale = this.element.clientWidth / (span.to - span.from);
    this.window.hidden = !shown;
    this.window.style.setProperty("left", `${(framed.from - span.from) * scale}px`);
    this.window.style.setProperty("width", `${Math.max(3, (framed.to - framed.from) * scale)}px`);
  }

  /** @param {PointerEvent} event */
  #down(event) {
    if (event.button !== 0 || !this.#drawn) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.#from = this.#msAt(event, this.#drawn.whole.span);
  }

  /** @param {PointerEvent} event */
  #move(event) {
    if (this.#from === null || !this.#drawn) return;
    const { span } = this.#drawn.whole;
    const [from, to] = [this.#from, this.#msAt(event, span)].sort((one, other) => one - other);
    this.#frame(span, { from, to }, true);
  }

  /** @param {PointerEvent} event */
  #up(event) {
    if (this.#from === null || !this.#drawn) return;
    const { whole, range } = this.#drawn;
    const { span } = whole;
    const [from, to] = [this.#from, this.#msAt(event, span)].sort((one, other) => one - other);
    this.#from = null;
    if (((to - from) / (span.to - span.from)) * this.element.clientWidth >= 4) this.actions.brush(from, to);
    else this.update(whole, range);
  }

  /** @param {PointerEvent} event @param {Part} span of the run */
  #msAt(event, span) {
    const { left, width } = this.canvas.getBoundingClientRect();
    return span.from + Math.max(0, Math.min(1, (event.clientX - left) / width)) * (span.to - span.from);
  }
}

/**
 * The highest percentile that most bins support, on a logarithmic scale, and the offered rate.
 * @param {View} view
 * @returns {Shape}
 */
function shapeOf(view) {
  const bins = view.histBins({ name: END_TO_END.name });
  /** @param {number} percent */
  const supported = (percent) => bins.filter(({ hist }) => supports(hist, percent)).length * 2 >= bins.length;
  const percent = PERCENTS.findLast((each) => each <= 99 && supported(each)) ?? PERCENTS[0];
  const known = bins.filter(({ hist }) => supports(hist, percent));
  const logs = known.map(({ hist }) => Math.log(Math.max(1, percentile(hist, percent))));
  const [least, most] = [Math.min(...logs), Math.max(...logs)];
  const rates = view.rateBins(SENT);
  const fastest = Math.max(1, ...rates.map(({ value }) => value ?? 0));
  return {
    percent,
    tail: known.map(({ from, to }, at) => ({
      from,
      to,
      part: most > least ? (logs[at] - least) / (most - least) : 0.5,
    })),
    rate: rates.flatMap(({ from, to, value }) =>
      value !== null && value > 0 ? [{ from, to, part: value / fastest }] : [],
    ),
  };
}

/** The events of a run as lanes, one a kind, under the same cursor as the charts over time; and the CPU in use. */

import { Figure } from "./figure.js";
import { axisFont, brushHooks, marksHook, placed, timeAxis, timeCursor } from "./plot.js";
import { eventAt, eventsIn, lanesOf } from "../causes.js";
import { h, setText } from "../dom.js";
import { NONE, clockTime, counted, elapsed, fixed } from "../format.js";
import { colour } from "../theme.js";

/** @import {Lane} from "../causes.js" */
/** @import {Actions, Cell, EventData, Plot, PlotData, ValueBin} from "../types.js" */
/** @import {View} from "../view.js" */

const LANE_PX = 26;
const AXIS_PX = 32;
const NEAR_PX = 5;

export class Lanes {
  /** @type {View | null} */
  #view = null;
  /** @type {Lane[]} */
  #lanes = [];
  /** @type {ValueBin[]} */
  #cpu = [];
  #cores = 0;
  #shown = 0;
  /** @type {ReturnType<typeof placed> | null} */
  #place = null;

  /** @param {Actions} actions */
  constructor(actions) {
    this.actions = actions;
    this.figure = new Figure({
      title: "Events of the run",
      columns: [{ title: "from" }, { title: "length" }, { title: "what", numeric: false }],
    });
    this.read = h("b");
    this.figure.legend.append(h("div.key.said", {}, h("span", {}, "event"), this.read));
    this.element = this.figure.element;
  }

  /**
   * @param {View} view
   * @param {EventData[]} events of the run
   * @param {ValueBin[]} cpu cores in use, bin by bin
   * @param {number} cores of the machine; 0 if that is not known
   */
  update(view, events, cpu, cores) {
    this.#view = view;
    this.#lanes = lanesOf(events);
    this.#cpu = cpu;
    this.#cores = Math.max(cores, ...cpu.map(({ value }) => value ?? 0));
    const lanes = this.#lanes.length + Number(cpu.length > 0);
    if (lanes !== this.#shown) {
      this.#shown = lanes;
      this.#place?.release();
      this.figure.plot.replaceChildren();
      this.#place = lanes > 0 ? placed(this.figure.plot, lanes * LANE_PX + AXIS_PX, (size) => this.#make(size)) : null;
    }
    this.#place?.plot()?.setData(this.#data());
    this.#read(this.#place?.plot() ?? null);
    const shown = eventsIn(events, view.range);
    this.figure.describe(
      summaryOf(this.#lanes, view),
      () => shown.map((event) => rowOf(event, view)),
      () => [
        ["from_unix_ms", "length, ms", "kind", "what"],
        ...shown.map((event) => [event.begin_unix_ms, lengthOf(event), event.kind, event.text]),
      ],
    );
  }

  release() {
    this.figure.release();
    this.#place?.release();
  }

  /** @returns {PlotData} */
  #data() {
    const begin = this.#view?.begin ?? 0;
    const xs = this.#cpu.map(({ from, to }) => ((from + to) / 2 - begin) / 1000);
    return xs.length > 0 ? [xs, xs.map(() => null)] : [[0], [null]];
  }

  /** @param {{width: number, height: number}} size */
  #make(size) {
    const brush = brushHooks(() => this.#view?.begin ?? 0, this.actions);
    return new uPlot(
      {
        ...size,
        padding: [6, 18, 0, 0],
        legend: { show: false },
        cursor: { ...timeCursor(), points: { show: false } },
        scales: { x: { time: false, range: () => this.#xRange() }, y: { range: () => [0, 1] } },
        axes: [timeAxis(), { size: 58, grid: { show: false }, ticks: { show: false }, values: () => [] }],
        series: [{}, {}],
        hooks: {
          ...brush,
          drawClear: [marksHook(() => ({ view: this.#view }))],
          drawAxes: [(plot) => this.#paint(plot)],
          setCursor: [(plot) => this.#read(plot)],
        },
      },
      this.#data(),
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
    const { ctx, bbox } = plot;
    const { begin } = this.#view;
    const ratio = uPlot.pxRatio;
    const height = bbox.height / this.#shown;
    /** @param {number} ms */
    const at = (ms) => plot.valToPos((ms - begin) / 1000, "x", true);
    ctx.save();
    ctx.font = axisFont(11 * ratio);
    ctx.textBaseline = "middle";
    ctx.textAlign = "right";
    const titles = [...this.#lanes.map(({ title }) => title), ...(this.#cpu.length > 0 ? ["CPU"] : [])];
    titles.forEach((title, lane) => {
      const top = bbox.top + lane * height;
      ctx.fillStyle = colour("--ink-2");
      ctx.fillText(title, bbox.left - 6 * ratio, top + height / 2, bbox.left - 8 * ratio);
      ctx.fillStyle = colour("--grid");
      ctx.fillRect(bbox.left, Math.round(top + height) - ratio, bbox.width, ratio);
    });
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.fillStyle = colour("--event");
    this.#lanes.forEach(({ events }, lane) => {
      const top = Math.round(bbox.top + lane * height + 6 * ratio);
      for (const { begin_unix_ms: from, duration_ms: length } of events) {
        const left = Math.round(at(from));
        ctx.fillRect(left, top, Math.max(2 * ratio, Math.round(at(from + length)) - left), height - 12 * ratio);
      }
    });
    ctx.fillStyle = colour("--strip-cpu");
    const foot = bbox.top + this.#shown * height - ratio;
    for (const { from, to, value } of this.#cpu) {
      const high = ((value ?? 0) / Math.max(this.#cores, 0.01)) * (height - 4 * ratio);
      ctx.fillRect(at(from), foot - high, Math.max(1, at(to) - at(from)), high);
    }
    ctx.restore();
  }

  /** What is at the cursor: the lane's event under the pointer, or any. @param {Plot | null} plot */
  #read(plot) {
    const { left = -1, top = -1 } = plot?.cursor ?? {};
    if (!plot || !this.#view || left < 0) {
      this.figure.setWhen("range");
      setText(this.read, "");
      return;
    }
    const ms = this.#view.begin + plot.posToVal(left, "x") * 1000;
    const near = (plot.posToVal(NEAR_PX, "x") - plot.posToVal(0, "x")) * 1000;
    this.figure.setWhen(elapsed((ms - this.#view.begin) / 1000), clockTime(ms));
    const pointed = plot.over.matches(":hover") ? Math.floor((top / plot.over.clientHeight) * this.#shown) : -1;
    const lanes = pointed >= 0 ? this.#lanes.slice(pointed, pointed + 1) : this.#lanes;
    const found = lanes.map((lane) => eventAt(lane, ms, near)?.text).filter(Boolean);
    const cores = this.#cpu.find(({ from, to }) => ms >= from && ms < to)?.value;
    const cpu = cores === null || cores === undefined ? [] : [`CPU ${fixed(cores, 2)} cores`];
    setText(this.read, [...found, ...(pointed < 0 || pointed >= this.#lanes.length ? cpu : [])].join("; "));
  }
}

/** @param {Lane[]} lanes @param {View} view */
function summaryOf(lanes, view) {
  const found = lanes
    .map(({ title, events }) => ({ title, events: eventsIn(events, view.range) }))
    .filter(({ events }) => events.length > 0);
  if (found.length === 0) return "No event is known in this range.";
  return found
    .map(({ title, events }) => {
      const longest = Math.max(0, ...events.map(lengthOf).filter((length) => length !== null));
      const most = longest > 0 ? `, at most ${fixed(longest, longest < 10 ? 1 : 0)} ms` : "";
      return `${title}: ${counted(events.length, "event")}${most}`;
    })
    .join("; ");
}

/** @param {EventData} event @param {View} view @returns {Cell[]} */
function rowOf(event, { begin }) {
  const length = lengthOf(event);
  const at = elapsed((event.begin_unix_ms - begin) / 1000, 1);
  return [at, length === null ? NONE : `${fixed(length, 1)} ms`, event.text];
}

/** How long it lasted, ms; null if that is not known, or it is a moment. @param {EventData} event */
function lengthOf({ duration_ms: length, within }) {
  return within || length <= 0 ? null : length;
}

/** uPlot as all our charts have it: axes, fonts, cursor, size after the space there is, and what time charts share. */

import { axisLatency, elapsed } from "../format.js";
import { faultBands } from "../faults.js";
import { warmUp } from "../phases.js";
import { colour, onTheme } from "../theme.js";

/** @import {Actions, Plot, PlotAxis, PlotCursor, PlotHooks, PlotScale} from "../types.js" */
/** @import {View} from "../view.js" */

const SYNC_KEY = "time";
/** Kinds of notes that are no moment to be marked. */
const UNMARKED = ["verdict", "limits", "plan", "system", "result"];
/**
 * Dashes of what is marked besides phases; a collection is a short line at the foot. They have no colours: lines have.
 * @type {Record<string, number[]>}
 */
const MARKS = { boundary: [6, 2], gc: [], event: [2, 3] };
const CLICK_MS = 250;
const STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400];

/** The font of axes, from the style sheet. */
export function axisFont(size = 11) {
  return `${size}px ${colour("--font")}`;
}

/** An axis with our colours. @param {PlotAxis} more @returns {PlotAxis} */
export function axis(more) {
  return {
    stroke: () => colour("--ink-2"),
    font: axisFont(),
    grid: { stroke: () => colour("--grid"), width: 1 },
    ticks: { show: false },
    gap: 6,
    ...more,
  };
}

/** The x axis of time since the begin of the run, in seconds. */
export function timeAxis() {
  return axis({
    size: 26,
    grid: { show: false },
    ticks: { show: true, stroke: () => colour("--grid"), size: 4 },
    space: 64,
    incrs: STEPS_S,
    values: (_plot, splits) => splits.map((seconds) => elapsed(seconds)),
  });
}

/** The y axis of latencies in us, logarithmic, with lines at 1, 2 and 5. */
export function latencyAxis() {
  return axis({
    size: 58,
    splits: (_plot, _axis, least, most) => logSplits(least, most),
    filter: (_plot, splits) => splits,
    values: (_plot, splits) => splits.map(axisLatency),
  });
}

/** The scale for it: from 1, 2 or 5 below the least value to 1, 2 or 5 above the greatest. @returns {PlotScale} */
export function latencyScale() {
  return {
    distr: 3,
    range: (_plot, least, most) =>
      least > 0 ? [roundLog(least, Math.floor), roundLog(Math.max(most, least * 1.01), Math.ceil)] : [1000, 1_000_000],
  };
}

const MANTISSAS = [1, 2, 5, 10];

/**
 * @param {number} value
 * @param {(value: number) => number} towards Math.floor or Math.ceil
 */
function roundLog(value, towards) {
  const decade = 10 ** Math.floor(Math.log10(value));
  const steps = MANTISSAS.map((mantissa) => mantissa * decade);
  const found =
    towards === Math.floor
      ? steps.filter((step) => step <= value * 1.000001).at(-1)
      : steps.find((step) => step >= value * 0.999999);
  return found ?? null;
}

/** @param {number} least @param {number} most */
function logSplits(least, most) {
  const decades = Math.log10(most / least);
  const mantissas = decades > 5 ? [1] : decades > 3 ? [1, 3] : [1, 2, 5];
  /** @type {number[]} */
  const splits = [];
  for (let decade = 10 ** Math.floor(Math.log10(least)); decade <= most; decade *= 10) {
    splits.push(
      ...mantissas
        .map((mantissa) => mantissa * decade)
        .filter((value) => value >= least * 0.9999 && value <= most * 1.0001),
    );
  }
  return splits;
}

/**
 * The options of a cursor that all time charts share, and of a brush that sets the range of all.
 * @returns {PlotCursor}
 */
export function timeCursor() {
  return {
    y: false,
    sync: { key: SYNC_KEY, setSeries: false, scales: ["x", null] },
    drag: { x: true, y: false, setScale: false, dist: 4 },
    points: { size: 5, width: 1 },
    bind: { dblclick: () => () => null },
  };
}

/**
 * Hooks that turn a brush into a range, and a double click into the whole run; the same by keys, and by the wheel.
 * @param {() => number} beginMs
 * @param {Actions} actions
 * @returns {PlotHooks}
 */
export function brushHooks(beginMs, actions) {
  /** @param {Plot} plot @param {number} left */
  const msAt = (plot, left) => beginMs() + plot.posToVal(left, "x") * 1000;
  return {
    init: [
      (plot) => {
        clicks(plot, (left) => actions.pick?.(msAt(plot, left)), actions.whole);
        cursorKeys(plot, (left, right) => actions.brush(msAt(plot, left), msAt(plot, right)));
        wheel(plot, (left, right) => actions.brush(msAt(plot, left), msAt(plot, right)));
      },
    ],
    setSelect: [
      (plot) => {
        const { left, width } = plot.select;
        if (width < 4 || keyed.has(plot)) return;
        plot.setSelect(NOTHING, false);
        // Only the chart that the pointer is on acts; the others have the selection by their shared cursor.
        if (plot.over.matches(":hover")) actions.brush(msAt(plot, left), msAt(plot, left + width));
      },
    ],
  };
}

const NOTHING = { left: 0, top: 0, width: 0, height: 0 };
/** @type {WeakSet<Plot>} those in which keys are picking a range */
const keyed = new WeakSet();

/**
 * A click that is not half of a double click.
 * @param {Plot} plot
 * @param {(left: number) => void} once
 * @param {() => void} twice
 */
function clicks({ over }, once, twice) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  over.addEventListener("click", ({ clientX }) => {
    clearTimeout(waiting);
    const left = clientX - over.getBoundingClientRect().left;
    waiting = setTimeout(() => once(left), CLICK_MS);
  });
  over.addEventListener("dblclick", () => {
    clearTimeout(waiting);
    twice();
  });
}

/**
 * A chart by keys: arrows move its cursor, with Shift they pick a part, Enter takes it, Escape leaves it.
 * @param {Plot} plot
 * @param {(left: number, right: number) => void} [take] what is done with a part, in pixels
 */
export function cursorKeys(plot, take) {
  const place = plot.root.parentElement;
  if (!place) return;
  let from = 0;
  /** @param {number} left */
  const moveTo = (left) => {
    const at = Math.max(0, Math.min(plot.over.clientWidth, left));
    // uPlot's types lack the third: that charts with the same cursor hear of it.
    const setCursor = /** @type {(at: object, fire: boolean, tell: boolean) => void} */ (plot.setCursor);
    setCursor({ left: at, top: plot.over.clientHeight / 2 }, true, true);
    return at;
  };
  const leave = () => {
    keyed.delete(plot);
    plot.setSelect(NOTHING, false);
  };
  /** @param {KeyboardEvent} event */
  const onKey = (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const { clientWidth: width, clientHeight: height } = plot.over;
    const left = Math.max(0, plot.cursor.left ?? 0);
    const step = { ArrowLeft: -width / 100, ArrowRight: width / 100, Home: -width, End: width }[event.key];
    if (step !== undefined) {
      if (event.shiftKey && take && !keyed.has(plot)) {
        keyed.add(plot);
        from = left;
      } else if (!event.shiftKey) leave();
      const at = moveTo(left + step);
      if (keyed.has(plot)) {
        plot.setSelect({ left: Math.min(from, at), top: 0, width: Math.abs(at - from), height }, false);
      }
    } else if (event.key === "Enter" && keyed.has(plot)) {
      const { left: first, width: wide } = plot.select;
      leave();
      if (wide >= 1) take?.(first, first + wide);
    } else if (event.key === "Escape" && keyed.has(plot)) leave();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  place.tabIndex = 0;
  place.addEventListener("keydown", onKey);
}

/**
 * Ctrl and wheel zoom around the pointer, Shift and wheel, or a sideways one, move; the wheel alone scrolls the page.
 * @param {Plot} plot
 * @param {(left: number, right: number) => void} take
 */
function wheel({ over }, take) {
  over.addEventListener(
    "wheel",
    (event) => {
      const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
      const zooms = event.ctrlKey || event.metaKey;
      if (!zooms && Math.abs(sideways) <= Math.abs(event.shiftKey ? 0 : event.deltaY)) return;
      event.preventDefault();
      const { left, width } = over.getBoundingClientRect();
      const [first, last] = zooms
        ? zoomed(event.clientX - left, width, event.deltaY > 0 ? 1.25 : 0.8)
        : [0, width].map((at) => at + Math.sign(sideways) * width * 0.1);
      take(first, last);
    },
    { passive: false },
  );
}

/**
 * What of a width is seen after zooming by a factor around a point, in pixels of before.
 * @param {number} at
 * @param {number} width
 * @param {number} factor
 */
function zoomed(at, width, factor) {
  return [at - at * factor, at + (width - at) * factor];
}

/**
 * Draw the warm-up's shade, bands of planned faults and the phases' marks below the lines.
 * @param {() => {view: View | null}} state
 * @returns {(plot: Plot) => void}
 */
export function marksHook(state) {
  return (plot) => {
    const { view } = state();
    if (!view) return;
    const { ctx, bbox } = plot;
    /** @param {number} ms */
    const at = (ms) => plot.valToPos((ms - view.begin) / 1000, "x", true);
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const { from, to } of warmUp(view.model.notes, view.span)) {
      ctx.fillStyle = colour("--shade");
      ctx.fillRect(at(from), bbox.top, at(to) - at(from), bbox.height);
    }
    for (const { from, to } of faultBands(view.history.result)) {
      const wide = Math.max(2 * uPlot.pxRatio, at(to) - at(from));
      ctx.fillStyle = colour("--fault");
      ctx.fillRect(at(from), bbox.top, wide, bbox.height);
      ctx.fillStyle = colour("--bad");
      ctx.fillRect(at(from), bbox.top, wide, 3 * uPlot.pxRatio);
    }
    ctx.lineWidth = uPlot.pxRatio;
    for (const { unix_ms: ms, kind } of view.model.notes) {
      if (UNMARKED.includes(kind)) continue;
      ctx.strokeStyle = colour(kind in MARKS ? "--ink-2" : "--mark");
      ctx.setLineDash((MARKS[kind] ?? []).map((length) => length * uPlot.pxRatio));
      const x = Math.round(at(ms)) + 0.5;
      ctx.beginPath();
      ctx.moveTo(x, kind === "gc" ? bbox.top + bbox.height - 10 * uPlot.pxRatio : bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  };
}

/**
 * Keep a plot as wide as its place, and in the theme's colours. The plot is made when its place has a width.
 * @param {HTMLElement} place
 * @param {number} height
 * @param {(size: {width: number, height: number}) => Plot} make
 * @returns {{plot: () => Plot | null, release: () => void}}
 */
export function placed(place, height, make) {
  /** @type {Plot | null} */
  let plot = null;
  const fit = () => {
    const width = Math.floor(place.clientWidth);
    if (width < 40) return;
    if (plot === null) plot = make({ width, height });
    else if (plot.width !== width) plot.setSize({ width, height });
  };
  place.style.setProperty("height", `${height}px`);
  const observer = new ResizeObserver(fit);
  observer.observe(place);
  const endTheme = onTheme(() => plot?.redraw(false, true));
  fit();
  return {
    plot: () => plot,
    release: () => {
      observer.disconnect();
      endTheme();
      plot?.destroy();
    },
  };
}

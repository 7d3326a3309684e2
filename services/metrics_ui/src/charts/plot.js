/** uPlot as all our charts have it: axes, fonts, cursor, size after the space there is, and what time charts share. */

import { axisLatency, elapsed } from "../format.js";
import { warmUp } from "../phases.js";
import { colour, onTheme } from "../theme.js";

/** @import {Actions, Plot, PlotAxis, PlotCursor, PlotHooks, PlotScale} from "../types.js" */
/** @import {View} from "../view.js" */

const SYNC_KEY = "time";
/**
 * Colours of what a report marks besides phases and events; a collection is a short line at the foot.
 * @type {Record<string, string>}
 */
const MARKS = { boundary: "--p999", gc: "--p95" };
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
 * Hooks that turn a brush into a range, and a double click into the whole run.
 * @param {() => number} beginMs
 * @param {Actions} actions
 * @returns {PlotHooks}
 */
export function brushHooks(beginMs, actions) {
  return {
    init: [(plot) => plot.over.addEventListener("dblclick", () => actions.whole())],
    setSelect: [
      (plot) => {
        const { left, width } = plot.select;
        if (width < 4) return;
        const [from, to] = [left, left + width].map((at) => beginMs() + plot.posToVal(at, "x") * 1000);
        plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        // Only the chart that the pointer is on acts; the others have the selection by their shared cursor.
        if (plot.over.matches(":hover")) actions.brush(from, to);
      },
    ],
  };
}

/**
 * Draw the warm-up's shade and the phases' marks below the lines.
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
    ctx.lineWidth = uPlot.pxRatio;
    for (const { unix_ms: ms, kind } of view.model.notes) {
      if (kind === "verdict" || kind === "limits") continue;
      ctx.strokeStyle = colour(MARKS[kind] ?? "--mark");
      ctx.setLineDash(kind === "event" ? [2 * uPlot.pxRatio, 3 * uPlot.pxRatio] : []);
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

/** The list of runs: its columns, and which rows it shows in which order. */

import { NONE, dateTime, duration, fixed, latency, rate } from "./format.js";

/** @import {RunHead} from "./types.js" */

/** @typedef {{key: string, title: string, numeric: boolean, value: (run: RunHead) => string | number | null,
 *             text: (run: RunHead) => string}} RunColumn  value: what is sorted by; null for what is not known. */
/** @typedef {{low: number, high: number}} Scale  the least and the highest value, above 0. */

/** @param {RunHead} run @param {string} path */
const figure = ({ figures }, path) => {
  const value = figures?.[path];
  return typeof value === "number" ? value : null;
};

/**
 * The highest latency in each part of the run, ns; null where there is none, nothing without a judged run.
 * @param {RunHead} run
 * @returns {(number | null)[]}
 */
export function sparklineOf({ figures }) {
  const sparkline = figures?.latency_sparkline_ns;
  return Array.isArray(sparkline) ? sparkline.map((each) => (each !== null && each > 0 ? each : null)) : [];
}

/** @param {RunHead[]} runs @returns {Scale | null} of all their sparklines, so that these can be compared */
export function scaleOf(runs) {
  const known = runs.flatMap(sparklineOf).filter((each) => each !== null);
  return known.length > 0 ? { low: Math.min(...known), high: Math.max(...known) } : null;
}

/**
 * A sparkline as the path of an SVG element, logarithmic in height; it is broken where nothing is known.
 * @param {(number | null)[]} sparkline
 * @param {Scale} scale
 * @param {number} width
 * @param {number} height
 */
export function sparklinePath(sparkline, { low, high }, width, height) {
  const span = Math.log(high / low) || 1;
  const step = width / Math.max(1, sparkline.length - 1);
  const move = (/** @type {number} */ at) => (at === 0 || sparkline[at - 1] === null ? "M" : "L");
  return sparkline
    .map((value, at) => {
      if (value === null) return "";
      const y = height * (1 - Math.log(value / low) / span);
      // A value between two unknown ones is a point: a line as long as it is wide.
      const alone = move(at) === "M" && (sparkline[at + 1] ?? null) === null ? "h0.01" : "";
      return `${move(at)}${(at * step).toFixed(1)} ${y.toFixed(1)}${alone}`;
    })
    .join("");
}

/** @param {RunHead} run */
const highestOf = (run) => scaleOf([run])?.high ?? null;
/** @param {RunHead} run */
const lengthMs = ({ begin_unix_ms: from, end_unix_ms: to }) => (from && to ? to - from : null);

/** @param {string} key @param {string} title @param {(value: number) => string} text @returns {RunColumn} */
const numeric = (key, title, text) => ({
  key,
  title,
  numeric: true,
  value: (run) => figure(run, key),
  text: (run) => {
    const value = figure(run, key);
    return value === null ? NONE : text(value);
  },
});

/** @param {RunHead} run */
const stateOf = (run) => (run.live ? `live, ${run.phase || "starting"}` : run.file ? "from a file" : "finished");

/** The key of the column that is drawn; its text says how high it rises. */
export const SPARKLINE = "latency_sparkline_ns";

/** @type {RunColumn[]} */
export const COLUMNS = [
  { key: "run", title: "run", numeric: false, value: (run) => run.run_id, text: (run) => run.run_id },
  {
    key: "verdict",
    title: "verdict",
    numeric: false,
    value: (run) => run.outcome,
    text: (run) => run.outcome || NONE,
  },
  numeric("latency_ns.p50", "p50", (ns) => latency(ns / 1000)),
  numeric("latency_ns.p99", "p99", (ns) => latency(ns / 1000)),
  {
    key: SPARKLINE,
    title: "latency over the run",
    numeric: false,
    value: highestOf,
    text: (run) => {
      const highest = highestOf(run);
      return highest === null ? NONE : `up to ${latency(highest / 1000)}`;
    },
  },
  numeric("achieved_rate_per_s", "messages/s", rate),
  numeric("cpu_us_per_message", "CPU, µs/message", (us) => fixed(us, 2)),
  { key: "what", title: "what", numeric: false, value: (run) => run.title, text: (run) => run.title },
  { key: "state", title: "state", numeric: false, value: stateOf, text: stateOf },
  {
    key: "begin",
    title: "begin",
    numeric: false,
    value: (run) => run.begin_unix_ms ?? null,
    text: (run) => (run.begin_unix_ms ? dateTime(run.begin_unix_ms) : NONE),
  },
  {
    key: "length",
    title: "length",
    numeric: true,
    value: lengthMs,
    text: (run) => {
      const ms = lengthMs(run);
      return ms === null ? NONE : duration(ms);
    },
  },
];

/**
 * The runs that have every word of the text in a cell, as they were.
 * @param {RunHead[]} runs
 * @param {string} text
 */
export function filtered(runs, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return runs.filter((run) => {
    const cells = COLUMNS.map((column) => column.text(run).toLowerCase());
    return words.every((word) => cells.some((cell) => cell.includes(word)));
  });
}

/**
 * The runs by a column; those of which it is not known come last, whichever way.
 * @param {RunHead[]} runs
 * @param {{key: string, down: boolean}} order an unknown key leaves them as they are
 */
export function ordered(runs, { key, down }) {
  const column = COLUMNS.find((each) => each.key === key);
  if (!column) return runs;
  /** @param {RunHead} run */
  const known = (run) => {
    const value = column.value(run);
    return value === "" ? null : value;
  };
  return [...runs].sort((one, other) => {
    const [first, second] = [known(one), known(other)];
    if (first === null || second === null) return Number(first === null) - Number(second === null);
    return (first < second ? -1 : first > second ? 1 : 0) * (down ? -1 : 1);
  });
}

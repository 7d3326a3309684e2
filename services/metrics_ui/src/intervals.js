/** Which intervals, and which part of one, belong to a range of time. Times are milliseconds. */

/** @typedef {{start: number, end: number}} Interval */
/** @typedef {{from: number, to: number, whole?: boolean}} Span */

/** The middle of an interval. @param {Interval} interval */
export function middle({ start, end }) {
  return (start + end) / 2;
}

/**
 * The intervals whose middle lies in the range; all of them, if it is the whole run.
 * @template {Interval} T
 * @param {T[]} intervals
 * @param {Span} range
 * @returns {T[]}
 */
export function inside(intervals, { from, to, whole }) {
  return whole ? intervals : intervals.filter((interval) => middle(interval) >= from && middle(interval) < to);
}

/** Which part of the interval's time lies in the range, 0 to 1. @param {Interval} interval @param {Span} range */
export function share({ start, end }, { from, to }) {
  if (end <= start) return start >= from && start < to ? 1 : 0;
  return Math.max(0, Math.min(end, to) - Math.max(start, from)) / (end - start);
}

/** What counters grew by in a range. @param {import("./model.js").NumberSeries[]} series @param {Span} range */
export function grownIn(series, range) {
  return sum(series.flatMap(({ intervals }) => intervals.map((point) => point.value * share(point, range))));
}

/** @param {number[]} values @returns {number} */
export function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

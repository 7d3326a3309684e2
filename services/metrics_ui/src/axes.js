/** Axes of charts of any numbers: from a round number to a round number, with marks between. */

/** @import {Axis} from "./facts-types.js" */

const DIGITS = [1, 2, 5, 10];

/**
 * An axis that holds the values.
 * @param {string} title
 * @param {number[]} values one or more
 * @param {(value: number) => string} say
 * @returns {Axis}
 */
export function linearAxis(title, values, say) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const span = high - low || Math.abs(high) || 1;
  const power = 10 ** Math.floor(Math.log10(span / 5));
  const step = power * (DIGITS.find((digit) => digit * power >= (span / 5) * 0.999) ?? 10);
  const first = Math.floor(low / step);
  const last = Math.max(Math.ceil(high / step), first + 1);
  const ticks = Array.from({ length: last - first + 1 }, (_none, at) => (first + at) * step);
  return axisOf(title, ticks, say, false);
}

/**
 * A logarithmic one, marked at 1, 2 and 5 of each power of ten.
 * @param {string} title
 * @param {number[]} values one or more, above 0
 * @param {(value: number) => string} say
 * @returns {Axis}
 */
export function logAxis(title, values, say) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const [from, to] = [Math.floor(Math.log10(low)) - 1, Math.ceil(Math.log10(high)) + 1];
  const marks = Array.from({ length: to - from + 1 }, (_none, at) =>
    [1, 2, 5].map((digit) => Number(`${digit}e${from + at}`)),
  ).flat();
  const first = Math.max(...marks.filter((mark) => mark <= low));
  const last = Math.min(...marks.filter((mark) => mark >= high && mark > first));
  return axisOf(
    title,
    marks.filter((mark) => mark >= first && mark <= last),
    say,
    true,
  );
}

/**
 * An axis of things by name, at 0, 1 and so on.
 * @param {string} title
 * @param {string[]} names
 * @returns {Axis}
 */
export function nameAxis(title, names) {
  const ticks = names.map((text, at) => ({ at, text }));
  return { title, low: -0.5, high: names.length - 0.5, ticks, log: false };
}

/**
 * Where a value is: 0 at the low end, 1 at the high one; what lies beyond is at the end.
 * @param {Axis} axis
 * @param {number} value
 */
export function shareOf({ low, high, log }, value) {
  const at = Math.min(Math.max(value, low), high);
  return log ? Math.log(at / low) / Math.log(high / low) : (at - low) / (high - low);
}

/**
 * @param {string} title
 * @param {number[]} marks
 * @param {(value: number) => string} say
 * @param {boolean} log
 * @returns {Axis}
 */
function axisOf(title, marks, say, log) {
  const ticks = marks.map((at) => ({ at, text: say(at) }));
  return { title, low: marks[0], high: marks[marks.length - 1], ticks, log };
}

/** What the notes say of the run's phases: when the measured load flowed. Times are Unix milliseconds. */

/** @import {Note} from "./types.js" */

const MEASURING = /measur/;

/**
 * The part of a range in which the measured load flowed; all of it, if that is not known, or none of it.
 * @param {Note[]} notes oldest first
 * @param {import("./range.js").Range} range
 * @returns {{from: number, to: number, whole?: boolean}}
 */
export function measuredPart(notes, range) {
  const phases = notes.filter(({ kind }) => kind === "phase");
  const at = phases.findIndex(({ name }) => MEASURING.test(name));
  if (at < 0) return range;
  const from = Math.max(range.from, phases[at].unix_ms);
  const to = Math.min(range.to, phases[at + 1]?.unix_ms ?? Infinity);
  return to - from >= 1000 ? { from, to } : range;
}

/**
 * What was before the measured load, to be shaded; nothing where no phase is known.
 * @param {Note[]} notes
 * @param {{from: number, to: number}} span of the run
 * @returns {{from: number, to: number}[]}
 */
export function warmUp(notes, span) {
  const phases = notes.filter(({ kind }) => kind === "phase");
  const measuring = phases.find(({ name }) => MEASURING.test(name));
  return phases.length > 0 ? [{ from: span.from, to: measuring?.unix_ms ?? span.to }] : [];
}

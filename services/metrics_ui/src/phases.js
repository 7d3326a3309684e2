/** What the notes say of the run's phases: when the measured load flowed. Times are Unix milliseconds. */

import { duration, elapsed } from "./format.js";

/** @import {Note} from "./types.js" */
/** @typedef {{title: string, text: string, left: string, part: number | null}} Progress  title: the phase in words; left: of
 *   it, in words; part: how much of it is over; empty and null if nobody knows. */

const MEASURING = /measur/;
/** How the phase of the measured load is called. */
export const MEASURED = "measuring";

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

/**
 * How far a run has come, in words: its phase, what is left of it as planned, and what comes after it.
 * @param {Note[]} notes oldest first
 * @param {number} nowMs
 * @returns {Progress | null} null before the first phase
 */
export function progressOf(notes, nowMs) {
  const phases = notes.filter(({ kind }) => kind === "phase");
  const phase = phases.at(-1);
  if (!phase) return null;
  const planned = notes.findLast(({ kind }) => kind === "plan")?.phases_ms ?? {};
  const passedMs = 1000 * Math.max(0, Math.floor((nowMs - phase.unix_ms) / 1000));
  const lastsMs = planned[phase.name] ?? 0;
  const measuredMs = planned[MEASURED] ?? 0;
  const isBefore = measuredMs > 0 && !phases.some(({ name }) => name === MEASURED);
  const then = isBefore ? `; then ${duration(measuredMs)} are measured` : "";
  const title = `${phase.name.slice(0, 1).toUpperCase()}${phase.name.slice(1)}`;
  if (lastsMs === 0) {
    return { title, text: `for ${elapsed(passedMs / 1000)}${then}`, left: "", part: null };
  }
  const left = passedMs < lastsMs ? `${elapsed((lastsMs - passedMs) / 1000)} left` : "about to end";
  const at = elapsed(Math.min(passedMs, lastsMs) / 1000);
  return {
    title,
    text: `${at} of ${elapsed(lastsMs / 1000)}, ${left}${then}`,
    left,
    part: Math.min(1, passedMs / lastsMs),
  };
}

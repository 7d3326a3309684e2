/**
 * The range of time that the page shows: what the result is of, all of the run, a fixed part, or its newest part. Times
 * are milliseconds.
 */

/**
 * @typedef {{kind: "judged"} | {kind: "whole"} | {kind: "last", ms: number} | {kind: "fixed", from: number, to: number}} Choice
 */
/** @typedef {{from: number, to: number, whole: boolean}} Range */

const SHORTEST_MS = 1000;
const FOLLOW_MS = 60_000;
const WIDTHS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200];

/** @type {Choice} */
export const WHOLE = { kind: "whole" };
/** What an address without a range shows: the part that was judged; the whole run before it is. */
/** @type {Choice} */
export const JUDGED = { kind: "judged" };

/**
 * What the choice means for a run that has data in that span.
 * @param {Choice} choice
 * @param {{from: number, to: number}} span
 * @param {{from: number, to: number} | null} [judged] what the result is of
 * @returns {Range}
 */
export function resolve(choice, span, judged = null) {
  if (choice.kind === "judged" && judged) return { ...judged, whole: false };
  if (choice.kind === "last" && choice.ms < span.to - span.from) {
    return { from: span.to - choice.ms, to: span.to, whole: false };
  }
  if (choice.kind === "fixed") {
    const from = Math.max(span.from, Math.min(choice.from, span.to - SHORTEST_MS));
    const to = Math.min(span.to, Math.max(choice.to, from + SHORTEST_MS));
    return { from, to, whole: from <= span.from && to >= span.to };
  }
  return { ...span, whole: true };
}

/**
 * Whether a run of that span has something of the choice.
 * @param {Choice} choice
 * @param {{from: number, to: number}} span
 */
export function overlaps(choice, span) {
  return choice.kind !== "fixed" || (choice.to > span.from && choice.from < span.to);
}

/**
 * The range moved by half its width; a whole run stays as it is.
 * @param {Range} range
 * @param {number} direction -1 to earlier, 1 to later
 * @param {{from: number, to: number}} span
 * @returns {Choice}
 */
export function moved(range, direction, span) {
  if (range.whole) return WHOLE;
  const width = range.to - range.from;
  const from = Math.max(span.from, Math.min(range.from + (direction * width) / 2, span.to - width));
  return { kind: "fixed", from, to: from + width };
}

/** The newest part of a run, as wide as the range; a minute for a whole run. @param {Range} range @returns {Choice} */
export function newest(range) {
  const widthMs = range.whole ? FOLLOW_MS : range.to - range.from;
  return { kind: "last", ms: Math.max(1, Math.round(widthMs / 1000)) * 1000 };
}

/**
 * The width of the bins in which a range is drawn, ms: at most so many of them, none finer than the data.
 * @param {Range} range
 * @param {number} coarsenessMs the longest interval in it
 * @param {number} most
 */
export function binWidth(range, coarsenessMs, most) {
  const least = Math.max((range.to - range.from) / most, coarsenessMs * 0.9);
  return 1000 * (WIDTHS_S.find((width) => width * 1000 >= least) ?? Math.ceil(least / 3_600_000) * 3600);
}

/**
 * The next wider or narrower width of bins, ms.
 * @param {number} widthMs
 * @param {number} direction 1 wider, -1 narrower
 */
export function nextWidth(widthMs, direction) {
  const at = WIDTHS_S.findIndex((width) => width * 1000 >= widthMs);
  return 1000 * WIDTHS_S[Math.max(0, Math.min(WIDTHS_S.length - 1, (at < 0 ? WIDTHS_S.length - 1 : at) + direction))];
}

/**
 * A range in words of time since the begin, as "0:30-1:15", "last 90" or "last 5 min": the choice, or null if it is none.
 * @param {string} text
 * @param {{from: number, to: number}} span
 * @returns {Choice | null}
 */
export function typedChoice(text, span) {
  const plain = text.trim().toLowerCase();
  if (plain === "" || plain === "whole run") return WHOLE;
  const last = /^last (\d+)( s| min)?$/.exec(plain);
  if (last) return { kind: "last", ms: Math.max(1, Number(last[1])) * (last[2] === " min" ? 60_000 : 1000) };
  const parts = plain.split(/\s*[-–]\s*/).map(secondsOf);
  const [from, to] = parts;
  if (parts.length !== 2 || from === null || to === null || from >= to) return null;
  return { kind: "fixed", from: span.from + from * 1000, to: span.from + to * 1000 };
}

/** @param {string} text @returns {number | null} */
function secondsOf(text) {
  if (!/^\d+(:\d{1,2}){0,2}(\.\d+)?$/.test(text)) return null;
  return text.split(":").reduce((sum, part) => sum * 60 + Number(part), 0);
}

/** A choice as it stands in the address. @param {Choice} choice @returns {string} */
export function choiceText(choice) {
  if (choice.kind === "whole") return "whole";
  if (choice.kind === "last") return `last-${choice.ms / 1000}`;
  if (choice.kind !== "fixed") return "";
  const from = Math.round(choice.from);
  return `${from}-${Math.max(Math.round(choice.to), from + 1)}`; // the same moment twice would be no range
}

/** The choice that an address names; what was judged if it names none. @param {string | null} text @returns {Choice} */
export function choiceOf(text) {
  if (text === "whole") return WHOLE;
  const last = /^last-(\d+)$/.exec(text ?? "");
  if (last && Number(last[1]) > 0) return { kind: "last", ms: Number(last[1]) * 1000 };
  const fixed = /^(\d+)-(\d+)$/.exec(text ?? "");
  if (fixed && Number(fixed[2]) > Number(fixed[1])) {
    return { kind: "fixed", from: Number(fixed[1]), to: Number(fixed[2]) };
  }
  return JUDGED;
}

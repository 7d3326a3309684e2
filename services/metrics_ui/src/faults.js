/** The planned faults of a result: when each disturbed the output, with its figures in words. Times are Unix milliseconds. */

import { counted, whole } from "./format.js";

/** @import {Part, ResultData} from "./types.js" */

/** @typedef {Part & {title: string, text: string}} FaultBand  From its begin until the output has recovered; text: its
 *   figures in a sentence. */

const AROUND_MS = 5000;

/**
 * The planned faults by their begin; of a result without figures, or of an older version, what is known of their events.
 * @param {ResultData | null | undefined} result
 * @returns {FaultBand[]}
 */
export function faultBands(result) {
  const events = (result?.causes?.events ?? []).filter(({ kind }) => kind === "fault");
  const figures = result?.planned_faults ?? [];
  return events.map(({ begin_unix_ms: from, duration_ms: length, text: title }, at) => ({
    from,
    to: from + length,
    title,
    // Both are by their begin; where one of them lacks some, nobody knows which belong together.
    text: events.length === figures.length ? faultText(figures[at]) : "its figures are not known",
  }));
}

/** What a fault came to, in words. @param {NonNullable<ResultData["planned_faults"]>[number]} figures */
export function faultText({ silence_s: silence, recovered_s: recovered, lost, late, doubled, orders }) {
  const back = recovered === null ? "not seen to recover" : `recovered ${seconds(recovered)} after its end`;
  return (
    `silent for ${seconds(silence)}, ${back}; of ${counted(orders, "order")} that it met ${whole(lost)} lost, ${whole(late)} late` +
    (doubled > 0 ? `, ${whole(doubled)} answered twice` : "")
  );
}

/** What is shown of a fault: it, and some seconds around it. @param {Part} band @returns {Part} */
export function aroundFault({ from, to }) {
  return { from: from - AROUND_MS, to: to + AROUND_MS };
}

/** The fault that is at a moment, or null. @param {FaultBand[]} bands @param {number} ms */
export function faultAt(bands, ms) {
  return bands.find(({ from, to }) => ms >= from && ms <= to) ?? null;
}

/** @param {number} value */
function seconds(value) {
  return `${value.toFixed(value < 10 ? 2 : 1)} s`;
}

/** What the aggregator is asked of a run: few intervals first, and finer ones of what is looked at. */

import { END_TO_END } from "./steps.js";

/** @import {Part, Documents, RunData, RunHead} from "./types.js" */

export const BINS = 240;
/**
 * A run that is longer opens with so few intervals, and none of histograms that the overview does not draw over time;
 * finer ones, and those, come for what is looked at. Of a live run they take the place of the first, as it grows.
 */
const LONG_MS = 600_000;
/** A page that draws for longer asks all the same. */
const BUSY_MS = 500;
const COARSE = `points=60&only=${END_TO_END.name}`;

/** What a run is asked for when it is opened; empty for all of it. @param {RunHead | undefined} head @returns {string} */
export function firstQuery(head) {
  return head && (head.end_unix_ms ?? 0) - (head.begin_unix_ms ?? 0) > LONG_MS ? COARSE : "";
}

/** What a run is asked for beside the open one: of the latency as many as are drawn, or few. @param {boolean} coarse */
export function sideQuery(coarse) {
  return coarse ? COARSE : `points=${BINS}&only=${END_TO_END.name}`;
}

/** What shows the whole run on any page, or where only that histogram is drawn over time. @param {string} fine */
export function pageQuery(fine) {
  return fine ? `points=${BINS}&fine=${fine}` : "";
}

/** The same of a range. @param {Part} range @param {string} fine */
export function rangeQuery({ from, to }, fine) {
  return `from_unix_ms=${Math.floor(from)}&to_unix_ms=${Math.ceil(to)}&${pageQuery(fine) || "points=600"}`;
}

/**
 * Error with the aggregator's sentence if there is none.
 * @param {string} runId
 * @param {string} [query]
 * @returns {Promise<RunData>}
 */
export async function fetchData(runId, query = "") {
  const answer = await fetch(`${addressOf(runId)}/data${query && `?${query}`}`, { cache: "no-store" });
  if (!answer.ok) {
    throw new Error((await answer.json().catch(() => ({}))).error ?? `the aggregator answered ${answer.status}`);
  }
  return answer.json();
}

/**
 * The same, asked for once what is being drawn is drawn: to merge a long run's intervals keeps a CPU of the aggregator
 * busy, which may be the page's own.
 * @param {string} runId
 * @param {string} query
 */
export async function fetchFine(runId, query) {
  // Safari has no idle callbacks.
  await new Promise((resolve) =>
    "requestIdleCallback" in globalThis ? requestIdleCallback(resolve, { timeout: BUSY_MS }) : setTimeout(resolve),
  );
  return fetchData(runId, query);
}

/** A run's documents, as far as there are any. @param {string} runId @returns {Promise<Documents>} */
export async function fetchDocuments(runId) {
  try {
    const answer = await fetch(`${addressOf(runId)}/documents`, { cache: "no-store" });
    return answer.ok ? await answer.json() : {};
  } catch {
    return {};
  }
}

/** @param {string} runId */
function addressOf(runId) {
  return `api/v1/runs/${encodeURIComponent(runId)}`;
}

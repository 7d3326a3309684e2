/**
 * What is known of a run's events before its result tells them all: planned faults and restarts as the run controller
 * notes them, ends of batches and late frames as the processes push them. Times are Unix milliseconds.
 */

import { counted, latency } from "./format.js";
import { metric } from "./steps.js";

/** @import {NumberSeries, RunModel} from "./model.js" */
/** @import {EventData} from "./types.js" */

const BATCH = metric("job_batch_id");
const COMMIT = metric("job_commit_seconds");
const LATE = metric("sender_frames_late_total");
/** Shorter batches end all the time: those of the warm-up, and all of the micro-batch mode. */
const BATCH_MS_MIN = 5000;
/** The lanes of what the run controller notes, by its name for it. @type {Record<string, string>} */
const NOTED = { "planned fault": "fault", "query restarted": "restart" };

/**
 * The events so far, by their begin. One that was pushed is as exact as the interval of its push, at whose end it stands.
 * @param {RunModel} model
 * @returns {EventData[]}
 */
export function eventsSoFar(model) {
  return [...noted(model), ...boundaries(model), ...lateFrames(model)].sort(
    (one, other) => one.begin_unix_ms - other.begin_unix_ms,
  );
}

/** @param {RunModel} model @returns {EventData[]} */
function noted({ notes }) {
  return notes
    .filter(({ kind, name }) => kind === "event" && name in NOTED)
    .map(({ name, text, unix_ms: at }) => ({ kind: NOTED[name], begin_unix_ms: at, duration_ms: 0, text }));
}

/** @param {RunModel} model @returns {EventData[]} */
function boundaries(model) {
  return numbersOf(model, BATCH.name).flatMap(({ labels, intervals }) => {
    const commits = numbersOf(model, COMMIT.name).find((each) => each.labels.source === labels.source);
    // Nobody knows when the first began: no later than its first push.
    const changes = intervals.filter(({ value }, at) => at === 0 || value !== intervals[at - 1].value);
    return changes.slice(1).flatMap(({ start, end: at, value }, before) => {
      const ended = endedBetween(changes[before].value, value);
      // In the long intervals of a long run many a short batch ends.
      if (at - changes[before].end < BATCH_MS_MIN * ended) return [];
      if (ended > 1) {
        const text = `${counted(ended, "batch", "batches")} ended, the last of them batch ${value}`;
        return [{ kind: "boundary", begin_unix_ms: start, duration_ms: at - start, within: true, text }];
      }
      const commit = commits?.intervals.findLast(({ end }) => end <= at)?.value;
      const ms = 1000 * (commit ?? 0);
      const text = `batch ${value} ended${commit === undefined ? "" : `, its commit took ${latency(1000 * ms)}`}`;
      return [{ kind: "boundary", begin_unix_ms: at - ms, duration_ms: ms, text }];
    });
  });
}

/** How many batches ended from one to another; after a start without a checkpoint they count from 0 again. @param {number} before @param {number} value */
function endedBetween(before, value) {
  return value > before ? value - before : value + 1;
}

/** @param {RunModel} model @returns {EventData[]} */
function lateFrames(model) {
  return numbersOf(model, LATE.name).flatMap(({ labels, intervals }) =>
    intervals
      .filter(({ value }) => value > 0)
      .map(({ start, end, value }) => ({
        kind: "sender",
        begin_unix_ms: start,
        duration_ms: end - start,
        within: true,
        text: `${counted(value, "late frame")} of ${labels.source}`,
      })),
  );
}

/** @param {RunModel} model @param {string} name @returns {NumberSeries[]} */
function numbersOf(model, name) {
  return /** @type {NumberSeries[]} */ (model.find(name));
}

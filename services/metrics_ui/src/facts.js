/** What the rules look at, taken from a range of a run: plain numbers, so that a rule can be tried without a run. */

import { whole } from "./format.js";
import { percentile, shownPercentile } from "./hdr.js";
import { oddPartitions, partitionFigures } from "./partitions.js";
import { ALERTS, END_TO_END, FAILED, PROCESSED, SENT, metric } from "./steps.js";
import { View } from "./view.js";

/** @import {Limits, Part, SourceData} from "./types.js" */

/**
 * @typedef {{source: string, silentMs: number, pushes: number, missing: number, dropped: number, duplicates: number,
 *            clockErrorUs: number, synchronised: boolean, restarts: number}} SourceFacts
 * @typedef {{live: boolean, verdict: string, failedChecks: {text: string, cause: string}[], limits: Limits, hosts: number,
 *            framesSent: number, framesLate: number, failed: number, sources: SourceFacts[], count: number, p50Us: number,
 *            queryRestarts: number, alertsDuplicated: number, alertsUnreadable: number, malformed: number,
 *            refused: number, unwritten: number, historyDropped: number, negative: number, overflow: number,
 *            stallMs: number, stallAtS: number, oddPartitions: string[], latencies: LatencyFact[], behindS: number,
 *            behindBeforeS: number}} Facts  behindS: the least that it was behind lately, in seconds of load, and
 *   behindBeforeS before that; 0 while it is not known.
 */
/** @typedef {{name: string, us: number | null, limitUs: number}} LatencyFact  us: so far; null if it is not known. */

/** @typedef {Part & {value: number}} LagPoint */

const ORDERS_FLOW_PER_S = 1;
const FINE_BINS = 4000;
/** Over so long a time is looked at whether the job falls behind: its counts come up to 2 s late. */
const LATELY_MS = 10_000;

/** @param {View} view @returns {Facts} */
export function factsOf(view) {
  const { model } = view;
  const latency = view.hist(END_TO_END);
  return {
    live: model.live,
    verdict: view.history.verdict,
    failedChecks: view.history.failed,
    limits: view.history.limits,
    hosts: view.history.hosts,
    framesSent: view.flowed(metric("sender_frames_sent_total")) ?? 0,
    framesLate: view.flowed(metric("sender_frames_late_total")) ?? 0,
    failed: view.grown(FAILED) ?? 0,
    sources: newestOfEach(model.sources, model.nowMs),
    count: latency.count,
    p50Us: percentile(latency, 50),
    queryRestarts: view.grown(metric("job_restarts_total")) ?? 0,
    alertsDuplicated: view.grown(metric("receiver_alerts_duplicated_total")) ?? 0,
    alertsUnreadable: view.grown(metric("receiver_alerts_unreadable_total")) ?? 0,
    malformed: view.grown(metric("receiver_invalid_total")) ?? 0,
    refused: model.aggregator.refused ?? 0,
    unwritten: model.aggregator.unwritten ?? 0,
    historyDropped: model.aggregator.history_dropped ?? 0,
    ...view.outliers(),
    ...longestStandstill(view),
    ...(model.live
      ? { latencies: latenciesSoFar(view), ...behind(view) }
      : { latencies: [], behindS: 0, behindBeforeS: 0 }),
    oddPartitions: view.history.system ? oddPartitions(partitionFigures(view), view.begin) : [],
  };
}

/**
 * Messages sent and not yet processed, in bins as fine as the data. The job's count is Spark's live one, up to 2 s old.
 * @param {View} view
 * @returns {LagPoint[]} value: at the bin's end
 */
export function lagPoints(view) {
  const fine = new View(view.model, view.range, view.span, { bins: FINE_BINS, history: view.history });
  const processed = fine.totalBins(PROCESSED);
  return fine.totalBins(SENT).flatMap(({ from, to, value: sent }, at) => {
    const done = processed[at].value;
    return sent === null || done === null ? [] : [{ from, to, value: Math.max(0, Math.round(sent - done)) }];
  });
}

/**
 * The highest lag in each bin of the view, so that what rises and falls within a bin is not lost.
 * @param {View} view
 * @param {LagPoint[]} points as of `lagPoints`
 */
export function lagBins(view, points) {
  /** @type {Map<number, LagPoint>} */
  const bins = new Map();
  for (const { from, to, value } of points) {
    const number = Math.floor(((from + to) / 2 - view.begin) / view.widthMs);
    const known = bins.get(number);
    if (known) Object.assign(known, { to, value: Math.max(known.value, value) });
    else bins.set(number, { from, to, value });
  }
  return [...bins.values()];
}

/** Why no backlog is drawn over time, if what was processed was never pushed. @param {View} view @param {number} [most] */
export function uncounted(view, most) {
  if (view.history.find(PROCESSED.name).length > 0) return undefined;
  if (view.history.live) return "The job has not counted anything yet.";
  const counted = most === undefined ? "" : `; the run controller saw ${whole(most)} messages at most`;
  return `The job did not push how many messages it has processed, so this is not known over time${counted}.`;
}

/**
 * The percentiles that have a limit, of the load that has settled.
 * @param {View} view
 * @returns {LatencyFact[]}
 */
function latenciesSoFar(view) {
  const { latency_us_max: limits = {}, settle_us: settleUs = 0 } = view.history.limits;
  const from = view.flow.from + settleUs / 1000;
  const settled = new View(view.model, { ...view.range, from, whole: false }, view.span, { history: view.history });
  const hist = settled.hist(END_TO_END);
  return Object.entries(limits).map(([name, limitUs]) => {
    const max = hist.count > 0 ? hist.maxUs : null;
    return { name, us: name === "max" ? max : shownPercentile(hist, Number(name.slice(1))), limitUs };
  });
}

/**
 * How far processing is behind sending while the measured load flows: the least of it lately, and of the time before.
 * A batch counts when it ends, so what is behind rises and falls: its least is what no batch works off.
 * @param {View} view
 */
function behind(view) {
  const latelyMs = Math.max(LATELY_MS, 2 * ((view.history.limits.stall_us ?? 0) / 1000));
  // Only of what is recent: the older intervals of a long run are longer than all that is looked at.
  const recent = { from: Math.max(view.range.from, view.range.to - 3 * latelyMs), to: view.range.to, whole: false };
  const points = lagPoints(new View(view.model, recent, view.span, { history: view.history })).filter(
    ({ from }) => from >= view.flow.from,
  );
  const rate = view.rate(SENT) ?? 0;
  const end = points.at(-1)?.to ?? 0;
  if (rate < ORDERS_FLOW_PER_S || end - view.flow.from < 2 * latelyMs) return { behindS: 0, behindBeforeS: 0 };
  /** @param {number} back @returns {number} */
  const least = (back) => {
    const within = points.filter(({ to }) => to > end - (back + 1) * latelyMs && to <= end - back * latelyMs);
    return Math.min(...within.map(({ value }) => value)) / rate;
  };
  return { behindS: least(0), behindBeforeS: least(1) };
}

/**
 * A source's epochs added up: what one process lost, and what its clock is like now.
 * @param {SourceData[]} sources
 * @param {number} nowMs
 * @returns {SourceFacts[]}
 */
function newestOfEach(sources, nowMs) {
  /** @type {Map<string, SourceFacts>} */
  const bySource = new Map();
  for (const epoch of sources) {
    const known = bySource.get(epoch.source);
    bySource.set(epoch.source, {
      source: epoch.source,
      silentMs: Math.min(known?.silentMs ?? Infinity, nowMs - epoch.end_unix_ms),
      pushes: (known?.pushes ?? 0) + epoch.pushes,
      missing: (known?.missing ?? 0) + epoch.missing,
      dropped: (known?.dropped ?? 0) + epoch.pushes_dropped,
      duplicates: (known?.duplicates ?? 0) + epoch.duplicates,
      clockErrorUs: epoch.clock_error_us,
      synchronised: epoch.clock_synchronised,
      restarts: (known?.restarts ?? -1) + 1,
    });
  }
  return [...bySource.values()];
}

/**
 * The longest time without an alert between two alerts of the measured load, or since the last one while it flows.
 * @param {View} view
 */
function longestStandstill(view) {
  const times = view
    .numbers({ name: ALERTS.name, labels: { phase: "measured" } })
    .flatMap(({ intervals }) => intervals)
    .filter(({ end, start, value }) => value > 0 && end > view.range.from && start < view.range.to)
    .map(({ start, end }) => ({ start, end }))
    .sort((one, other) => one.start - other.start);
  const sentMs = view.lastMs(SENT) ?? 0;
  const sending = view.model.live && view.model.nowMs - sentMs < 3000 && (view.rate(SENT) ?? 0) > ORDERS_FLOW_PER_S;
  if (sending && times.length > 0) times.push({ start: sentMs, end: sentMs });
  let longest = { stallMs: 0, stallAtS: 0 };
  for (let i = 1; i < times.length; i += 1) {
    const pauseMs = times[i].start - times[i - 1].end;
    if (pauseMs > longest.stallMs) {
      longest = { stallMs: pauseMs, stallAtS: (times[i - 1].end - view.begin) / 1000 };
    }
  }
  return longest;
}

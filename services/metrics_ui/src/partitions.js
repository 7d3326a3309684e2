/**
 * A system that is not ours, by topic and partition of its input: what was sent, committed and answered of each, and how
 * late. Of many partitions the last ones are counted together, as one.
 */

import { counted, duration, elapsed, latency } from "./format.js";
import { inside, sum } from "./intervals.js";
import { mergeHists, percentile, supports } from "./hdr.js";
import { histOf } from "./model.js";
import { PARTITION_COMMITTED, PARTITION_LATENCY, SENT } from "./steps.js";

/** @import {Hist} from "./hdr.js" */
/** @import {HistogramSeries, RunModel, Series} from "./model.js" */
/** @import {Labels} from "./types.js" */
/** @import {Selector, View} from "./view.js" */

/** What those partitions are called that have no series of their own. */
const OTHERS = "others";
/** How many times as much as the others a partition has to have to be worth a word. */
const ODD = 3;

/** @typedef {{topic: string, partition: string}} Place */
/**
 * Figures of a partition. sent, committed, outputs: a second; behind: messages at the end of the range; most: the most
 * that it was behind, and mostMs when; stoodMs: the longest time in which nothing was committed though something was
 * there; hist: of all its outputs.
 * @typedef {{name: string, sent: number | null, committed: number | null, outputs: number | null, behind: number | null,
 *            most: number | null, mostMs: number, stoodMs: number, hist: Hist}} PartitionFigures
 */

/** The places that figures are known of, in order. @param {RunModel} model @returns {Place[]} */
export function places(model) {
  const found = placesOf([...model.find(PARTITION_COMMITTED.name), ...model.find(PARTITION_LATENCY.name)]);
  const joined = [...found.values()].filter(({ partition }) => partition === OTHERS).map(({ topic }) => topic);
  for (const [name, place] of placesOf(model.find(SENT.name))) {
    if (!joined.includes(place.topic)) found.set(name, place);
  }
  return [...found.values()].sort(
    (one, other) => one.topic.localeCompare(other.topic) || numberOf(one) - numberOf(other),
  );
}

/** @param {View} view @returns {PartitionFigures[]} */
export function partitionFigures(view) {
  const known = places(view.model);
  return known.map((place) => {
    const sent = sentTo(view.model, place, known);
    const committed = { name: PARTITION_COMMITTED.name, labels: { ...place } };
    const answered = { name: PARTITION_LATENCY.name, labels: { ...place } };
    return {
      name: nameOf(place),
      sent: view.rate(sent),
      committed: view.rate(committed),
      outputs: outputRate(view, answered),
      ...backlog(view, sent, committed),
      hist: view.hist(answered),
    };
  });
}

/**
 * Latencies by output topic, and below each by the partition of the message.
 * @param {View} view
 * @returns {{name: string, hist: Hist}[]}
 */
export function outputLatencies(view) {
  /** @param {Labels} labels */
  const hist = (labels) => view.hist({ name: PARTITION_LATENCY.name, labels });
  const outputs = new Set(view.model.find(PARTITION_LATENCY.name).map(({ labels }) => labels.output));
  return [...outputs].sort().flatMap((output) => [
    { name: output, hist: hist({ output }) },
    ...places(view.model).map((place) => ({
      name: `${output}, of ${nameOf(place)}`,
      hist: hist({ output, ...place }),
    })),
  ]);
}

/**
 * Outputs a second while the measured load flowed, the first of each message; null if none was measured.
 * @param {View} view
 * @param {Selector} of
 */
export function outputRate(view, of) {
  if (!view.has(PARTITION_LATENCY)) return null;
  const series = /** @type {HistogramSeries[]} */ (view.series(of));
  const count = sum(series.flatMap(({ intervals }) => inside(intervals, view.flow).map((slot) => histOf(slot).count)));
  return (count * 1000) / (view.flow.to - view.flow.from);
}

/**
 * How the partition that differs most from the others does so, in sentences.
 * @param {PartitionFigures[]} figures
 * @param {number} beginMs of the run
 * @returns {string[]}
 */
export function oddPartitions(figures, beginMs) {
  if (figures.length < 2) return [];
  const said = [];
  const [behind, next] = [...figures].sort((one, other) => (other.most ?? 0) - (one.most ?? 0));
  // Less than a second of its load is the time between two commits.
  if ((behind.most ?? 0) > Math.max(behind.sent ?? 0, ODD * (next.most ?? 0))) {
    const stood = behind.stoodMs > 0 ? `; nothing of it was committed for up to ${duration(behind.stoodMs)}` : "";
    const at = elapsed((behind.mostMs - beginMs) / 1000);
    said.push(
      `${behind.name} was ${counted(behind.most ?? 0, "message")} behind at ${at}, ` +
        `no other partition more than ${counted(next.most ?? 0, "message")}${stood}.`,
    );
  }
  const timed = figures.filter(({ hist }) => supports(hist, 50));
  const [slow, ...others] = timed.sort((one, other) => percentile(other.hist, 50) - percentile(one.hist, 50));
  if (others.length > 0) {
    const [p50Us, restUs] = [slow.hist, mergeHists(others.map(({ hist }) => hist))].map((hist) => percentile(hist, 50));
    if (p50Us > ODD * restUs) {
      said.push(`${slow.name} is slow: its outputs have a p50 of ${latency(p50Us)}, all others ${latency(restUs)}.`);
    }
  }
  return said;
}

/** @param {View} view @param {Selector[]} sent @param {Selector} committed */
function backlog(view, sent, committed) {
  const found = { behind: /** @type {number | null} */ (null), most: /** @type {number | null} */ (null) };
  const times = { mostMs: 0, stoodMs: 0 };
  if (!view.has(sent) || !view.has(committed)) return { ...found, ...times };
  const done = view.totalBins(committed);
  const grown = view.rateBins(committed);
  let standing = 0;
  view.totalBins(sent).forEach(({ from, to, value }, at) => {
    const there = done[at].value;
    if (value === null || there === null) return;
    found.behind = Math.max(0, Math.round(value - there));
    standing = found.behind > 0 && grown[at].value === 0 ? standing + to - from : 0;
    times.stoodMs = Math.max(times.stoodMs, standing);
    if (found.most === null || found.behind > found.most) [found.most, times.mostMs] = [found.behind, to];
  });
  return { ...found, ...times };
}

/** What was sent there, of OTHERS what was sent to all that have no place. @param {RunModel} model @param {Place} place @param {Place[]} known */
function sentTo(model, { topic, partition }, known) {
  const own = new Set(known.map(nameOf));
  return model
    .find(SENT.name, { topic })
    .map(({ labels }) => ({ topic, partition: labels.partition }))
    .filter((place) => (partition === OTHERS ? !own.has(nameOf(place)) : place.partition === partition))
    .map((labels) => ({ name: SENT.name, labels }));
}

/** @param {Series[]} series @returns {Map<string, Place>} */
function placesOf(series) {
  return new Map(
    series.map(({ labels: { topic, partition } }) => [nameOf({ topic, partition }), { topic, partition }]),
  );
}

/** @param {Place} place */
function nameOf({ topic, partition }) {
  return `${topic}/${partition}`;
}

/** @param {Place} place */
function numberOf({ partition }) {
  return partition === OTHERS ? Infinity : Number(partition);
}

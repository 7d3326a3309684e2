/**
 * The data of one run: series of intervals, notes, sources. It is loaded whole, then grows by events. Times are Unix
 * milliseconds. What a page shows of a range is worked out by `View`.
 */

import { decodeCounts, emptyHist, mergeHists } from "./hdr.js";

/** Intervals of a series beyond which the older half is merged by pairs, so that a page may stay open for days. */
const INTERVALS_MAX = 2000;

/** @typedef {{start: number, end: number, value: number}} Point  What a counter grew by, or a gauge at its end. */
/** @typedef {{start: number, end: number, text: string, hist: import("./hdr.js").Hist | null,
 *             head: number[]}} Slot  A histogram's interval, decoded when it is first needed. */
/** @typedef {{name: string, kind: string, labels: Object<string, string>, total: any, intervals: any[]}} Series */

export class RunModel {
  /** @param {Object} data the answer of /api/v1/runs/{run_id}/data; RangeError if it is of another format */
  constructor(data) {
    if (data.format !== 1) throw new RangeError(`the data has format ${data.format}, this page reads format 1`);
    this.runId = data.run_id;
    this.title = data.title || data.run_id;
    this.live = Boolean(data.live);
    this.phase = data.phase ?? "";
    this.tick = data.tick ?? 0;
    this.nowMs = data.generated_unix_ms;
    this.sources = data.sources ?? [];
    this.aggregator = data.aggregator ?? {};
    this.notes = inOrder(data.notes ?? []);
    this.metrics = data.metrics ?? {};
    /** @type {Map<string, Series>} */
    this.series = new Map();
    for (const given of data.series ?? []) this.#take(given);
  }

  /**
   * Take what is new. @param {Object} event the data of an SSE `data` event
   * @returns {boolean} false if the event is not newer than what is known: the sender has begun anew
   */
  apply(event) {
    if (event.tick <= this.tick) return false;
    this.tick = event.tick;
    this.nowMs = event.now_unix_ms;
    this.live = Boolean(event.live);
    this.phase = event.phase ?? this.phase;
    this.title = event.title || this.title;
    for (const given of event.series ?? []) this.#take(given);
    if (event.notes?.length) {
      this.notes = inOrder([...this.notes, ...event.notes]);
    }
    for (const changed of event.sources ?? []) this.#takeSource(changed);
    if (event.aggregator) this.aggregator = event.aggregator;
    return true;
  }

  /** The newest verdict's name; empty as long as the run is not judged. */
  get verdict() {
    return this.#verdictNote?.name ?? "";
  }

  /** The checks of the verdict that failed. @returns {{check: string, text: string, cause: string}[]} */
  get failed() {
    return this.#verdictNote?.failed ?? [];
  }

  /** What the run is judged by, as its controller has said it: nothing is judged by what is not there. */
  get limits() {
    return this.notes.findLast(({ kind }) => kind === "limits")?.limits ?? {};
  }

  /** How many hosts, and so clocks, the processes are known to be on. */
  get hosts() {
    return new Set(this.sources.map(({ host }) => host).filter(Boolean)).size;
  }

  /**
   * The part of the run that its result's latencies are of; null as long as there is none.
   * @returns {{from: number, to: number} | null}
   */
  get judged() {
    const judged = this.#verdictNote?.judged;
    return judged?.series.length > 0 ? { from: judged.from_unix_ms, to: judged.to_unix_ms } : null;
  }

  /**
   * The result's own histogram of a latency, which is of orders and not of when they were pushed; null if there is none.
   * @param {import("./view.js").Selector} of
   */
  judgedHist({ name, labels = {} }) {
    const same = (given) => given.name === name && sameLabels(given.labels, labels);
    const found = this.#verdictNote?.judged?.series.find(same);
    return found ? { ...histOf(readTotal(found.total)), tooFew: found.too_few } : null;
  }

  /** The latencies of the result as text: titles of columns, then a row each; empty if there are none. */
  get latencyRows() {
    return this.#verdictNote?.judged?.rows ?? [];
  }

  get #verdictNote() {
    return this.notes.findLast(({ kind }) => kind === "verdict");
  }

  /**
   * Series of that name whose labels are those given.
   * @param {string} name
   * @param {Object} [labels]
   * @returns {Series[]}
   */
  find(name, labels = {}) {
    const wanted = Object.entries(labels);
    return [...this.series.values()].filter(
      (series) => series.name === name && wanted.every(([label, value]) => series.labels[label] === value),
    );
  }

  /**
   * From the first interval's begin to the last one's end; null if there is none.
   * @returns {{from: number, to: number} | null}
   */
  span() {
    let [from, to] = [Infinity, -Infinity];
    for (const { intervals } of this.series.values()) {
      if (intervals.length === 0) continue;
      from = Math.min(from, intervals[0].start);
      to = Math.max(to, intervals[intervals.length - 1].end);
    }
    return to > from ? { from, to } : null;
  }

  /** The longest interval of a histogram that begins in the range, ms; 0 if there is none. */
  coarseness(range) {
    let longest = 0;
    for (const { kind, intervals } of this.series.values()) {
      if (kind !== "histogram") continue;
      for (const { start, end } of intervals) {
        if (start >= range.from && start < range.to) longest = Math.max(longest, end - start);
      }
    }
    return longest;
  }

  #take(given) {
    const key = `${given.name}\u0000${JSON.stringify(Object.entries(given.labels).sort())}`;
    const known = this.series.get(key);
    const read = given.kind === "histogram" ? readSlot : readPoint;
    const intervals = (given.intervals ?? []).map(read);
    const total = given.kind === "histogram" ? readTotal(given.total) : given.total;
    if (known === undefined) {
      this.series.set(key, { name: given.name, kind: given.kind, labels: given.labels, total, intervals });
      return;
    }
    if (given.total !== undefined) known.total = total;
    known.intervals.push(...intervals);
    if (known.intervals.length > INTERVALS_MAX) known.intervals = coarsened(known);
  }

  #takeSource(changed) {
    const same = (known) =>
      known.source === changed.source &&
      known.epoch_unix_ns === changed.epoch_unix_ns &&
      known.epoch_unix_ms === changed.epoch_unix_ms;
    const at = this.sources.findIndex(same);
    if (at < 0) this.sources = [...this.sources, changed];
    else this.sources = this.sources.with(at, changed);
  }
}

function sameLabels(one, other) {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}

function inOrder(notes) {
  return [...notes].sort((one, other) => one.unix_ms - other.unix_ms);
}

/**
 * How many values were below 0 and above 1 hour, without decoding the counts.
 * @param {Slot} slot
 * @returns {{negative: number, overflow: number}}
 */
export function outliersOf({ hist, head }) {
  return hist ? { negative: hist.negative, overflow: hist.overflow } : { negative: head[5], overflow: head[4] };
}

/** The histogram of an interval or a total, decoded once. @param {Slot} slot @returns {import("./hdr.js").Hist} */
export function histOf(slot) {
  if (slot.hist === null) {
    const [count, sumUs, minUs, maxUs, overflow, negative] = slot.head;
    const counts = count > 0 ? decodeCounts(slot.text) : emptyHist();
    slot.hist = {
      count,
      sumUs,
      minUs,
      maxUs,
      overflow,
      negative,
      indices: counts.indices,
      numbers: counts.numbers,
    };
    slot.text = "";
  }
  return slot.hist;
}

function readSlot(values) {
  return { start: values[0], end: values[1], head: values.slice(2, 8), text: values[8], hist: null };
}

function readTotal(values) {
  return values === undefined || values === null
    ? null
    : { start: 0, end: 0, head: values.slice(0, 6), text: values[6], hist: null };
}

function readPoint(values) {
  return { start: values[0], end: values[1], value: values[2] };
}

/** The intervals with the older half merged by pairs: exactly for histograms and counters, a gauge's newer value. */
function coarsened({ kind, intervals }) {
  const half = 2 * Math.floor(intervals.length / 4);
  const merged = [];
  for (let i = 0; i < half; i += 2) {
    const [older, newer] = [intervals[i], intervals[i + 1]];
    const span = { start: older.start, end: newer.end };
    if (kind === "histogram") {
      merged.push({ ...span, head: [], text: "", hist: mergeHists([histOf(older), histOf(newer)]) });
    } else {
      merged.push({ ...span, value: kind === "counter" ? older.value + newer.value : newer.value });
    }
  }
  return [...merged, ...intervals.slice(half)];
}

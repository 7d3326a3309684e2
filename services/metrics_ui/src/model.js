/**
 * The data of one run: series of intervals, notes, sources. It is loaded whole, then grows by events. Times are Unix
 * milliseconds. What a page shows of a range is worked out by `View`.
 */

import { decodeCounts, emptyHist, mergeHists } from "./hdr.js";

/** Intervals of a series beyond which the older half is merged by pairs, so that a page may stay open for days. */
const INTERVALS_MAX = 2000;

/** @import {Hist} from "./hdr.js" */
/** @import {Interval} from "./intervals.js" */
/** @import {Labels, Note, Part, ResultData, RunData, SeriesData, SourceData, TickData} from "./types.js" */
/** @import {PointRow, SlotRow, TotalRow} from "./types.js" */

/** @typedef {{start: number, end: number, value: number}} Point  What a counter grew by, or a gauge at its end. */
/** @typedef {{start: number, end: number, text: string, hist: Hist | null, head: number[]}} Slot  A histogram's
 *   interval, decoded when it is first needed. */
/**
 * @typedef {{name: string, kind: "counter" | "gauge", labels: Labels, total: number, intervals: Point[]}} NumberSeries
 */
/**
 * @typedef {{name: string, kind: "histogram", labels: Labels, total: Slot | null, intervals: Slot[]}} HistogramSeries
 */
/** @typedef {NumberSeries | HistogramSeries} Series */

export class RunModel {
  /** @type {Note | undefined} */
  #resultNote;
  /** @type {ResultData | null} */
  #result = null;

  /** @param {RunData} data the answer of /api/v1/runs/{run_id}/data; RangeError if it is of another format */
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
   * Take what is new. @param {TickData} event the data of an SSE `data` event
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

  /** The verdict with its cause, in the words of the run controller; that of an older one has no cause. */
  get outcome() {
    return this.#verdictNote?.outcome || this.verdict;
  }

  /** The checks of the verdict that failed. @returns {{check: string, text: string, cause: string}[]} */
  get failed() {
    return this.#verdictNote?.failed ?? [];
  }

  /** What the run is judged by, as its controller has said it: nothing is judged by what is not there. */
  get limits() {
    return this.notes.findLast(({ kind }) => kind === "limits")?.limits ?? {};
  }

  /**
   * The system under test, if it is not ours: its kind, and the steps of a pipeline as its user named them.
   * @returns {{kind: string, steps: string[]} | null}
   */
  get system() {
    const said = this.notes.findLast(({ kind }) => kind === "system");
    return said ? { kind: said.name, steps: said.text.split("\n").slice(1) } : null;
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
    return judged && judged.series.length > 0 ? { from: judged.from_unix_ms, to: judged.to_unix_ms } : null;
  }

  /**
   * The result's own histogram of a latency, which is of orders and not of when they were pushed; null if there is none.
   * @param {import("./view.js").Selector} of
   * @returns {Hist | null}
   */
  judgedHist({ name, labels = {} }) {
    /** @param {{name: string, labels: Labels}} given */
    const same = (given) => given.name === name && sameLabels(given.labels, labels);
    const found = this.#verdictNote?.judged?.series.find(same);
    return found ? { ...histOf(slotOf(found.total)), tooFew: found.too_few } : null;
  }

  /** The latencies of the result as text: titles of columns, then a row each; empty if there are none. */
  get latencyRows() {
    return this.#verdictNote?.judged?.rows ?? [];
  }

  /** The result whole, as result.json has it; null as long as there is none, and of a run of an older version. */
  get result() {
    const note = this.notes.findLast(({ kind }) => kind === "result");
    if (note !== this.#resultNote) [this.#resultNote, this.#result] = [note, note ? resultIn(note) : null];
    return this.#result;
  }

  get #verdictNote() {
    return this.notes.findLast(({ kind }) => kind === "verdict");
  }

  /**
   * Series of that name whose labels are those given.
   * @param {string} name
   * @param {Labels} [labels]
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

  /**
   * The longest interval of a histogram that begins in the range, ms; 0 if there is none.
   * @param {Part} range
   * @param {string} [of] the histogram; else all of them
   */
  coarseness(range, of = "") {
    let longest = 0;
    for (const { name, kind, intervals } of this.series.values()) {
      if (kind !== "histogram" || (of && name !== of)) continue;
      for (const { start, end } of intervals) {
        if (start >= range.from && start < range.to) longest = Math.max(longest, end - start);
      }
    }
    return longest;
  }

  /** @param {SeriesData} given */
  #take(given) {
    const key = `${given.name}\u0000${JSON.stringify(Object.entries(given.labels).sort())}`;
    const known = this.series.get(key);
    const read = readSeries(given);
    if (known === undefined) {
      this.series.set(key, read);
      return;
    }
    if (given.total !== undefined) known.total = read.total;
    // A series keeps its kind, so that both are of the same one.
    /** @type {Interval[]} */ (known.intervals).push(...read.intervals);
    if (known.intervals.length > INTERVALS_MAX) coarsen(known);
  }

  /** @param {SourceData} changed */
  #takeSource(changed) {
    /** @param {SourceData} known */
    const same = (known) =>
      known.source === changed.source &&
      known.epoch_unix_ns === changed.epoch_unix_ns &&
      known.epoch_unix_ms === changed.epoch_unix_ms;
    const at = this.sources.findIndex(same);
    if (at < 0) this.sources = [...this.sources, changed];
    else this.sources = this.sources.with(at, changed);
  }
}

/** @param {Labels} one @param {Labels} other */
function sameLabels(one, other) {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}

/** @param {Note} note @returns {ResultData | null} null if it is no document */
function resultIn({ text }) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** @param {Note[]} notes */
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

/** The histogram of an interval or a total, decoded once. @param {Slot} slot @returns {Hist} */
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

/** @param {SeriesData} given @returns {Series} */
function readSeries({ name, labels, ...given }) {
  if (given.kind === "histogram") {
    const total = given.total ? slotOf(given.total) : null;
    return { name, kind: given.kind, labels, total, intervals: (given.intervals ?? []).map(readSlot) };
  }
  return { name, kind: given.kind, labels, total: given.total, intervals: (given.intervals ?? []).map(readPoint) };
}

/** @param {SlotRow} row @returns {Slot} */
function readSlot([start, end, ...total]) {
  return { ...slotOf(total), start, end };
}

/** @param {TotalRow} row @returns {Slot} */
function slotOf([count, sumUs, minUs, maxUs, overflow, negative, text]) {
  return { start: 0, end: 0, head: [count, sumUs, minUs, maxUs, overflow, negative], text, hist: null };
}

/** @param {PointRow} row @returns {Point} */
function readPoint([start, end, value]) {
  return { start, end, value };
}

/**
 * Merge the older half of the intervals by pairs: exactly for histograms and counters, a gauge's newer value.
 * @param {Series} series
 */
function coarsen(series) {
  if (series.kind === "histogram") {
    series.intervals = halved(series.intervals, (older, newer) => ({
      start: older.start,
      end: newer.end,
      head: [],
      text: "",
      hist: mergeHists([histOf(older), histOf(newer)]),
    }));
  } else {
    const isCounter = series.kind === "counter";
    series.intervals = halved(series.intervals, (older, newer) => ({
      start: older.start,
      end: newer.end,
      value: isCounter ? older.value + newer.value : newer.value,
    }));
  }
}

/**
 * @template {Interval} T
 * @param {T[]} intervals
 * @param {(older: T, newer: T) => T} merge
 */
function halved(intervals, merge) {
  const half = 2 * Math.floor(intervals.length / 4);
  const merged = [];
  for (let i = 0; i < half; i += 2) merged.push(merge(intervals[i], intervals[i + 1]));
  return [...merged, ...intervals.slice(half)];
}

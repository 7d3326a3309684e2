/**
 * A range of a run, worked out: histograms merged over it, rates, and both in bins of time. Everything is computed from
 * the intervals that the range has, and kept for as long as the view lives.
 *
 * An interval's histogram counts where its middle lies. What a counter grew by in an interval counts in parts.
 */

import { mergeHists } from "./hdr.js";
import { grownIn, inside, middle, share, sum } from "./intervals.js";
import { histOf, outliersOf } from "./model.js";
import { measuredPart } from "./phases.js";
import { binWidth } from "./range.js";
import { END_TO_END } from "./steps.js";

/** A source pushes once a second: what is missing for longer than this is not on its way any more. */
const AWAITED_MS = 3000;
const BINS = 240;

/** @import {Hist} from "./hdr.js" */
/** @import {HistogramSeries, NumberSeries, Point, RunModel, Series, Slot} from "./model.js" */
/** @import {Range} from "./range.js" */
/** @import {Labels, Part, ValueBin} from "./types.js" */

/** @typedef {{name: string, labels?: Labels}} Selector  Which series: the name, and labels to have. */
/** @typedef {Part & {hist: Hist}} HistBin */
/** @typedef {Part & {value: number}} KnownBin */

export class View {
  /** @type {Map<string, unknown>} what was worked out, by method and argument */
  #kept = new Map();

  /**
   * @param {RunModel} model
   * @param {Range} range
   * @param {Part} span what the run has
   * @param {{widthMs?: number, bins?: number, history?: RunModel}} [more] widthMs: of the bins, else
   *   as fits; bins: at most so many; history: the whole run, where the model has that range only
   */
  constructor(model, range, span, { widthMs = 0, bins = BINS, history = model } = {}) {
    this.model = model;
    this.history = history;
    this.range = range;
    this.span = span;
    this.begin = span.from;
    // The latency rules: of a long run the other histograms may be coarser, as long as none is drawn over time.
    const coarseness = model.coarseness(range, END_TO_END.name) || model.coarseness(range);
    this.leastWidthMs = binWidth(range, coarseness, bins);
    this.widthMs = Math.max(widthMs, this.leastWidthMs);
    this.seconds = (range.to - range.from) / 1000;
    const { judged } = history;
    /** Whether this is what the result is of: its latencies are then the result's own. */
    this.judged = judged !== null && judged.from === range.from && judged.to === range.to;
    this.flow = measuredPart(model.notes, range);
    this.flowLabel = this.flow.from === range.from && this.flow.to === range.to ? "range" : "measured";
  }

  /** Whether anything was pushed for it. @param {Selector | Selector[]} of */
  has(of) {
    return this.series(of).length > 0;
  }

  /** @param {Selector | Selector[]} of one selector or several @returns {Series[]} */
  series(of) {
    return this.#once("series", of, () => [of].flat().flatMap(({ name, labels }) => this.model.find(name, labels)));
  }

  /** The same of counters and gauges: by its name a metric is of one kind. @param {Selector | Selector[]} of */
  numbers(of) {
    return /** @type {NumberSeries[]} */ (this.series(of));
  }

  /** The same of histograms. @param {Selector | Selector[]} of */
  #histograms(of) {
    return /** @type {HistogramSeries[]} */ (this.series(of));
  }

  /**
   * All values in the range, merged; of what was judged, those of the result. Of a series that does not tell warm-up
   * from measured load by a label, those of the time in which the measured load flowed.
   * @param {Selector | Selector[]} of
   * @returns {Hist}
   */
  hist(of) {
    return this.#once("hist", of, () => {
      const judged = this.judged && !Array.isArray(of) ? this.history.judgedHist(of) : null;
      if (judged) return judged;
      return mergeHists(
        this.#histograms(of).flatMap(({ labels, total, intervals }) => {
          const range = "phase" in labels ? this.range : this.flow;
          if (range.whole) return total ? [histOf(total)] : [];
          return inside(intervals, range).map(histOf);
        }),
      );
    });
  }

  /**
   * How many values of all histograms were below 0, and above 1 hour.
   * @returns {{negative: number, overflow: number}}
   */
  outliers() {
    const slots = [...this.model.series.values()].flatMap(({ kind, total, intervals }) => {
      if (kind !== "histogram" || total === null) return [];
      return this.range.whole ? [total] : inside(intervals, this.range);
    });
    const counts = slots.map(outliersOf);
    return {
      negative: sum(counts.map(({ negative }) => negative)),
      overflow: sum(counts.map(({ overflow }) => overflow)),
    };
  }

  /**
   * The values in bins of `widthMs`, those without any left out.
   * @param {Selector | Selector[]} of
   * @returns {HistBin[]}
   */
  histBins(of) {
    return this.#once("histBins", of, () => {
      /** @type {Map<number, Slot[]>} */
      const byBin = new Map();
      for (const { intervals } of this.#histograms(of)) {
        for (const slot of inside(intervals, this.range)) {
          const bin = Math.floor((middle(slot) - this.begin) / this.widthMs);
          const known = byBin.get(bin);
          if (known) known.push(slot);
          else byBin.set(bin, [slot]);
        }
      }
      return [...byBin.entries()]
        .sort(([one], [other]) => one - other)
        .map(([bin, slots]) => ({
          ...this.#bin(bin),
          hist: mergeHists(slots.map(histOf)),
        }))
        .filter(({ hist }) => hist.count > 0);
    });
  }

  /**
   * What the counters grew by in the range; null if there is no such series.
   * @param {Selector | Selector[]} of
   * @returns {number | null}
   */
  grown(of) {
    return this.#once("grown", of, () => {
      const found = this.numbers(of);
      if (found.length === 0) return null;
      return this.range.whole ? sum(found.map(({ total }) => total)) : grownIn(found, this.range);
    });
  }

  /**
   * What they grew by while the measured load flowed, as far as that is in the range.
   * @param {Selector | Selector[]} of
   * @returns {number | null}
   */
  flowed(of) {
    return this.#once("flowed", of, () => (this.has(of) ? grownIn(this.numbers(of), this.flow) : null));
  }

  /**
   * What they grew by a second in that time, as far as it is known yet; null if there is no such series.
   * @param {Selector | Selector[]} of
   * @returns {number | null}
   */
  rate(of) {
    const grown = this.flowed(of);
    const { from } = this.flow;
    const to = Math.min(this.flow.to, this.#awaitedFrom(of));
    return grown === null || to <= from ? null : (grown * 1000) / (to - from);
  }

  /**
   * Growth a second, bin by bin; null in the newest bins of a live run, as long as what they come to is on its way.
   * @param {Selector | Selector[]} of
   * @returns {ValueBin[]}
   */
  rateBins(of) {
    return this.#once("rateBins", of, () => {
      const bins = this.#emptyBins();
      for (const { intervals } of this.numbers(of)) {
        for (const point of intervals) this.#spread(point, bins);
      }
      const awaited = this.#awaitedFrom(of);
      return bins.map(({ from, to, value }) => ({
        from,
        to,
        value: to > awaited ? null : (value * 1000) / (to - from),
      }));
    });
  }

  /**
   * The sum of the counters since the begin of the run at the end of each bin; null as in `rateBins`.
   * @param {Selector | Selector[]} of
   * @returns {ValueBin[]}
   */
  totalBins(of) {
    const before = { from: this.span.from - 1, to: this.range.from };
    const series = [of].flat().flatMap(({ name, labels }) => this.history.find(name, labels));
    let total = grownIn(/** @type {NumberSeries[]} */ (series), before);
    return this.rateBins(of).map(({ from, to, value }) => {
      total += ((value ?? 0) * (to - from)) / 1000;
      return { from, to, value: value === null ? null : total };
    });
  }

  /**
   * The gauges' newest values in each bin, summed over series; null where nothing is known.
   * @param {Selector | Selector[]} of
   * @returns {ValueBin[]}
   */
  gaugeBins(of) {
    return this.#once("gaugeBins", of, () => {
      /** @type {ValueBin[]} */
      const bins = this.#emptyBins().map((bin) => ({ ...bin, value: null }));
      for (const { intervals } of this.numbers(of)) {
        let at = 0;
        /** @type {number | null} */
        let newest = null;
        for (const bin of bins) {
          while (at < intervals.length && intervals[at].end <= bin.to) {
            newest = intervals[at].value;
            at += 1;
          }
          if (newest !== null) bin.value = (bin.value ?? 0) + newest;
        }
      }
      return bins;
    });
  }

  /** The gauges' values at the end of the range, summed. @param {Selector | Selector[]} of @returns {number | null} */
  gauge(of) {
    const bins = this.gaugeBins(of);
    return bins.length > 0 ? bins[bins.length - 1].value : null;
  }

  /** When the series had their last interval; null if they have none. @param {Selector | Selector[]} of */
  lastMs(of) {
    const ends = this.series(of).flatMap(({ intervals }) => intervals.slice(-1).map(({ end }) => end));
    return ends.length > 0 ? Math.max(...ends) : null;
  }

  /**
   * From when on figures of a live run are still on their way; Infinity if none is.
   * @param {Selector | Selector[]} of
   */
  #awaitedFrom(of) {
    const lastMs = this.lastMs(of) ?? -Infinity;
    return this.model.live && this.span.to - lastMs < AWAITED_MS ? lastMs : Infinity;
  }

  /** @param {number} number @returns {Part} */
  #bin(number) {
    const from = this.begin + number * this.widthMs;
    return { from: Math.max(from, this.range.from), to: Math.min(from + this.widthMs, this.range.to) };
  }

  #emptyBins() {
    const first = Math.floor((this.range.from - this.begin) / this.widthMs);
    /** @type {KnownBin[]} */
    const bins = [];
    for (let number = first; this.begin + number * this.widthMs < this.range.to; number += 1) {
      bins.push({ ...this.#bin(number), value: 0 });
    }
    return bins;
  }

  /** @param {Point} point @param {KnownBin[]} bins */
  #spread(point, bins) {
    if (bins.length === 0 || point.end <= bins[0].from) return;
    const first = Math.floor((bins[0].from - this.begin) / this.widthMs);
    let at = Math.max(0, Math.floor((point.start - this.begin) / this.widthMs) - first);
    for (; at < bins.length && bins[at].from < point.end; at += 1) {
      bins[at].value += point.value * share(point, bins[at]);
    }
  }

  /**
   * @template T
   * @param {string} what
   * @param {Selector | Selector[]} of
   * @param {() => T} compute
   */
  #once(what, of, compute) {
    const key = `${what} ${JSON.stringify(of)}`;
    if (!this.#kept.has(key)) this.#kept.set(key, compute());
    return /** @type {T} */ (this.#kept.get(key));
  }
}

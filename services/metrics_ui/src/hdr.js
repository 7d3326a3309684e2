/**
 * Latency histograms, as `market_spread/common/hdr/histogram.py` has them: HdrHistogram's buckets for 1 us to 1 hour with
 * 3 digits, here as sorted pairs of bucket index and count. Merging adds buckets; a percentile is computed once.
 */

export const SLOTS = 23552;
export const PERCENTS = [50, 95, 99, 99.9, 99.99];

/** @typedef {{count: number, sumUs: number, minUs: number, maxUs: number, overflow: number, negative: number,
 *             indices: Int32Array, numbers: Float64Array, tooFew?: Record<string, number>}} Hist  A histogram; empty
 *   ones have min and max 0. tooFew: the percentiles that rest on too few clusters of time, as the run controller says. */

const SCRATCH = new Float64Array(SLOTS);
const NO_INDICES = new Int32Array(0);
const NO_NUMBERS = new Float64Array(0);

/** @returns {Hist} */
export function emptyHist() {
  return {
    count: 0,
    sumUs: 0,
    minUs: 0,
    maxUs: 0,
    overflow: 0,
    negative: 0,
    indices: NO_INDICES,
    numbers: NO_NUMBERS,
  };
}

/**
 * The counts of a histogram from base64 of ZigZag LEB128 numbers, bucket by bucket; -n stands for n empty buckets.
 * @param {string} text
 * @returns {{indices: Int32Array, numbers: Float64Array}}
 * @throws {RangeError} if the text is truncated or has more buckets than there are
 */
export function decodeCounts(text) {
  const bytes = atob(text);
  const indices = [];
  const numbers = [];
  let slot = 0;
  for (let at = 0; at < bytes.length;) {
    // In doubles, because the bit operators of the language end at 32 bits.
    let zigzag = 0;
    let scale = 1;
    for (let more = true; more; scale *= 128) {
      if (at >= bytes.length) throw new RangeError(`the counts end inside a number, after ${bytes.length} bytes`);
      const byte = bytes.charCodeAt(at);
      at += 1;
      more = byte >= 128 && scale < 2 ** 56;
      zigzag += (more ? byte - 128 : byte) * scale;
    }
    if (zigzag % 2 === 1) {
      slot += (zigzag + 1) / 2;
    } else {
      if (zigzag > 0) {
        indices.push(slot);
        numbers.push(zigzag / 2);
      }
      slot += 1;
    }
    if (slot > SLOTS) throw new RangeError(`the counts have more than ${SLOTS} buckets`);
  }
  return { indices: Int32Array.from(indices), numbers: Float64Array.from(numbers) };
}

/**
 * All values of all of them.
 * @param {Hist[]} hists
 * @returns {Hist}
 */
export function mergeHists(hists) {
  const used = hists.filter((hist) => hist.count > 0);
  if (used.length === 0) return emptyHist();
  if (used.length === 1) return used[0];
  const merged = { ...emptyHist(), minUs: Infinity };
  let first = SLOTS;
  let last = -1;
  for (const hist of used) {
    merged.count += hist.count;
    merged.sumUs += hist.sumUs;
    merged.minUs = Math.min(merged.minUs, hist.minUs);
    merged.maxUs = Math.max(merged.maxUs, hist.maxUs);
    merged.overflow += hist.overflow;
    merged.negative += hist.negative;
    const { indices, numbers } = hist;
    for (let i = 0; i < indices.length; i += 1) SCRATCH[indices[i]] += numbers[i];
    if (indices.length > 0) {
      first = Math.min(first, indices[0]);
      last = Math.max(last, indices[indices.length - 1]);
    }
  }
  const indices = [];
  const numbers = [];
  for (let slot = first; slot <= last; slot += 1) {
    if (SCRATCH[slot] > 0) {
      indices.push(slot);
      numbers.push(SCRATCH[slot]);
      SCRATCH[slot] = 0;
    }
  }
  return { ...merged, indices: Int32Array.from(indices), numbers: Float64Array.from(numbers) };
}

/** The least value of a bucket, us. @param {number} slot @returns {number} */
export function lowestValue(slot) {
  const shift = Math.max((slot >> 10) - 1, 0);
  return (slot - (shift << 10)) * 2 ** shift;
}

/** The greatest value of a bucket, us. @param {number} slot @returns {number} */
export function highestValue(slot) {
  return lowestValue(slot) + 2 ** Math.max((slot >> 10) - 1, 0) - 1;
}

/**
 * The value of each percentile, us: the highest of its bucket, but never above the exact maximum; 0 if empty.
 * @param {Hist} hist
 * @param {number[]} percents ascending, above 0, at most 100
 * @returns {number[]}
 */
export function percentiles(hist, percents) {
  return valuesAtRanks(
    hist,
    percents.map((percent) => Math.max(1, Math.floor((percent * hist.count) / 100 + 0.5))),
  );
}

/** One percentile, us. @param {Hist} hist @param {number} percent @returns {number} */
export function percentile(hist, percent) {
  return percentiles(hist, [percent])[0];
}

/**
 * Whether at least 10 values lie above that percentile, and not in too few clusters of time, so that it may be shown.
 * @param {Hist} hist
 * @param {number} percent
 * @returns {boolean}
 */
export function supports(hist, percent) {
  // In millionths of a percent, because 1 - 0.9999 is not exact in floating point.
  return clustersOf(hist, percent) === undefined && hist.count * Math.round((100 - percent) * 1e6) >= 10 * 1e8;
}

/**
 * In how many clusters of time a percentile lies, if these are too few to show it.
 * @param {Hist} hist
 * @param {number} percent
 */
export function clustersOf({ tooFew }, percent) {
  return tooFew?.[`p${percent}`];
}

/** A percentile, us, or null where the values are too few for it. @param {Hist} hist @param {number} percent */
export function shownPercentile(hist, percent) {
  return supports(hist, percent) ? percentile(hist, percent) : null;
}

/** The mean, us, exact; null if empty. @param {Hist} hist @returns {number | null} */
export function meanUs(hist) {
  return hist.count > 0 ? hist.sumUs / hist.count : null;
}

/**
 * Counts by rows of a quarter of an octave, whose edges are edges of buckets, so that they are exact.
 * @param {Hist} hist
 * @returns {Map<number, number>} row to count
 */
export function countsByRow(hist) {
  /** @type {Map<number, number>} */
  const rows = new Map();
  for (let i = 0; i < hist.indices.length; i += 1) {
    const row = rowOf(lowestValue(hist.indices[i]));
    rows.set(row, (rows.get(row) ?? 0) + hist.numbers[i]);
  }
  return rows;
}

/** The least value of a row, us. @param {number} row @returns {number} */
export function rowLowest(row) {
  return 2 ** Math.floor(row / 4) * (1 + (row % 4) / 4);
}

/** The row of a value, us; 0 is in the row of 1. @param {number} valueUs @returns {number} */
export function rowOf(valueUs) {
  if (valueUs < 1) return 0;
  const octave = 31 - Math.clz32(valueUs); // an hour in microseconds has 32 bits
  return 4 * octave + Math.floor((valueUs / 2 ** octave - 1) * 4);
}

/** @param {Hist} hist @param {number[]} ranks ascending */
function valuesAtRanks(hist, ranks) {
  if (hist.count === 0) return ranks.map(() => 0);
  const values = [];
  let seen = 0;
  let at = 0;
  for (const rank of ranks) {
    while (at < hist.numbers.length && seen + hist.numbers[at] < rank) {
      seen += hist.numbers[at];
      at += 1;
    }
    const slot = at < hist.numbers.length ? hist.indices[at] : SLOTS - 1;
    values.push(Math.min(highestValue(slot), hist.maxUs));
  }
  return values;
}

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  SLOTS,
  clustersOf,
  countsByRow,
  decodeCounts,
  emptyHist,
  highestValue,
  lowestValue,
  meanUs,
  mergeHists,
  percentile,
  percentiles,
  rowLowest,
  rowOf,
  shownPercentile,
  supports,
} from "../src/hdr.js";

/** Counts as they are sent, of these bytes. */
const sent = (...bytes) => btoa(String.fromCharCode(...bytes));
const pairs = ({ indices, numbers }) => [...indices].map((index, at) => [index, numbers[at]]);
/** A histogram of these counts by bucket; what is exact is of the buckets' lowest values. */
const hist = (counts, more = {}) => {
  const indices = Object.keys(counts).map(Number);
  const numbers = Object.values(counts);
  const count = numbers.reduce((sum, number) => sum + number, 0);
  const values = indices.map(lowestValue);
  return {
    ...emptyHist(),
    count,
    sumUs: values.reduce((sum, value, at) => sum + value * numbers[at], 0),
    minUs: values[0],
    maxUs: values.at(-1),
    indices: Int32Array.from(indices),
    numbers: Float64Array.from(numbers),
    ...more,
  };
};

test("no text is no counts", () => {
  assert.deepEqual(pairs(decodeCounts("")), []);
});

test("counts stand in the buckets after those that are skipped", () => {
  // 2 in bucket 0; -3: 3 empty ones; 1 in bucket 4.
  assert.deepEqual(pairs(decodeCounts(sent(4, 5, 2))), [
    [0, 2],
    [4, 1],
  ]);
});

test("a count of 0 is an empty bucket", () => {
  assert.deepEqual(pairs(decodeCounts(sent(0, 0, 2))), [[2, 1]]);
});

test("numbers of several bytes are read, also those beyond 32 bits", () => {
  assert.deepEqual(pairs(decodeCounts(sent(0xc7, 0x01, 0x06))), [[100, 3]]);
  assert.deepEqual(pairs(decodeCounts(sent(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02))), [[0, 4_398_046_511_104]]);
});

test("counts that end inside a number are refused", () => {
  assert.throws(() => decodeCounts(sent(0x80)), new RangeError("the counts end inside a number, after 1 bytes"));
});

test("more buckets than there are, are refused; the last one is not", () => {
  const skip = [0xfd, 0xef, 0x02]; // -23551

  assert.deepEqual(pairs(decodeCounts(sent(...skip, 2))), [[SLOTS - 1, 1]]);
  assert.throws(() => decodeCounts(sent(...skip, 2, 2)), new RangeError("the counts have more than 23552 buckets"));
});

test("buckets are 1 us wide up to 2048 us, then twice as wide each octave", () => {
  assert.deepEqual([0, 2047, 2048, 3071, 3072].map(lowestValue), [0, 2047, 2048, 4094, 4096]);
  assert.deepEqual([0, 2047, 2048, 3071, 3072].map(highestValue), [0, 2047, 2049, 4095, 4099]);
});

test("the last bucket ends above an hour", () => {
  assert.equal(lowestValue(SLOTS - 1), 4_292_870_144);
  assert.equal(highestValue(SLOTS - 1), 4_294_967_295);
});

test("an empty histogram has 0 for percentiles and no mean", () => {
  const empty = emptyHist();

  assert.deepEqual(percentiles(empty, [50, 99.99]), [0, 0]);
  assert.equal(meanUs(empty), null);
  assert.equal(supports(empty, 50), false);
  assert.equal(shownPercentile(empty, 50), null);
  assert.equal(countsByRow(empty).size, 0);
});

test("a percentile is the highest value of its bucket", () => {
  const both = hist({ 2048: 50, 3072: 50 }, { maxUs: 4099 });

  assert.deepEqual(percentiles(both, [1, 50, 51, 100]), [2049, 2049, 4099, 4099]);
});

test("a rank between two values is that of the greater one", () => {
  assert.equal(percentile(hist({ 1: 1, 2: 1, 3: 1 }), 50), 2);
});

test("a percentile is never above the exact maximum", () => {
  assert.equal(percentile(hist({ 3072: 7 }, { maxUs: 4097 }), 99.99), 4097);
});

test("the mean is of the exact sum, also of huge counts", () => {
  assert.equal(meanUs(hist({ 100: 3, 200: 1 })), 125);
  assert.equal(meanUs({ ...emptyHist(), count: 2 ** 40, sumUs: 2 ** 50 }), 1024);
});

test("a percentile is shown if ten values lie above it", () => {
  assert.deepEqual(
    [
      [20, 50],
      [19, 50],
      [1000, 99],
      [999, 99],
      [100_000, 99.99],
      [99_999, 99.99],
    ].map(([count, percent]) => supports({ ...emptyHist(), count }, percent)),
    [true, false, true, false, true, false],
  );
});

test("a percentile of too few clusters is not shown, and how many they are is known", () => {
  const few = hist({ 100: 10_000 }, { tooFew: { "p99.9": 6 } });

  assert.equal(clustersOf(few, 99.9), 6);
  assert.equal(clustersOf(few, 99), undefined);
  assert.equal(shownPercentile(few, 99.9), null);
  assert.equal(shownPercentile(few, 99), 100);
});

test("merging adds buckets and keeps the extremes", () => {
  const merged = mergeHists([
    hist({ 5: 1, 100: 2 }, { overflow: 1, negative: 4 }),
    emptyHist(),
    hist({ 100: 3, 2048: 1 }, { overflow: 2 }),
  ]);

  assert.deepEqual(pairs(merged), [
    [5, 1],
    [100, 5],
    [2048, 1],
  ]);
  assert.deepEqual(
    [merged.count, merged.sumUs, merged.minUs, merged.maxUs, merged.overflow, merged.negative],
    [7, 2553, 5, 2048, 3, 4],
  );
});

test("merging nothing is empty, and one alone stays as it is", () => {
  const one = hist({ 7: 1 });

  assert.deepEqual(mergeHists([]), emptyHist());
  assert.deepEqual(mergeHists([emptyHist(), emptyHist()]), emptyHist());
  assert.equal(mergeHists([emptyHist(), one]), one);
});

test("a merge leaves nothing behind for the next one", () => {
  mergeHists([hist({ 1: 1 }), hist({ 2: 1 })]);

  assert.deepEqual(pairs(mergeHists([hist({ 1: 5 }), hist({ 2: 6 })])), [
    [1, 5],
    [2, 6],
  ]);
});

test("the overflow's bucket takes part in a merge", () => {
  const merged = mergeHists([hist({ [SLOTS - 1]: 1 }), hist({ 0: 1 })]);

  assert.deepEqual(pairs(merged), [
    [0, 1],
    [SLOTS - 1, 1],
  ]);
});

test("rows are quarters of an octave", () => {
  assert.deepEqual([0, 1, 2, 3, 4, 5, 1000, 1024, 3_600_000_000].map(rowOf), [0, 0, 4, 6, 8, 9, 39, 40, 126]);
  assert.deepEqual([0, 4, 5, 6, 40].map(rowLowest), [1, 2, 2.5, 3, 1024]);
});

test("counts by row keep every value", () => {
  assert.deepEqual(
    [...countsByRow(hist({ 0: 1, 1: 2, 1024: 3, 1100: 4, 1300: 5 }))],
    [
      [0, 3],
      [40, 7],
      [41, 5],
    ],
  );
});

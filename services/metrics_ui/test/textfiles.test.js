import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyHist } from "../src/hdr.js";
import { csvOf, hgrmOf } from "../src/textfiles.js";

/** @param {[slot: number, count: number][]} counts of values below 2048 us, of which each has a slot */
function histOf(counts) {
  return {
    ...emptyHist(),
    count: counts.reduce((sum, [, count]) => sum + count, 0),
    sumUs: counts.reduce((sum, [us, count]) => sum + us * count, 0),
    minUs: counts[0][0],
    maxUs: counts[counts.length - 1][0],
    indices: Int32Array.from(counts.map(([slot]) => slot)),
    numbers: Float64Array.from(counts.map(([, count]) => count)),
  };
}

test("CSV quotes what would end a field, leaves out what is not known, and starts no formula", () => {
  assert.equal(
    csvOf([
      ["from", 'a "b"', "c, d"],
      [1.5, null, -2],
      ["=1+1", "-x", "–"],
    ]),
    'from,"a ""b""","c, d"\r\n1.5,,-2\r\n\'=1+1,\'-x,–\r\n',
  );
});

test("a histogram as HdrHistogram writes it: ticks that come closer to all, and how many are at or below", () => {
  const lines = hgrmOf(histOf([[100, 50], [200, 40], [1_000, 10]])).split("\n"); // prettier-ignore

  assert.equal(lines[0], "       Value     Percentile TotalCount 1/(1-Percentile)");
  assert.equal(lines[2], "       0.100 0.000000000000         50           1.00");
  const rows = lines.filter((line) => /^ +\d/.test(line)).map((line) => line.trim().split(/ +/).map(Number));
  assert.deepEqual(rows.at(-1), [1, 1, 100]);
  for (const [at, [value, part, below, inverse]] of rows.slice(0, -1).entries()) {
    assert.ok(Math.abs(inverse - 1 / (1 - part)) < 0.01);
    assert.equal(below, { 0.1: 50, 0.2: 90, 1: 100 }[value]);
    assert.ok(at === 0 || part > rows[at - 1][1]);
  }
  assert.deepEqual(lines.slice(-4), [
    "#[Mean    =        0.230, StdDeviation   =        0.261]",
    "#[Max     =        1.000, Total count    =          100]",
    "#[Buckets =           22, SubBuckets     =         2048]",
    "",
  ]);
});

test("an empty histogram has no rows", () => {
  assert.equal(hgrmOf(emptyHist()).split("\n").length, 6);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  axisLatency,
  axisNumber,
  bytes,
  counted,
  duration,
  elapsed,
  fixed,
  inUnit,
  latency,
  percentName,
  rate,
  share,
  unitFor,
  whole,
} from "../src/format.js";

test("what is not known is a dash", () => {
  assert.deepEqual([whole(null), whole(undefined), whole(NaN)], ["–", "–", "–"]);
  assert.deepEqual([latency(null), rate(null), bytes(null)], ["–", "–", "–"]);
  assert.equal(inUnit(null, unitFor([])), "–");
});

test("whole numbers are rounded, with their thousands apart", () => {
  assert.deepEqual([0, 999.5, 1234567, -1234.4, 1e15].map(whole), [
    "0",
    "1,000",
    "1,234,567",
    "-1,234",
    "1,000,000,000,000,000",
  ]);
});

test("a number has as many decimals as are asked for", () => {
  assert.deepEqual([fixed(1234.5, 2), fixed(0, 0), fixed(-0.126, 2)], ["1,234.50", "0", "-0.13"]);
});

test("a latency has the unit that fits it", () => {
  assert.deepEqual([0, 1.5, 999, 1000, 12_345, 999_999, 1e6, 10e6, 3_600_000_000].map(latency), [
    "0 µs",
    "1.5 µs",
    "999 µs",
    "1.00 ms",
    "12.3 ms",
    "1,000.0 ms",
    "1,000 ms",
    "10.00 s",
    "3,600.0 s",
  ]);
});

test("a table has one unit, chosen by the least and the greatest", () => {
  assert.deepEqual(
    [[], [null, 0], [200, 9000], [200, 20_000], [150_000, 300_000], [10e6]].map((values) => unitFor(values).name),
    ["ms", "ms", "µs", "ms", "ms", "s"],
  );
  assert.equal(inUnit(123_456, unitFor([123_456])), "123.5");
  assert.equal(inUnit(1_234, unitFor([1_234])), "1.23");
});

test("an axis is as short as it is exact", () => {
  assert.deepEqual([1, 500, 2000, 1_500_000].map(axisLatency), ["1 µs", "500 µs", "2 ms", "1.5 s"]);
  assert.deepEqual([0, 0.25, 7, 1500, 20_000, 1_500_000, -2e9].map(axisNumber), [
    "0",
    "0.25",
    "7",
    "1,500",
    "20 k",
    "1.5 M",
    "-2 G",
  ]);
});

test("a rate has three digits or more", () => {
  assert.deepEqual([0, 1.234, 12.34, 123.4, 20_000].map(rate), ["0", "1.23", "12.3", "123", "20,000"]);
});

test("bytes are in the unit that fits", () => {
  assert.deepEqual([0, 1023, 1024, 150 * 2 ** 20, 2.5 * 2 ** 30, -2048].map(bytes), [
    "0 B",
    "1,023 B",
    "1.00 KiB",
    "150 MiB",
    "2.50 GiB",
    "-2.00 KiB",
  ]);
});

test("a small share has more decimals", () => {
  assert.deepEqual([0, 0.0042, 0.01, 1].map(share), ["0.0%", "0.42%", "1.0%", "100.0%"]);
});

test("a duration is in words; less than nothing is nothing", () => {
  assert.deepEqual([-5, 400, 42_000, 59_600, 60_000, 185_000, 7_620_000, 3_600_000].map(duration), [
    "0 s",
    "0.4 s",
    "42 s",
    "60 s",
    "1 min",
    "3 min 05 s",
    "2 h 07 min",
    "1 h",
  ]);
});

test("time since the begin counts up to hours, and back before it", () => {
  assert.deepEqual(
    [7, 750, 3723, -30, -0.4].map((seconds) => elapsed(seconds)),
    ["0:07", "12:30", "1:02:03", "−0:30", "0:00"],
  );
  assert.equal(elapsed(59.96, 1), "1:00.0");
});

test("one of something is said without an s", () => {
  assert.deepEqual(
    [counted(1, "frame"), counted(12, "frame"), counted(0, "push", "pushes")],
    ["1 frame", "12 frames", "0 pushes"],
  );
});

test("a percentile's name has its decimals", () => {
  assert.deepEqual([50, 99.9, 99.99].map(percentName), ["p50", "p99.9", "p99.99"]);
});

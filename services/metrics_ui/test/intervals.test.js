import assert from "node:assert/strict";
import { test } from "node:test";
import { grownIn, inside, middle, share, sum } from "../src/intervals.js";

const at = (start, end) => ({ start, end });

test("an interval lies where its middle does", () => {
  const intervals = [at(0, 10), at(10, 20), at(20, 30)];

  assert.equal(middle(at(10, 15)), 12.5);
  assert.deepEqual(inside(intervals, { from: 5, to: 25 }), [at(0, 10), at(10, 20)]);
  assert.deepEqual(inside(intervals, { from: 100, to: 200 }), []);
  assert.equal(inside(intervals, { from: 0, to: 1, whole: true }), intervals);
});

test("the share of an interval is the part of its time in the range", () => {
  assert.deepEqual(
    [
      share(at(0, 10), { from: 0, to: 10 }),
      share(at(0, 10), { from: 5, to: 100 }),
      share(at(0, 10), { from: 2, to: 4 }),
      share(at(0, 10), { from: 10, to: 20 }),
    ],
    [1, 0.5, 0.2, 0],
  );
});

test("an interval without length is all in the range where it stands", () => {
  assert.deepEqual(
    [share(at(5, 5), { from: 5, to: 6 }), share(at(6, 6), { from: 5, to: 6 }), share(at(9, 3), { from: 5, to: 10 })],
    [1, 0, 1],
  );
});

test("what counters grew by counts in parts, over all series", () => {
  /** @type {any[]} */
  const series = [
    { intervals: [{ ...at(0, 10), value: 100 }] },
    {
      intervals: [
        { ...at(0, 5), value: 7 },
        { ...at(5, 10), value: 30 },
      ],
    },
    { intervals: [] },
  ];

  assert.equal(grownIn(series, { from: 5, to: 10 }), 80);
  assert.equal(grownIn([], { from: 5, to: 10 }), 0);
});

test("a sum of nothing is 0", () => {
  assert.deepEqual([sum([]), sum([1, -3, 2.5])], [0, 0.5]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  JUDGED,
  WHOLE,
  binWidth,
  choiceOf,
  choiceText,
  moved,
  newest,
  nextWidth,
  overlaps,
  resolve,
  typedChoice,
} from "../src/range.js";

const SPAN = { from: 1_000_000, to: 1_090_000 };
/** @returns {import("../src/range.js").Choice} */
const fixed = (from, to) => ({ kind: "fixed", from, to });

test("what was judged is the whole run before there is a result", () => {
  assert.deepEqual(resolve(JUDGED, SPAN), { from: 1_000_000, to: 1_090_000, whole: true });
  assert.deepEqual(resolve(JUDGED, SPAN, { from: 1_030_000, to: 1_087_000 }), {
    from: 1_030_000,
    to: 1_087_000,
    whole: false,
  });
});

test("the newest part moves with the run, and is the whole of a shorter one", () => {
  assert.deepEqual(resolve({ kind: "last", ms: 60_000 }, SPAN), { from: 1_030_000, to: 1_090_000, whole: false });
  assert.deepEqual(resolve({ kind: "last", ms: 90_000 }, SPAN), { ...SPAN, whole: true });
});

test("a fixed range ends with the run and is a second at least", () => {
  assert.deepEqual(resolve(fixed(0, 1_010_000), SPAN), { from: 1_000_000, to: 1_010_000, whole: false });
  assert.deepEqual(resolve(fixed(1_020_000, 1_020_001), SPAN), { from: 1_020_000, to: 1_021_000, whole: false });
  assert.deepEqual(resolve(fixed(1_089_900, 2_000_000), SPAN), { from: 1_089_000, to: 1_090_000, whole: false });
  assert.deepEqual(resolve(fixed(0, 9_000_000), SPAN), { ...SPAN, whole: true });
});

test("a fixed range of another run has nothing of this one", () => {
  assert.deepEqual(
    [fixed(0, 1_000_000), fixed(0, 1_000_001), fixed(1_090_000, 2_000_000), WHOLE].map((choice) =>
      overlaps(choice, SPAN),
    ),
    [false, true, false, true],
  );
});

test("moving stops at the ends, and leaves a whole run", () => {
  const range = { from: 1_040_000, to: 1_060_000, whole: false };

  assert.deepEqual(moved(range, -1, SPAN), fixed(1_030_000, 1_050_000));
  assert.deepEqual(moved({ ...range, from: 1_005_000, to: 1_025_000 }, -1, SPAN), fixed(1_000_000, 1_020_000));
  assert.deepEqual(moved({ ...range, from: 1_065_000, to: 1_085_000 }, 1, SPAN), fixed(1_070_000, 1_090_000));
  assert.equal(moved({ ...SPAN, whole: true }, 1, SPAN), WHOLE);
});

test("the newest part is as wide as what is shown, of a whole run a minute", () => {
  assert.deepEqual(newest({ from: 0, to: 20_400, whole: false }), { kind: "last", ms: 20_000 });
  assert.deepEqual(newest({ ...SPAN, whole: true }), { kind: "last", ms: 60_000 });
});

test("bins are as many as may be, and none finer than the data", () => {
  assert.equal(binWidth({ from: 0, to: 240_000, whole: true }, 0, 240), 1000);
  assert.equal(binWidth({ from: 0, to: 240_001, whole: true }, 0, 240), 2000);
  assert.equal(binWidth({ from: 0, to: 60_000, whole: true }, 10_000, 240), 10_000);
  assert.equal(binWidth({ from: 0, to: 240 * 10_000_000, whole: true }, 0, 240), 10_800_000);
});

test("bins become wider and narrower between a second and two hours", () => {
  assert.deepEqual(
    [nextWidth(1000, 1), nextWidth(1000, -1), nextWidth(7_200_000, 1), nextWidth(1e9, -1), nextWidth(3000, 1)],
    [2000, 1000, 7_200_000, 3_600_000, 10_000],
  );
});

test("a range is typed as times since the begin", () => {
  assert.deepEqual(typedChoice("0:30-1:15", SPAN), fixed(1_030_000, 1_075_000));
  assert.deepEqual(typedChoice(" 1:02:03 – 1:02:04.5 ", SPAN), fixed(4_723_000, 4_724_500));
  assert.deepEqual(typedChoice("Last 90 s", SPAN), { kind: "last", ms: 90_000 });
  assert.deepEqual(typedChoice("last 0", SPAN), { kind: "last", ms: 1000 });
  assert.equal(typedChoice("", SPAN), WHOLE);
});

test("what is no range is none", () => {
  assert.deepEqual(
    ["1:15-0:30", "5", "1-2-3", "a-b", "-5", "0:30-0:30", "last"].map((text) => typedChoice(text, SPAN)),
    [null, null, null, null, null, null, null],
  );
});

test("a choice comes back out of the address", () => {
  /** @type {import("../src/range.js").Choice[]} */
  const choices = [JUDGED, WHOLE, { kind: "last", ms: 90_000 }, fixed(1_764_000_000_000, 1_764_000_030_000)];

  assert.deepEqual(choices.map(choiceText), ["", "whole", "last-90", "1764000000000-1764000030000"]);
  assert.deepEqual(
    choices.map((choice) => choiceOf(choiceText(choice))),
    choices,
  );
  assert.deepEqual([null, "last-0", "5-5", "9-1", "nonsense"].map(choiceOf), [JUDGED, JUDGED, JUDGED, JUDGED, JUDGED]);
});

test("the presets can be typed as they are called", () => {
  assert.deepEqual(typedChoice("last 5 min", { from: 0, to: 1 }), { kind: "last", ms: 300_000 });
  assert.equal(typedChoice("last 5 h", { from: 0, to: 1 }), null);
});

test("a range that is shorter than the address tells is read from it again", () => {
  const choice = resolve({ kind: "last", ms: 0.1 }, { from: 0, to: 1000.3 });

  assert.equal(choiceText({ kind: "fixed", ...choice }), "1000-1001");
  assert.deepEqual(choiceOf("1000-1001"), { kind: "fixed", from: 1000, to: 1001 });
  assert.equal(choiceText(newest({ from: 0, to: 400, whole: false })), "last-1");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { measuredPart, progressOf, warmUp } from "../src/phases.js";

const RANGE = { from: 0, to: 60_000, whole: true };
const phase = (ms, name) => ({ unix_ms: ms, kind: "phase", name, text: "" });
const PHASES = [phase(1000, "warming up"), phase(20_000, "measuring"), phase(50_000, "draining")];

test("the measured load flows from its phase to the next one", () => {
  assert.deepEqual(measuredPart(PHASES, RANGE), { from: 20_000, to: 50_000 });
  assert.deepEqual(measuredPart(PHASES.slice(0, 2), RANGE), { from: 20_000, to: 60_000 });
});

test("only what lies in the range is of it", () => {
  assert.deepEqual(measuredPart(PHASES, { from: 30_000, to: 40_000, whole: false }), { from: 30_000, to: 40_000 });
});

test("a second of it is enough", () => {
  assert.deepEqual(measuredPart(PHASES, { from: 0, to: 21_000, whole: false }), { from: 20_000, to: 21_000 });
});

test("where no second of it is in the range, or it is not known, the range is taken", () => {
  const early = { from: 0, to: 20_999, whole: false };

  assert.equal(measuredPart(PHASES, early), early);
  assert.equal(measuredPart([], RANGE), RANGE);
  assert.equal(measuredPart([{ ...phase(5, "measuring"), kind: "event" }], RANGE), RANGE);
});

test("what was before it is the warm-up; all of a run that does not measure yet", () => {
  const span = { from: 0, to: 60_000 };

  assert.deepEqual(warmUp(PHASES, span), [{ from: 0, to: 20_000 }]);
  assert.deepEqual(warmUp(PHASES.slice(0, 1), span), [{ from: 0, to: 60_000 }]);
  assert.deepEqual(warmUp([], span), []);
});

const PLAN = {
  unix_ms: 0,
  kind: "plan",
  name: "quick",
  text: "",
  phases_ms: { "warming up": 12_000, measuring: 60_000 },
};

test("how far a run is, and what is left", () => {
  const notes = [PLAN, phase(1000, "starting"), phase(9000, "warming up"), phase(25_000, "measuring")];

  assert.equal(progressOf([PLAN], 500), null);
  assert.deepEqual(progressOf(notes.slice(0, 2), 4000), {
    title: "Starting",
    text: "for 0:03; then 1 min are measured",
    left: "",
    part: null,
  });
  assert.deepEqual(progressOf(notes.slice(0, 3), 12_000), {
    title: "Warming up",
    text: "0:03 of 0:12, 0:09 left; then 1 min are measured",
    left: "0:09 left",
    part: 0.25,
  });
  assert.deepEqual(progressOf(notes, 55_400), {
    title: "Measuring",
    text: "0:30 of 1:00, 0:30 left",
    left: "0:30 left",
    part: 0.5,
  });
  assert.deepEqual(progressOf(notes, 90_000)?.text, "1:00 of 1:00, about to end");
});

test("a run without a plan has no time left", () => {
  assert.deepEqual(progressOf([phase(0, "measuring")], 5000), {
    title: "Measuring",
    text: "for 0:05",
    left: "",
    part: null,
  });
});

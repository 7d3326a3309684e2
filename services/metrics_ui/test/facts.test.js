import assert from "node:assert/strict";
import { test } from "node:test";
import { factsOf, lagBins, lagPoints } from "../src/facts.js";
import { RunModel } from "../src/model.js";
import { View } from "../src/view.js";

const SPAN = { from: 0, to: 10_000 };
const counter = (name, values, labels = {}) => ({
  name: `market_spread_${name}`,
  kind: "counter",
  labels: { source: "job", ...labels },
  total: values.reduce((sum, value) => sum + value, 0),
  intervals: values.map((value, at) => [1000 * at, 1000 * at + 1000, value]),
});
const viewOf = (series, more = {}) => {
  const model = new RunModel({ format: 1, run_id: "r1", generated_unix_ms: 10_000, series, ...more });
  return new View(model, { ...SPAN, whole: true }, SPAN);
};
const SENT = counter("sender_messages_sent_total", Array(10).fill(100));
const ALERTS = "receiver_alerts_total";
const MEASURED = { phase: "measured" };

test("the lag is what was sent and is not yet processed, and never below 0", () => {
  const done = counter("job_messages_processed_total", [0, 50, 150, 300, 0, 100, 100, 100, 100, 100]);

  const points = lagPoints(viewOf([SENT, done]));

  assert.deepEqual(
    points.map(({ value }) => value),
    [100, 150, 100, 0, 0, 0, 0, 0, 0, 0],
  );
});

test("a bin has the highest lag in it", () => {
  const point = (from, value) => ({ from, to: from + 1000, value });
  const points = [point(0, 1), point(1000, 9), point(2000, 3), point(6000, 4)];

  assert.deepEqual(lagBins(/** @type {any} */ ({ begin: 0, widthMs: 5000 }), points), [
    { from: 0, to: 3000, value: 9 },
    { from: 6000, to: 7000, value: 4 },
  ]);
});

test("of a run that pushed nothing every figure is 0", () => {
  const facts = factsOf(viewOf([]));

  assert.deepEqual(facts.sources, []);
  assert.deepEqual([facts.count, facts.p50Us, facts.framesSent, facts.failed, facts.refused], [0, 0, 0, 0, 0]);
  assert.deepEqual([facts.stallMs, facts.stallAtS], [0, 0]);
});

test("the longest time without an alert is between two alerts of the measured load", () => {
  const alerts = counter(ALERTS, [1, 1, 0, 0, 0, 1, 0, 1, 0, 0], MEASURED);
  const warmUp = counter(ALERTS, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1], { phase: "warm_up" });

  const facts = factsOf(viewOf([SENT, alerts, warmUp]));

  assert.deepEqual([facts.stallMs, facts.stallAtS], [3000, 2]);
});

test("while the load flows, the time since the last alert counts, too", () => {
  const alerts = counter(ALERTS, [1, 1, 1, 0, 0, 0, 0, 0, 0, 0], MEASURED);

  assert.equal(factsOf(viewOf([SENT, alerts], { live: true })).stallMs, 7000);
  assert.equal(factsOf(viewOf([SENT, alerts], { live: false })).stallMs, 0);
});

test("starts of a process are added up, with its newest clock", () => {
  const epoch = {
    source: "job",
    end_unix_ms: 4000,
    pushes: 7,
    missing: 1,
    pushes_dropped: 2,
    duplicates: 3,
    clock_error_us: 50,
    clock_synchronised: false,
  };
  const newer = { ...epoch, end_unix_ms: 9500, clock_error_us: 20, clock_synchronised: true };

  assert.deepEqual(factsOf(viewOf([], { sources: [epoch, newer] })).sources, [
    {
      source: "job",
      silentMs: 500,
      pushes: 14,
      missing: 2,
      dropped: 4,
      duplicates: 6,
      clockErrorUs: 20,
      synchronised: true,
      restarts: 1,
    },
  ]);
});

test("that a long run falls behind is told though its older intervals are longer than what is looked at", () => {
  const span = { from: 0, to: 3_630_000 };
  const times = [
    ...Array.from({ length: 60 }, (_, at) => [at * 60_000, (at + 1) * 60_000]),
    ...Array.from({ length: 30 }, (_, at) => [3_600_000 + at * 1000, 3_601_000 + at * 1000]),
  ];
  /** @param {string} name @param {(from: number) => number} perSecond */
  const long = (name, perSecond) => {
    const intervals = times.map(([from, to]) => [from, to, (perSecond(from) * (to - from)) / 1000]);
    return { ...counter(name, []), intervals };
  };
  const latency = {
    ...counter("receiver_end_to_end_seconds", [], MEASURED),
    kind: "histogram",
    total: null,
    intervals: times.map(([from, to]) => [from, to, 0, 0, 0, 0, 0, 0, ""]),
  };
  const series = [
    latency,
    long("sender_messages_sent_total", () => 100),
    long("job_messages_processed_total", (from) => (from < 3_600_000 ? 100 : 50)),
  ];
  const model = new RunModel(/** @type {any} */ ({ format: 1, live: true, generated_unix_ms: span.to, series }));

  const { behindS, behindBeforeS } = factsOf(new View(model, { ...span, whole: true }, span));

  assert.deepEqual([behindS, behindBeforeS], [10.5, 5.5]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { RunModel } from "../src/model.js";
import { COMPUTATIONS, STAGES, histogramsOf, plainName, stageLatency, stepOf, workOf, workers } from "../src/steps.js";

const series = (name, kind, labels) => ({ name: `market_spread_${name}`, kind, labels, total: 0, intervals: [] });
const MODEL = new RunModel({
  format: 1,
  run_id: "r1",
  generated_unix_ms: 0,
  sources: /** @type {any} */ ([{ source: "sender-0" }, { source: "receiver-0" }]),
  series: [
    series("sender_messages_sent_total", "counter", { source: "sender-0" }),
    series("receiver_end_to_end_seconds", "histogram", { source: "receiver-0", phase: "measured" }),
    series("receiver_end_to_end_seconds", "histogram", { source: "receiver-0", phase: "warm_up" }),
    series("process_memory_bytes", "gauge", { source: "job" }),
  ],
});

test("workers are those that pushed and those that are known, each once", () => {
  assert.deepEqual(workers(MODEL), ["job", "receiver-0", "sender-0"]);
});

test("what a worker does goes by the begin of its name", () => {
  assert.deepEqual(
    ["sender-3", "receiver-0", "job", "tuner"].map((source) => workOf(source, MODEL)),
    ["offers the load", "takes the alerts", "runs the pipeline in Spark", ""],
  );
});

test("a sender is a step with its lag and what it has counted", () => {
  const step = stepOf(MODEL, "worker", "sender-0");

  assert.deepEqual(step.latency, { name: "market_spread_sender_send_lag_seconds", labels: { source: "sender-0" } });
  assert.deepEqual(step.over, [{ name: "market_spread_sender_send_lag_seconds", labels: { source: "sender-0" } }]);
  assert.deepEqual(step.throughput, [
    {
      title: "offered",
      of: { name: "market_spread_sender_messages_sent_total", labels: { source: "sender-0" } },
      unit: "messages/s",
    },
  ]);
});

test("a receiver's figures are of the measured load, what is drawn has the warm-up, too", () => {
  const step = stepOf(MODEL, "worker", "receiver-0");

  assert.deepEqual(step.latency.labels, { phase: "measured", source: "receiver-0" });
  assert.deepEqual(step.over[0].labels, { source: "receiver-0" });
});

test("the job records no latency itself, and who is not known is no step", () => {
  assert.deepEqual([stepOf(MODEL, "worker", "job").latency, stepOf(MODEL, "worker", "job").over], [null, []]);
  assert.equal(stepOf(MODEL, "worker", "nobody"), null);
  assert.equal(stepOf(MODEL, "computation", "nothing"), null);
  assert.equal(stepOf(MODEL, "pipeline", "service").title, "Actual send to receipt");
});

test("every stage is a computation with the same latency", () => {
  for (const { id, stage } of STAGES) {
    assert.deepEqual(COMPUTATIONS.find((step) => step.id === id).latency, stageLatency(stage));
  }
});

test("histograms of a worker leave the warm-up out", () => {
  assert.deepEqual(histogramsOf(MODEL, "receiver-0"), [
    { name: "market_spread_receiver_end_to_end_seconds", labels: { source: "receiver-0", phase: "measured" } },
  ]);
});

test("a metric's name is said without prefix, kind and unit", () => {
  assert.deepEqual(["market_spread_sender_send_lag_seconds", "market_spread_receiver_alerts_total"].map(plainName), [
    "send lag",
    "alerts",
  ]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { factsOf } from "../src/facts.js";
import { RunModel } from "../src/model.js";
import { oddPartitions, outputLatencies, partitionFigures, places } from "../src/partitions.js";
import { View } from "../src/view.js";
import { userSteps } from "../src/usersteps.js";

const SPAN = { from: 0, to: 10_000 };
const counter = (name, labels, values) => ({
  name: `market_spread_${name}_total`,
  kind: "counter",
  labels: { source: "s", ...labels },
  total: values.reduce((sum, value) => sum + value, 0),
  intervals: values.map((value, at) => [1000 * at, 1000 * at + 1000, value]),
});
const sent = (partition, values) => counter("sender_messages_sent", { topic: "trips", partition }, values);
const committed = (partition, values) => counter("job_partition_committed", { topic: "trips", partition }, values);
/** So many values of 5 µs or of 30 µs, a second each. */
const latency = (partition, us, output = "fares") => {
  const slot = [20, 20 * us, us, us, 0, 0, btoa(String.fromCharCode(...(us === 5 ? [9, 40] : [59, 40])))];
  const labels = { source: "receiver", phase: "measured", topic: "trips", partition, output };
  const name = "market_spread_receiver_partition_end_to_end_seconds";
  return { name, kind: "histogram", labels, total: slot, intervals: [[1000, 2000, ...slot]] };
};
const ten = (value) => Array(10).fill(value);
const modelOf = (series, notes) => new RunModel({ format: 1, run_id: "r1", generated_unix_ms: 10_000, series, notes });
const viewOf = (series, kind = "command", text = "") => {
  const notes = [{ unix_ms: 0, kind: "system", name: kind, text }];
  return new View(modelOf(series, notes), { ...SPAN, whole: true }, SPAN);
};
const SLOW = [
  sent("0", ten(100)),
  sent("1", ten(100)),
  sent("10", ten(10)),
  committed("0", [50, ...ten(100).slice(1)]),
  committed("1", [100, 100, 0, 0, 0, 0, 0, 0, 400, 100]),
  committed("10", ten(10)),
  latency("0", 5),
  latency("1", 30),
  latency("10", 5),
];

test("a partition's figures are what was sent, committed and answered, and how far it was behind", () => {
  const figures = partitionFigures(viewOf(SLOW));

  assert.deepEqual(
    figures.map(({ name, sent: into, committed: done, outputs }) => [name, into, done, outputs]),
    [
      ["trips/0", 100, 95, 2],
      ["trips/1", 100, 70, 2],
      ["trips/10", 10, 10, 2],
    ],
  );
  assert.deepEqual(
    figures.map(({ behind, most, mostMs, stoodMs }) => [behind, most, mostMs, stoodMs]),
    [
      [50, 50, 1000, 0],
      [300, 600, 8000, 6000],
      [0, 0, 1000, 0],
    ],
  );
});

test("outputs that came behind the measured load are in no rate, as what was sent is not", () => {
  const measuring = { unix_ms: 2000, kind: "phase", name: "measuring", text: "" };
  const draining = { unix_ms: 4000, kind: "phase", name: "draining", text: "" };
  const late = latency("0", 5);
  late.intervals = [3000, 6000].map((at) => [at, at + 1000, ...late.total]);

  const view = new View(modelOf([late], [measuring, draining]), { ...SPAN, whole: true }, SPAN);

  assert.equal(partitionFigures(view)[0].outputs, 10);
});

test("the partition that lags and is slow is named, with its figures beside those of the others", () => {
  const said = [
    "trips/1 was 600 messages behind at 0:08, no other partition more than 50 messages; nothing of it was committed " +
      "for up to 6 s.",
    "trips/1 is slow: its outputs have a p50 of 30 µs, all others 5 µs.",
  ];

  assert.deepEqual(oddPartitions(partitionFigures(viewOf(SLOW)), 0), said);
  assert.deepEqual(factsOf(viewOf(SLOW)).oddPartitions, said);
});

test("a partition of which nothing was ever committed is named", () => {
  const stands = [sent("0", ten(100)), sent("1", ten(100)), committed("0", ten(100)), committed("1", ten(0))];

  assert.deepEqual(oddPartitions(partitionFigures(viewOf(stands)), 0), [
    "trips/1 was 1,000 messages behind at 0:10, no other partition more than 0 messages; nothing of it was committed " +
      "for up to 10 s.",
  ]);
});

test("partitions that lag alike, or less than a second of their load, are not named", () => {
  const late = [0, 0, 0, 0, 0, 500, 100, 100, 100, 100];
  const alike = ["0", "1"].flatMap((at) => [sent(at, ten(100)), committed(at, late), latency(at, 5)]);
  const little = [sent("0", ten(100)), sent("1", ten(100)), committed("0", ten(100)), committed("1", [0, ...ten(100)])];

  assert.deepEqual(oddPartitions(partitionFigures(viewOf(alike)), 0), []);
  assert.deepEqual(oddPartitions(partitionFigures(viewOf(little.slice(0, 4))), 0), []);
  assert.deepEqual(oddPartitions(partitionFigures(viewOf(alike.slice(0, 3))), 0), []);
});

test("partitions without series of their own are one row, with all that was sent to them", () => {
  const view = viewOf([
    ...["0", "1", "2"].map((at) => sent(at, ten(100))),
    committed("0", ten(100)),
    committed("others", ten(190)),
  ]);

  assert.deepEqual(places(view.model), [
    { topic: "trips", partition: "0" },
    { topic: "trips", partition: "others" },
  ]);
  const [, others] = partitionFigures(view);
  assert.deepEqual([others.name, others.sent, others.committed, others.behind], ["trips/others", 200, 190, 100]);
});

test("latencies are by output topic and the partition of the message", () => {
  const view = viewOf([latency("0", 5), latency("1", 30), latency("0", 30, "receipts")]);

  assert.deepEqual(
    outputLatencies(view).map(({ name, hist }) => [name, hist.count, hist.maxUs]),
    [
      ["fares", 40, 30],
      ["fares, of trips/0", 20, 5],
      ["fares, of trips/1", 20, 30],
      ["receipts", 20, 30],
      ["receipts, of trips/0", 20, 30],
      ["receipts, of trips/1", 0, 0],
    ],
  );
});

test("our own application has no partitions to show", () => {
  const model = modelOf(SLOW, []);

  assert.equal(model.system, null);
  assert.deepEqual(factsOf(new View(model, { ...SPAN, whole: true }, SPAN)).oddPartitions, []);
});

test("a pipeline's steps have the names of its user, the stage that they are timed in, and the rates that are known", () => {
  const text =
    "fares\n  source trips: text string\n    map cut\n    key by city\n  running total earned; keeps a number for each key, for ever\n  sink fares";
  const series = [sent("0", ten(100)), counter("job_records_read", {}, ten(90)), latency("0", 5)];

  assert.deepEqual(
    userSteps(viewOf(series, "pipeline", text)).map(({ text: step, id, into, out }) => [step, id, into, out]),
    [
      ["source trips", "ingest", 100, 90],
      ["map cut", "compute", null, null],
      ["key by city", "compute", null, null],
      ["running total earned", "compute", null, null],
      ["sink fares", "deliver", null, 2],
    ],
  );
  assert.deepEqual(userSteps(viewOf(series)), []);
});

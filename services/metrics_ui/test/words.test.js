import assert from "node:assert/strict";
import { test } from "node:test";
import { RunModel } from "../src/model.js";
import { COMPUTATIONS, PIPELINES, stagesOf, stepsOf, workOf } from "../src/steps.js";
import { countedHow, inWordsOf } from "../src/words.js";

const modelOf = (...kinds) =>
  new RunModel({
    format: 1,
    run_id: "r1",
    generated_unix_ms: 0,
    notes: kinds.map((kind) => ({ unix_ms: 0, kind: "system", name: kind, text: "" })),
  });
const OURS = modelOf();
const TEXT = "An order was judged, and an alert of orders came. Alerts are read by Spark.";

test("a system that is not ours has messages and outputs, ours has orders and alerts", () => {
  assert.equal(inWordsOf(OURS, TEXT), TEXT);
  assert.equal(
    inWordsOf(modelOf("command"), TEXT),
    "A message was judged, and an output of messages came. Outputs are read by the system.",
  );
});

test("no step of a system speaks of what only ours has", () => {
  for (const kind of ["command", "pipeline", "spark", "attached"]) {
    const model = modelOf(kind);
    const said = JSON.stringify([
      ...stepsOf(model, [...PIPELINES, ...COMPUTATIONS]).map(({ title, about, throughput }) => [
        title,
        about,
        throughput.map((each) => [each.title, each.unit]),
      ]),
      stagesOf(model),
      ["sender", "receiver", "job"].map((source) => workOf(source, model)),
    ]);
    assert.doesNotMatch(said, /alert|order|quote|frame/i);
  }
  assert.deepEqual(stepsOf(OURS, COMPUTATIONS), COMPUTATIONS);
});

test("what was processed is counted live only by a job of ours", () => {
  assert.equal(countedHow(OURS), "the job counts live, up to 2 s late");
  assert.equal(countedHow(modelOf("pipeline")), "the job counts live, up to 2 s late");
  assert.equal(countedHow(modelOf("attached")), "it is told by what the system has committed");
});

test("names that the user gave are left as they are", () => {
  const named = "orders/0 was behind, alerts/others too; orders-v1, eu.orders.v1, my-alerts and Spark-in are topics";

  assert.equal(inWordsOf(modelOf("command"), named), named);
  assert.equal(inWordsOf(modelOf("command"), "orders/s, alerts/s. Alerts-"), "messages/s, outputs/s. Outputs-");
});

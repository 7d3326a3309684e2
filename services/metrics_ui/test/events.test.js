import assert from "node:assert/strict";
import { test } from "node:test";
import { eventsSoFar } from "../src/events.js";
import { RunModel } from "../src/model.js";

const series = (name, kind, labels, intervals) => ({
  name: `market_spread_${name}`,
  kind,
  labels,
  total: 0,
  intervals,
});
const modelOf = (more) => new RunModel({ format: 1, run_id: "r1", generated_unix_ms: 9000, live: true, ...more });

test("of a run of which nothing was noted or pushed no event is known", () => {
  assert.deepEqual(eventsSoFar(modelOf({})), []);
});

test("planned faults and restarts are events at the moment of their note, phases are none", () => {
  const notes = [
    { unix_ms: 1000, kind: "phase", name: "measuring", text: "" },
    { unix_ms: 7000, kind: "event", name: "query restarted", text: "the job's query was started again" },
    { unix_ms: 5000, kind: "event", name: "planned fault", text: "fault 1: stop of the broker for 2 s" },
  ];

  assert.deepEqual(eventsSoFar(modelOf({ notes })), [
    { kind: "fault", begin_unix_ms: 5000, duration_ms: 0, text: "fault 1: stop of the broker for 2 s" },
    { kind: "restart", begin_unix_ms: 7000, duration_ms: 0, text: "the job's query was started again" },
  ]);
});

test("the end of a long batch is an event, those of the warm-up and of the micro-batch mode are none", () => {
  const job = { source: "job" };
  const ids = [0, 1, 2, 2, 2, 2, 2, 2, 3, 4].map((id, at) => [at * 1000, (at + 1) * 1000, id]);
  const commits = ids.map(([from, to, id]) => [from, to, id / 10]);

  assert.deepEqual(
    eventsSoFar(
      modelOf({
        series: [
          series("job_batch_id", "gauge", job, ids),
          series("job_commit_seconds", "gauge", { source: "other" }, [[0, 20_000, 9]]),
          series("job_commit_seconds", "gauge", job, commits),
        ],
      }),
    ),
    [{ kind: "boundary", begin_unix_ms: 8700, duration_ms: 300, text: "batch 3 ended, its commit took 300.0 ms" }],
  );
});

test("seconds in which frames were late are events of their sender, others are none", () => {
  const late = [
    [0, 1000, 0],
    [1000, 2000, 1],
    [2000, 3000, 12],
  ];

  assert.deepEqual(
    eventsSoFar(modelOf({ series: [series("sender_frames_late_total", "counter", { source: "sender-0" }, late)] })),
    [
      { kind: "sender", begin_unix_ms: 1000, duration_ms: 1000, within: true, text: "1 late frame of sender-0" },
      { kind: "sender", begin_unix_ms: 2000, duration_ms: 1000, within: true, text: "12 late frames of sender-0" },
    ],
  );
});

test("in the long intervals of a long run the short batches are no events, of the long ones their number is told", () => {
  const of = (perInterval) => {
    const ids = Array.from({ length: 4 }, (_none, at) => [at * 60_000, (at + 1) * 60_000, (at + 1) * perInterval]);
    return eventsSoFar(modelOf({ series: [series("job_batch_id", "gauge", { source: "job" }, ids)] }));
  };

  assert.deepEqual(of(20), []);
  assert.deepEqual(of(6)[0], {
    kind: "boundary",
    begin_unix_ms: 60_000,
    duration_ms: 60_000,
    within: true,
    text: "6 batches ended, the last of them batch 12",
  });
  assert.equal(of(1).length, 3);
});

test("a job that counts its batches from 0 again has no long batch by that", () => {
  const ids = [500, 520, 19, 39].map((id, at) => [at * 20_000, (at + 1) * 20_000, id]);

  assert.deepEqual(eventsSoFar(modelOf({ series: [series("job_batch_id", "gauge", { source: "job" }, ids)] })), []);
});

test("a commit that nobody has timed has no length", () => {
  const ids = [1, 1, 1, 1, 1, 1, 2].map((id, at) => [at * 1000, (at + 1) * 1000, id]);

  assert.deepEqual(eventsSoFar(modelOf({ series: [series("job_batch_id", "gauge", { source: "job" }, ids)] })), [
    { kind: "boundary", begin_unix_ms: 7000, duration_ms: 0, text: "batch 2 ended" },
  ]);
});

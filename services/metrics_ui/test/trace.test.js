import assert from "node:assert/strict";
import { test } from "node:test";
import { traceOf } from "../src/trace.js";
import { inWordsOf } from "../src/words.js";

const ORDER = {
  order_id: 7,
  symbol: "A",
  intended_unix_us: 2_000_000,
  sent_unix_us: 2_000_500,
  ingested_unix_us: null,
  emitted_unix_us: null,
  received_unix_us: 2_009_000,
};
const EVENTS = [
  { kind: "gc", begin_unix_ms: 2_003, duration_ms: 4.5, text: "the job's JVM collected" },
  { kind: "boundary", begin_unix_ms: 2_001, duration_ms: 0, text: "boundary of batch 1" },
];

test("a trace has complete events in microseconds from the begin of the run, and names of their rows", () => {
  const { traceEvents, displayTimeUnit } = traceOf({ runId: "r", beginMs: 1_000, orders: [ORDER], events: EVENTS });
  const complete = traceEvents.filter(({ ph }) => ph === "X");

  assert.equal(displayTimeUnit, "ms");
  assert.deepEqual(
    complete.map(({ name, pid, tid, ts, dur }) => [name, pid, tid, ts, dur]),
    [
      ["Send lag", 1, 1, 1_000_000, 500],
      ["Broker and read + Computation + Sink and delivery", 1, 1, 1_000_500, 8_500],
      ["boundary of batch 1", 2, 1, 1_001_000, 1],
      ["the job's JVM collected", 2, 2, 1_003_000, 4_500],
    ],
  );
  const names = traceEvents.filter(({ name }) => name === "thread_name" || name === "process_name");
  assert.deepEqual(
    names.map(({ pid, tid, args }) => [pid, tid, args.name]),
    [
      [1, 0, "slowest orders"],
      [1, 1, "order 7 A"],
      [2, 0, "events"],
      [2, 1, "boundaries"],
      [2, 2, "GC"],
    ],
  );
});

test("every event has what the format asks for", () => {
  const { traceEvents } = traceOf({ runId: "r", beginMs: 0, orders: [ORDER], events: EVENTS });

  for (const { name, ph, pid, tid, ts, dur } of traceEvents) {
    assert.ok(name && Number.isInteger(pid) && Number.isInteger(tid));
    if (ph === "X") assert.ok(Number.isInteger(ts) && Number.isInteger(dur) && (dur ?? 0) > 0);
    else assert.equal(ph, "M");
  }
});

test("nothing is named where nothing is", () => {
  assert.deepEqual(traceOf({ runId: "r", beginMs: 0, orders: [], events: [] }).traceEvents, []);
});

test("a trace of a system that is not ours has its words, and leaves names alone", () => {
  /** @param {string} text */
  const say = (text) => inWordsOf(/** @type {any} */ ({ system: { kind: "command", steps: [] } }), text);
  const order = { ...ORDER, symbol: "order" };

  const { traceEvents } = traceOf({ runId: "r", beginMs: 0, orders: [order], events: [], say });

  const names = traceEvents.filter(({ ph }) => ph === "M").map(({ args }) => args.name);
  assert.deepEqual(names.filter(Boolean), ["slowest messages", `message ${order.order_id} order`]);
});

test("of a thread no event begins before another one has ended: readers of the format drop those", () => {
  const at = (begin_unix_ms, duration_ms) => ({ kind: "gc", begin_unix_ms, duration_ms, text: `${begin_unix_ms}` });
  const hosts = { ...ORDER, sent_unix_us: 2_000_000, ingested_unix_us: 2_000_090, emitted_unix_us: 2_000_080 };
  const { traceEvents } = traceOf({
    runId: "r",
    beginMs: 1_000.4,
    orders: [ORDER, hosts],
    events: [at(2_000, 10), at(2_005, 20), at(2_010, 0), at(2_010, 5), at(2_030, 1)],
  });
  const complete = traceEvents.filter(({ ph }) => ph === "X");

  for (const one of complete) {
    const others = complete.filter((other) => other !== one && other.pid === one.pid && other.tid === one.tid);
    assert.ok(
      others.every(({ ts, dur }) => ts >= one.ts + one.dur || one.ts >= ts + dur),
      `${one.name} at ${one.ts}`,
    );
  }
  assert.equal(complete.filter(({ pid }) => pid === 2).length, 5);
  assert.equal(complete.filter(({ pid, tid }) => pid === 1 && tid === 2).length, 4);
  const rows = traceEvents.filter(({ name, pid }) => name === "thread_name" && pid === 2);
  assert.deepEqual(
    rows.map(({ args }) => args.name),
    ["GC", "GC 2", "GC 3"],
  );
});

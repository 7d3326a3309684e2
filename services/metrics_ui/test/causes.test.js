import assert from "node:assert/strict";
import { test } from "node:test";
import {
  around,
  aroundMoment,
  causeText,
  chosenSecond,
  eventAt,
  eventsIn,
  lanesOf,
  meanStages,
  nextSecond,
  ordersIn,
  segmentsOf,
  tailText,
  unexplainedText,
  whyNone,
} from "../src/causes.js";

const ORDER = {
  order_id: 1,
  symbol: "A",
  intended_unix_us: 1_000_000,
  sent_unix_us: 1_001_000,
  ingested_unix_us: 1_011_000,
  emitted_unix_us: 1_013_000,
  received_unix_us: 1_014_000,
};
const CAUSE = {
  kind: "boundary",
  text: "6 batch boundaries",
  orders: 101,
  share: 0.92,
  stage_shares: { send_lag: 0.01, compute: 0.2, ingest: 0.79, delivery: 0 },
  advice: "",
};
const SECONDS = [50_000, 10_000, 90_000].map((begin) => ({
  begin_unix_ms: begin,
  max_ns: 1,
  orders: 1,
  kind: null,
  text: "",
}));

/** @param {string} kind @param {number} begin @param {number} length */
function event(kind, begin, length) {
  return { kind, begin_unix_ms: begin, duration_ms: length, text: `${kind} ${begin}` };
}

/** @param {import("../src/types.js").CausesData | null | undefined} causes */
function result(causes) {
  return /** @type {import("../src/types.js").ResultData} */ (/** @type {unknown} */ ({ causes }));
}

test("a cause is said with where its orders spent their time, the most first and nothing of a trifle", () => {
  assert.equal(
    causeText(CAUSE),
    "92.0% met 6 batch boundaries; of their time broker and read 79.0%, computation 20.0%",
  );
  assert.equal(causeText({ ...CAUSE, stage_shares: {} }), "92.0% met 6 batch boundaries");
});

test("what remains is said if it is something, and of a quiet run nothing is", () => {
  const causes = {
    sentence: "",
    tail: { orders: 110, least_ns: 214e6, else_p99_ns: 31e6 },
    found: [CAUSE],
    orders: [],
  };
  const said = { ...causes, unexplained_share: 0.08, seconds: [], events: [] };

  assert.equal(unexplainedText(said), "8.0% met nothing that is known");
  assert.equal(unexplainedText({ ...said, unexplained_share: 0.001 }), "");
  assert.equal(unexplainedText({ ...said, found: [], unexplained_share: 1 }), "");
  assert.equal(tailText(said), "The slowest: 110 orders of 214.0 ms or more; p99 of the others 31.0 ms.");
  assert.equal(
    tailText({ ...said, tail: { orders: 1, least_ns: 5e6, else_p99_ns: null } }),
    "The slowest: 1 order of 5.00 ms or more.",
  );
});

test("why there are no causes is told apart", () => {
  const older = whyNone({ live: false, result: result(undefined) });

  assert.match(whyNone({ live: true, result: null }), /when the run has ended/);
  assert.match(whyNone({ live: false, result: null }), /version/);
  assert.match(older, /version/);
  assert.match(whyNone({ live: false, result: result(null) }), /No alert was timed/);
});

test("a second is looked at with two around it, and a moment is in its second", () => {
  assert.deepEqual(around(SECONDS[1]), { from: 8_000, to: 13_000 });
  assert.deepEqual(aroundMoment(10_999), { from: 8_000, to: 13_000 });
  assert.deepEqual(aroundMoment(11_000), { from: 9_000, to: 14_000 });
});

test("the next worst second follows the chosen one, and both ends hold", () => {
  assert.equal(nextSecond(SECONDS, null, 1), SECONDS[0]);
  assert.equal(nextSecond(SECONDS, around(SECONDS[0]), 1), SECONDS[1]);
  assert.equal(nextSecond(SECONDS, around(SECONDS[0]), -1), SECONDS[0]);
  assert.equal(nextSecond(SECONDS, around(SECONDS[2]), 1), SECONDS[2]);
  assert.equal(nextSecond(SECONDS, { from: 0, to: 99_000 }, 1), SECONDS[0]);
  assert.equal(nextSecond([], null, 1), null);
  assert.equal(chosenSecond(SECONDS, { from: 8_000, to: 13_001 }), -1);
});

test("a lane a kind, those that the page does not know behind the others", () => {
  const lanes = lanesOf([event("frost", 1, 1), event("gc", 2, 1), event("boundary", 3, 1), event("gc", 4, 1)]);

  assert.deepEqual(
    lanes.map(({ title, events }) => [title, events.length]),
    [
      ["boundaries", 1],
      ["GC", 2],
      ["frost", 1],
    ],
  );
  assert.deepEqual(lanesOf([]), []);
});

test("an event is in a range that it touches, and at a moment that it covers or is near", () => {
  const events = [event("gc", 100, 50), event("gc", 300, 0)];

  assert.deepEqual(eventsIn(events, { from: 150, to: 300 }), [events[0]]);
  assert.deepEqual(eventsIn(events, { from: 151, to: 301 }), [events[1]]);
  const lane = lanesOf(events)[0];
  assert.equal(eventAt(lane, 120, 0), events[0]);
  assert.equal(eventAt(lane, 295, 5), events[1]);
  assert.equal(eventAt(lane, 290, 5), null);
});

test("an order's stages follow each other and add up", () => {
  const segments = segmentsOf(ORDER);

  assert.deepEqual(
    segments.map(({ stage, fromUs, toUs }) => [stage, toUs - fromUs]),
    [
      ["send_lag", 1_000],
      ["ingest", 10_000],
      ["compute", 2_000],
      ["delivery", 1_000],
    ],
  );
});

test("stages without the stamp between them are one that is no stage's, and clocks that disagree give no negative time", () => {
  const lacking = segmentsOf({ ...ORDER, ingested_unix_us: null });
  assert.deepEqual(
    lacking.map(({ stage, title, fromUs, toUs }) => [stage, title, toUs - fromUs]),
    [
      ["send_lag", "Send lag", 1_000],
      ["", "Broker and read + Computation", 12_000],
      ["delivery", "Sink and delivery", 1_000],
    ],
  );
  const askew = segmentsOf({ ...ORDER, emitted_unix_us: 1_010_000 });
  assert.deepEqual(
    askew.map(({ fromUs, toUs }) => toUs - fromUs),
    [1_000, 10_000, 0, 4_000],
  );
  assert.deepEqual(
    segmentsOf({ ...ORDER, sent_unix_us: null, ingested_unix_us: null, emitted_unix_us: null }).length,
    1,
  );
});

test("orders of a range are those on their way in it, slowest first", () => {
  const slow = { ...ORDER, order_id: 2, received_unix_us: 2_000_000 };
  const lost = { ...ORDER, order_id: 3, received_unix_us: null };

  /** @param {number} from @param {number} to */
  const found = (from, to) => ordersIn([ORDER, slow, lost], { from, to }).map(({ order_id: id }) => id);

  assert.deepEqual(found(900, 1_005), [2, 1]);
  assert.deepEqual(found(1_500, 1_600), [2]);
  assert.deepEqual(found(2_001, 9_000), []);
});

test("the mean of orders goes to the stages, with shares of the whole", () => {
  const twice = { ...ORDER, received_unix_us: 1_016_000 };

  assert.deepEqual(
    meanStages([ORDER, twice]).map(({ stage, us, share }) => [stage, us, +share.toFixed(3)]),
    [
      ["send_lag", 1_000, 0.067],
      ["ingest", 10_000, 0.667],
      ["compute", 2_000, 0.133],
      ["delivery", 2_000, 0.133],
    ],
  );
  assert.deepEqual(meanStages([]), []);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  RULES,
  clocksAdrift,
  clocksCoarse,
  duplicates,
  failedChecks,
  fallingBehind,
  findings,
  lateFrames,
  malformed,
  messagesFailed,
  outOfRange,
  pushesLost,
  restarts,
  silentSources,
  slowSoFar,
  stall,
  unevenPartitions,
} from "../src/rules.js";

const SOURCE = {
  source: "sender-0",
  silentMs: 500,
  pushes: 99,
  missing: 0,
  dropped: 0,
  duplicates: 0,
  clockErrorUs: 20,
  synchronised: true,
  restarts: 0,
};
const GOOD = {
  live: true,
  verdict: "",
  failedChecks: [],
  limits: { late_us: 10_000, late_share_max: 0.01, stall_us: 2_000_000, missing_share_max: 0.05 },
  hosts: 2,
  framesSent: 1000,
  framesLate: 0,
  failed: 0,
  sources: [SOURCE],
  count: 100,
  p50Us: 3000,
  queryRestarts: 0,
  alertsDuplicated: 0,
  alertsUnreadable: 0,
  malformed: 0,
  refused: 0,
  unwritten: 0,
  historyDropped: 0,
  negative: 0,
  overflow: 0,
  stallMs: 0,
  stallAtS: 0,
  oddPartitions: [],
  latencies: [],
  behindS: 0,
  behindBeforeS: 0,
};
const facts = (changed) => ({ ...GOOD, ...changed });
const withSource = (changed, more = {}) => facts({ sources: [{ ...SOURCE, ...changed }], ...more });
const said = (found) => found.map(({ level, text }) => `${level}: ${text}`);

test("a good run has nothing out of the ordinary", () => {
  assert.equal(RULES.length, 17);
  assert.deepEqual(findings(GOOD), []);
});

test("problems come before notes", () => {
  const found = findings(withSource({ silentMs: 4000 }, { framesLate: 1, overflow: 2 }));

  assert.deepEqual(said(found), [
    "problem: 2 values above 1 hour counted as 1 hour.",
    "note: sender-0 has pushed nothing for 4 s.",
    "note: 1 frame of 1,000 (0.10%) left more than 10.0 ms after their plan; the run allows 1.0%.",
  ]);
});

test("after the verdict nothing is a problem but what that says failed", () => {
  const bad = {
    sources: [{ ...SOURCE, missing: 90, silentMs: 4000 }],
    malformed: 1,
    framesLate: 900,
    stallMs: 9000,
    failed: 1,
    refused: 1,
    unwritten: 1,
    alertsUnreadable: 1,
    overflow: 1,
  };
  const problems = (changed) => findings(facts(changed)).filter(({ level }) => level === "problem");

  assert.equal(problems(bad).length, 9);
  assert.deepEqual(problems({ ...bad, verdict: "passed" }), []);
  assert.equal(findings(facts({ ...bad, verdict: "passed" })).length, 10);
  const failed = { verdict: "failed", failedChecks: [{ text: "it lost 3", cause: "system" }] };
  assert.deepEqual(said(problems({ ...bad, ...failed })), ["problem: it lost 3 (the system's doing)."]);
});

// While a run goes on, and has no verdict that makes notes of all else, the page itself says what is a problem. These are
// the limits of loadgen/workloads/quick.yaml, and a run that has all that they allow, and what nothing forbids.
const QUICK = { late_us: 250_000, late_share_max: 0.01, stall_us: 2_000_000, missing_share_max: 0.05 };
const AT_THE_LIMITS = facts({
  limits: QUICK,
  framesSent: 6000,
  framesLate: 60,
  stallMs: 2000,
  stallAtS: 12,
  sources: [
    { ...SOURCE, silentMs: 60_000, pushes: 57, missing: 5, dropped: 9, duplicates: 3, restarts: 1 },
    { ...SOURCE, source: "job", pushes: 38, synchronised: false, clockErrorUs: -1 },
    { ...SOURCE, source: "receiver", pushes: 0, clockErrorUs: 9000 },
  ],
  queryRestarts: 1,
  alertsDuplicated: 7,
  historyDropped: 5,
  negative: 4,
});

test("a run that keeps the limits of its workload has no problem before its verdict", () => {
  const found = findings(AT_THE_LIMITS);

  assert.equal(AT_THE_LIMITS.verdict, "");
  assert.deepEqual(said(found.filter(({ level }) => level === "problem")), []);
  assert.equal(found.length, 11);
});

test("each limit of a run is told where the run is beyond it, and alone", () => {
  const [first, ...others] = AT_THE_LIMITS.sources;
  const beyond = {
    "61 frames of 6,000 (1.0%) left more than 250.0 ms after their plan; the run allows 1.0%.": { framesLate: 61 },
    "No alert came for 2.5 s, from 0:12 on; the run allows 2 s.": { stallMs: 2500 },
    "sender-0: 6 pushes missing, 9 pushes dropped by the source; its figures lack what they held.": {
      sources: [{ ...first, missing: 6 }, ...others],
    },
  };

  for (const [text, changed] of Object.entries(beyond)) {
    const problems = findings({ ...AT_THE_LIMITS, ...changed }).filter(({ level }) => level === "problem");
    assert.deepEqual(said(problems), [`problem: ${text}`]);
  }
});

test("late frames are a problem only above what a run allows", () => {
  const levels = [{ framesLate: 10 }, { framesLate: 11 }, { framesLate: 1000, limits: {} }].map(
    (changed) => lateFrames(facts(changed))[0].level,
  );

  assert.deepEqual(levels, ["note", "problem", "note"]);
  assert.deepEqual(lateFrames(facts({ framesLate: 5, framesSent: 0 })), []);
  assert.equal(lateFrames(facts({ framesLate: 1, limits: {} }))[0].text, "1 frame of 1,000 (0.10%) left late.");
});

test("a stall is judged by the run's limit, and by none if there is none", () => {
  assert.deepEqual(stall(facts({ stallMs: 2000, stallAtS: 61 })), []);
  assert.deepEqual(said(stall(facts({ stallMs: 2500, stallAtS: 61 }))), [
    "problem: No alert came for 2.5 s, from 1:01 on; the run allows 2 s.",
  ]);
  assert.deepEqual(stall(facts({ stallMs: 1e9, limits: {} })), []);
});

test("a check that failed says whose doing it is, if that is known", () => {
  const failed = [
    { text: "it lost 3", cause: "system" },
    { text: "it was late", cause: "rig" },
    { text: "it was odd", cause: "" },
  ];

  assert.deepEqual(said(failedChecks(facts({ failedChecks: failed }))), [
    "problem: it lost 3 (the system's doing).",
    "problem: it was late (the rig's doing).",
    "problem: it was odd.",
  ]);
});

test("a silent source is noted only while the run goes on", () => {
  assert.deepEqual(silentSources(withSource({ silentMs: 3000 })), []);
  assert.equal(silentSources(withSource({ silentMs: 3001 }))[0].page, "workers/sender-0");
  assert.deepEqual(silentSources(withSource({ silentMs: 60_000 }, { live: false })), []);
});

test("lost pushes are a problem only above the share of all sources' pushes that a run allows", () => {
  const lost = { sources: [{ ...SOURCE, missing: 10, dropped: 2 }, SOURCE] };

  assert.deepEqual(said(pushesLost(facts(lost))), [
    "note: sender-0: 10 pushes missing, 2 pushes dropped by the source; its figures lack what they held.",
  ]);
  assert.equal(pushesLost(withSource({ missing: 10 }))[0].level, "problem");
  assert.equal(pushesLost(withSource({ missing: 10 }, { limits: {} }))[0].level, "note");
});

test("clocks matter only where there are several", () => {
  const adrift = { synchronised: false, clockErrorUs: -1 };

  assert.deepEqual(clocksAdrift(withSource(adrift, { hosts: 1 })), []);
  assert.deepEqual(said(clocksAdrift(withSource(adrift))), ["note: sender-0: its clock is not synchronised."]);
  assert.equal(
    clocksAdrift(withSource({ ...adrift, clockErrorUs: 40 }))[0].text,
    "sender-0: its clock is not synchronised; the kernel bounds its error by 40 µs.",
  );
});

test("a clock is coarse if its error is above the median", () => {
  assert.deepEqual(clocksCoarse(withSource({ clockErrorUs: 3000 })), []);
  assert.equal(
    clocksCoarse(withSource({ clockErrorUs: 3001 }))[0].text,
    "sender-0: its clock may be wrong by 3.00 ms, more than the p50 of 3.00 ms.",
  );
  assert.deepEqual(clocksCoarse(withSource({ clockErrorUs: 3001 }, { count: 0, p50Us: 0 })), []);
});

test("restarts are told of the query and of processes", () => {
  assert.deepEqual(said(restarts(withSource({ restarts: 2 }, { queryRestarts: 1 }))), [
    "note: The query was started again once after a failure.",
    "note: sender-0 was started again 2 times.",
  ]);
});

test("what came again is told of alerts and of pushes", () => {
  assert.deepEqual(said(duplicates(withSource({ duplicates: 1 }, { alertsDuplicated: 1200 }))), [
    "note: 1,200 alerts came again; the first of each order counts.",
    "note: 1 push came again and was left out.",
  ]);
});

test("malformed messages and records that are no alerts fail the run", () => {
  assert.deepEqual(said(malformed(facts({ malformed: 2, alertsUnreadable: 1 }))), [
    "problem: 2 messages malformed, reported to the topic invalid.",
    "problem: 1 record of the alerts topic is no alert.",
  ]);
});

test("what is lost at the broker is a problem without a limit", () => {
  assert.deepEqual(said(messagesFailed(facts({ failed: 1, limits: {} }))), [
    "problem: 1 message lost: the broker did not take them.",
  ]);
});

test("a partition that differs from the others is a note", () => {
  assert.deepEqual(said(unevenPartitions(facts({ oddPartitions: ["trips/1 is slow."] }))), ["note: trips/1 is slow."]);
});

test("values below zero are a note, those above an hour a problem", () => {
  assert.deepEqual(said(outOfRange(facts({ negative: 1, overflow: 1 }))), [
    "note: 1 value below zero counted as 0: clocks disagree.",
    "problem: 1 value above 1 hour counted as 1 hour.",
  ]);
  assert.deepEqual(said(outOfRange(facts({ negative: 1, hosts: 1 }))), [
    "note: 1 value below zero counted as 0: a clock was moved.",
  ]);
});

test("slow so far", () => {
  const p99 = { name: "p99", us: 120_000, limitUs: 98_000 };

  assert.deepEqual(said(slowSoFar(facts({ latencies: [p99] }))), [
    "problem: p99 is 120.0 ms so far; the run allows 98.0 ms.",
  ]);
  assert.equal(slowSoFar(facts({ latencies: [p99] }))[0].would, "failed");
  assert.deepEqual(slowSoFar(facts({ latencies: [{ ...p99, us: 98_000 }] })), []);
  assert.deepEqual(slowSoFar(facts({ latencies: [{ ...p99, us: null }] })), []);
});

test("falling behind", () => {
  assert.deepEqual(said(fallingBehind(facts({ behindS: 6.2, behindBeforeS: 3.1 }))), [
    "problem: Processing is 6.2 s of load behind, 3.1 s a while before: it does not keep up.",
  ]);
  assert.deepEqual(fallingBehind(facts({ behindS: 2.9, behindBeforeS: 0 })), [], "the count may be as late");
  assert.deepEqual(fallingBehind(facts({ behindS: 6.2, behindBeforeS: 9 })), [], "it catches up");
});

test("what a run comes to if it ends like this", () => {
  const all = { framesLate: 900, failed: 1, malformed: 1, alertsUnreadable: 1, stallMs: 2500, behindS: 6 };
  const found = findings(withSource({ missing: 50 }, all));
  const whose = (end) => found.filter(({ would }) => would === end).map(({ page }) => page);

  assert.deepEqual(whose("void"), ["workers", "computations/send_all", "aggregator"]);
  assert.deepEqual(whose("failed"), ["pipeline", "pipeline", "computations/compute", "computations/deliver"]);
  assert.equal(lateFrames(facts({ framesLate: 1 }))[0].would, undefined);
  assert.ok(findings(facts({ verdict: "passed", framesLate: 900 })).every(({ would }) => would === undefined));
});

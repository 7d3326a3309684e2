import assert from "node:assert/strict";
import { test } from "node:test";
import { RunModel, histOf, outliersOf } from "../src/model.js";

/** Base64 of the counts of one value in bucket 5: -5, 1. */
const ONE_OF_5_US = btoa(String.fromCharCode(9, 2));
const slot = (start, end, count = 1) => [start, end, count, 5 * count, 5, 5, 0, 0, ONE_OF_5_US];
const counter = (intervals, more = {}) => ({ name: "sent", kind: "counter", labels: {}, total: 0, intervals, ...more });
const data = (more = {}) => ({ format: 1, run_id: "r1", generated_unix_ms: 9000, ...more });
const tick = (number, more = {}) => ({ tick: number, now_unix_ms: 9000 + number, ...more });

test("data of another format is refused", () => {
  assert.throws(
    () => new RunModel(data({ format: 2 })),
    new RangeError("the data has format 2, this page reads format 1"),
  );
});

test("a run of which nothing was pushed has a name and no span", () => {
  const model = new RunModel(data());

  assert.deepEqual([model.title, model.live, model.phase, model.verdict], ["r1", false, "", ""]);
  assert.equal(model.span(), null);
  assert.equal(model.judged, null);
  assert.deepEqual([model.limits, model.failed, model.latencyRows, model.hosts], [{}, [], [], 0]);
});

test("the span is from the first begin to the last end of all series", () => {
  const model = new RunModel(
    data({
      series: [counter([[2000, 3000, 1]]), counter([[1000, 2500, 1]], { labels: { source: "b" } }), counter([])],
    }),
  );

  assert.deepEqual(model.span(), { from: 1000, to: 3000 });
});

test("series are found by their name and some of their labels", () => {
  const model = new RunModel(
    data({
      series: [
        counter([], { labels: { source: "a", topic: "orders" } }),
        counter([], { labels: { source: "b", topic: "orders" } }),
        counter([], { name: "lost", labels: { source: "a" } }),
      ],
    }),
  );

  assert.deepEqual(
    [model.find("sent"), model.find("sent", { source: "b" }), model.find("sent", { source: "c" })].map(
      (found) => found.length,
    ),
    [2, 1, 0],
  );
});

test("an event adds to a series, whatever the order of its labels", () => {
  const model = new RunModel(
    data({ tick: 3, series: [counter([[0, 1000, 5]], { labels: { a: "1", b: "2" }, total: 5 })] }),
  );

  const taken = model.apply(
    tick(4, { series: [counter([[1000, 2000, 7]], { labels: { b: "2", a: "1" }, total: 12 })] }),
  );

  assert.equal(taken, true);
  const [series] = model.find("sent");
  assert.equal(series.total, 12);
  assert.deepEqual(series.intervals, [
    { start: 0, end: 1000, value: 5 },
    { start: 1000, end: 2000, value: 7 },
  ]);
});

test("an event that is not newer is not taken: the sender has begun anew", () => {
  const model = new RunModel(data({ tick: 3 }));

  assert.equal(model.apply(tick(3, { title: "another" })), false);
  assert.deepEqual([model.tick, model.title], [3, "r1"]);
});

test("a source is replaced by what is newer of the same start of its process", () => {
  const model = new RunModel(data({ sources: [{ source: "job", epoch_unix_ms: 1, pushes: 1, host: "h1" }] }));

  model.apply(
    tick(1, {
      sources: [
        { source: "job", epoch_unix_ms: 1, pushes: 2, host: "h1" },
        { source: "job", epoch_unix_ms: 7, pushes: 1, host: "h2" },
        { source: "old", epoch_unix_ms: 1, pushes: 1, host: "" },
      ],
    }),
  );

  assert.deepEqual(
    model.sources.map(({ source, pushes }) => [source, pushes]),
    [
      ["job", 2],
      ["job", 1],
      ["old", 1],
    ],
  );
  assert.equal(model.hosts, 2);
});

test("notes are in the order of time, and the newest verdict and limits hold", () => {
  const model = new RunModel(
    data({
      notes: [
        { unix_ms: 5, kind: "verdict", name: "failed", text: "", failed: [{ check: "loss", text: "x", cause: "rig" }] },
        { unix_ms: 1, kind: "limits", name: "", text: "", limits: { stall_us: 7 } },
      ],
    }),
  );
  model.apply(tick(1, { notes: [{ unix_ms: 3, kind: "phase", name: "measuring", text: "" }] }));

  assert.deepEqual(
    model.notes.map(({ unix_ms: ms }) => ms),
    [1, 3, 5],
  );
  assert.equal(model.verdict, "failed");
  assert.deepEqual(model.limits, { stall_us: 7 });
  assert.deepEqual(model.failed, [{ check: "loss", text: "x", cause: "rig" }]);
});

test("the result's own histogram is found by exactly its labels", () => {
  const series = [
    { name: "e2e", labels: { phase: "measured" }, total: [1, 5, 5, 5, 0, 0, ONE_OF_5_US], too_few: { p50: 2 } },
  ];
  const judged = { from_unix_ms: 10, to_unix_ms: 20, series, rows: [["p50"]] };
  const model = new RunModel(data({ notes: [{ unix_ms: 1, kind: "verdict", name: "passed", text: "", judged }] }));

  assert.deepEqual(model.judged, { from: 10, to: 20 });
  assert.deepEqual(model.latencyRows, [["p50"]]);
  const found = model.judgedHist({ name: "e2e", labels: { phase: "measured" } });
  assert.deepEqual([found.count, found.maxUs, found.tooFew, [...found.indices]], [1, 5, { p50: 2 }, [5]]);
  assert.equal(model.judgedHist({ name: "e2e" }), null);
  assert.equal(model.judgedHist({ name: "e2e", labels: { phase: "measured", stage: "send" } }), null);
});

test("a verdict is shown with its cause in the words of who judged, if these are there", () => {
  const verdict = { unix_ms: 1, kind: "verdict", name: "failed", text: "" };
  const said = (note) => new RunModel(data({ notes: [note] })).outcome;

  assert.equal(new RunModel(data()).outcome, "");
  assert.equal(said(verdict), "failed");
  assert.equal(said({ ...verdict, outcome: "failed (system); latencies void" }), "failed (system); latencies void");
});

test("a verdict without histograms has judged no part of the run", () => {
  const judged = { from_unix_ms: 10, to_unix_ms: 20, series: [] };

  assert.equal(
    new RunModel(data({ notes: [{ unix_ms: 1, kind: "verdict", name: "void", text: "", judged }] })).judged,
    null,
  );
});

test("a histogram is decoded once, when it is needed", () => {
  const model = new RunModel(data({ series: [counter([slot(0, 1000)], { kind: "histogram", total: null })] }));
  const [series] = model.find("sent");
  const [interval] = /** @type {any[]} */ (series.intervals);

  assert.equal(series.total, null);
  assert.equal(interval.hist, null);
  const decoded = histOf(interval);
  assert.deepEqual([decoded.count, decoded.sumUs, [...decoded.indices], [...decoded.numbers]], [1, 5, [5], [1]]);
  assert.equal(histOf(interval), decoded);
  assert.equal(interval.text, "");
});

test("an empty interval is not decoded, and what is out of range is known without", () => {
  const empty = { start: 0, end: 1, head: [0, 0, 0, 0, 3, 2], text: "not base64!", hist: null };

  assert.deepEqual(outliersOf(empty), { negative: 2, overflow: 3 });
  assert.equal(histOf(empty).count, 0);
  assert.deepEqual(outliersOf(empty), { negative: 2, overflow: 3 });
});

test("coarseness is the longest interval of a histogram that begins in the range", () => {
  const model = new RunModel(
    data({
      series: [
        counter([slot(0, 1000), slot(1000, 6000)], { kind: "histogram", total: null }),
        counter([[0, 9000, 1]], { name: "lost" }),
      ],
    }),
  );

  assert.deepEqual(
    [
      { from: 0, to: 1000 },
      { from: 0, to: 1001 },
      { from: 7000, to: 8000 },
    ].map((range) => model.coarseness(range)),
    [1000, 5000, 0],
  );
});

for (const { kind, interval, expected } of [
  { kind: "counter", interval: (at) => [at, at + 1, 2], expected: 4 },
  { kind: "gauge", interval: (at) => [at, at + 1, at], expected: 1 },
]) {
  test(`the older half of a long ${kind} is merged by pairs`, () => {
    const intervals = Array.from({ length: 2001 }, (_none, at) => interval(at));
    const model = new RunModel(data({ series: [counter([], { kind })] }));

    model.apply(tick(1, { series: [counter(intervals, { kind })] }));

    const [series] = model.find("sent");
    assert.equal(series.intervals.length, 1501);
    assert.deepEqual(series.intervals[0], { start: 0, end: 2, value: expected });
    assert.equal(series.intervals.at(-1).start, 2000);
  });
}

test("the older half of a long histogram is merged by pairs without loss", () => {
  const intervals = Array.from({ length: 2001 }, (_none, at) => slot(at, at + 1));
  const model = new RunModel(data({ series: [counter([], { kind: "histogram", total: null })] }));

  model.apply(tick(1, { series: [counter(intervals, { kind: "histogram", total: null })] }));

  const [series] = model.find("sent");
  const hists = /** @type {any[]} */ (series.intervals).map(histOf);
  assert.equal(hists.length, 1501);
  assert.deepEqual([hists[0].count, [...hists[0].numbers]], [2, [2]]);
  assert.equal(
    hists.reduce((sum, { count }) => sum + count, 0),
    2001,
  );
});

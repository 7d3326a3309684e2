import assert from "node:assert/strict";
import { test } from "node:test";
import { rate } from "../src/format.js";
import { RunModel } from "../src/model.js";
import { rateSummary } from "../src/parts/lines.js";
import { View } from "../src/view.js";

const SPAN = { from: 0, to: 10_000 };
const WHOLE = { ...SPAN, whole: true };
const ONE_OF_5_US = btoa(String.fromCharCode(9, 2));
const slot = (start, end, outliers = [0, 0]) => [start, end, 1, 5, 5, 5, ...outliers, ONE_OF_5_US];
const seconds = (value) => Array.from({ length: 10 }, (_none, at) => [1000 * at, 1000 * at + 1000, value(at)]);
const SENT = { name: "sent", kind: "counter", labels: { source: "s" }, total: 100, intervals: seconds(() => 10) };
const measuring = (ms) => ({ unix_ms: ms, kind: "phase", name: "measuring", text: "" });
const model = (series, more = {}) =>
  new RunModel({ format: 1, run_id: "r1", generated_unix_ms: 10_000, series, ...more });
const part = (from, to) => ({ from, to, whole: false });

test("of a series that is not there nothing is known", () => {
  const view = new View(model([]), WHOLE, SPAN);
  const of = { name: "nothing" };

  assert.deepEqual([view.has(of), view.grown(of), view.flowed(of), view.rate(of)], [false, null, null, null]);
  assert.deepEqual([view.hist(of).count, view.histBins(of), view.lastMs(of)], [0, [], null]);
});

test("the whole run is what the totals say, a part what its intervals do", () => {
  const of = { name: "sent" };

  assert.equal(new View(model([SENT]), WHOLE, SPAN).grown(of), 100);
  assert.equal(new View(model([SENT]), part(500, 3000), SPAN).grown(of), 25);
});

test("rates are of the measured load where its time is known", () => {
  const warming = { ...SENT, intervals: seconds((at) => (at < 4 ? 0 : 10)) };
  const of = { name: "sent" };

  const known = new View(model([warming], { notes: [measuring(4000)] }), WHOLE, SPAN);
  const unknown = new View(model([warming]), WHOLE, SPAN);

  assert.deepEqual([known.rate(of), known.flowLabel], [10, "measured"]);
  assert.deepEqual([unknown.rate(of), unknown.flowLabel], [6, "range"]);
});

test("bins are cut at the edges of the range", () => {
  const view = new View(model([SENT]), part(2500, 4500), SPAN);

  assert.equal(view.widthMs, 1000);
  assert.deepEqual(view.rateBins({ name: "sent" }), [
    { from: 2500, to: 3000, value: 10 },
    { from: 3000, to: 4000, value: 10 },
    { from: 4000, to: 4500, value: 10 },
  ]);
});

test("totals go on from what was before the range", () => {
  const view = new View(model([SENT]), part(8000, 10_000), SPAN);

  assert.deepEqual(
    view.totalBins({ name: "sent" }).map(({ value }) => value),
    [90, 100],
  );
});

test("the newest bins of a live run are not known while their figures are on the way", () => {
  const late = { ...SENT, intervals: SENT.intervals.slice(0, 8) };
  const values = (live) =>
    new View(model([late], { live }), WHOLE, SPAN).rateBins({ name: "sent" }).map(({ value }) => value);

  assert.deepEqual(values(true), [10, 10, 10, 10, 10, 10, 10, 10, null, null]);
  assert.deepEqual(values(false), [10, 10, 10, 10, 10, 10, 10, 10, 0, 0]);
});

test("gauges are summed over series, each with its newest value", () => {
  const gauge = (source, intervals) => ({ name: "memory", kind: "gauge", labels: { source }, total: 0, intervals });
  const both = model([
    gauge("a", [
      [0, 1000, 5],
      [1000, 2000, 7],
    ]),
    gauge("b", [[4000, 5000, 100]]),
  ]);
  const view = new View(both, part(0, 6000), SPAN);

  assert.deepEqual(
    view.gaugeBins({ name: "memory" }).map(({ value }) => value),
    [5, 7, 7, 7, 107, 107],
  );
  assert.equal(view.gauge({ name: "memory" }), 107);
  assert.equal(view.gauge({ name: "memory", labels: { source: "c" } }), null);
});

test("a histogram's interval counts where its middle lies", () => {
  const intervals = [slot(0, 1000), slot(1000, 2000), slot(2000, 3000)];
  const hists = model([{ name: "lag", kind: "histogram", labels: {}, total: null, intervals }]);
  const view = new View(hists, part(1500, 2600), SPAN);

  assert.equal(view.hist({ name: "lag" }).count, 2);
  assert.deepEqual(
    view.histBins({ name: "lag" }).map(({ from, to, hist }) => [from, to, hist.count]),
    [
      [1500, 2000, 1],
      [2000, 2600, 1],
    ],
  );
});

test("a histogram of the whole run is its total, older intervals of which may be gone", () => {
  const total = [9, 45, 5, 5, 0, 0, btoa(String.fromCharCode(9, 18))];
  const hists = model([{ name: "lag", kind: "histogram", labels: {}, total, intervals: [slot(9000, 10_000)] }]);

  assert.equal(new View(hists, WHOLE, SPAN).hist({ name: "lag" }).count, 9);
  assert.equal(new View(hists, part(0, 10_000), SPAN).hist({ name: "lag" }).count, 1);
});

test("values out of range are counted, of the whole run by the totals", () => {
  const total = [9, 45, 5, 5, 3, 4, ONE_OF_5_US];
  const hists = model([
    { name: "lag", kind: "histogram", labels: {}, total, intervals: [slot(0, 1000, [1, 2]), slot(1000, 2000)] },
    SENT,
  ]);

  assert.deepEqual(new View(hists, WHOLE, SPAN).outliers(), { negative: 4, overflow: 3 });
  assert.deepEqual(new View(hists, part(0, 1000), SPAN).outliers(), { negative: 2, overflow: 1 });
});

test("bins are never narrower than those that fit, but may be wider", () => {
  const widths = [0, 500, 5000].map((widthMs) => new View(model([SENT]), WHOLE, SPAN, { widthMs }).widthMs);

  assert.deepEqual(widths, [1000, 1000, 5000]);
});

test("of a live run whose newest figures are all on their way no rate from bin to bin is said", () => {
  /** @type {import("../src/types.js").SeriesData[]} */
  const series = [
    { name: "sent", kind: "counter", labels: {}, total: 10, intervals: [[0, 500, 10]] },
    { name: "read", kind: "counter", labels: {}, total: 10, intervals: [[0, 1000, 10]] },
  ];
  const live = new RunModel({ format: 1, run_id: "r1", live: true, generated_unix_ms: 1000, series });
  const view = new View(live, { from: 0, to: 1000, whole: true }, { from: 0, to: 1000 });

  assert.equal(rateSummary(view, [{ title: "offered", of: { name: "sent" } }], rate), "offered 20.0");
  assert.match(rateSummary(view, [{ title: "read", of: { name: "read" } }], rate), /^read 10.0, 10.0 to 10.0 from/);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { linearAxis, logAxis, nameAxis, shareOf } from "../src/axes.js";
import { chartsOf, shortNumber, signedPercent } from "../src/chartfacts.js";

const marks = ({ ticks }) => ticks.map(({ at }) => Number(at.toPrecision(12)));
const figure = (path, verdict, estimate, low = estimate - 0.02, high = estimate + 0.02) => ({
  figure: path,
  verdict,
  least_share: 0.05,
  shift: estimate === null ? null : { estimate, low, high },
});

for (const [values, expected] of [
  [
    [0, 100],
    [0, 20, 40, 60, 80, 100],
  ],
  [
    [-0.07, 0.12],
    [-0.1, -0.05, 0, 0.05, 0.1, 0.15],
  ],
  [[5], [5, 6]],
  [[0], [0, 0.2]],
]) {
  test(`a linear axis of ${values} goes from round to round`, () => {
    assert.deepEqual(marks(linearAxis("", values, String)), expected);
  });
}

for (const [values, expected] of [
  [
    [7, 900],
    [5, 10, 20, 50, 100, 200, 500, 1000],
  ],
  [[10], [10, 20]],
  [
    [0.3, 0.9],
    [0.2, 0.5, 1],
  ],
]) {
  test(`a logarithmic axis of ${values} has 1, 2 and 5`, () => {
    assert.deepEqual(marks(logAxis("", values, String)), expected);
  });
}

test("a value is at its share of the axis, and never beyond", () => {
  const linear = linearAxis("", [0, 10], String);
  const log = logAxis("", [1, 100], String);

  assert.deepEqual(
    [0, 5, 10, 99].map((value) => shareOf(linear, value)),
    [0, 0.5, 1, 1],
  );
  assert.deepEqual(
    [1, 10, 100, 0.1].map((value) => shareOf(log, value)),
    [0, 0.5, 1, 0],
  );
  assert.deepEqual(
    [0, 1].map((at) => shareOf(nameAxis("", ["a", "b"]), at)),
    [0.25, 0.75],
  );
});

test("a comparison is a point for each percentile with a shift, filled where it is better or worse", () => {
  const figures = [
    figure("latency_ns.p99.9", "undecided", 0.2),
    figure("latency_ns.p50", "same", 0),
    figure("latency_ns.p99", "worse", 0.1),
    figure("latency_ns.p99.99", "undecided", null),
    figure("service_time_ns.p99", "better", -0.5),
    figure("boundary_gap_ns_median", "worse", 9),
    figure("cpu_us_per_message", "worse", 7),
  ];

  const [chart, ...others] = chartsOf({ contrasts: [{ first: "a", other: "b", figures }] });

  assert.deepEqual(others, []);
  assert.deepEqual(
    chart.x.ticks.map(({ text }) => text),
    ["p50", "p99", "p99.9"],
  );
  assert.deepEqual(
    chart.lines.map(({ title, points }) => [title, points.map(({ text, filled }) => [text, filled])]),
    [
      [
        "latency",
        [
          ["latency p50: 0.0% (−2.0% to +2.0%), same", false],
          ["latency p99: +10.0% (+8.0% to +12.0%), worse", true],
          ["latency p99.9: +20.0% (+18.0% to +22.0%), undecided", false],
        ],
      ],
      ["service time", [["service time p99: −50.0% (−52.0% to −48.0%), better", true]]],
    ],
  );
  assert.deepEqual(chart.zones, [{ along: "y", from: -0.05, to: 0.05, text: "differences below 5% do not matter" }]);
  assert.ok(chart.y.low <= -0.52 && chart.y.high >= 0.22);
  assert.ok(chart.y.high < 1, "what is not drawn does not set the axis");
});

test("nothing is drawn of a comparison without percentiles, nor of an unknown document", () => {
  assert.deepEqual(
    chartsOf({ contrasts: [{ first: "a", other: "b", figures: [figure("cpu_us_per_message", "worse", 0.1)] }] }),
    [],
  );
  assert.deepEqual(chartsOf(JSON.parse('{"schema_version": 1}')), []);
});

const SWEEP = {
  latency_limits_ms: { p99: 50 },
  held: 20_000,
  limit: { rate: 23_456, low: 21_000, high: 26_000 },
  rates: [
    { rate: 20_000, outcome: "held", latency_ms: { p50: 4.25, p95: 9, p99: 26.731, "p99.9": null } },
    { rate: 30_000, outcome: "broken", latency_ms: { p50: 400, p95: 800, p99: 900, "p99.9": null } },
  ],
};

test("a sweep has the medians by rate, its objective and its limit with the interval", () => {
  const [chart] = chartsOf(SWEEP);

  assert.deepEqual(
    chart.lines.map(({ title, points }) => [title, points.map(({ x, y, filled }) => [x, y, filled])]),
    [
      [
        "p50",
        [
          [20_000, 4.25, true],
          [30_000, 400, false],
        ],
      ],
      [
        "p99",
        [
          [20_000, 26.731, true],
          [30_000, 900, false],
        ],
      ],
    ],
  );
  assert.equal(chart.lines[1].points[0].text, "p99 26.73 ms at 20,000/s: held");
  assert.deepEqual(
    chart.rules.map(({ along, at, text }) => [along, at, text]),
    [
      ["y", 50, "p99 ≤ 50 ms"],
      ["x", 23_500, "23,500"],
    ],
  );
  assert.deepEqual(
    chart.zones.map(({ along, from, to }) => [along, from, to]),
    [["x", 21_000, 26_000]],
  );
});

test("a sweep in which nothing is held marks no limit", () => {
  const [chart] = chartsOf({ ...SWEEP, held: null });

  assert.deepEqual([chart.rules.map(({ along }) => along), chart.zones], [["y"], []]);
});

test("a history has a chart a figure, with medians from change to change", () => {
  const trend = { path: "latency_ns.p99", title: "latency p99, ms", divisor: 1e6 };
  const values = { a: 10e6, b: 10e6, c: 20e6 };
  const changes = [{ run_id: "c", before: 10e6, after: 20e6, shift: 1 }];

  const [changed, even] = chartsOf({
    workloads: [
      {
        workload: "quick",
        figures: [
          { ...trend, values, changes },
          { ...trend, values, changes: [] },
        ],
      },
    ],
  });

  assert.equal(changed.title, "quick: latency p99, ms");
  assert.deepEqual(
    changed.lines[0].points.map(({ x, text }) => [x, text]),
    [
      [1, "a: 10"],
      [2, "b: 10"],
      [3, "c: 20"],
    ],
  );
  assert.deepEqual(
    changed.lines[1].points.map(({ x, y }) => [x, y]),
    [
      [0.5, 10],
      [2.5, 10],
      [2.5, 20],
      [3.5, 20],
    ],
  );
  assert.deepEqual(changed.rules, [{ along: "x", at: 2.5, text: "+100.0%" }]);
  assert.deepEqual([even.lines.length, even.rules], [1, []]);
});

test("numbers have four digits that count, shares their sign", () => {
  assert.deepEqual([26.7312, 1234.5, 0, 0.00012344].map(shortNumber), ["26.73", "1,235", "0", "0.0001234"]);
  assert.deepEqual(
    [0.1, -0.034, 0, 12.5].map((value) => signedPercent(value, 1)),
    ["+10.0%", "−3.4%", "0.0%", "+1250.0%"],
  );
});

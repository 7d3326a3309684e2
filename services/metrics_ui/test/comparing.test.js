import assert from "node:assert/strict";
import { test } from "node:test";
import { RUNS_MAX, commandOf, differences, figureRows, runsOf } from "../src/comparing.js";
import { COLUMNS, SPARKLINE, sparklineOf, sparklinePath, filtered, ordered, scaleOf } from "../src/runlist.js";

const head = (id, figures = {}, more = {}) => ({
  run_id: id,
  title: "quick",
  phase: "",
  verdict: "passed",
  outcome: "passed",
  live: false,
  figures,
  ...more,
});
const p99 = (ns) => ({ "latency_ns.p99": ns });
const idsOf = (runs) => runs.map((run) => run.run_id);

test("a tail that lies in too few clusters of time is no figure, and none is far from it", () => {
  const run = (ns, clusters) => ({
    latency_ns: { p50: 4e6, p99: ns },
    latency_clusters: { latency_ns: { p50: 2, p99: clusters } },
  });

  const [median, tail] = figureRows([run(20e6, 10), run(300e6, 9)], 10);

  assert.deepEqual(median.cells[1], { text: "4.00 ms", sub: "0.0%" });
  assert.deepEqual(tail.cells, [
    { text: "20.0 ms", sub: "" },
    { text: "– (9 clusters)", sub: "" },
  ]);
});

test("figures stand beside those of the first run, and what no run has is left out", () => {
  const rows = figureRows(
    [
      { latency_ns: { p50: 4e6, p99: null }, achieved_rate_per_s: 0 },
      { latency_ns: { p50: 3e6, p99: 20e6 }, achieved_rate_per_s: 100 },
    ],
    10,
  );

  assert.deepEqual(rows, [
    {
      title: "latency p50",
      cells: [
        { text: "4.00 ms", sub: "" },
        { text: "3.00 ms", sub: "−25.0%" },
      ],
    },
    {
      title: "latency p99",
      cells: [
        { text: "–", sub: "" },
        { text: "20.0 ms", sub: "" },
      ],
    },
    {
      title: "achieved, messages/s",
      cells: [
        { text: "0", sub: "" },
        { text: "100", sub: "" },
      ],
    },
  ]);
});

test("manifests differ where a value is another one, or is not there", () => {
  const rows = differences([
    { manifest: { sections: { cpu: { model: "a", threads: 2 }, kernel: { x: [1] } } } },
    { manifest: { sections: { cpu: { model: "b", threads: 2 }, kernel: { x: [1] }, code: { dirty: true } } } },
  ]);

  assert.deepEqual(rows, [
    ["code.dirty", "–", "true"],
    ["cpu.model", "a", "b"],
  ]);
});

test("a run without a manifest is told by its result", () => {
  const rows = differences([
    { result: { mode: "real-time", settings: { seed: 1 }, run_id: "a" }, manifest: {} },
    { result: { mode: "micro-batch", settings: { seed: 1 }, run_id: "b" } },
  ]);

  assert.deepEqual(rows, [["mode", "real-time", "micro-batch"]]);
});

test("an address names each run once, and no more than fit", () => {
  assert.deepEqual(runsOf("a,b,,a"), ["a", "b"]);
  assert.equal(runsOf("a,b,c,d,e,f,g,h").length, RUNS_MAX);
  assert.equal(commandOf(["a", "b"]), "market-spread compare a b --html comparison.html");
});

test("runs are sorted by a figure, and those without it are last either way", () => {
  const runs = [head("a", p99(3)), head("b"), head("c", p99(0)), head("d", p99(9)), head("e", p99("x"))];

  assert.deepEqual(idsOf(ordered(runs, { key: "latency_ns.p99", down: false })), ["c", "a", "d", "b", "e"]);
  assert.deepEqual(idsOf(ordered(runs, { key: "latency_ns.p99", down: true })), ["d", "a", "c", "b", "e"]);
  assert.deepEqual(idsOf(ordered(runs, { key: "", down: false })), ["a", "b", "c", "d", "e"]);
});

test("a filter takes runs that have every word, in whatever cell", () => {
  const runs = [head("a1"), head("a2", {}, { outcome: "void (rig)" }), head("b", {}, { title: "steady" })];

  assert.deepEqual(idsOf(filtered(runs, "A VOID")), ["a2"]);
  assert.deepEqual(idsOf(filtered(runs, "  ")), ["a1", "a2", "b"]);
  assert.deepEqual(idsOf(filtered(runs, "quick steady")), []);
});

test("sparklines of runs are lines on one logarithmic scale, broken where nothing is known", () => {
  const steady = head("steady", { latency_sparkline_ns: [1e6, 1e6, 1e6] });
  const spiky = head("spiky", { latency_sparkline_ns: [10e6, 100e6, null] });
  const scale = scaleOf([steady, spiky, head("none")]);

  assert.deepEqual(scale, { low: 1e6, high: 100e6 });
  assert.equal(sparklinePath(sparklineOf(steady), scale, 100, 20), "M0.0 20.0L50.0 20.0L100.0 20.0");
  assert.equal(sparklinePath(sparklineOf(spiky), scale, 100, 20), "M0.0 10.0L50.0 0.0");
  assert.equal(sparklinePath([null, 1e6, null, 10e6, 1e6], scale, 100, 20), "M25.0 20.0h0.01M75.0 10.0L100.0 20.0");
});

test("a run without a sparkline, or with one that means nothing, has none", () => {
  const column = COLUMNS.find(({ key }) => key === SPARKLINE);
  const runs = [
    head("none"),
    head("text", { latency_sparkline_ns: "1" }),
    head("nought", { latency_sparkline_ns: [0, null] }),
  ];

  assert.equal(scaleOf(runs), null);
  assert.deepEqual(runs.map(column.text), ["–", "–", "–"]);
  assert.equal(column.text(head("one", { latency_sparkline_ns: [5e6, null, 412e6] })), "up to 412.0 ms");
  assert.deepEqual(
    idsOf(ordered([...runs, head("one", { latency_sparkline_ns: [7] })], { key: SPARKLINE, down: true })),
    ["one", "none", "text", "nought"],
  );
});

test("a run of which nothing is known is not known to differ", () => {
  const [one, other] = ["a", "b"].map((model) => ({ manifest: { sections: { cpu: { model, threads: 2 } } } }));

  assert.deepEqual(differences([one, one, {}]), []);
  assert.deepEqual(differences([one, { result: {} }, other]), [["cpu.model", "a", "–", "b"]]);
});

test("a slow rate is told in the list and the comparison as exactly as on the page of the run", () => {
  const slow = head("a", { achieved_rate_per_s: 2.5, cpu_us_per_message: 1234.5 });
  const text = (key) => COLUMNS.find((column) => column.key === key).text(slow);

  assert.equal(text("achieved_rate_per_s"), "2.50");
  assert.equal(text("cpu_us_per_message"), "1,234.50");
  assert.equal(figureRows([{ achieved_rate_per_s: 2.5 }], 0)[0].cells[0].text, "2.50");
});

test("a run that has pushed nothing has no length", () => {
  const text = (run) => COLUMNS.find(({ key }) => key === "length").text(run);

  assert.equal(text({ run_id: "a", live: true }), "–");
  assert.equal(text({ run_id: "a", begin_unix_ms: 1000, end_unix_ms: 8000 }), "7 s");
});

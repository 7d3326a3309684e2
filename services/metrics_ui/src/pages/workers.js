/** Workers: the list of processes, or one of them with all that it records. */

import { TimeChart } from "../charts/timechart.js";
import { h, table } from "../dom.js";
import { BYTE_STEPS, NONE, axisNumber, bytes, fixed, latency, whole } from "../format.js";
import { Detail } from "../parts/detail.js";
import { latencyTable } from "../parts/latencies.js";
import { gaugeRows, rateLines, rateOverall, rateRows } from "../parts/lines.js";
import { newestPush } from "../parts/pushes.js";
import { tabs } from "../parts/tabs.js";
import {
  ALERTS,
  COMPUTATIONS,
  CPU,
  MEMORY,
  PROCESSED,
  SENT,
  histogramsOf,
  plainName,
  stepOf,
  stepsOf,
  workOf,
  workers,
} from "../steps.js";

/** @import {Actions, App, Cell} from "../types.js" */
/** @import {Selector, View} from "../view.js" */

export class WorkersPage {
  title = "Workers";

  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.table = workerTable("The processes of this run");
    this.sources = workers(app.model);
    this.cpu = cpuChart(this.sources, app.actions, 220);
    this.memory = memoryChart(this.sources, app.actions, 220);
    this.element = h(
      "section",
      {},
      siblings(app, ""),
      this.table.element,
      h("div.grid", {}, h("div.half", {}, this.cpu.element), h("div.half", {}, this.memory.element)),
    );
  }

  /** @param {View} view */
  update(view) {
    this.table.set(view, this.app, workers(view.model));
    updateCpu(this.cpu, view, this.sources);
    updateMemory(this.memory, view, this.sources);
  }

  release() {
    this.cpu.release();
    this.memory.release();
  }
}

export class WorkerPage {
  /** @param {App} app @param {string} source */
  constructor(app, source) {
    this.app = app;
    this.source = source;
    this.title = source;
    const step = stepOf(app.model, "worker", source);
    this.about = h(
      "p.about",
      {},
      step
        ? `${step.about ? `It ${step.about}. ` : ""}${step.latency ? "" : "It records no latency itself."}`
        : `Nothing was pushed by ${source} in this run.`,
    );
    const { actions } = app;
    this.cpu = cpuChart([source], actions, 160);
    this.memory = memoryChart([source], actions, 160);
    this.detail = step ? new Detail(step, actions, [this.cpu.element, this.memory.element]) : null;
    this.histograms = latencyTable("All that it measures", "histogram");
    this.computations = latencyTable("Computations that it does", "computation");
    this.others = workerTable("The other workers");
    this.element = h(
      "div",
      {},
      siblings(app, source),
      this.about,
      this.detail?.element,
      h(
        "div.grid",
        {},
        h("div.full", {}, this.histograms.element),
        h("div.full", {}, this.computations.element),
        h("div.full", {}, this.others.element),
      ),
    );
  }

  /** @param {View} view */
  update(view) {
    const { app, source } = this;
    this.detail?.update(view);
    updateCpu(this.cpu, view, [source]);
    updateMemory(this.memory, view, [source]);
    this.histograms.element.hidden = histogramsOf(view.model, source).length === 0;
    this.histograms.set(
      histogramsOf(view.model, source).map((selector) => ({ title: titleOf(selector), hist: view.hist(selector) })),
    );
    const done = stepsOf(view.model, COMPUTATIONS).filter(
      ({ workers: kind, latency: selector }) => source.startsWith(kind) && view.has(selector),
    );
    this.computations.element.hidden = done.length === 0;
    this.computations.set(
      done.map(({ id, title, latency: selector }) => ({
        title: { text: title, href: app.href("computations", id) },
        hist: view.hist(selector),
      })),
    );
    this.others.set(
      view,
      app,
      workers(view.model).filter((other) => other !== source),
    );
  }

  release() {
    this.detail?.release();
    this.cpu.release();
    this.memory.release();
  }
}

/** @param {Selector} selector @param {string} source @returns {Selector} */
function ofSource({ name }, source) {
  return { name, labels: { source } };
}

/** @param {string[]} sources @param {Actions} actions @param {number} height */
function cpuChart(sources, actions, height) {
  return new TimeChart({
    title: "CPU",
    unit: "cores",
    lines: rateLines(sources),
    tick: axisNumber,
    text: cores,
    actions,
    height,
  });
}

/** @param {string[]} sources @param {Actions} actions @param {number} height */
function memoryChart(sources, actions, height) {
  return new TimeChart({
    title: "Memory, resident",
    unit: "bytes",
    lines: rateLines(sources),
    steps: BYTE_STEPS,
    tick: bytes,
    text: bytes,
    actions,
    height,
  });
}

/** @param {TimeChart} chart @param {View} view @param {string[]} sources */
function updateCpu(chart, view, sources) {
  const selectors = sources.map((source) => ofSource(CPU, source));
  const said = sources.map(
    (source, at) =>
      `${source} ${cores(view.rate(selectors[at]))}${
        view.flowLabel === "measured" ? " while measuring" : ""
      }, ${seconds(view.grown(selectors[at]))} of CPU time in the range`,
  );
  chart.update(view, rateRows(view, selectors), rateOverall(view, selectors), said.join("; "));
}

/** @param {TimeChart} chart @param {View} view @param {string[]} sources */
function updateMemory(chart, view, sources) {
  const selectors = sources.map((source) => ofSource(MEMORY, source));
  const values = selectors.map((selector) => view.gauge(selector));
  const said = sources.map((source, at) => `${source} ${bytes(values[at])} at the end`).join("; ");
  chart.update(view, gaugeRows(view, selectors), { label: "at the end", values }, said);
}

/** @param {App} app @param {string} current */
function siblings(app, current) {
  return tabs(
    "Workers",
    ["", ...workers(app.model)].map((source) => ({
      title: source || "All",
      href: app.href("workers", source),
      current: source === current,
    })),
  );
}

/** @param {string} caption */
function workerTable(caption) {
  const made = table({
    caption,
    columns: [
      { title: "worker" },
      { title: "what it does" },
      { title: "messages/s", numeric: true },
      { title: "CPU cores", numeric: true },
      { title: "CPU µs a message", numeric: true },
      { title: "memory", numeric: true },
      { title: "starts", numeric: true },
      { title: "newest push", numeric: true },
      { title: "clock error", numeric: true },
    ],
  });
  return {
    element: made.element,
    /** @param {View} view @param {App} app @param {string[]} sources */
    set: (view, app, sources) => made.setRows(sources.map((source) => row(view, app, source))),
  };
}

/** @param {View} view @param {App} app @param {string} source @returns {Cell[]} */
function row(view, app, source) {
  const own = { source };
  const counted = view.model.system ? [SENT, PROCESSED, ALERTS] : [SENT, PROCESSED];
  const messages = counted.map(({ name }) => ({ name, labels: own })).find((selector) => view.has(selector));
  const ownCpu = { name: CPU.name, labels: own };
  const cpu = view.flowed(ownCpu);
  const cpuRate = view.rate(ownCpu);
  const epochs = view.model.sources.filter((epoch) => epoch.source === source);
  const newest = epochs.at(-1);
  const count = messages ? (view.flowed(messages) ?? 0) : 0;
  return [
    { text: source, href: app.href("workers", source) },
    workOf(source, view.model),
    messages ? whole(view.rate(messages)) : NONE,
    cpuRate === null ? NONE : fixed(cpuRate, 2),
    cpu !== null && count > 0 ? fixed((cpu * 1e6) / count, 2) : NONE,
    bytes(view.gauge({ name: MEMORY.name, labels: own })),
    whole(epochs.length || null),
    newest ? newestPush(newest, view) : NONE,
    newest && newest.clock_error_us >= 0 ? `±${latency(newest.clock_error_us)}` : "unknown",
  ];
}

/** @param {Selector} selector */
function titleOf({ name, labels = {} }) {
  const rest = Object.entries(labels).filter(([label]) => !["phase", "source", "run_id"].includes(label));
  return [plainName(name), ...rest.map(([, value]) => value)].join(", ").replaceAll("_", " ");
}

/** @param {number | null} value */
function cores(value) {
  return value === null ? NONE : `${fixed(value, 2)} cores`;
}

/** @param {number | null} value */
function seconds(value) {
  return value === null ? NONE : `${fixed(value, 1)} s`;
}

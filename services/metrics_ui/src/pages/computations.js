/** Computations: the list of steps, or one of them in detail. */

import { TimeChart } from "../charts/timechart.js";
import { h, table } from "../dom.js";
import { NONE, axisLatency, latency, rate } from "../format.js";
import { shownPercentile } from "../hdr.js";
import { Detail } from "../parts/detail.js";
import { latencyTable } from "../parts/latencies.js";
import { histRows, rateLines } from "../parts/lines.js";
import { UserSteps } from "../parts/usersteps.js";
import { tabs } from "../parts/tabs.js";
import { COMPUTATIONS, END_TO_END, PIPELINES, stepOf, stepsOf, workOf, workers } from "../steps.js";

/** @import {Hist} from "../hdr.js" */
/** @import {RunModel} from "../model.js" */
/** @import {Step, TimedStep} from "../steps.js" */
/** @import {App} from "../types.js" */
/** @import {View} from "../view.js" */

/** @type {{title: string, figure: (hist: Hist) => number | null}[]} */
const OVER_TIME = [
  { title: "p50 of each computation", figure: (hist) => shownPercentile(hist, 50) },
  { title: "Maximum of each computation", figure: (hist) => (hist.count > 0 ? hist.maxUs : null) },
];

export class ComputationsPage {
  title = "Computations";

  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.steps = stepsOf(app.model, COMPUTATIONS);
    this.latencies = latencyTable("Latency of each computation", "computation");
    this.rates = table({
      caption: "Throughput of each computation",
      columns: [
        { title: "computation" },
        { title: "what" },
        { title: "a second", numeric: true },
        { title: "done by" },
      ],
    });
    this.charts = OVER_TIME.map(({ title, figure }) => ({
      figure,
      chart: new TimeChart({
        title,
        unit: "log scale",
        lines: rateLines(this.steps.map((step) => step.title)),
        log: true,
        tick: axisLatency,
        text: latency,
        actions: app.actions,
        height: 220,
      }),
    }));
    this.userSteps = new UserSteps(app);
    this.element = h(
      "div",
      {},
      siblings(app, ""),
      h(
        "div.grid",
        {},
        this.userSteps.element,
        h("div.full", {}, this.latencies.element),
        this.charts.map(({ chart }) => h("div.half", {}, chart.element)),
        h("div.full", {}, this.rates.element),
      ),
    );
  }

  /** @param {View} view */
  update(view) {
    const { app } = this;
    this.userSteps.update(view);
    /** @param {TimedStep} step */
    const link = ({ id, title }) => ({ text: title, href: app.href("computations", id) });
    this.latencies.set([
      ...this.steps.map((step) => ({ title: link(step), hist: view.hist(step.latency) })),
      { title: { text: PIPELINES[0].title, href: app.href("pipeline", PIPELINES[0].id) }, hist: view.hist(END_TO_END) },
    ]);
    for (const { chart, figure } of this.charts) {
      const values = this.steps.map((step) => figure(view.hist(step.latency)));
      const said = this.steps.map(({ title }, at) => `${title} ${latency(values[at])}`).join("; ");
      chart.update(
        view,
        histRows(
          view,
          this.steps.map(({ over }) => over),
          figure,
        ),
        { label: "range", values },
        said,
      );
    }
    this.rates.setRows(
      this.steps.flatMap((step) =>
        step.throughput.map(({ title, of }) => [
          link(step),
          title,
          rate(view.has(of) ? view.rate(of) : null),
          doneBy(view.model, step) || NONE,
        ]),
      ),
    );
  }

  release() {
    for (const { chart } of this.charts) chart.release();
  }
}

export class ComputationPage {
  /** @param {App} app @param {string} id */
  constructor(app, id) {
    this.app = app;
    this.step = stepOf(app.model, "computation", id);
    this.title = this.step?.title ?? "Computation";
    this.detail = this.step ? new Detail(this.step, app.actions) : null;
    this.others = latencyTable("The others of this pipeline", "computation");
    this.workers = table({ caption: "Workers that do it", columns: [{ title: "worker" }, { title: "what it does" }] });
    this.element = h(
      "div",
      {},
      siblings(app, id),
      h("p.about", {}, this.step ? this.step.about : `There is no computation "${id}".`),
      this.detail?.element,
      h("div.grid", {}, h("div.full", {}, this.others.element), h("div.full", {}, this.workers.element)),
    );
  }

  /** @param {View} view */
  update(view) {
    const { app } = this;
    this.detail?.update(view);
    this.others.set([
      ...stepsOf(view.model, PIPELINES).map(({ id, title, latency: of }) => ({
        title: { text: title, href: app.href("pipeline", id) },
        hist: view.hist(of),
      })),
      ...stepsOf(view.model, COMPUTATIONS)
        .filter(({ id }) => id !== this.step?.id)
        .map(({ id, title, latency: of }) => ({
          title: { text: title, href: app.href("computations", id) },
          hist: view.hist(of),
        })),
    ]);
    const doing = workers(view.model).filter((source) => this.step && source.startsWith(this.step.workers));
    this.workers.setRows(
      doing.map((source) => [{ text: source, href: app.href("workers", source) }, workOf(source, view.model)]),
    );
  }

  release() {
    this.detail?.release();
  }
}

/** @param {App} app @param {string} current */
function siblings(app, current) {
  return tabs(
    "Computations",
    [{ id: "", title: "All" }, ...stepsOf(app.model, COMPUTATIONS)].map(({ id, title }) => ({
      title,
      href: app.href("computations", id),
      current: id === current,
    })),
  );
}

/** @param {RunModel} model @param {Step} step */
function doneBy(model, step) {
  return workers(model)
    .filter((source) => source.startsWith(step.workers))
    .join(", ");
}

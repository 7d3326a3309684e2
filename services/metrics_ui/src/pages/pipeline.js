/** The pipeline: where the end-to-end time goes, stage by stage, then the standard detail. */

import { Waterfall } from "../charts/waterfall.js";
import { h, setText, table } from "../dom.js";
import { NONE, latency } from "../format.js";
import { latencyTable } from "../parts/latencies.js";
import { Detail } from "../parts/detail.js";
import { Partitions } from "../parts/partitions.js";
import { tabs } from "../parts/tabs.js";
import { inWordsOf } from "../words.js";
import {
  COMPUTATIONS,
  END_TO_END,
  PIPELINES,
  STAGES,
  stageLatency,
  stagesOf,
  stepsOf,
  workOf,
  workers,
} from "../steps.js";

/** @import {RunModel} from "../model.js" */
/** @import {App, SourceData} from "../types.js" */
/** @import {View} from "../view.js" */

export class PipelinePage {
  /** @param {App} app @param {string} item which pipeline; the first if it is empty */
  constructor(app, item) {
    this.app = app;
    const pipelines = stepsOf(app.model, PIPELINES);
    const step = pipelines.find(({ id }) => id === item) ?? pipelines[0];
    this.title = "Pipeline";
    const links = pipelines.map(({ id, title }) => ({
      title,
      href: app.href("pipeline", id),
      current: id === step.id,
    }));
    this.waterfall = new Waterfall(
      stagesOf(app.model).map((stage) => ({ ...stage, href: app.href("computations", stage.id) })),
      (text) => inWordsOf(app.model, text),
    );
    this.clock = h("p.summary");
    this.partitions = new Partitions();
    this.detail = new Detail(step, app.actions);
    this.computations = latencyTable("Computations of this pipeline", "computation");
    this.workers = table({
      caption: "Workers of this pipeline",
      columns: [
        { title: "worker" },
        { title: "what it does" },
        { title: "clock error", numeric: true },
        { title: "synchronised" },
      ],
    });
    this.element = h(
      "div",
      {},
      tabs("Pipelines", links),
      h("p.about", {}, step.about),
      h("section", {}, h("h2", {}, "Where the time goes"), this.waterfall.element, this.waterfall.sum, this.clock),
      this.partitions.element,
      this.detail.element,
      h("div.grid", {}, h("div.full", {}, this.computations.element), h("div.full", {}, this.workers.element)),
    );
  }

  /** @param {View} view */
  update(view) {
    const { app } = this;
    this.waterfall.update(
      STAGES.map(({ stage }) => view.hist(stageLatency(stage))),
      view.hist(END_TO_END),
    );
    this.partitions.update(view);
    setText(this.clock, clockSentence(view.model));
    this.detail.update(view);
    this.computations.set(
      stepsOf(view.model, COMPUTATIONS)
        .filter(({ latency: of }) => view.has(of))
        .map(({ id, title, latency: of }) => ({
          title: { text: title, href: app.href("computations", id) },
          hist: view.hist(of),
        })),
    );
    const clocks = new Map(view.model.sources.map((source) => [source.source, source]));
    this.workers.setRows(
      workers(view.model).map((source) => {
        const known = clocks.get(source);
        return [
          { text: source, href: app.href("workers", source) },
          workOf(source, view.model),
          errorText(known),
          known ? (known.clock_synchronised ? "yes" : "no") : NONE,
        ];
      }),
    );
  }

  release() {
    this.detail.release();
  }
}

/** @param {SourceData | undefined} source */
function errorText(source) {
  return source && source.clock_error_us >= 0 ? `±${latency(source.clock_error_us)}` : "unknown";
}

/**
 * By how much the boundary between two stages may be wrong, from the clocks of the processes that stamp it.
 * @param {RunModel} model
 */
function clockSentence(model) {
  if (model.hosts === 1) return "All processes are on one host and read the same clock.";
  const newest = new Map(model.sources.map((source) => [source.source, source]));
  const stamping = [...newest.values()].filter(({ source }) => /^(sender|receiver|job)/.test(source));
  if (stamping.length === 0) return "No process has said yet how exact its clock is.";
  const known = stamping.filter(({ clock_error_us: us }) => us >= 0);
  const unsynchronised = stamping.filter(({ clock_synchronised: kept }) => !kept).map(({ source }) => source);
  const two = known
    .map(({ clock_error_us: us }) => us)
    .sort((one, other) => other - one)
    .slice(0, 2);
  const bound =
    two.length > 0
      ? `Between two processes a stage may be wrong by ±${latency(two.reduce((sum, us) => sum + us, 0))}, by the bounds ` +
        "of their kernels, where they run on two machines; on one machine they read the same clock."
      : "No kernel gives a bound of its clock's error.";
  return unsynchronised.length > 0 ? `${bound} Not synchronised: ${[...new Set(unsynchronised)].join(", ")}.` : bound;
}

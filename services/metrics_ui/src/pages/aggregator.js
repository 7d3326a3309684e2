/** The aggregator about itself: what it took, what was lost on the way, what it costs, and how full its history is. */

import { h, setText, show, table } from "../dom.js";
import { NONE, bytes, latency, share, whole } from "../format.js";
import { apart, keyFigures } from "../parts/figures.js";
import { newestPush } from "../parts/pushes.js";

/** @import {App} from "../types.js" */
/** @import {View} from "../view.js" */

const COUNTS = [
  ["pushes", "pushes merged"],
  ["duplicates", "came again, left out"],
  ["missing", "never came"],
  ["dropped", "dropped by their source"],
  ["refused", "refused, wrong"],
  ["unwritten", "not written down"],
];
const COSTS = [
  ["push", "Push, from arrival to answer"],
  ["merge", "Of that, merging it"],
  ["lag", "Lag, from the end of a push's interval to its arrival"],
];
const COST_COLUMNS = ["p50", "p99", "max"];

export class AggregatorPage {
  title = "Aggregator";

  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.figures = keyFigures([
      ...COUNTS.map(([, title]) => title),
      "lag",
      "memory",
      "pages open",
      "series",
      "history",
    ]);
    this.about = h("p.about");
    this.costs = table({
      caption: "What a push takes, since the aggregator started",
      columns: [{ title: "" }, ...COST_COLUMNS.map((name) => ({ title: name, numeric: true }))],
    });
    this.sources = table({
      caption: "Sources of this run, each start of a process",
      columns: [
        { title: "source" },
        { title: "pushes", numeric: true },
        { title: "came again", numeric: true },
        { title: "missing", numeric: true },
        { title: "dropped", numeric: true },
        { title: "newest push", numeric: true },
        { title: "clock error", numeric: true },
        { title: "synchronised" },
      ],
    });
    this.metrics = table({
      caption: "Metrics that were pushed",
      columns: [{ title: "metric" }, { title: "kind" }, { title: "series", numeric: true }, { title: "meaning" }],
    });
    this.element = h(
      "div",
      {},
      this.about,
      this.figures.element,
      h(
        "div.grid",
        {},
        h("div.full", {}, this.sources.element),
        h("div.half", {}, this.costs.element),
        h("div.full", {}, this.metrics.element),
      ),
    );
  }

  /** @param {View} view */
  update(view) {
    const { model } = view;
    const own = model.aggregator;
    // Of a run that is read from its log, the counts are of another process: this one took nothing.
    const took = own.pushes > 0 || model.sources.every(({ pushes }) => pushes === 0);
    setText(this.about, took ? "" : "This aggregator only reads the run's log: another one took its pushes.");
    const full = own.history_limit_bytes > 0 ? own.history_bytes / own.history_limit_bytes : null;
    this.figures.set([
      ...COUNTS.map(([name]) => (took ? { value: whole(own[name]) } : null)),
      took
        ? { ...apart(own.lag_seconds >= 0 ? latency(own.lag_seconds * 1e6) : NONE), sub: "behind the pushes" }
        : null,
      { ...apart(bytes(own.memory_bytes)), sub: "resident" },
      { value: whole(own.clients), sub: "of at most 100" },
      { value: whole(own.series), sub: `${whole(own.series_evicted)} forgotten` },
      {
        ...apart(bytes(own.history_bytes)),
        sub: full === null ? "" : `${share(full)} of ${bytes(own.history_limit_bytes)}`,
      },
    ]);
    const known = COST_COLUMNS.map((column) => COSTS.map(([name]) => own[`${name}_us_${column}`]));
    show(this.costs.element, took);
    this.costs.setRows(COSTS.map(([, title], at) => [title, ...known.map((values) => latency(values[at]))]));
    this.sources.setRows(
      model.sources.map((source) => [
        { text: source.source, href: this.app.href("workers", source.source) },
        whole(source.pushes),
        whole(source.duplicates),
        whole(source.missing),
        whole(source.pushes_dropped),
        newestPush(source, view),
        source.clock_error_us >= 0 ? `±${latency(source.clock_error_us)}` : "unknown",
        source.clock_synchronised ? "yes" : "no",
      ]),
    );
    /** @type {Map<string, number>} series by metric */
    const counts = new Map();
    for (const { name } of model.series.values()) counts.set(name, (counts.get(name) ?? 0) + 1);
    this.metrics.setRows(
      Object.entries(model.metrics)
        .filter(([name]) => counts.has(name))
        .map(([name, { kind, meaning }]) => [name, kind, whole(counts.get(name)), meaning]),
    );
  }

  release() {}
}

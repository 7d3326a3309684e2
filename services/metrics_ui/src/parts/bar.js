/** The head of the page: pages, which run, what state it and the connection are in. */

import { h, setAttribute, setText, show } from "../dom.js";
import { dateTime, duration } from "../format.js";
import { progressOf } from "../phases.js";
import { theme } from "../theme.js";
import { hasNoObjective } from "./document.js";

const TITLES = {
  overview: "Overview",
  pipeline: "Pipeline",
  workers: "Workers",
  computations: "Computations",
  runs: "Runs",
  aggregator: "Aggregator",
};
const STALE_MS = 3000;

/** @import {App} from "../types.js" */
/** @typedef {{word: string, text: string, level: "good" | "calm" | "bad"}} State */

export class Bar {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.links = Object.fromEntries(Object.entries(TITLES).map(([page, title]) => [page, h("a", {}, title)]));
    this.word = h("b", { role: "status" });
    this.text = h("span");
    this.state = h("p.state", {}, h("i.dot", { "aria-hidden": "true" }), this.word, this.text);
    this.title = h("span.title");
    this.runId = h("span.runid");
    this.verdict = h("span.verdict");
    this.objective = h("span.sub", {}, "no objective set");
    this.export = h("a.button", { download: "" }, "export");
    this.theme = h("button.quiet", { type: "button", on: { click: () => app.toggleTheme() } });
    this.tables = h(
      "button.quiet",
      {
        type: "button",
        title: "All charts as tables (t)",
        "aria-pressed": "false",
        on: { click: () => app.toggleTables() },
      },
      "tables",
    );
    this.help = h(
      "button.quiet",
      { type: "button", title: "Keys and how to read this (?)", "aria-label": "Help", on: { click: () => app.help() } },
      "?",
    );
    this.run = h("div.run", {}, this.title, this.runId, this.verdict, this.objective, this.state, this.export);
    this.element = h(
      "header.bar",
      {},
      h(
        "div.top",
        {},
        h("span.product", {}, "Market Spread"),
        h("nav", { "aria-label": "Pages" }, Object.values(this.links)),
        h("div.tools", {}, this.tables, this.theme, this.help),
      ),
      this.run,
    );
  }

  /** Links and marks, after the address has changed. */
  route() {
    const { app } = this;
    for (const [page, link] of Object.entries(this.links)) {
      setAttribute(link, "href", app.href(page));
      const shown = app.route.page === "compare" ? "runs" : app.route.page;
      setAttribute(link, "aria-current", page === shown ? "page" : null);
    }
    this.#buttons();
  }

  /** What the run is and does. */
  update() {
    const { app } = this;
    const { feed } = app;
    const { model } = feed;
    show(this.run, app.route.page !== "compare"); // which shows others than the one that is open
    setText(this.title, model?.title ?? "No run");
    setText(this.runId, model && model.title !== model.runId ? model.runId : "");
    setText(this.verdict, model?.outcome || "not judged yet");
    this.verdict.dataset.verdict = model?.verdict ?? "";
    show(this.verdict, Boolean(model));
    show(this.objective, Boolean(model?.result && hasNoObjective(model.result)));
    show(this.export, Boolean(model) && feed.served && !feed.fromFile);
    if (model) setAttribute(this.export, "href", `api/v1/runs/${encodeURIComponent(model.runId)}/export`);
    const state = stateOf(feed);
    setText(this.word, state.word);
    setText(this.text, state.text);
    this.state.dataset.level = state.level;
    this.#buttons();
  }

  #buttons() {
    const other = theme() === "dark" ? "light" : "dark";
    setText(this.theme, other);
    setAttribute(this.theme, "aria-label", `Change to ${other} colours`);
    setAttribute(this.tables, "aria-pressed", this.app.tables);
  }
}

/**
 * The state of the run and of the connection, in words.
 * @param {import("../feed.js").Feed} feed
 * @returns {State}
 */
function stateOf({ model, fromFile, loading, failure, reached, link }) {
  if (!model) {
    if (failure) return { word: reached ? "no such run" : "disconnected", text: "", level: "bad" };
    return loading
      ? { word: "loading", text: "", level: "calm" }
      : { word: "waiting", text: "for the first run", level: "calm" };
  }
  if (fromFile) return { word: "from a file", text: `as of ${dateTime(model.nowMs)}`, level: "calm" };
  if (model.live && link.state === "waiting") {
    return {
      word: "disconnected",
      text: `the aggregator does not answer; next attempt in ${duration(link.retryMs)}`,
      level: "bad",
    };
  }
  const span = model.span();
  if (!model.live) return { word: "finished", text: span ? dateTime(span.to) : "", level: "calm" };
  const newest = Math.max(0, ...model.sources.map(({ end_unix_ms: ms }) => ms));
  const ageMs = model.nowMs - newest;
  const phase = model.phase ? `${model.phase}, ` : "";
  if (link.state === "connecting") return { word: "connecting", text: phase.replace(", ", ""), level: "calm" };
  if (newest > 0 && ageMs > STALE_MS) {
    return { word: "stale", text: `${phase}no push for ${duration(ageMs)}`, level: "bad" };
  }
  const left = progressOf(model.notes, model.nowMs)?.left ?? "";
  return { word: "live", text: `${model.phase}${left && `, ${left}`}`, level: "good" };
}

/** Why no run is shown, in a sentence. @param {import("../feed.js").Feed} feed */
export function missingText({ failure, loading, model }) {
  if (failure) return `${failure[0].toUpperCase()}${failure.slice(1)}.`;
  if (model) return "The run has begun; nothing was pushed yet.";
  return loading ? "Loading the run…" : "No run yet. A run shows up here as soon as it pushes its first figures.";
}

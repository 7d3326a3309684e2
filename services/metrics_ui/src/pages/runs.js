/** Runs: those that the aggregator knows, live and finished, and those opened from files; two or more are compared. */

import { h, setAttribute, setText, svg } from "../dom.js";
import { RUNS_MAX } from "../comparing.js";
import { NONE, counted, latency } from "../format.js";
import { JUDGED } from "../range.js";
import { routeText } from "../router.js";
import { COLUMNS, SPARKLINE, sparklineOf, sparklinePath, filtered, ordered, scaleOf } from "../runlist.js";

/** @import {App, RunHead} from "../types.js" */
/** @import {Scale} from "../runlist.js" */

const NEWEST = { key: "", down: false };
const SPARKLINE_WIDTH = 120;
const SPARKLINE_HEIGHT = 20;

export class RunsPage {
  title = "Runs";
  #order = NEWEST;
  /** @type {Set<string>} the runs that are to be compared, in the order in which they were selected */
  #selected = new Set();
  #shown = "";

  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.caption = h("caption");
    this.heads = COLUMNS.map((column) => {
      const button = h("button.quiet", { type: "button", on: { click: () => this.#sort(column.key) } }, column.title);
      return h(column.numeric ? "th.number" : "th", { scope: "col" }, button);
    });
    this.body = h("tbody");
    this.filter = h("input", {
      type: "search",
      placeholder: "filter",
      "aria-label": "Show only runs that have these words",
      on: { input: () => this.update() },
    });
    this.count = h("span.length", { role: "status" });
    this.compare = h("a.button", { "aria-disabled": "true" }, "compare");
    this.clear = h("button.quiet", { type: "button", on: { click: () => this.#select(null) } }, "select none");
    this.note = h("p.about");
    /** @type {HTMLInputElement} */
    const input = h("input.hidden", {
      type: "file",
      id: "run-file",
      accept: ".html,.json,text/html,application/json",
      on: { change: () => this.#open(input) },
    });
    this.element = h(
      "section.runs",
      {},
      h("div.controls", {}, h("div.group", {}, this.filter, this.count), h("div.group", {}, this.compare, this.clear)),
      h(
        "div.table",
        { tabindex: 0, role: "region", "aria-label": "Runs" },
        h(
          "table",
          {},
          this.caption,
          h("thead", {}, h("tr", {}, this.heads, h("th", {}, "pin"), h("th", {}, "one file"))),
          this.body,
        ),
      ),
      this.note,
      h(
        "p.drop",
        {},
        "Drop an exported run on the page to open it, or ",
        h("label.button", { for: "run-file" }, "choose a file"),
        input,
        ".",
      ),
    );
  }

  update() {
    const { runs } = this.app.feed;
    const shown = ordered(filtered(runs, this.filter.value), this.#order);
    const column = COLUMNS.find(({ key }) => key === this.#order.key);
    setText(this.caption, column ? `Runs by ${column.title}` : "Runs, newest first");
    COLUMNS.forEach(({ key }, at) => {
      const direction = this.#order.down ? "descending" : "ascending";
      setAttribute(this.heads[at], "aria-sort", key === this.#order.key ? direction : null);
    });
    this.#fill(shown);
    setText(this.count, shown.length < runs.length ? `${shown.length} of ${counted(runs.length, "run")}` : "");
    setText(
      this.note,
      runs.length === 0
        ? "No run is known yet. A run shows up here as soon as it pushes its first figures."
        : `Figures are the result's.${scaleText(scaleOf(runs))} An exported run is one HTML file: this page with the ` +
            "run inside. It opens anywhere without a server.",
    );
    this.#offer();
  }

  release() {}

  /** The rows, if they are others: what is not drawn anew keeps its focus. @param {RunHead[]} runs */
  #fill(runs) {
    const scale = scaleOf(this.app.feed.runs);
    const drawn = JSON.stringify([this.app.pin.id, runs, scale]);
    if (drawn === this.#shown) return;
    this.#shown = drawn;
    const focused = this.#focused();
    this.body.replaceChildren(...runs.map((run) => this.#row(run, scale)));
    if (focused) this.#stops(focused.id)[focused.at]?.focus();
  }

  /** What of which run has the focus; a list that is drawn anew is not to lose it. */
  #focused() {
    const row = document.activeElement?.closest("tr");
    const id = (row && this.body.contains(row) && row.dataset.run) || "";
    return id ? { id, at: this.#stops(id).findIndex((stop) => stop === document.activeElement) } : null;
  }

  /** What of a run takes the focus. @param {string} id @returns {HTMLElement[]} */
  #stops(id) {
    const row = [...this.body.rows].find(({ dataset }) => dataset.run === id);
    return [...(row?.querySelectorAll("input, a, button") ?? [])].filter((stop) => stop instanceof HTMLElement);
  }

  /** @param {RunHead} run @param {Scale | null} scale of the sparklines of all runs */
  #row(run, scale) {
    const { feed, href } = this.app;
    const { run_id: id } = run;
    const check = h("input", { type: "checkbox", "aria-label": `Select ${id}`, checked: this.#selected.has(id) });
    check.addEventListener("change", () => this.#select(id, check.checked));
    const cells = COLUMNS.slice(1).map((column) => {
      const drawn = column.key === SPARKLINE && scale !== null ? sparkline(run, scale, column.text(run)) : null;
      const cell = h(column.numeric ? "td.number" : "td", {}, drawn ?? column.text(run));
      if (column.key === "verdict") cell.dataset.verdict = run.verdict;
      return cell;
    });
    const hasExport = feed.served && !run.file;
    const exported = h("a", { href: `api/v1/runs/${encodeURIComponent(id)}/export` }, "export");
    return h(
      "tr",
      { "data-run": id },
      h("th", { scope: "row" }, check, h("a", { href: href("overview", "", id) }, id)),
      cells,
      h("td", {}, this.#pinButton(id)),
      h("td", {}, hasExport ? exported : NONE),
    );
  }

  /** Pins a run, to compare others with it on their overview. @param {string} id */
  #pinButton(id) {
    const { app } = this;
    const isPinned = app.pin.id === id;
    const button = h("button.quiet", { type: "button", "aria-pressed": String(isPinned), "aria-label": `Pin ${id}` });
    button.textContent = isPinned ? "pinned" : "pin";
    button.addEventListener("click", () => {
      app.pinRun(app.pin.id === id ? "" : id);
      this.update();
    });
    return button;
  }

  /** First upwards, then downwards, then as they were. @param {string} key */
  #sort(key) {
    const { key: before, down } = this.#order;
    this.#order = before !== key ? { key, down: false } : down ? NEWEST : { key, down: true };
    this.update();
  }

  /** @param {string | null} id null for none of them @param {boolean} [chosen] */
  #select(id, chosen = false) {
    if (id === null) this.#selected.clear();
    else if (chosen) this.#selected.add(id);
    else this.#selected.delete(id);
    if (id === null) for (const check of this.body.querySelectorAll("input")) check.checked = false;
    this.#offer();
  }

  #offer() {
    const ids = [...this.#selected];
    const can = ids.length >= 2 && ids.length <= RUNS_MAX;
    const address = routeText({
      page: "compare",
      item: ids.join(","),
      run: "",
      choice: JUDGED,
      widthMs: 0,
      pin: this.app.pin.id,
    });
    setAttribute(this.compare, "href", can ? address : null);
    setAttribute(this.compare, "aria-disabled", can ? null : "true");
    const many = ids.length > RUNS_MAX ? `compare: at most ${RUNS_MAX}` : `compare ${ids.length} runs`;
    setText(this.compare, ids.length < 2 ? "select two or more to compare" : many);
    this.clear.hidden = ids.length === 0;
  }

  /** @param {HTMLInputElement} input */
  async #open(input) {
    const file = input.files?.[0];
    input.value = "";
    if (file) await this.app.openFile(file);
  }
}

/** @param {Scale | null} scale */
function scaleText(scale) {
  if (scale === null) return "";
  const [low, high] = [scale.low, scale.high].map((ns) => latency(ns / 1000));
  return ` Latency over the run is the highest of each sixtieth of it, in all runs on one scale: ${low} to ${high}.`;
}

/** @param {RunHead} run @param {Scale} scale @param {string} text what it shows, in words */
function sparkline(run, scale, text) {
  if (scaleOf([run]) === null) return null;
  const box = `-2 -2 ${SPARKLINE_WIDTH + 4} ${SPARKLINE_HEIGHT + 4}`;
  return svg(
    "svg.sparkline",
    { viewBox: box, width: SPARKLINE_WIDTH + 4, height: SPARKLINE_HEIGHT + 4, role: "img", "aria-label": text },
    svg("title", {}, text),
    svg("path", { d: sparklinePath(sparklineOf(run), scale, SPARKLINE_WIDTH, SPARKLINE_HEIGHT) }),
  );
}

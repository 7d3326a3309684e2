/** Runs: those that the aggregator knows, live and finished, and those opened from files. */

import { h, setText, table } from "../dom.js";
import { NONE, dateTime, duration } from "../format.js";

/** @import {App} from "../types.js" */

export class RunsPage {
  title = "Runs";

  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.table = table({
      caption: "Runs, newest first",
      columns: [
        { title: "run" },
        { title: "what" },
        { title: "state" },
        { title: "begin" },
        { title: "length", numeric: true },
        { title: "verdict" },
        { title: "one file" },
      ],
    });
    this.note = h("p.about");
    /** @type {HTMLInputElement} */
    const input = h("input.hidden", {
      type: "file",
      id: "run-file",
      accept: ".html,.json,text/html,application/json",
      on: { change: () => this.#open(input) },
    });
    this.element = h(
      "section",
      {},
      this.table.element,
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
    const {
      feed: { runs, served },
      href,
    } = this.app;
    this.table.setRows(
      runs.map((run) => [
        { text: run.run_id, href: href("overview", "", run.run_id) },
        run.title,
        run.live ? `live, ${run.phase || "starting"}` : run.file ? "from a file" : "finished",
        run.begin_unix_ms ? dateTime(run.begin_unix_ms) : NONE,
        run.begin_unix_ms && run.end_unix_ms ? duration(run.end_unix_ms - run.begin_unix_ms) : NONE,
        run.outcome || NONE,
        run.file || !served ? NONE : { text: "export", href: `api/v1/runs/${encodeURIComponent(run.run_id)}/export` },
      ]),
    );
    setText(
      this.note,
      runs.length === 0
        ? "No run is known yet. A run shows up here as soon as it pushes its first figures."
        : "An exported run is one HTML file: this page with the run inside. It opens anywhere without a server.",
    );
  }

  release() {}

  /** @param {HTMLInputElement} input */
  async #open(input) {
    const file = input.files?.[0];
    input.value = "";
    if (file) await this.app.openFile(file);
  }
}

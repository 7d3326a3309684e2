/** The range: the whole run as a strip to pick from, presets, a field to type in, and the width of bins. */

import { Strip } from "../charts/strip.js";
import { h, setAttribute, setText } from "../dom.js";
import { duration, elapsed, percentName } from "../format.js";
import { JUDGED, WHOLE, typedChoice } from "../range.js";

/** @import {Choice} from "../range.js" */
/** @import {App, Part} from "../types.js" */
/** @import {View} from "../view.js" */

/** @type {{title: string, choice: Choice}[]} */
const PRESETS = [
  { title: "whole run", choice: WHOLE },
  { title: "last 1 min", choice: { kind: "last", ms: 60_000 } },
  { title: "last 5 min", choice: { kind: "last", ms: 300_000 } },
];

const EXAMPLES = "0:30-1:15 or last 90";

export class RangeBar {
  /** @type {Part | null} */
  #span = null;

  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.strip = new Strip(app.actions);
    this.buttons = PRESETS.map(({ title, choice }) =>
      h("button", { type: "button", on: { click: () => app.choose(choice) } }, title),
    );
    this.judged = h(
      "button",
      {
        type: "button",
        title: "What the result is of: the load after it has settled; its latencies are the result's",
        on: { click: () => app.choose(JUDGED) },
      },
      "judged",
    );
    this.follow = h(
      "button",
      { type: "button", title: "Follow the newest data (l)", on: { click: () => app.goLive() } },
      "live",
    );
    this.field = h("input", {
      type: "text",
      size: 15,
      spellcheck: "false",
      autocomplete: "off",
      "aria-label": `Range, as ${EXAMPLES}`,
      on: { change: () => this.#typed() },
    });
    this.length = h("span.length");
    this.percent = h("span");
    this.key = h(
      "div.group.stripkey",
      { "aria-hidden": "true" },
      h("i.line"),
      this.percent,
      h("i.block"),
      "offered rate",
    );
    this.bins = h("span.length");
    /** @param {string} title @param {() => void} click @param {string} sign @param {string} [key] */
    const step = (title, click, sign, key = sign) =>
      h("button", { type: "button", title: `${title} (${key})`, "aria-label": title, on: { click } }, sign);
    this.element = h(
      "section.range",
      { "aria-label": "Range of time" },
      this.strip.element,
      h(
        "div.controls",
        {},
        h("div.group", { role: "group", "aria-label": "Presets" }, this.buttons, this.judged, this.follow),
        h(
          "div.group",
          {},
          h("label", {}, "range ", this.field),
          step("Earlier", () => app.move(-1), "‹", "["),
          step("Later", () => app.move(1), "›", "]"),
          this.length,
        ),
        this.key,
        h(
          "div.group",
          { role: "group", "aria-label": "Bins" },
          this.bins,
          step("Narrower bins", () => app.stepBins(-1), "−"),
          step("Wider bins", () => app.stepBins(1), "+"),
        ),
      ),
    );
  }

  /** @param {View} view what is shown @param {View} whole the whole run */
  update(view, whole) {
    const { app } = this;
    this.#span = view.span;
    this.strip.update(whole, view.range);
    setText(this.percent, percentName(this.strip.percent));
    /** @param {number} ms */
    const at = (ms) => elapsed((ms - view.begin) / 1000);
    if (document.activeElement !== this.field) this.field.value = `${at(view.range.from)}–${at(view.range.to)}`;
    setText(this.length, duration(view.range.to - view.range.from));
    setText(this.bins, `bins of ${duration(view.widthMs)}${app.feed.refining ? "; finer data is loading" : ""}`);
    const { judged } = view.history;
    const chosen = app.route.choice.kind === "judged" && !judged ? WHOLE : app.route.choice;
    this.buttons.forEach((button, number) => {
      setAttribute(button, "aria-pressed", JSON.stringify(PRESETS[number].choice) === JSON.stringify(chosen));
    });
    this.judged.hidden = judged === null;
    setAttribute(this.judged, "aria-pressed", view.judged);
    this.follow.hidden = !view.model.live;
    setAttribute(this.follow, "aria-pressed", chosen.kind !== "fixed");
  }

  #typed() {
    if (!this.#span) return;
    const choice = typedChoice(this.field.value, this.#span);
    setAttribute(this.field, "aria-invalid", choice === null ? "true" : null);
    if (choice === null) {
      this.app.say(`“${this.field.value}” is no range; one is written from the earlier to the later, as ${EXAMPLES}.`);
      return;
    }
    this.app.choose(choice);
    this.field.blur();
  }
}

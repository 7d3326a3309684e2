/** What a live run does and for how long still, and what would make it void or failed if it ended as it is. */

import { h, setAttribute, setText, show } from "../dom.js";
import { factsOf } from "../facts.js";
import { MEASURED, progressOf } from "../phases.js";
import { findings } from "../rules.js";
import { View } from "../view.js";
import { inWordsOf } from "../words.js";

const WORDS = { void: "Void", failed: "Failed" };

export class Progress {
  #shown = "";

  constructor() {
    this.phase = h("b");
    this.left = h("span");
    this.bar = h("progress", { max: 1, "aria-label": "How much of the phase is over" });
    this.hints = h("ul.hints");
    this.element = h(
      "section.now",
      { "aria-label": "The run now" },
      h("p.phase", {}, this.phase, " ", this.left),
      this.bar,
      h("div", { role: "status" }, this.hints),
    );
  }

  /** @param {View} view */
  update(view) {
    const { history } = view;
    const progress = history.live ? progressOf(history.notes, history.nowMs) : null;
    show(this.element, progress !== null);
    if (!progress) return;
    setText(this.phase, progress.title);
    setText(this.left, progress.text);
    show(this.bar, progress.part !== null);
    setAttribute(this.bar, "value", (progress.part ?? 0).toFixed(3));
    const whole = view.range.whole ? view : new View(history, { ...view.span, whole: true }, view.span);
    const found = findings(factsOf(whole)).filter(({ would }) => would);
    const said = found.map(
      ({ text, would = "void" }) => `${WORDS[would]} if it ended now: ${inWordsOf(history, text)}`,
    );
    const isMeasured = history.notes.some(({ kind, name }) => kind === "phase" && name === MEASURED);
    if (said.length === 0 && isMeasured) said.push("So far nothing would make this run void or failed.");
    if (this.#shown === said.join()) return; // what does not change is not said again
    this.#shown = said.join();
    const level = found.length > 0 ? "problem" : "none";
    this.hints.replaceChildren(
      ...said.map((text) =>
        h(
          `li.${level}`,
          {},
          h("span.sign", { "aria-hidden": "true" }, found.length > 0 ? "▲" : "✓"),
          h("span", {}, text),
        ),
      ),
    );
  }
}

/** The worst seconds with what they met: a click or Enter looks at one, arrows go to the one before or after. */

import { chosenSecond, nextSecond } from "../causes.js";
import { h, setAttribute, show } from "../dom.js";
import { elapsed, latency, whole } from "../format.js";

/** @import {Part, SecondData} from "../types.js" */

export class WorstSeconds {
  /** @type {SecondData[]} */
  #seconds = [];
  /** @type {Part | null} */
  #chosen = null;
  #shown = "";
  /** @type {HTMLButtonElement[]} */
  #buttons = [];

  /** @param {(second: SecondData) => void} choose @param {(text: string) => string} say in the words of the run */
  constructor(choose, say) {
    this.choose = choose;
    this.say = say;
    this.body = h("tbody");
    this.element = h(
      "section.worst",
      { on: { keydown: (event) => this.#key(event) } },
      h(
        "div.table",
        {},
        h(
          "table",
          {},
          h("caption", {}, "Worst seconds"),
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("th", { scope: "col" }, "at"),
              h("th.number", { scope: "col" }, "max"),
              h("th.number", { scope: "col" }, say("orders")),
              h("th", { scope: "col" }, "met"),
            ),
          ),
          this.body,
        ),
      ),
    );
  }

  /** @param {SecondData[]} seconds worst first @param {Part | null} chosen @param {number} beginMs of the run */
  update(seconds, chosen, beginMs) {
    this.#seconds = seconds;
    this.#chosen = chosen;
    show(this.element, seconds.length > 0);
    const key = JSON.stringify([seconds, beginMs]);
    if (this.#shown !== key) this.#fill(seconds, beginMs);
    this.#shown = key;
    const at = chosenSecond(seconds, chosen);
    this.#buttons.forEach((button, number) => {
      setAttribute(button, "aria-pressed", number === at);
      button.closest("tr")?.classList.toggle("chosen", number === at);
    });
  }

  /** The next worse second (-1), or the next less bad one (1). @param {number} direction */
  move(direction) {
    const next = nextSecond(this.#seconds, this.#chosen, direction);
    if (!next) return;
    if (this.element.contains(document.activeElement)) this.#buttons[this.#seconds.indexOf(next)].focus();
    this.choose(next);
  }

  /** Go to the chosen second, beside which stands what it met; to the worst one if none is chosen. */
  focus() {
    this.#buttons[Math.max(0, chosenSecond(this.#seconds, this.#chosen))]?.focus();
  }

  /** @param {SecondData[]} seconds @param {number} beginMs */
  #fill(seconds, beginMs) {
    this.#buttons = seconds.map((second) =>
      h(
        "button.quiet",
        { type: "button", title: "Look at this second", on: { click: () => this.choose(second) } },
        elapsed((second.begin_unix_ms - beginMs) / 1000),
      ),
    );
    this.body.replaceChildren(
      ...seconds.map((second, at) =>
        h(
          "tr",
          { on: { click: ({ target }) => target !== this.#buttons[at] && this.choose(second) } },
          h("th", { scope: "row" }, this.#buttons[at]),
          h("td.number", {}, latency(second.max_ns / 1000)),
          h("td.number", {}, whole(second.orders)),
          h("td", {}, second.text ? this.say(second.text) : h("span.sub", {}, "nothing that is known")),
        ),
      ),
    );
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const direction = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 }[event.key];
    if (direction === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.move(direction);
  }
}

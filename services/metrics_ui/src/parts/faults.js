/** The planned faults with what became of the output: a click or Enter looks at one, with some seconds around it. */

import { aroundFault } from "../faults.js";
import { h, setAttribute, show } from "../dom.js";
import { elapsed } from "../format.js";

/** @import {FaultBand} from "../faults.js" */
/** @import {Part} from "../types.js" */

export class PlannedFaults {
  /** @type {HTMLButtonElement[]} */
  #buttons = [];
  /** @type {Part | null} */
  #chosen = null;
  #shown = "";

  /** @param {(fault: FaultBand) => void} choose */
  constructor(choose) {
    this.choose = choose;
    this.list = h("ul");
    this.element = h("section.faults", { "aria-label": "Planned faults" }, h("h3", {}, "Planned faults"), this.list);
  }

  /** @param {FaultBand[]} faults @param {Part | null} chosen @param {number} beginMs of the run */
  update(faults, chosen, beginMs) {
    show(this.element, faults.length > 0);
    const key = JSON.stringify([faults, beginMs]);
    if (this.#shown !== key) this.#fill(faults, beginMs);
    this.#shown = key;
    this.#chosen = chosen;
    faults.forEach((fault, at) => {
      setAttribute(this.#buttons[at], "aria-pressed", this.isChosen(fault));
      this.#buttons[at].closest("li")?.classList.toggle("chosen", this.isChosen(fault));
    });
  }

  /** Whether it is what the reader looks at. @param {FaultBand} fault */
  isChosen(fault) {
    const { from, to } = aroundFault(fault);
    return this.#chosen !== null && Math.abs(from - this.#chosen.from) < 1 && Math.abs(to - this.#chosen.to) < 1;
  }

  /** @param {FaultBand[]} faults @param {number} beginMs */
  #fill(faults, beginMs) {
    this.#buttons = faults.map((fault) =>
      h(
        "button.quiet",
        { type: "button", title: "Look at this fault", on: { click: () => this.choose(fault) } },
        `${elapsed((fault.from - beginMs) / 1000)} ${fault.title}`,
      ),
    );
    this.list.replaceChildren(
      ...faults.map(({ text }, at) =>
        h("li", {}, h("i.fault", { "aria-hidden": "true" }), this.#buttons[at], " ", text),
      ),
    );
  }
}

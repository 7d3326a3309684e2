/** Where the time goes: the stages' means one after the other, which add up to the mean of the whole. */

import { STAGE_COLOURS } from "./orders.js";
import { h, setText } from "../dom.js";
import { NONE, fixed, inUnit, percentName, unitFor, whole } from "../format.js";
import { meanUs, shownPercentile } from "../hdr.js";

/** @import {Hist} from "../hdr.js" */
/** @import {Unit} from "../format.js" */

/** @typedef {{element: HTMLElement, bar: HTMLElement, cells: HTMLElement[]}} StageRow */

const SHOWN = [50, 99, 99.9];

export class Waterfall {
  /**
   * @param {{stage: string, title: string, from: string, to: string, href: string}[]} stages in their order
   * @param {(text: string) => string} [say] puts a text into the words of the run
   */
  constructor(stages, say = (text) => text) {
    this.say = say;
    this.stages = stages;
    const columns = ["mean", "share", ...SHOWN.map(percentName)];
    /** @type {HTMLElement[]} */
    this.units = [];
    /** @param {string} title */
    const number = (title) => h("th.number", { scope: "col" }, title, " ", this.#unit(title === "share" ? "" : "ms"));
    this.rows = stages.map((stage) => this.#row(stage.title, `${stage.from} → ${stage.to}`, stage.href, stage.stage));
    this.whole = this.#row("Whole", "intended → received", "#");
    this.whole.element.classList.add("whole");
    this.element = h(
      "div.table",
      { tabindex: 0, role: "region", "aria-label": "Stage waterfall" },
      h(
        "table.waterfall",
        {},
        h("caption.hidden", {}, say("Stages of the way of an order, by mean, with their percentiles")),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, "stage"),
            h("th.bars", { scope: "col", "aria-hidden": "true" }),
            columns.map(number),
          ),
        ),
        h(
          "tbody",
          {},
          this.rows.map(({ element }) => element),
          this.whole.element,
        ),
      ),
    );
    this.sum = h("p.summary");
  }

  /** @param {Hist[]} hists of the stages @param {Hist} all of the whole */
  update(hists, all) {
    const means = hists.map((hist) => meanUs(hist) ?? 0);
    const total = meanUs(all) ?? 0;
    const unit = unitFor([...means, total]);
    for (const element of this.units) setText(element, unit.name);
    let before = 0;
    this.rows.forEach((row, at) => {
      this.#fill(row, hists[at], { from: before, mean: means[at], total, unit });
      before += means[at];
    });
    this.#fill(this.whole, all, { from: 0, mean: total, total, unit });
    const sumUs = hists.reduce((sum, hist) => sum + hist.sumUs, 0);
    const exact = sumUs === all.sumUs && hists.every(({ count }) => count === all.count);
    const added = `The stages' means add up to ${inUnit(before, unit)} ${unit.name}, the mean of the whole is`;
    const why = exact
      ? `the sums over ${whole(all.count)} orders are equal to the microsecond`
      : "the range cuts orders apart, so they differ a little";
    const sentence = `${added} ${inUnit(total, unit)} ${unit.name}: ${why}. Percentiles do not add up.`;
    setText(this.sum, this.say(all.count > 0 ? sentence : "No order with an alert was measured in this range."));
  }

  /** @param {string} text */
  #unit(text) {
    const element = h("span.unit", {}, text);
    if (text) this.units.push(element);
    return element;
  }

  /** @param {string} title @param {string} way @param {string} href @param {string} [stage] @returns {StageRow} */
  #row(title, way, href, stage = "") {
    const bar = h("span.bar");
    bar.style.setProperty("--colour", `var(${STAGE_COLOURS[stage] ?? "--mark"})`);
    const cells = Array.from({ length: 2 + SHOWN.length }, () => h("td.number"));
    const name = href === "#" ? title : h("a", { href }, title);
    return {
      bar,
      cells,
      element: h(
        "tr",
        {},
        h("th", { scope: "row" }, name, h("span.sub", {}, ` ${way}`)),
        h("td.bars", { "aria-hidden": "true" }, bar),
        cells,
      ),
    };
  }

  /**
   * @param {StageRow} row
   * @param {Hist} hist
   * @param {{from: number, mean: number, total: number, unit: Unit}} given from, mean, total: us
   */
  #fill({ bar, cells }, hist, { from, mean, total, unit }) {
    bar.style.setProperty("--from", String(total > 0 ? from / total : 0));
    bar.style.setProperty("--part", String(total > 0 ? mean / total : 0));
    const values = SHOWN.map((percent) => shownPercentile(hist, percent));
    const texts = [
      inUnit(hist.count > 0 ? mean : null, unit),
      total > 0 ? `${fixed((100 * mean) / total, 1)}%` : NONE,
      ...values.map((value) => inUnit(value, unit)),
    ];
    texts.forEach((text, at) => setText(cells[at], text));
  }
}

/** The list of what is out of the ordinary, in words with links, the verdict first. */

import { h, setText } from "../dom.js";
import { factsOf } from "../facts.js";
import { counted } from "../format.js";
import { inWordsOf } from "../words.js";
import { findings } from "../rules.js";

/** @import {RunModel} from "../model.js" */

/** @typedef {{level: "problem" | "note" | "none", text: string, page?: string}} Item */

const SIGNS = { problem: "▲", note: "•", none: "✓" };
/** @type {Item} */
const NOTHING = { level: "none", text: "Nothing is out of the ordinary." };

export class Findings {
  #shown = "";

  /** @param {(page: string, item: string) => string} href the address of a page */
  constructor(href) {
    this.href = href;
    this.heading = h("span");
    this.count = h("span.unit");
    this.list = h("ul.findings");
    this.element = h("section.narrow", {}, h("h2", {}, this.heading, this.count), this.list);
  }

  /** @param {import("../view.js").View} view */
  update(view) {
    const found = findings(factsOf(view)).map((each) => ({ ...each, text: inWordsOf(view.history, each.text) }));
    const problems = found.filter(({ level }) => level === "problem").length;
    const counts = ` ${counted(problems, "problem")}, ${counted(found.length - problems, "note")}`;
    setText(this.heading, found.length === 0 ? "Healthy" : `Out of the ordinary${view.model.live ? " now" : ""}`);
    setText(this.count, found.length === 0 ? "" : counts);
    const said = [...verdictOf(view.model), ...(found.length > 0 ? found : [NOTHING])];
    const key = JSON.stringify(said) + location.hash;
    if (this.#shown === key) return; // what does not change keeps its focus
    this.#shown = key;
    this.list.replaceChildren(...said.map((finding) => this.#item(finding)));
  }

  /** @param {Item} item */
  #item({ level, text, page }) {
    const sign = h("span.sign", { "aria-hidden": "true" }, SIGNS[level]);
    const [name, ...item] = (page ?? "").split("/");
    const link = page && h("a", { href: this.href(name, item.join("/")) }, "show");
    const problem = level === "problem" && h("span.hidden", {}, "Problem: ");
    return h(`li.${level}`, {}, sign, h("span", {}, problem, text, " ", link || null));
  }
}

/**
 * The verdict; why stands in the findings, if the run controller has said it check by check.
 * @param {RunModel} model
 * @returns {Item[]}
 */
function verdictOf({ notes, outcome }) {
  const verdict = notes.findLast(({ kind }) => kind === "verdict");
  if (!verdict) return [];
  const text = `Verdict: ${outcome}${verdict.text && !verdict.failed?.length ? `; ${verdict.text}` : ""}.`;
  return [{ level: verdict.name === "passed" ? "none" : "problem", text }];
}

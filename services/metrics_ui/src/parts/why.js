/** Why the slowest orders were slow: the sentence, what was found with shares and advice, and what remains unexplained. */

import { causeText, tailText, unexplainedText, whyNone } from "../causes.js";
import { h, setText, show } from "../dom.js";
import { inWordsOf } from "../words.js";

/** @import {RunModel} from "../model.js" */
/** @import {CausesData, ResultData} from "../types.js" */

export class Why {
  #shown = "";

  constructor() {
    this.sentence = h("p.sentence");
    this.list = h("ul.causes");
    this.tail = h("p.about");
    this.element = h("section.why", { "aria-label": "Why" }, h("h2", {}, "Why"), this.sentence, this.list, this.tail);
  }

  /** @param {RunModel | null} model for its words @param {{live: boolean, result: ResultData | null}} run */
  update(model, run) {
    /** @param {string} text */
    const say = (text) => (model ? inWordsOf(model, text) : text);
    const causes = run.result?.causes ?? null;
    const sentence = causes ? `${capital(causes.sentence.replace(/\.$/, ""))}.` : whyNone(run);
    const key = JSON.stringify([sentence, causes?.found]);
    if (this.#shown === key) return;
    this.#shown = key;
    this.sentence.classList.toggle("none", causes === null);
    setText(this.sentence, say(sentence));
    this.list.replaceChildren(...(causes ? items(causes, say) : []));
    show(this.list, this.list.childElementCount > 0);
    setText(this.tail, causes ? say(tailText(causes)) : "");
  }
}

/** @param {CausesData} causes @param {(text: string) => string} say */
function items(causes, say) {
  const left = unexplainedText(causes);
  return [
    ...causes.found.map((cause) =>
      h(
        "li",
        {},
        meter(cause.share),
        h("span", {}, say(causeText(cause)), cause.advice && h("span.advice", {}, ` Try first: ${say(cause.advice)}`)),
      ),
    ),
    left && h("li.rest", {}, meter(causes.unexplained_share), h("span", {}, say(left))),
    causes.saturation && h("li.rest", {}, h("span", {}, say(`${capital(causes.saturation)}.`))),
  ].filter((item) => item instanceof HTMLElement);
}

/** @param {number} part */
function meter(part) {
  const fill = h("i");
  fill.style.setProperty("--part", String(Math.max(0, Math.min(1, part))));
  return h("span.meter", { "aria-hidden": "true" }, fill);
}

/** @param {string} text */
function capital(text) {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

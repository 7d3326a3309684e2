/** Words for a system that is not ours: it has messages and outputs where Market Spread has orders and alerts. */

/** @import {RunModel} from "./model.js" */

/** @type {[RegExp, string][]} */
const WORDS = [
  [alone("([Aa])n order"), "$1 message"],
  [alone("order(s?)"), "message$1"],
  [alone("Order(s?)"), "Message$1"],
  [alone("alert(s?)"), "output$1"],
  [alone("Alert(s?)"), "Output$1"],
  [alone("Spark"), "the system"],
];

/** A word that is no part of a name, as of a partition (orders/0) or a topic (orders-v1); a rate has it with /s. @param {string} word */
function alone(word) {
  return new RegExp(`(?<![\\w/]|\\w[.-])${word}(?!\\w|/(?!s\\b)|[.-]\\w)`, "g");
}

/** A text of ours in the words of the run. @param {RunModel} model @param {string} text @returns {string} */
export function inWordsOf(model, text) {
  return model.system ? WORDS.reduce((said, [ours, theirs]) => said.replace(ours, theirs), text) : text;
}

/** How it is known what was processed. @param {RunModel} model */
export function countedHow({ system }) {
  return system && system.kind !== "pipeline"
    ? "it is told by what the system has committed"
    : "the job counts live, up to 2 s late";
}

/** Words for a system that is not ours: it has messages and outputs where Market Spread has orders and alerts. */

/** @import {RunModel} from "./model.js" */

/** @type {[RegExp, string][]} */
const WORDS = [
  [/\b([Aa])n order\b/g, "$1 message"],
  [/\border(s?)\b/g, "message$1"],
  [/\bOrder(s?)\b/g, "Message$1"],
  [/\balert(s?)\b/g, "output$1"],
  [/\bAlert(s?)\b/g, "Output$1"],
  [/\bSpark\b/g, "the system"],
];

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

/** The parts of a report that are no charts: head, verdicts, what was out of the ordinary, what the run was made of. */

import { toggleAllTables } from "../charts/figure.js";
import { h } from "../dom.js";
import { dateTime, whole } from "../format.js";
import { toggleTheme } from "../theme.js";

/** @import {Note, ReportData, ResultData, Verdict} from "../types.js" */

/** @type {Record<string, string>} */
const TITLES = {
  correct: "Correct",
  valid: "Valid",
  objectives: "Meets the objectives",
  survives: "Survives its planned faults",
};

/** Workload, verdict, and why. @param {ReportData} facts @returns {HTMLElement} */
export function head({ result, outcome }) {
  const themes = h("button.quiet", { type: "button", on: { click: () => toggleTheme() } }, "light / dark");
  const tables = h("button.quiet", { type: "button", on: { click: () => toggleAllTables() } }, "tables");
  const verdict = h("span.verdict", { "data-verdict": result.verdict }, outcome);
  return h(
    "header.report-head",
    {},
    h("div.tools", {}, tables, themes),
    h("h1", {}, `${result.workload} `, verdict, hasNoObjective(result) && h("span.sub", {}, " no objective set")),
    h(
      "p.sub",
      {},
      `${result.run_id}, ${dateTime(Date.parse(result.started))}, ${result.mode}, ` +
        `${whole(result.offered_rate_per_s)} messages/s for ${result.duration_s} s`,
    ),
    result.self_test && h("p.sub.rig", {}, `${result.self_test.fits ? "" : "rig: "}${result.self_test.text}`),
    result.reasons.length > 0 &&
      h(
        "ul.reasons",
        {},
        result.reasons.map((reason) => h("li", {}, reason)),
      ),
  );
}

/** Whether a run passed that had no objective to meet. @param {ResultData} result */
export function hasNoObjective({ verdict, verdicts: given }) {
  return verdict === "passed" && given?.objectives?.evidence.length === 0;
}

/** The three verdicts, each with its evidence. @param {ResultData} result @returns {HTMLElement} */
export function verdicts({ verdicts: given }) {
  /** @param {boolean | null} holds @param {Verdict["evidence"]} evidence */
  const word = (holds, evidence) =>
    holds === null ? (evidence.length > 0 ? "not known" : "none asked for") : holds ? "yes" : "no";
  return h(
    "section.verdicts",
    { "aria-label": "Verdicts" },
    Object.entries(given).map(([name, { holds, evidence }]) =>
      h(
        "details",
        holds === false ? { open: true } : {},
        h(
          "summary",
          {},
          h("h2", {}, `${TITLES[name]}: `, h("b", { "data-holds": String(holds) }, word(holds, evidence))),
          " ",
          evidence.length > 0 && h("span.sub", {}, heldText(evidence)),
        ),
        h(
          "ul",
          {},
          evidence.map((each) => h("li", { "data-holds": String(each.holds) }, each.text)),
        ),
      ),
    ),
  );
}

/** How many of the checks hold, and of how many that is not known. @param {Verdict["evidence"]} evidence */
function heldText(evidence) {
  const unknown = evidence.filter(({ holds }) => holds === null).length;
  const held = `${evidence.filter(({ holds }) => holds).length} of ${evidence.length} hold`;
  return unknown > 0 ? `${held}, ${unknown} not known` : held;
}

/** What was out of the ordinary. @param {ReportData} facts @returns {HTMLElement} */
export function anomalies({ anomalies: given = [] }) {
  const lines = given.length > 0 ? given : ["Nothing."];
  return h(
    "section",
    {},
    h("h2", {}, "Out of the ordinary"),
    h(
      "ul.report-list",
      {},
      lines.map((line) => h("li", {}, line)),
    ),
  );
}

/** What the run was made of. @param {ReportData} facts @returns {HTMLElement} */
export function environment({ manifest, result }) {
  const sections = { ...manifest.sections, settings: result.settings };
  const known = Object.entries(sections).filter(([, values]) => Object.keys(values).length > 0);
  return h(
    "section",
    {},
    h("h2", {}, "Environment"),
    h("p.about", {}, `Manifest ${result.manifest_sha256 ?? "none"}`),
    h(
      "div.facts",
      {},
      known.map(([name, values]) =>
        h(
          "details",
          name === "cpu" || name === "code" ? { open: true } : {},
          h("summary", {}, name.replaceAll("_", " ")),
          h(
            "dl",
            {},
            Object.entries(values).flatMap(([key, value]) => [h("dt", {}, key), h("dd", {}, factText(value))]),
          ),
        ),
      ),
    ),
  );
}

/** @param {unknown} value */
function factText(value) {
  if (value === null || value === undefined) return "not known";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/**
 * The result, whose planned faults every chart over time has as bands, and batch boundaries and collections, which it marks.
 * @param {ReportData} facts
 * @returns {Note[]}
 */
export function marks({ result }) {
  const events = result.causes?.events ?? [];
  const noted = {
    unix_ms: Date.parse(result.started),
    kind: "result",
    name: result.verdict,
    text: JSON.stringify(result),
  };
  const marked = events
    .filter(({ kind }) => kind === "boundary" || kind === "gc")
    .map(({ kind, begin_unix_ms: ms, duration_ms: length, text: name }) => ({
      unix_ms: ms,
      kind,
      name,
      text: `${Math.round(length)} ms`,
    }));
  return [noted, ...marked];
}

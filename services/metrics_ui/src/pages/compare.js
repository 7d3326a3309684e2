/** Two runs or more beside each other: their figures, percentile curves, latencies over time, and what they were made with. */

import { CurveChart } from "../charts/curve.js";
import { Heatmap, latencyRange } from "../charts/heatmap.js";
import { RUNS_MAX, commandOf, differences, figureRows, isKnown, namedIn, runsOf } from "../comparing.js";
import { h, table } from "../dom.js";
import { messageOf } from "../feed.js";
import { latency, percentName, whole } from "../format.js";
import { PERCENTS, shownPercentile } from "../hdr.js";
import { shownOr } from "../parts/latencies.js";
import { judgedView } from "../pin.js";
import { END_TO_END } from "../steps.js";

/** @import {RunModel} from "../model.js" */
/** @import {View} from "../view.js" */
/** @import {App, Documents, Facts} from "../types.js" */

/** @typedef {{id: string, view: View | null, documents: Documents}} Compared */

/** Of how many runs the figures leave room for the curves beside them. */
const BESIDE_MAX = 3;
const COLOURS = ["--p50", "--p99", "--p999", "--p95", "--max", "--p9999"];
const DASHES = [[], [7, 3], [2, 3], [10, 3, 2, 3], [4, 2], [1, 2]];

export class ComparePage {
  title = "Comparison";
  /** @type {(CurveChart | Heatmap)[]} */
  #charts = [];
  #left = false;

  /** @param {App} app @param {string} item the runs, with commas between */
  constructor(app, item) {
    this.app = app;
    this.ids = runsOf(item);
    this.place = h("p.notice", { role: "status" }, "Loading the runs…");
    this.element = h("section.compare", {}, this.place);
    if (this.ids.length < 2) {
      this.place.textContent = "The address names fewer than two runs; select them on the page of runs.";
    } else {
      this.#load();
    }
    const named = namedIn(item).length;
    if (named > RUNS_MAX) app.say(`The address names ${named} runs; the first ${RUNS_MAX} are compared.`);
  }

  update() {}

  release() {
    this.#left = true;
    for (const chart of this.#charts) chart.release();
  }

  async #load() {
    try {
      const loaded = await Promise.all(this.ids.map((id) => this.app.feed.load(id)));
      if (!this.#left) this.#build(loaded.map((run, at) => ({ ...run, id: this.ids[at] })));
    } catch (error) {
      this.place.textContent = `The runs cannot be compared: ${messageOf(error)}.`;
    }
  }

  /** @param {{id: string, model: RunModel, documents: Documents}[]} loaded */
  #build(loaded) {
    const runs = loaded.map(({ id, model, documents }) => ({ id, view: judgedView(model), documents }));
    const beside = runs.length <= BESIDE_MAX ? "div.half" : "div.full";
    this.element.replaceChildren(
      verdictNote(this.ids),
      h(
        "div.grid",
        {},
        h(beside, {}, figuresTable(loaded, runs)),
        h(beside, {}, this.#curves(runs)),
        this.#heatmaps(runs),
      ),
      differencesTable(runs),
    );
  }

  /** @param {Compared[]} runs */
  #curves(runs) {
    const drawn = runs.flatMap(({ id, view }, at) => (view ? [{ id, hist: view.hist(END_TO_END), at }] : []));
    if (drawn.length === 0) return h("p.about", {}, "None of the runs has latencies.");
    const lines = drawn.map(({ id, at }) => ({ title: id, colour: COLOURS[at], dash: DASHES[at], width: 2 }));
    const curve = new CurveChart({ title: "Percentile curves, intended send to receipt", height: 320, lines });
    this.#charts.push(curve);
    const said = drawn.map(({ id, hist }) => `${id}: ${shownOr(hist, 50)} at p50, ${shownOr(hist, 99)} at p99`);
    curve.update(
      drawn.map(({ hist }) => hist),
      said.join("; "),
    );
    return curve.element;
  }

  /** A heat map a run, all over the same latencies. @param {Compared[]} runs */
  #heatmaps(runs) {
    const drawn = runs.flatMap(({ id, view }) => {
      const bins = view?.histBins({ name: END_TO_END.name }) ?? [];
      return view && bins.length > 0 ? [{ id, view, bins }] : [];
    });
    const [least, most] = latencyRange(drawn.flatMap(({ bins }) => bins));
    return drawn.map(({ id, view, bins }) => {
      const heat = new Heatmap({ title: id, actions: { brush: () => {}, whole: () => {} } });
      this.#charts.push(heat);
      const samples = whole(view.hist(END_TO_END).count);
      const said = `${samples} samples of the measured load; all runs have one axis, ${latency(least)} to ${latency(most)}`;
      heat.update(view, bins, said, [least, most]);
      return h("div.half", {}, heat.element);
    });
  }
}

/** @param {string[]} ids */
function verdictNote(ids) {
  return h(
    "div.verdictless",
    {},
    h(
      "p",
      {},
      h("b", {}, "Single runs give no verdict. "),
      "A machine differs more from run to run than most changes do, so a difference here may be chance. A verdict takes 8 " +
        "runs of each, made in turn, or 6 pairs of ",
      h("code", {}, "market-spread ab"),
      ". The figures of these runs, with what that says of them:",
    ),
    h("p", {}, h("code", {}, commandOf(ids))),
  );
}

/** @param {{model: RunModel}[]} loaded @param {Compared[]} runs */
function figuresTable(loaded, runs) {
  const made = table({
    caption: "Figures, each with its distance from the first run's",
    columns: [{ title: "figure" }, ...runs.map(({ id }) => ({ title: id, numeric: true }))],
  });
  const rows = figureRows(
    runs.map(({ view, documents: { result } }) => (hasFigures(result) ? result : figuresOf(view))),
    Math.max(0, ...loaded.map(({ model }) => model.limits.clusters_min ?? 0)),
  );
  made.setRows([
    ["verdict", ...loaded.map(({ model }) => model.outcome || "–")],
    ...rows.map(({ title, cells }) => [title, ...cells]),
  ]);
  return made.element;
}

/** @param {Facts | undefined} result @returns {result is Facts} */
function hasFigures(result) {
  return result !== undefined && "latency_ns" in result;
}

/** What is known of a run without its result, as the result has it. @param {View | null} view @returns {Facts} */
function figuresOf(view) {
  if (!view) return {};
  const hist = view.hist(END_TO_END);
  const entries = PERCENTS.map((percent) => {
    const us = shownPercentile(hist, percent);
    return [percentName(percent), us === null ? null : us * 1000];
  });
  const max = hist.count > 0 ? hist.maxUs * 1000 : null;
  return { latency_ns: { ...Object.fromEntries(entries), max }, latency_samples: hist.count };
}

/** @param {Compared[]} runs */
function differencesTable(runs) {
  const rows = differences(runs.map(({ documents }) => documents));
  const unknown = runs.filter(({ documents }) => !isKnown(documents));
  const lacking =
    unknown.length > 0 ? `Nothing is known of what ${unknown.map(({ id }) => id).join(", ")} ran with.` : "";
  if (rows.length === 0) {
    const same = ["The manifests of all runs say the same.", "The manifests of the other runs say the same."];
    const isCompared = runs.length - unknown.length > 1;
    return h("p.about", {}, [lacking, isCompared ? same[Math.min(1, unknown.length)] : ""].filter(Boolean).join(" "));
  }
  const made = table({
    caption: "What the runs were made with, where it differs",
    columns: [{ title: "" }, ...runs.map(({ id }) => ({ title: id }))],
  });
  made.setRows(rows);
  return lacking ? h("div", {}, made.element, h("p.about", {}, lacking)) : made.element;
}

/**
 * The slow seconds of a run: latencies as a heat map, events below it under the same cursor, the worst seconds beside it,
 * then single orders of what is shown, and where the time of the median and of the slowest went.
 */

import { Heatmap } from "../charts/heatmap.js";
import { Lanes } from "../charts/lanes.js";
import { STAGE_COLOURS, orderRows } from "../charts/orders.js";
import { around, aroundMoment, eventsIn, meanStages, ordersIn } from "../causes.js";
import { eventsSoFar } from "../events.js";
import { aroundFault, faultAt, faultBands } from "../faults.js";
import { h, setText, show } from "../dom.js";
import { counted, latency, share, whole } from "../format.js";
import { percentile } from "../hdr.js";
import { saveText } from "../save.js";
import { CPU, END_TO_END, STAGES, stageLatency } from "../steps.js";
import { traceOf } from "../trace.js";
import { inWordsOf } from "../words.js";
import { PlannedFaults } from "./faults.js";
import { WorstSeconds } from "./worst.js";

/** @import {StagePart} from "../causes.js" */
/** @import {FaultBand} from "../faults.js" */
/** @import {RunModel} from "../model.js" */
/** @import {Actions, CausesData, OrderData, Part, ResultData} from "../types.js" */
/** @import {View} from "../view.js" */

const ORDERS_MAX = 12;

export class SlowSeconds {
  /** @type {View | null} */
  #view = null;
  /** @type {CausesData | null} */
  #causes = null;
  /** @type {FaultBand[]} */
  #faults = [];

  /** @param {RunModel} model for its words @param {Actions} actions */
  constructor(model, actions) {
    /** @param {string} text */
    this.say = (text) => inWordsOf(model, text);
    /** @type {Actions} */
    const picking = {
      ...actions,
      pick: (ms) => {
        // A fault first; when it is looked at, its seconds.
        const fault = faultAt(this.#faults, ms);
        const isShown = fault && this.faults.isChosen(fault);
        const { from, to } = fault && !isShown ? aroundFault(fault) : aroundMoment(ms);
        actions.brush(from, to);
      },
    };
    this.heat = new Heatmap({ title: "Latency over time", actions: picking, height: 280, lines: true });
    this.lanes = new Lanes(picking);
    this.worst = new WorstSeconds((second) => {
      const { from, to } = around(second);
      actions.brush(from, to);
    }, this.say);
    this.faults = new PlannedFaults((fault) => {
      const { from, to } = aroundFault(fault);
      actions.brush(from, to);
    });
    this.rows = h("tbody");
    this.caption = h("caption");
    this.table = h("div.table", { tabindex: 0, role: "region", "aria-label": this.say("Slowest orders") });
    this.orders = this.#orders();
    this.median = stageTable(this.say("Where p50 goes: the median of each stage"));
    this.slowest = stageTable(this.say("Where p99 goes: the mean of the slowest orders"));
    this.where = h("section.where", {}, this.median.element, this.slowest.element);
    this.map = h("div.map", {}, this.heat.element, this.lanes.element, this.faults.element);
  }

  /**
   * @param {View} view
   * @param {ResultData | null} result of the run, as far as there is one
   * @param {Part | null} chosen by the reader
   */
  update(view, result, chosen) {
    const causes = result?.causes ?? null;
    [this.#view, this.#causes] = [view, causes];
    const bins = view.histBins({ name: END_TO_END.name });
    const samples = bins.reduce((sum, { hist }) => sum + hist.count, 0);
    this.heat.update(view, bins, `${counted(samples, "sample")}; the stronger the colour, the more of them`);
    const cpu = view.has(CPU) ? view.rateBins(CPU) : [];
    this.#faults = faultBands(result);
    this.faults.update(this.#faults, chosen, view.begin);
    const events = causes ? this.#eventsOf(causes) : eventsSoFar(view.history);
    this.lanes.update(view, events, cpu, result?.machine?.cores ?? 0);
    this.worst.update(causes?.seconds ?? [], chosen, view.begin);
    const orders = ordersIn(causes?.orders ?? [], view.range);
    this.#showOrders(orders, view.begin);
    this.#showStages(view, orders);
  }

  /** The events, those of faults with what became of the output. @param {CausesData} causes */
  #eventsOf({ events }) {
    const faults = [...this.#faults];
    return events.map((event) => {
      const fault = event.kind === "fault" ? faults.shift() : undefined;
      return fault ? { ...event, text: `${event.text}: ${fault.text}` } : event;
    });
  }

  /** From a worst second to the next, to its orders, and back to what it met. @returns {Record<string, () => void>} */
  get keys() {
    return {
      n: () => this.worst.move(1),
      p: () => this.worst.move(-1),
      s: () => this.table.focus(),
      w: () => this.worst.focus(),
    };
  }

  release() {
    this.heat.release();
    this.lanes.release();
  }

  #orders() {
    const save = h("button.quiet", { type: "button", on: { click: () => this.#saveTrace() } }, "Perfetto trace");
    const columns = ["due at", "whole", ...STAGES.map(({ title }) => title)];
    const [due, all, ...stages] = columns.map((title) => h("th.number", { scope: "col" }, title));
    stages.forEach((cell, at) => cell.prepend(patch(STAGES[at].stage)));
    this.table.append(
      h(
        "table.waterfall",
        {},
        this.caption,
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, this.say("order")),
            due,
            all,
            h("th.bars", { scope: "col", "aria-hidden": "true" }),
            stages,
          ),
        ),
        this.rows,
      ),
    );
    return h("section.orders", {}, h("div.tools", {}, save), this.table);
  }

  /** @param {OrderData[]} orders @param {number} beginMs */
  #showOrders(orders, beginMs) {
    show(this.orders, orders.length > 0);
    const most = Math.min(orders.length, ORDERS_MAX);
    const of = orders.length > most ? `, of ${whole(orders.length)} that were kept` : "";
    setText(this.caption, this.say(`The slowest ${counted(most, "order")} of this range${of}`));
    this.rows.replaceChildren(...orderRows(orders.slice(0, most), beginMs));
  }

  /** @param {View} view @param {OrderData[]} orders */
  #showStages(view, orders) {
    const hists = STAGES.map(({ stage }) => view.hist(stageLatency(stage)));
    const medians = hists.map((hist) => percentile(hist, 50));
    const sum = medians.reduce((all, us) => all + us, 0);
    this.median.set(
      sum > 0
        ? STAGES.map(({ stage, title }, at) => ({ stage, title, us: medians[at], share: medians[at] / sum }))
        : [],
      "Medians of stages need not add up to the median of the whole.",
    );
    this.slowest.set(
      meanStages(orders),
      this.say(`Of the ${counted(orders.length, "order")} that were kept of this range.`),
    );
  }

  #saveTrace() {
    if (!this.#view || !this.#causes) return;
    const { model, begin, range } = this.#view;
    const trace = traceOf({
      runId: model.runId,
      beginMs: begin,
      orders: ordersIn(this.#causes.orders, range),
      events: eventsIn(this.#causes.events, range),
      say: this.say,
    });
    saveText(`${model.runId || "run"}-trace.json`, JSON.stringify(trace), "application/json");
  }
}

/** A table of stages with a bar each, hidden without rows. @param {string} caption */
function stageTable(caption) {
  const body = h("tbody");
  const about = h("p.summary");
  const element = h("div.stages", {}, h("table.waterfall", {}, h("caption", {}, caption), body), about);
  return {
    element,
    /** @param {StagePart[]} parts @param {string} text */
    set: (parts, text) => {
      show(element, parts.length > 0);
      setText(about, text);
      let before = 0;
      body.replaceChildren(
        ...parts.map(({ stage, title, us, share: part }) => {
          const bar = h("span.bar");
          bar.style.setProperty("--from", String(before));
          bar.style.setProperty("--part", String(part));
          bar.style.setProperty("--colour", `var(${STAGE_COLOURS[stage] ?? "--mark"})`);
          before += part;
          return h(
            "tr",
            {},
            h("th", { scope: "row" }, title),
            h("td.bars", { "aria-hidden": "true" }, bar),
            h("td.number", {}, latency(us)),
            h("td.number", {}, share(part)),
          );
        }),
      );
    },
  };
}

/** @param {string} stage */
function patch(stage) {
  const element = h("i.patch", { "aria-hidden": "true" });
  element.style.setProperty("background", `var(${STAGE_COLOURS[stage]})`);
  return element;
}

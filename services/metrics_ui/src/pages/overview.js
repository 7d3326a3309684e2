/** The run at a glance: rates, latencies, lag, and what is out of the ordinary. */

import { CurveChart } from "../charts/curve.js";
import { TimeChart } from "../charts/timechart.js";
import { h, setText, show, table } from "../dom.js";
import { lagBins, lagPoints, uncounted } from "../facts.js";
import { axisLatency, axisNumber, clockTime, counted, elapsed, latency, rate, whole } from "../format.js";
import { Findings } from "../parts/findings.js";
import { fillResultTable, latencyTable, shownOr } from "../parts/latencies.js";
import {
  PERCENT_LINES,
  percentileOverall,
  percentileRows,
  percentileSummary,
  rateLines,
  rateOverall,
  rateRows,
  rateSummary,
} from "../parts/lines.js";
import { Progress } from "../parts/progress.js";
import { SlowSeconds } from "../parts/slow.js";
import { Tiles } from "../parts/tiles.js";
import { Why } from "../parts/why.js";
import { ALERTS, COMMITTED, DUE, END_TO_END, FAILED, PROCESSED, SEND_LAG, SENT, SERVICE, metric } from "../steps.js";
import { countedHow, inWordsOf } from "../words.js";

/** @import {LagPoint} from "../facts.js" */
/** @import {Actions, App} from "../types.js" */
/** @import {Selector, View} from "../view.js" */

const THROUGHPUT = [
  { title: "offered", of: SENT },
  { title: "processed", of: PROCESSED },
];
const ALERTED = [{ title: "alerts", of: ALERTS }];
const TRIPLE = [
  { title: "Intended send to receipt", of: END_TO_END, page: "pipeline", item: "market_spread" },
  { title: "Actual send to receipt", of: SERVICE, page: "pipeline", item: "service" },
  { title: "Send lag, all messages", of: SEND_LAG, page: "computations", item: "send_all" },
];
/**
 * Titles with what is counted, and what is to be taken away from it.
 * @type {{title: string, of: Selector, less?: Selector}[]}
 */
const COUNTS = [
  { title: "Due by the schedule", of: DUE },
  { title: "Offered: sent", of: SENT },
  { title: "Accepted: sent, and not lost at the broker", of: SENT, less: FAILED },
  { title: "Lost at the broker", of: FAILED },
  { title: "Processed, live", of: PROCESSED },
  { title: "Processed, in committed batches", of: COMMITTED },
  { title: "Alerts, the first of each order", of: ALERTS },
  { title: "Alerts that came again", of: metric("receiver_alerts_duplicated_total") },
  { title: "Malformed messages", of: metric("receiver_invalid_total") },
];

export class OverviewPage {
  title = "Overview";

  /** @param {App} app */
  constructor(app) {
    this.app = app;
    const { actions } = app;
    this.progress = new Progress();
    this.why = new Why();
    this.tiles = new Tiles(app.model);
    this.slow = new SlowSeconds(app.model, actions);
    this.pinned = h("p.about.pinned");
    this.over = new TimeChart({
      title: "Latency, intended send to receipt",
      unit: "log scale",
      lines: PERCENT_LINES,
      log: true,
      height: 260,
      tick: axisLatency,
      text: latency,
      actions,
    });
    this.rates = rateChart("Throughput", "messages/s", THROUGHPUT, actions);
    this.alerted = ALERTED.map(({ title, of }) => ({ title: inWordsOf(app.model, title), of }));
    const [alerts, perSecond] = ["Alerts", "alerts/s"].map((text) => inWordsOf(app.model, text));
    this.alerts = rateChart(alerts, perSecond, this.alerted, actions);
    this.lag = new TimeChart({
      title: "Lag",
      unit: "messages, the highest in each bin",
      height: 170,
      lines: [{ title: "lag", colour: "--p50", width: 1.5, fill: "--band" }],
      tick: axisNumber,
      text: whole,
      actions,
    });
    this.curve = new CurveChart({
      title: "Percentile curves",
      height: 240,
      lines: [
        { title: "intended to receipt", colour: "--p50", width: 2 },
        { title: "actual to receipt", colour: "--p99", dash: [7, 3] },
        { title: "send lag, all", colour: "--p9999", dash: [2, 2], width: 2 },
        ...(app.pin.view ? [{ title: `pinned: ${app.pin.id}`, colour: "--p999", dash: [10, 3, 2, 3], width: 2 }] : []),
      ],
    });
    this.about = h("p.about");
    this.findings = new Findings(app.href);
    this.triple = latencyTable("The triple of latencies", "from, to");
    this.result = h("div.full");
    this.counts = table({
      caption: inWordsOf(app.model, "Messages and alerts"),
      columns: [{ title: "" }, { title: "in the range", numeric: true }, { title: "a second", numeric: true }],
    });
    this.notes = table({
      caption: "What went on",
      columns: [{ title: "at" }, { title: "clock" }, { title: "what" }, { title: "" }],
    });
    this.element = h(
      "div",
      {},
      this.progress.element,
      this.why.element,
      this.tiles.element,
      this.pinned,
      this.about,
      h(
        "div.grid",
        {},
        h("div.widest", {}, this.slow.map),
        h("div.beside", {}, this.slow.worst.element, this.findings.element),
        h("div.curve", {}, this.curve.element),
        h("div.over", {}, this.over.element),
        h("div.full", {}, this.slow.orders),
        h("div.full", {}, this.slow.where),
        ...[this.rates, this.lag, this.alerts].map(({ element }) => h("div.third", {}, element)),
        h("div.full", {}, this.triple.element),
        this.result,
        h("div.half", {}, this.counts.element),
        h("div.half", {}, this.notes.element),
      ),
    );
  }

  /** @param {View} view */
  update(view) {
    const hist = view.hist(END_TO_END);
    const points = view.has(SENT) && view.has(PROCESSED) ? lagPoints(view) : [];
    const { choice } = this.app.route;
    const { live } = view.model;
    this.progress.update(view);
    this.why.update(view.history, { live, result: view.history.result });
    const compared = this.#compared(view);
    this.tiles.update(view, hist, points.at(-1)?.value ?? null, compared);
    this.slow.update(view, view.history.result, choice.kind === "fixed" ? choice : null);
    setText(this.about, inWordsOf(view.history, aboutLatencies(view)));
    const bins = view.histBins({ name: END_TO_END.name });
    this.over.update(view, percentileRows(bins), percentileOverall(hist, view), percentileSummary(view, bins));
    this.lag.update(
      view,
      lagBins(view, points).map(({ from, to, value }) => ({ from, to, values: [value] })),
      { label: "at the end", values: [points.at(-1)?.value ?? null] },
      lagSummary(view, points),
      uncounted(view),
    );
    for (const { chart, counters } of [
      { chart: this.rates, counters: THROUGHPUT },
      { chart: this.alerts, counters: this.alerted },
    ]) {
      const selectors = counters.map(({ of }) => of);
      chart.update(view, rateRows(view, selectors), rateOverall(view, selectors), rateSummary(view, counters, rate));
    }
    const hists = TRIPLE.map(({ of }) => view.hist(of));
    const pinned = this.app.pin.view?.hist(END_TO_END);
    const curves = pinned ? [...hists, pinned] : hists;
    this.curve.update(
      curves,
      [...TRIPLE.map(({ title }) => title), "Pinned run"]
        .slice(0, curves.length)
        .map((title, at) => `${title}: ${shownOr(curves[at], 50)} at p50, ${shownOr(curves[at], 99)} at p99`)
        .join("; "),
    );
    this.triple.set(
      TRIPLE.map(({ title, page, item }, at) => ({
        title: { text: title, href: this.app.href(page, item) },
        hist: hists[at],
      })),
    );
    fillResultTable(this.result, view.history.latencyRows);
    show(this.result, view.judged);
    this.counts.setRows(
      COUNTS.filter(({ of }) => view.has(of)).map(({ title, of, less }) => [
        inWordsOf(view.history, title),
        whole((view.grown(of) ?? 0) - (less ? (view.grown(less) ?? 0) : 0)),
        rate((view.rate(of) ?? 0) - (less ? (view.rate(less) ?? 0) : 0)),
      ]),
    );
    this.notes.setRows(
      view.model.notes
        .filter(({ kind, unix_ms: ms }) => {
          return (
            kind !== "result" &&
            kind !== "plan" &&
            (choice.kind !== "fixed" || (ms >= view.range.from && ms < view.range.to))
          );
        })
        .map(({ unix_ms: ms, kind, name, text }) => [
          elapsed((ms - view.begin) / 1000),
          clockTime(ms),
          kind === "phase" ? name : `${kind}: ${name}`,
          kind === "limits" ? inWordsOf(view.history, text) : text,
        ]),
    );
    this.findings.update(view);
  }

  /** The pinned run, if this is another one, and a word of what it is compared with. @param {View} view */
  #compared(view) {
    const { pin } = this.app;
    const isThis = pin.id === view.history.runId;
    show(this.pinned, pin.id !== "");
    const key = [pin.id, isThis, pin.missing, pin.view !== null].join();
    if (this.pinned.dataset.key !== key) {
      this.pinned.dataset.key = key;
      this.pinned.replaceChildren(...this.#pinnedWords(isThis), unpinButton(this.app));
    }
    return isThis ? null : pin.view;
  }

  /** @param {boolean} isThis @returns {(string | Node)[]} */
  #pinnedWords(isThis) {
    const { pin, href } = this.app;
    if (isThis) return ["This is the pinned run; open another one to compare it. "];
    if (pin.missing) return [`The pinned run ${pin.id} is not known here. `];
    if (pin.view === null) return [`The pinned run ${pin.id} is loading… `];
    const link = h("a", { href: href("overview", "", pin.id) }, pin.id);
    return ["Compared with what was judged of the pinned run ", link, ". Two single runs give no verdict. "];
  }

  /** @param {string} key one of the slow seconds' */
  press(key) {
    this.slow.keys[key]?.();
  }

  release() {
    for (const part of [this.slow, this.over, this.rates, this.alerts, this.lag, this.curve]) part.release();
  }
}

/** @param {App} app */
function unpinButton(app) {
  return h("button.quiet", { type: "button", on: { click: () => app.pinRun("") } }, "unpin");
}

/** Which latencies these are: the result's, or what was pushed in another range. @param {View} view */
function aboutLatencies({ judged, history }) {
  if (judged) {
    return "Latencies are those of the result: the first alert of each order that was due after the load had settled.";
  }
  return history.judged === null
    ? ""
    : "Latencies are of the alerts that came in this range; those of the result are under “judged”.";
}

/** @param {string} title @param {string} unit @param {{title: string}[]} counters @param {Actions} actions */
function rateChart(title, unit, counters, actions) {
  return new TimeChart({
    title,
    unit,
    lines: rateLines(counters.map((counter) => counter.title)),
    tick: axisNumber,
    text: rate,
    actions,
    height: 170,
  });
}

/** @param {View} view @param {LagPoint[]} points */
function lagSummary(view, points) {
  if (points.length === 0) return "";
  const most = points.reduce((found, point) => (point.value > found.value ? point : found), points[0]);
  const newest = counted(points[points.length - 1].value, "message");
  const when = elapsed((most.to - view.begin) / 1000);
  return `${newest} sent and not yet processed at the end, at most ${whole(most.value)} at ${when}; ${countedHow(view.history)}`;
}

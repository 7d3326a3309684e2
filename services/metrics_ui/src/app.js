/** The page: which run, page and range the address names, and drawing them when something has changed. */

import { toggleAllTables } from "./charts/figure.js";
import { beginAt, h, setText, show } from "./dom.js";
import { takeDrops } from "./drops.js";
import { Feed, messageOf } from "./feed.js";
import { startKeys } from "./keys.js";
import { AggregatorPage } from "./pages/aggregator.js";
import { ComparePage } from "./pages/compare.js";
import { ComputationPage, ComputationsPage } from "./pages/computations.js";
import { OverviewPage } from "./pages/overview.js";
import { PipelinePage } from "./pages/pipeline.js";
import { RunsPage } from "./pages/runs.js";
import { WorkerPage, WorkersPage } from "./pages/workers.js";
import { Bar, missingText } from "./parts/bar.js";
import { helpDialog } from "./parts/help.js";
import { RangeBar } from "./parts/rangebar.js";
import { Pin } from "./pin.js";
import { JUDGED, WHOLE, moved, newest, nextWidth, overlaps, resolve } from "./range.js";
import { readRoute, routeText } from "./router.js";
import { embeddedRun } from "./runfile.js";
import { onTheme, startTheme, toggleTheme } from "./theme.js";
import { View } from "./view.js";

const TOAST_MS = 6000;

/** @import {RunModel} from "./model.js" */
/** @import {Choice} from "./range.js" */
/** @import {Route} from "./router.js" */
/** @import {Actions, App as Given, Page, Part} from "./types.js" */

/** @implements {Given} */
class App {
  feed = new Feed(() => this.draw());
  pin = new Pin(this.feed, () => this.draw());
  route = readRoute(location.hash);
  /** @type {View | null} what is shown */
  view = null;
  tables = false;
  /** @type {Actions} */
  actions = {
    brush: (from, to) => this.choose({ kind: "fixed", from, to }),
    whole: () => this.choose(WHOLE),
  };

  /** @type {Page | null} */
  #page = null;
  /** Whether the reader has chosen the run; else it is the newest, and the address has its name all the same. */
  #pinned = this.route.run !== "";
  #shown = "";
  #series = 0;
  #drawing = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #toastTimer;

  constructor() {
    startTheme();
    this.bar = new Bar(this);
    this.range = new RangeBar(this);
    this.dialog = helpDialog();
    this.notice = document.getElementById("waiting") ?? h("p.notice", { role: "status" }); // painted before any script
    this.toast = h("p.toast", { role: "alert", hidden: true });
    this.heading = h("h1.hidden");
    this.place = h("div.place");
    this.main = h("main", { id: "main", tabindex: -1 }, this.heading, this.notice, this.place);
  }

  async start() {
    this.#build();
    onTheme(() => this.draw());
    addEventListener("hashchange", () => this.#routed());
    document.addEventListener("visibilitychange", () => this.draw());
    startKeys(document, this.#keys());
    takeDrops((file) => this.openFile(file));
    const embedded = await embeddedRun(document);
    if (!embedded) this.#takePin();
    await this.feed.start(embedded, this.route.run);
    setInterval(() => this.feed.second(), 1000);
  }

  /** The open run; pages of a run are made only when there is one. @returns {RunModel} */
  get model() {
    if (this.feed.model === null) throw new Error("no run is open");
    return this.feed.model;
  }

  /**
   * The address of a page, of this run with the range that is shown, or of another run.
   * @param {string} page
   * @param {string} [item]
   * @param {string} [run]
   */
  href = (page, item = "", run = this.route.run) =>
    routeText({ ...this.route, ...(run === this.route.run ? {} : { choice: JUDGED, widthMs: 0 }), page, item, run });

  /** Show another range. @param {Choice} choice */
  choose(choice) {
    if (choice.kind === "fixed" && this.route.run) this.#pin(); // another run has nothing of it
    this.#replace({ choice, refused: "" });
  }

  /** @param {string} runId */
  pinRun(runId) {
    this.pin.set(runId);
    this.#replace({ pin: runId });
  }

  /** Show what is half a range's width earlier (-1) or later (1). @param {number} direction */
  move(direction) {
    if (this.view) this.choose(moved(this.#range(this.view), direction, this.view.span));
  }

  /** Follow the newest data, with as wide a range as is shown. */
  goLive() {
    if (this.view) this.choose(newest(this.#range(this.view)));
  }

  /** Wider bins (1) or narrower ones (-1); the narrowest are those that fit. @param {number} direction */
  stepBins(direction) {
    if (!this.view) return;
    const widthMs = nextWidth(Math.max(this.route.widthMs, this.view.leastWidthMs), direction);
    this.#replace({ widthMs: widthMs <= this.view.leastWidthMs ? 0 : widthMs });
  }

  toggleTables() {
    this.tables = toggleAllTables();
    this.bar.update();
  }

  toggleTheme() {
    toggleTheme();
    this.bar.update();
  }

  help() {
    this.dialog.open();
  }

  /** Open a run out of a file. @param {File} file */
  async openFile(file) {
    try {
      const run = await this.feed.openText(await file.text());
      location.hash = routeText({ ...this.route, page: "overview", item: "", run, choice: JUDGED, widthMs: 0 });
      this.say(`Opened ${run} from ${file.name}.`);
    } catch (error) {
      this.say(error instanceof SyntaxError ? `${file.name} cannot be read.` : messageOf(error));
    }
  }

  /** Draw what has changed, once for all changes of a moment. */
  draw() {
    if (this.#drawing || document.hidden) return;
    this.#drawing = true;
    requestAnimationFrame(() => {
      this.#drawing = false;
      this.#draw();
    });
  }

  #build() {
    /** @param {Event} event */
    const skip = (event) => {
      event.preventDefault(); // the fragment is the page's address
      this.main.focus();
    };
    document.body.append(
      h("a.skip", { href: "#main", on: { click: skip } }, "Skip to the figures"),
      this.bar.element,
      this.range.element,
      this.main,
      this.toast,
      this.dialog.element,
    );
    this.bar.route();
    this.draw();
  }

  #keys() {
    /** @param {string} page */
    const go = (page) => () => {
      location.hash = this.href(page);
    };
    return {
      "g o": go("overview"),
      "g p": go("pipeline"),
      "g w": go("workers"),
      "g c": go("computations"),
      "g r": go("runs"),
      "g a": go("aggregator"),
      "[": () => this.move(-1),
      "]": () => this.move(1),
      ...Object.fromEntries([..."npsw"].map((key) => [key, () => this.#page?.press?.(key)])),
      l: () => this.goLive(),
      0: () => this.choose(WHOLE),
      t: () => this.toggleTables(),
      d: () => this.toggleTheme(),
      "?": () => this.help(),
      "+": () => this.stepBins(1),
      "=": () => this.stepBins(1),
      "-": () => this.stepBins(-1),
    };
  }

  /** The range as it is chosen: what is drawn may still be the one before. @param {View} view */
  #range({ span }) {
    return resolve(this.route.choice, span, this.model.judged);
  }

  /** @param {Partial<Route>} change */
  #replace(change) {
    this.route = { ...this.route, ...change };
    history.replaceState(null, "", routeText(this.route));
    this.bar.route();
    this.draw();
  }

  /** Have the address name the pinned run, where there is one. A file knows no other run. */
  #takePin() {
    if (this.feed.served && this.pin.take(this.route.pin) !== this.route.pin) this.#replace({ pin: this.pin.id });
  }

  #pin() {
    this.#pinned = true;
    this.feed.want(this.route.run);
  }

  #routed() {
    const route = readRoute(location.hash);
    if (route.run && route.run !== this.route.run) this.#pinned = true;
    this.route = route;
    this.#takePin();
    this.bar.route();
    this.feed.want(this.#pinned ? this.route.run : "");
    if (this.route.page === "runs") this.feed.refresh();
    this.draw();
  }

  #draw() {
    const { feed, route } = this;
    const { model } = feed;
    const span = model?.span() ?? null;
    const withoutRun = route.page === "runs" || route.page === "compare";
    if (model && span && !withoutRun) this.#settle(model, span);
    this.view = model && span && this.#viewOf(model, span);
    this.bar.update();
    show(this.range.element, span !== null && !withoutRun);
    if (this.view && !withoutRun) this.range.update(this.view, this.#wholeOf(this.view));
    setText(this.notice, span || withoutRun ? "" : missingText(feed));
    show(this.notice, !span && !withoutRun);
    const pinned = this.pin.view ? this.pin.id : "";
    const page = [route.page, route.item, ...(withoutRun ? [] : [model?.runId, pinned])].join("\u0000");
    this.#turn(span || withoutRun ? page : "", model && span && !withoutRun ? model.series.size : 0);
    setText(this.heading, this.#page?.title ?? "Market Spread");
    document.title = `${this.heading.textContent}${model ? ` – ${model.title}` : ""}`;
    // Without a view only the list of runs is shown, which takes none.
    this.#page?.update(/** @type {View} */ (this.view));
  }

  /**
   * Have the address name the run that is open, and a range that it has.
   * @param {RunModel} model
   * @param {Part} span
   */
  #settle(model, span) {
    const { route } = this;
    if (this.#pinned && route.run !== model.runId) return; // the run that it names is on its way
    const named = this.#pinned || !this.feed.served ? {} : { run: model.runId };
    const fits = overlaps(route.choice, span);
    const shown = model.judged ? "what was judged is shown" : "the whole run is shown";
    if (!fits) this.say(`The range of the address lies outside of this run; ${shown}.`);
    if (route.refused) this.say(`The range “${route.refused}” of the address cannot be read; ${shown}.`);
    this.route = { ...route, ...named, ...(fits ? {} : { choice: JUDGED }), refused: "" };
    if (routeText(this.route) === routeText(route) && !route.refused) return;
    history.replaceState(null, "", routeText(this.route));
    this.bar.route();
  }

  /**
   * Leave the page that is shown for the one of that name, if it is another one, or was made for fewer series.
   * @param {string} name
   * @param {number} series
   */
  #turn(name, series) {
    const other = this.#shown !== name;
    if (!other && this.#series === series) return;
    this.#page?.release();
    this.#page = name ? this.#make() : null;
    this.place.replaceChildren(...(this.#page ? [this.#page.element] : []));
    if (other && this.#shown) beginAt(this.main);
    this.#shown = name;
    this.#series = series;
  }

  /** @returns {Page} */
  #make() {
    const { page, item } = this.route;
    if (page === "workers") return item ? new WorkerPage(this, item) : new WorkersPage(this);
    if (page === "computations") return item ? new ComputationPage(this, item) : new ComputationsPage(this);
    if (page === "pipeline") return new PipelinePage(this, item);
    if (page === "runs") return new RunsPage(this);
    if (page === "compare") return new ComparePage(this, item);
    return page === "aggregator" ? new AggregatorPage(this) : new OverviewPage(this);
  }

  /** @param {RunModel} model @param {Part} span */
  #viewOf(model, span) {
    const { choice, page, widthMs } = this.route;
    const range = resolve(choice, span, model.judged);
    return new View(this.feed.modelFor(model, range, page), range, span, { widthMs, history: model });
  }

  /** A view of the whole run. @param {View} view what is shown */
  #wholeOf(view) {
    if (view.range.whole && !this.route.widthMs) return view;
    return new View(view.history, { ...view.span, whole: true }, view.span);
  }

  /** Tell the reader something, for some seconds. @param {string} text */
  say(text) {
    setText(this.toast, text);
    show(this.toast, true);
    clearTimeout(this.#toastTimer);
    this.#toastTimer = setTimeout(() => show(this.toast, false), TOAST_MS);
  }
}

new App().start();

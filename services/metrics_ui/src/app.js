/** The page: which run, page and range the address names, and drawing them when something has changed. */

import { toggleAllTables } from "./charts/figure.js";
import { h, setText, show } from "./dom.js";
import { takeDrops } from "./drops.js";
import { Feed } from "./feed.js";
import { startKeys } from "./keys.js";
import { AggregatorPage } from "./pages/aggregator.js";
import { ComputationPage, ComputationsPage } from "./pages/computations.js";
import { OverviewPage } from "./pages/overview.js";
import { PipelinePage } from "./pages/pipeline.js";
import { RunsPage } from "./pages/runs.js";
import { WorkerPage, WorkersPage } from "./pages/workers.js";
import { Bar } from "./parts/bar.js";
import { helpDialog } from "./parts/help.js";
import { RangeBar } from "./parts/rangebar.js";
import { JUDGED, WHOLE, moved, newest, nextWidth, overlaps, resolve } from "./range.js";
import { readRoute, routeText } from "./router.js";
import { embeddedRun } from "./runfile.js";
import { onTheme, startTheme, toggleTheme } from "./theme.js";
import { View } from "./view.js";

const TOAST_MS = 6000;

/** What parts and pages are given: `feed`, `route`, `href`, `actions`, and the methods below. */
class App {
  feed = new Feed(() => this.draw());
  route = readRoute(location.hash);
  /** @type {View | null} what is shown */
  view = null;
  tables = false;
  actions = {
    brush: (from, to) => this.choose({ kind: "fixed", from, to }),
    whole: () => this.choose(WHOLE),
  };

  #page = null;
  #shown = "";
  #series = 0;
  #drawing = false;
  #toastTimer = 0;

  async start() {
    startTheme();
    this.#build();
    onTheme(() => this.draw());
    addEventListener("hashchange", () => this.#routed());
    document.addEventListener("visibilitychange", () => this.draw());
    startKeys(document, this.#keys());
    takeDrops((file) => this.openFile(file));
    await this.feed.start(await embeddedRun(document), this.route.run);
    setInterval(() => this.feed.second(), 1000);
  }

  /** The address of a page, of this run with the range that is shown, or of another run. */
  href = (page, item = "", run = this.route.run) =>
    routeText({ ...this.route, ...(run === this.route.run ? {} : { choice: JUDGED, widthMs: 0 }), page, item, run });

  /** Show another range. @param {import("./range.js").Choice} choice */
  choose(choice) {
    this.#replace({ choice });
  }

  /** Show what is half a range's width earlier (-1) or later (1). */
  move(direction) {
    if (this.view) this.choose(moved(this.#range(), direction, this.view.span));
  }

  /** Follow the newest data, with as wide a range as is shown. */
  goLive() {
    if (this.view) this.choose(newest(this.#range()));
  }

  /** Wider bins (1) or narrower ones (-1); the narrowest are those that fit. */
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
      location.hash = routeText({ page: "overview", item: "", run, choice: JUDGED, widthMs: 0 });
      this.#say(`Opened ${run} from ${file.name}.`);
    } catch (error) {
      this.#say(error instanceof SyntaxError ? `${file.name} cannot be read.` : error.message);
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
    this.bar = new Bar(this);
    this.range = new RangeBar(this);
    this.dialog = helpDialog();
    this.notice = h("p.notice", { role: "status" });
    this.toast = h("p.toast", { role: "alert", hidden: true });
    this.heading = h("h1.hidden");
    this.place = h("div.place");
    this.main = h("main", { id: "main", tabindex: -1 }, this.heading, this.notice, this.place);
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

  /** The range as it is chosen: what is drawn may still be the one before. */
  #range() {
    return resolve(this.route.choice, this.view.span, this.feed.model.judged);
  }

  #replace(change) {
    this.route = { ...this.route, ...change };
    history.replaceState(null, "", routeText(this.route));
    this.bar.route();
    this.draw();
  }

  #routed() {
    this.route = readRoute(location.hash);
    this.bar.route();
    this.feed.want(this.route.run);
    if (this.route.page === "runs") this.feed.refresh();
    this.draw();
  }

  #draw() {
    const { feed, route } = this;
    const span = feed.model?.span() ?? null;
    const withoutRun = route.page === "runs";
    if (span && !overlaps(route.choice, span)) this.route = { ...route, choice: JUDGED }; // it was of another run
    this.view = span && this.#viewOf(span);
    this.bar.update();
    show(this.range.element, span !== null && !withoutRun);
    if (span && !withoutRun) this.range.update(this.view, this.#wholeOf(span));
    setText(this.notice, span || withoutRun ? "" : this.#missing());
    show(this.notice, !span && !withoutRun);
    const page = [route.page, route.item, withoutRun ? "" : feed.model?.runId].join("\u0000");
    this.#turn(span || withoutRun ? page : "", span && !withoutRun ? feed.model.series.size : 0);
    setText(this.heading, this.#page?.title ?? "Market Spread");
    document.title = `${this.heading.textContent}${feed.model ? ` – ${feed.model.title}` : ""}`;
    this.#page?.update(this.view);
  }

  /** Leave the page that is shown for the one of that name, if it is another one, or was made for fewer series. */
  #turn(name, series) {
    const other = this.#shown !== name;
    if (!other && this.#series === series) return;
    this.#page?.release();
    this.#page = name ? this.#make() : null;
    this.place.replaceChildren(...(this.#page ? [this.#page.element] : []));
    if (other && this.#shown) window.scrollTo(0, 0);
    this.#shown = name;
    this.#series = series;
  }

  #make() {
    const { page, item } = this.route;
    if (page === "workers") return item ? new WorkerPage(this, item) : new WorkersPage(this);
    if (page === "computations") return item ? new ComputationPage(this, item) : new ComputationsPage(this);
    if (page === "pipeline") return new PipelinePage(this, item);
    return new { overview: OverviewPage, runs: RunsPage, aggregator: AggregatorPage }[page](this);
  }

  #viewOf(span) {
    const range = resolve(this.route.choice, span, this.feed.model.judged);
    return new View(this.feed.modelFor(range), range, span, { widthMs: this.route.widthMs, history: this.feed.model });
  }

  #wholeOf(span) {
    return this.view.range.whole && !this.route.widthMs
      ? this.view
      : new View(this.feed.model, { ...span, whole: true }, span);
  }

  #missing() {
    const { failure, loading, model } = this.feed;
    if (failure) return `${failure[0].toUpperCase()}${failure.slice(1)}.`;
    if (model) return "The run has begun; nothing was pushed yet.";
    return loading ? "Loading the run…" : "No run yet. A run shows up here as soon as it pushes its first figures.";
  }

  #say(text) {
    setText(this.toast, text);
    show(this.toast, true);
    clearTimeout(this.#toastTimer);
    this.#toastTimer = setTimeout(() => show(this.toast, false), TOAST_MS);
  }
}

new App().start();

/** Where runs come from: the aggregator, live or finished, or files. It holds the run that is open. */

import { LiveStream } from "./live.js";
import { RunModel } from "./model.js";
import { BINS, fetchData, fetchDocuments, fetchFine, firstQuery, pageQuery, rangeQuery, sideQuery } from "./rundata.js";
import { runInText } from "./runfile.js";
import { END_TO_END } from "./steps.js";

/** @import {LinkState} from "./live.js" */
/** @import {Range} from "./range.js" */
/** @import {Documents, RunData, RunHead, TickData} from "./types.js" */

/** How often the list of runs is asked for: while there is none to show, one that has ended, a live one. */
const RUNS_EVERY_MS = { none: 1000, ended: 10_000, live: 30_000 };
const SILENT_MS = 1500;
const FINE_ENOUGH_MS = 1500;

export class Feed {
  /** @type {RunModel | null} the run that is open */
  model = null;
  /** @type {RunHead[]} as /api/v1/runs has them, those out of files first */
  runs = [];
  /** @type {{state: LinkState, retryMs: number}} */
  link = { state: "connecting", retryMs: 0 };
  loading = true;
  /** Why there is nothing to show; empty if there is, or may come. */
  failure = "";
  /** Whether the aggregator answered when it was last asked. */
  reached = true;
  /** Whether there is an aggregator: not if this page is an exported file. */
  served = true;
  fromFile = false;
  /** Whether finer intervals of what is looked at are on their way. */
  refining = false;

  /** @type {Map<string, {data: RunData, head: RunHead}>} */
  #files = new Map();
  /** @type {RunHead[]} */
  #known = [];
  #wanted = "";
  #opening = "";
  /** @type {LiveStream | null} */
  #stream = null;
  #heardAt = 0;
  /** @type {{model: RunModel, range: Range, tick: number, fine: string} | null} of a part of the run */
  #detail = null;
  #asked = "";
  /** What the open run was asked for; empty for all of it. */
  #held = "";
  /** @type {{query: string, heard: TickData[]} | null} what takes its place, and what was new since it was asked for */
  #coming = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #changed;

  /** @param {() => void} changed called after everything that may have to be drawn */
  constructor(changed) {
    this.#changed = changed;
  }

  /**
   * Begin with the run inside the page, or with those of the aggregator.
   * @param {RunData | null} embedded
   * @param {string} runId
   */
  async start(embedded, runId) {
    this.served = embedded === null;
    this.#wanted = runId;
    if (embedded) this.#takeFile(embedded);
    else await this.#watchRuns();
  }

  /** Ask for the list of runs now. */
  refresh() {
    if (this.served) this.#watchRuns();
  }

  /** Open that run; the newest if it is empty. @param {string} runId */
  want(runId) {
    this.#wanted = runId;
    const id = runId || this.runs[0]?.run_id;
    if (id && id !== this.model?.runId && id !== this.#opening) this.#open(id);
  }

  /**
   * Open a run out of a file's text.
   * @param {string} text
   * @returns {Promise<string>} its id; Error with a sentence if there is none
   */
  async openText(text) {
    const data = await runInText(text);
    this.#takeFile(data);
    return data.run_id;
  }

  /** Once a second: time goes on for a live run also while nothing comes. */
  second() {
    const passed = performance.now() - this.#heardAt;
    if (!this.model?.live || this.fromFile || this.link.state !== "open" || passed < SILENT_MS) return;
    this.model.nowMs += passed;
    this.#heardAt = performance.now();
    this.#changed();
  }

  /**
   * The run's data for a range: the aggregator's finer intervals of it, once they are here.
   * @param {RunModel} model the run that is open
   * @param {Range} range
   * @param {string} [page] that shows it
   * @returns {RunModel}
   */
  modelFor(model, range, page = "") {
    const fine = page === "overview" ? END_TO_END.name : ""; // it draws no other histogram over time
    if (model.live) this.#complete(model, pageQuery(fine));
    const held = this.#detailOf(model, range, fine) ?? model;
    const needed = Math.max(FINE_ENOUGH_MS, (2 * (range.to - range.from)) / BINS);
    const isHeldWhole = range.whole && (model.live || this.#firstOf(model.runId) === "");
    if (this.served && !this.fromFile && !isHeldWhole && held.coarseness(range, fine) > needed) {
      this.#refine(model, range, fine);
    }
    return held;
  }

  /**
   * What was fetched beside the run, if it is of that range.
   * @param {RunModel} model
   * @param {Range} range
   * @param {string} fine
   */
  #detailOf(model, range, fine) {
    const detail = this.#detail;
    if (!detail || detail.tick !== model.tick || (detail.fine !== "" && detail.fine !== fine)) return null;
    if (detail.range.from > range.from || detail.range.to < range.to) return null;
    return Object.assign(detail.model, { sources: model.sources, nowMs: model.nowMs, aggregator: model.aggregator });
  }

  /**
   * A run and its documents, beside the one that is open; of its histograms only the latency has intervals. Error with a
   * sentence if there is none.
   * @param {string} runId
   * @param {boolean} [coarse] whether few intervals of the latency will do; else there are as many as are drawn
   * @returns {Promise<{model: RunModel, documents: Documents}>}
   */
  async load(runId, coarse = false) {
    const file = this.#files.get(runId);
    if (file) return { model: new RunModel(file.data), documents: {} };
    const [data, documents] = await Promise.all([fetchData(runId, sideQuery(coarse)), fetchDocuments(runId)]);
    return { model: new RunModel(data), documents };
  }

  async #watchRuns() {
    clearTimeout(this.#timer);
    try {
      const answer = await fetch("api/v1/runs", { cache: "no-store" });
      if (!answer.ok) throw new Error(`it answered ${answer.status}`);
      this.#known = (await answer.json()).runs;
      this.#list();
      this.reached = true;
      if (this.runs.length === 0) Object.assign(this, { loading: false, failure: "" });
      this.want(this.#wanted);
      this.#comeBack();
    } catch (error) {
      this.reached = false;
      if (!this.model) this.failure = `the aggregator does not answer (${messageOf(error)})`;
    }
    this.#changed();
    const state = this.model ? (this.model.live ? "live" : "ended") : "none";
    this.#timer = setTimeout(() => this.#watchRuns(), RUNS_EVERY_MS[state]);
  }

  /** Follow the open run if it goes on after it was thought to have ended. */
  #comeBack() {
    const { model } = this;
    if (!model) return;
    const goesOn = this.#known.some(({ run_id: id, live }) => live && id === model.runId);
    if (goesOn && !model.live && !this.fromFile && this.#stream === null && this.#opening === "") {
      this.#open(model.runId);
    }
  }

  /** @param {string} runId */
  async #open(runId) {
    this.#leave();
    this.#opening = runId;
    const file = this.#files.get(runId);
    if (file) {
      this.#show(file.data, true);
      return;
    }
    try {
      const query = this.#firstOf(runId);
      const data = await fetchData(runId, query);
      if (this.#opening === runId) this.#show(data, false, query);
    } catch (error) {
      if (this.#opening !== runId) return;
      this.#opening = "";
      this.model = null;
      this.failure = messageOf(error);
      this.#changed();
    }
  }

  /** @param {RunData} data @param {boolean} fromFile @param {string} [held] what it was asked for */
  #show(data, fromFile, held = "") {
    this.model = new RunModel(fromFile ? { ...data, live: false } : data);
    this.fromFile = fromFile;
    this.loading = false;
    this.failure = "";
    this.#opening = "";
    this.refining = false;
    this.#detail = null;
    this.#asked = "";
    this.#held = held;
    this.#coming = null;
    this.#heardAt = performance.now();
    if (this.model.live && this.#stream === null) this.#follow(this.model.runId);
    this.#changed();
  }

  #leave() {
    this.#stream?.close();
    this.#stream = null;
    this.#coming = null;
  }

  /** @param {string} runId */
  #follow(runId) {
    const stream = new LiveStream({
      url: `api/v1/runs/${encodeURIComponent(runId)}/events`,
      lastId: () => this.model?.tick ?? 0,
      onEvent: (event) => this.#heard(event),
      onReset: async () => {
        const query = this.#firstOf(runId);
        const data = await fetchData(runId, query);
        if (this.#stream === stream) this.#show(data, false, query);
      },
      onState: (state, retryMs) => {
        this.link = { state, retryMs };
        this.#changed();
      },
    });
    this.#stream = stream;
    stream.start();
  }

  /** @param {TickData} event */
  #heard(event) {
    const { model } = this;
    if (!model) return;
    this.#coming?.heard.push(event);
    if (!model.apply(event)) {
      this.#open(model.runId); // the aggregator has begun anew
      return;
    }
    this.#heardAt = performance.now();
    if (!model.live && model.verdict) this.#leave();
    this.#changed();
  }

  /** What a run is asked for when it is opened. @param {string} runId */
  #firstOf(runId) {
    return firstQuery(this.#known.find(({ run_id: id }) => id === runId));
  }

  /**
   * Ask for what a page takes of a live run that was opened with less. What its stream tells meanwhile is in both.
   * @param {RunModel} model @param {string} query
   */
  #complete({ runId }, query) {
    if (["", query].includes(this.#held) || this.#coming?.query === query || this.fromFile) return;
    const coming = { query, heard: /** @type {TickData[]} */ ([]) };
    this.#coming = coming;
    this.refining = true;
    fetchFine(runId, query).then(
      (data) => {
        if (this.#coming !== coming || this.model?.runId !== runId) return;
        this.#show(data, false, query);
        for (const event of coming.heard) this.model.apply(event);
      },
      () => {
        if (this.#coming === coming) [this.#coming, this.refining] = [null, false]; // it is asked for again
      },
    );
  }

  /** @param {RunModel} model @param {Range} range @param {string} fine */
  #refine({ runId, tick, live }, range, fine) {
    const asked = `${runId} ${tick} ${range.from} ${range.to} ${fine}`;
    if (this.#asked === asked) return;
    this.#asked = asked;
    this.refining = true;
    fetchFine(runId, rangeQuery(range, fine)).then(
      (data) => {
        if (this.model?.runId !== runId || this.#asked !== asked) return;
        this.#detail = { model: new RunModel({ ...data, live }), range, tick, fine };
        this.#refined();
      },
      () => this.#asked === asked && this.#refined(), // what there is stays shown
    );
  }

  #refined() {
    this.refining = false;
    this.#changed();
  }

  /** @param {RunData} data */
  #takeFile(data) {
    const { runId, title, phase, verdict, outcome } = new RunModel(data); // refused before anything is left
    /** @type {RunHead} */
    const head = {
      run_id: runId,
      title,
      phase,
      verdict,
      outcome,
      live: false,
      file: true,
      begin_unix_ms: data.range?.from_unix_ms,
      end_unix_ms: data.range?.to_unix_ms,
    };
    this.#files.set(runId, { data, head });
    this.#list();
    this.#leave();
    this.#wanted = data.run_id;
    this.#show(data, true);
  }

  /** Runs of files and of the aggregator, as one list. */
  #list() {
    this.runs = [
      ...[...this.#files.values()].map(({ head }) => head),
      ...this.#known.filter(({ run_id: id }) => !this.#files.has(id)),
    ];
  }
}

/** What an error says. @param {unknown} error */
export function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/** The pinned run: what others are compared with. The address names it; without one there, what this browser last pinned. */

import { JUDGED, resolve } from "./range.js";
import { View } from "./view.js";

/** @import {Feed} from "./feed.js" */
/** @import {RunModel} from "./model.js" */

const KEY = "market-spread-pinned";

export class Pin {
  /** The run's id; empty without one. */
  id = "";
  /** @type {View | null} what was judged of it, or all of a run without a verdict; null until it is loaded */
  view = null;
  /** Whether it is not known, or has nothing to compare with. */
  missing = false;

  #feed;
  #changed;

  /**
   * @param {Feed} feed
   * @param {() => void} changed called when the run is loaded, or cannot be
   */
  constructor(feed, changed) {
    this.#feed = feed;
    this.#changed = changed;
  }

  /** Pin another run, and remember it; none if the id is empty. @param {string} id */
  set(id) {
    remember(id);
    this.#follow(id);
  }

  /**
   * Compare with the run that the address names, else with the one that was pinned last.
   * @param {string} [named]
   * @returns {string} that run; empty without one
   */
  take(named) {
    this.#follow(named || stored());
    return this.id;
  }

  /** @param {string} id */
  #follow(id) {
    if (id === this.id) return;
    Object.assign(this, { id, view: null, missing: false });
    if (id) this.#load(id);
  }

  /** @param {string} id */
  async #load(id) {
    const model = await this.#feed.load(id, true).then(
      (loaded) => loaded.model,
      () => null,
    );
    if (this.id !== id) return;
    this.view = model && judgedView(model);
    this.missing = this.view === null;
    this.#changed();
  }
}

/** What was judged, or all of a run without a verdict; null if there is nothing. @param {RunModel} model */
export function judgedView(model) {
  const span = model.span();
  return span && new View(model, resolve(JUDGED, span, model.judged), span);
}

// A file's page may have no storage: then the pin lasts as long as the address has it.
function stored() {
  try {
    return localStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

/** @param {string} id */
function remember(id) {
  try {
    if (id) localStorage.setItem(KEY, id);
    else localStorage.removeItem(KEY);
  } catch {
    // the address has it
  }
}

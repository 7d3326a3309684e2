/**
 * The live stream of one run. It goes on where it broke off (Last-Event-ID), waits longer and longer between attempts,
 * and says in which state it is. `fetch` instead of EventSource, because that cannot begin after a given event.
 */

import { eventReader } from "./stream.js";

/** @import {TickData} from "./types.js" */
/** @typedef {"connecting" | "open" | "waiting" | "closed"} LinkState */

const BACKOFF_MS = [500, 1000, 2000, 5000, 10_000];
/** The server pings after 15 s of silence; after this the connection is taken for dead. */
const DEAD_MS = 35_000;

export class LiveStream {
  /** @type {AbortController | null} */
  #aborter = null;
  #failures = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #watchdog;
  #closed = false;

  /**
   * @param {{url: string, lastId: () => number, onEvent: (event: TickData) => void, onReset: () => Promise<void>,
   *          onState: (state: LinkState, retryMs: number) => void}} given
   *   lastId: the newest tick that is known; onReset: everything must be loaded again, then the stream goes on.
   */
  constructor(given) {
    this.given = given;
  }

  /** Connect, and stay connected until `close`. */
  start() {
    if (this.#closed) return;
    this.given.onState("connecting", 0);
    this.#read().then(
      () => this.#again(),
      () => this.#again(),
    );
  }

  /** End it; nothing is called after this. */
  close() {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#watchdog);
    this.#aborter?.abort();
  }

  async #read() {
    const aborter = new AbortController();
    this.#aborter = aborter;
    this.#alive();
    const headers = { accept: "text/event-stream", "last-event-id": String(this.given.lastId()) };
    const answer = await fetch(this.given.url, { headers, cache: "no-store", signal: aborter.signal });
    if (!answer.ok || !answer.body) throw new Error(`the stream answered ${answer.status}`);
    if (this.#closed) return;
    this.#failures = 0;
    this.given.onState("open", 0);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    const parse = eventReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done || this.#closed) return;
      this.#alive();
      for (const event of parse(value)) {
        if (event.event === "reset") {
          aborter.abort();
          await this.given.onReset();
          return;
        }
        if (event.event === "data") this.given.onEvent(JSON.parse(event.data));
      }
    }
  }

  #alive() {
    clearTimeout(this.#watchdog);
    this.#watchdog = setTimeout(() => this.#aborter?.abort(), DEAD_MS);
  }

  #again() {
    clearTimeout(this.#watchdog);
    if (this.#closed) return;
    const waitMs = BACKOFF_MS[Math.min(this.#failures, BACKOFF_MS.length - 1)];
    this.#failures += 1;
    this.given.onState("waiting", waitMs);
    this.#timer = setTimeout(() => this.start(), waitMs);
  }
}

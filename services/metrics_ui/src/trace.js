/**
 * Orders and events as a trace that ui.perfetto.dev and chrome://tracing open: the JSON of the Trace Event Format, complete
 * events (`X`) with times in microseconds. An order is a thread of the process "orders", a kind of event one of "events".
 */

import { lanesOf, segmentsOf } from "./causes.js";

/** @import {Lane} from "./causes.js" */
/** @import {EventData, OrderData} from "./types.js" */

/** @typedef {{name: string, ph: "X" | "M", pid: number, tid: number, ts?: number, dur?: number, cat?: string,
 *             args: Record<string, unknown>}} TraceEvent */

const ORDERS = 1;
const EVENTS = 2;

/**
 * The trace. Times are from the begin of the run on, as the pages have them.
 * @param {{runId: string, beginMs: number, orders: OrderData[], events: EventData[], say?: (text: string) => string}} given
 *   say: a text in the words of the run
 * @returns {{displayTimeUnit: "ms", otherData: Record<string, string>, traceEvents: TraceEvent[]}}
 */
export function traceOf({ runId, beginMs, orders, events, say = (text) => text }) {
  const lanes = lanesOf(events).flatMap((lane) => apart(lane, beginMs));
  return {
    displayTimeUnit: "ms",
    otherData: { run_id: runId, begin_unix_ms: String(beginMs) },
    traceEvents: [
      ...named(
        ORDERS,
        say("slowest orders"),
        orders.map(({ order_id: id, symbol }) => `${say(`order ${id}`)} ${symbol ?? ""}`.trim()),
      ),
      ...named(
        EVENTS,
        "events",
        lanes.map(({ title }) => title),
      ),
      ...orders.flatMap((order, at) =>
        stagesOf(order, beginMs * 1000).map(({ title, ts, dur }) =>
          complete(title, "stage", ORDERS, at + 1, ts, dur, { order_id: order.order_id }),
        ),
      ),
      ...lanes.flatMap(({ kind, events: of }, at) =>
        of.map(({ text, begin_unix_ms: from, duration_ms: length }) =>
          complete(text, kind, EVENTS, at + 1, (from - beginMs) * 1000, length * 1000, {}),
        ),
      ),
    ],
  };
}

/**
 * A lane as one or more, in none of which an event begins before another one has ended: of a thread's events that overlap
 * a reader of the format drops some.
 * @param {Lane} lane
 * @param {number} beginMs
 * @returns {Lane[]}
 */
function apart({ kind, title, events }, beginMs) {
  /** @type {(Lane & {endUs: number})[]} */
  const rows = [];
  for (const event of [...events].sort((one, other) => one.begin_unix_ms - other.begin_unix_ms)) {
    const { begin_unix_ms: from, duration_ms: length } = event;
    const ts = Math.round((from - beginMs) * 1000);
    let row = rows.find(({ endUs }) => endUs <= ts);
    if (!row) {
      row = { kind, title: rows.length > 0 ? `${title} ${rows.length + 1}` : title, events: [], endUs: -Infinity };
      rows.push(row);
    }
    row.events.push(event);
    row.endUs = ts + atLeastOne(length * 1000);
  }
  return rows;
}

/**
 * An order's stages from the begin of the run on, us, none of which begins before the one before has ended: one that took
 * no time has the format's least, and clocks of several hosts may disagree.
 * @param {OrderData} order
 * @param {number} beginUs
 */
function stagesOf(order, beginUs) {
  let endUs = -Infinity;
  return segmentsOf(order).map(({ title, fromUs, toUs }) => {
    const ts = Math.max(Math.round(fromUs - beginUs), endUs);
    const dur = atLeastOne(toUs - beginUs - ts);
    endUs = ts + dur;
    return { title, ts, dur };
  });
}

/** @param {number} us */
function atLeastOne(us) {
  return Math.max(1, Math.round(us));
}

/** @param {number} pid @param {string} name @param {string[]} threads @returns {TraceEvent[]} */
function named(pid, name, threads) {
  if (threads.length === 0) return [];
  return [
    { name: "process_name", ph: "M", pid, tid: 0, args: { name } },
    ...threads.flatMap((title, at) => [
      /** @type {TraceEvent} */ ({ name: "thread_name", ph: "M", pid, tid: at + 1, args: { name: title } }),
      /** @type {TraceEvent} */ ({ name: "thread_sort_index", ph: "M", pid, tid: at + 1, args: { sort_index: at } }),
    ]),
  ];
}

/**
 * @param {string} name
 * @param {string} cat
 * @param {number} pid
 * @param {number} tid
 * @param {number} ts
 * @param {number} dur
 * @param {Record<string, unknown>} args
 * @returns {TraceEvent}
 */
function complete(name, cat, pid, tid, ts, dur, args) {
  return { name, ph: "X", cat, pid, tid, ts: Math.round(ts), dur: atLeastOne(dur), args };
}

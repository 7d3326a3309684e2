/**
 * What the run controller says of the slowest orders of a result: what they met, the worst seconds, some of the orders
 * with their stamps, and the events of the run. Plain data in, plain data out. Times are Unix milliseconds, stamps us.
 */

import { counted, latency, share } from "./format.js";
import { STAGES } from "./steps.js";

/** @import {CauseData, CausesData, EventData, OrderData, Part, ResultData, SecondData} from "./types.js" */

/** @typedef {{stage: string, title: string, fromUs: number, toUs: number}} Segment  stage: empty where several are one. */
/** @typedef {{kind: string, title: string, events: EventData[]}} Lane */
/** @typedef {{title: string, stage: string, us: number, share: number}} StagePart */

const AROUND_MS = 2000;
const SECOND_MS = 1000;
/** @type {Record<string, string>} */
const LANES = {
  boundary: "boundaries",
  restart: "restarts",
  fault: "faults",
  gc: "GC",
  safepoint: "safepoints",
  broker: "broker",
  machine: "machine",
  sender: "sender late",
  receiver: "receiver",
  pressure: "pressure",
};

/**
 * Why there are no causes, in a sentence; empty if there are.
 * @param {{live: boolean, result: ResultData | null}} run
 */
export function whyNone({ live, result }) {
  if (result?.causes) return "";
  if (live) return "What the slowest orders met is worked out when the run has ended.";
  if (result?.causes === null) return "No alert was timed, so there is nothing to explain.";
  return "The version that judged this run did not look for causes.";
}

/**
 * What a cause did, as a line: its share of the tail, and where its orders spent their time.
 * @param {CauseData} cause
 */
export function causeText({ text, share: part, stage_shares: stages }) {
  const spent = Object.entries(stages)
    .filter(([, of]) => of >= 0.1)
    .sort(([, one], [, other]) => other - one)
    .map(([stage, of]) => `${titleOf(stage).toLowerCase()} ${share(of)}`);
  return `${share(part)} met ${text}${spent.length > 0 ? `; of their time ${spent.join(", ")}` : ""}`;
}

/** What is left of the tail, as a line; empty if next to nothing is. @param {CausesData} causes */
export function unexplainedText({ found, unexplained_share: part }) {
  return found.length > 0 && part >= 0.005 ? `${share(part)} met nothing that is known` : "";
}

/** How long the slowest are, as a line. @param {CausesData} causes */
export function tailText({ tail }) {
  const least = latency(tail.least_ns / 1000);
  const without = tail.else_p99_ns === null ? "" : `; p99 of the others ${latency(tail.else_p99_ns / 1000)}`;
  return `The slowest: ${counted(tail.orders, "order")} of ${least} or more${without}.`;
}

/** A worst second with what is around it. @param {SecondData} second @returns {Part} */
export function around({ begin_unix_ms: begin }) {
  return { from: begin - AROUND_MS, to: begin + SECOND_MS + AROUND_MS };
}

/** The second that a moment is in, with what is around it. @param {number} ms @returns {Part} */
export function aroundMoment(ms) {
  return around({ begin_unix_ms: Math.floor(ms / SECOND_MS) * SECOND_MS, max_ns: 0, orders: 0, kind: null, text: "" });
}

/** Which of the worst seconds is chosen; -1 if none is. @param {SecondData[]} seconds @param {Part | null} chosen */
export function chosenSecond(seconds, chosen) {
  if (!chosen) return -1;
  return seconds.findIndex((second) => {
    const { from, to } = around(second);
    return Math.abs(from - chosen.from) < 1 && Math.abs(to - chosen.to) < 1;
  });
}

/**
 * The next worse second (-1) or the next less bad one (1) after the chosen one; the worst if none is chosen.
 * @param {SecondData[]} seconds worst first
 * @param {Part | null} chosen
 * @param {number} direction
 * @returns {SecondData | null} null if there is none
 */
export function nextSecond(seconds, chosen, direction) {
  const at = chosenSecond(seconds, chosen);
  if (at < 0) return seconds[0] ?? null;
  return seconds[Math.max(0, Math.min(seconds.length - 1, at + direction))];
}

/** Events that touch the range. @param {EventData[]} events @param {Part} range */
export function eventsIn(events, { from, to }) {
  return events.filter(({ begin_unix_ms: at, duration_ms: length }) => at < to && at + length >= from);
}

/**
 * The events by kind, a lane each: those that are known to the page in its order, then the others.
 * @param {EventData[]} events
 * @returns {Lane[]}
 */
export function lanesOf(events) {
  const kinds = [...Object.keys(LANES), ...events.map(({ kind }) => kind)];
  return [...new Set(kinds)]
    .map((kind) => ({
      kind,
      title: LANES[kind] ?? kind.replaceAll("_", " "),
      events: events.filter((event) => event.kind === kind),
    }))
    .filter(({ events: of }) => of.length > 0);
}

/** The event of a lane that is at a moment, or nearest to it within so many ms. @param {Lane} lane @param {number} ms @param {number} withinMs */
export function eventAt({ events }, ms, withinMs) {
  /** @param {EventData} event */
  const away = ({ begin_unix_ms: from, duration_ms: length }) => Math.max(from - ms, ms - from - length, 0);
  const nearest = events.reduce(
    (found, event) => (found === null || away(event) < away(found) ? event : found),
    /** @type {EventData | null} */ (null),
  );
  return nearest && away(nearest) <= withinMs ? nearest : null;
}

/** From intended to received; null while one of them is not known. @param {OrderData} order */
export function orderLatencyUs({ intended_unix_us: due, received_unix_us: got }) {
  return due === null || got === null ? null : got - due;
}

/**
 * Orders that were on their way in the range, slowest first.
 * @param {OrderData[]} orders
 * @param {Part} range
 */
export function ordersIn(orders, { from, to }) {
  return orders
    .filter(({ intended_unix_us: due, received_unix_us: got }) => {
      return due !== null && got !== null && due / 1000 < to && got / 1000 >= from;
    })
    .sort((one, other) => (orderLatencyUs(other) ?? 0) - (orderLatencyUs(one) ?? 0));
}

/**
 * An order's way, stage by stage. Stages between which a stamp is not known are one.
 * @param {OrderData} order
 * @returns {Segment[]}
 */
export function segmentsOf(order) {
  const stamps = [
    order.intended_unix_us,
    order.sent_unix_us,
    order.ingested_unix_us,
    order.emitted_unix_us,
    order.received_unix_us,
  ];
  /** @type {Segment[]} */
  const segments = [];
  let [first, fromUs] = [-1, 0];
  stamps.forEach((us, at) => {
    if (us === null || us === undefined) return;
    if (first >= 0) {
      const passed = STAGES.slice(first, at);
      segments.push({
        stage: passed.length === 1 ? passed[0].stage : "",
        title: passed.map(({ title }) => title).join(" + "),
        fromUs,
        toUs: Math.max(fromUs, us),
      });
    }
    [first, fromUs] = [at, us];
  });
  return segments;
}

/**
 * The mean time of orders by stage, in the order of the stages.
 * @param {OrderData[]} orders
 * @returns {StagePart[]}
 */
export function meanStages(orders) {
  /** @type {Map<string, {title: string, stage: string, us: number}>} */
  const sums = new Map();
  for (const { stage, title, fromUs, toUs } of orders.flatMap(segmentsOf)) {
    const known = sums.get(title) ?? { title, stage, us: 0 };
    sums.set(title, { ...known, us: known.us + (toUs - fromUs) / orders.length });
  }
  const total = [...sums.values()].reduce((sum, { us }) => sum + us, 0);
  return [...sums.values()].map((each) => ({ ...each, share: total > 0 ? each.us / total : 0 }));
}

/** A stage's title. @param {string} stage */
function titleOf(stage) {
  return STAGES.find((each) => each.stage === stage)?.title ?? stage.replaceAll("_", " ");
}

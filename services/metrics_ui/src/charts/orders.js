/** Single orders as a waterfall: a row each, a bar for each stage from the moment it was due to its receipt. */

import { orderLatencyUs, segmentsOf } from "../causes.js";
import { h } from "../dom.js";
import { elapsed, latency } from "../format.js";
import { STAGES } from "../steps.js";

/** @import {Segment} from "../causes.js" */
/** @import {OrderData} from "../types.js" */

/** The colour of a stage; one that is several has that of no stage. @type {Record<string, string>} */
export const STAGE_COLOURS = {
  send_lag: "--stage-1",
  ingest: "--stage-2",
  compute: "--stage-3",
  delivery: "--stage-4",
};

/**
 * The rows of a table of orders.
 * @param {OrderData[]} orders slowest first
 * @param {number} beginMs of the run
 */
export function orderRows(orders, beginMs) {
  const longest = Math.max(1, ...orders.map((order) => orderLatencyUs(order) ?? 0));
  return orders.map((order) => {
    const segments = segmentsOf(order);
    const due = order.intended_unix_us ?? 0;
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, String(order.order_id), h("span.sub", {}, ` ${order.symbol ?? ""}`)),
      h("td.number", {}, elapsed((due / 1000 - beginMs) / 1000, 3)),
      h("td.number", {}, latency(orderLatencyUs(order))),
      h(
        "td.bars",
        { "aria-hidden": "true" },
        segments.map((segment) => bar(segment, due, longest)),
      ),
      ...STAGES.map(({ stage }) => h("td.number", {}, stageTime(segments, stage))),
    );
  });
}

/** @param {Segment} segment @param {number} dueUs @param {number} longestUs */
function bar({ stage, title, fromUs, toUs }, dueUs, longestUs) {
  const element = h("span.bar", { title: `${title}: ${latency(toUs - fromUs)}` });
  element.style.setProperty("--from", String((fromUs - dueUs) / longestUs));
  element.style.setProperty("--part", String((toUs - fromUs) / longestUs));
  element.style.setProperty("--colour", `var(${STAGE_COLOURS[stage] ?? "--mark"})`);
  return element;
}

/** @param {Segment[]} segments @param {string} stage */
function stageTime(segments, stage) {
  const found = segments.find((segment) => segment.stage === stage);
  return latency(found ? found.toUs - found.fromUs : null);
}

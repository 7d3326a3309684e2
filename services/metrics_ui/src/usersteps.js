/** The steps of a user's pipeline, each with the stage that it is timed in, and the rates that are known. */

import { outputRate } from "./partitions.js";
import { PARTITION_LATENCY, RECORDS, SENT } from "./steps.js";

/** @import {View} from "./view.js" */

/** Which stage a line of the description is timed in, by its first word. */
const TIMED_IN = [
  { kind: "source", id: "ingest", title: "Broker and read" },
  { kind: "sink", id: "deliver", title: "Sink and delivery" },
  { kind: "", id: "compute", title: "Computation" },
];

/**
 * @param {View} view
 * @returns {{text: string, id: string, title: string, into: number | null, out: number | null}[]} rates: null if unknown
 */
export function userSteps(view) {
  const lines = (view.history.system?.steps ?? []).map((line) => line.trim()).filter(Boolean);
  const sources = lines.filter((line) => line.startsWith("source "));
  return lines.map((line) => {
    const { kind, id, title } = TIMED_IN.find((each) => line.startsWith(each.kind && `${each.kind} `)) ?? TIMED_IN[2];
    const name = line.slice(kind.length + 1).split(":")[0];
    const rates = { into: /** @type {number | null} */ (null), out: /** @type {number | null} */ (null) };
    if (kind === "source") {
      rates.into = view.rate({ name: SENT.name, labels: { topic: topicOf(view, SENT.name, "topic", name) } });
      rates.out = sources.length === 1 ? view.rate(RECORDS) : null;
    } else if (kind === "sink") {
      rates.out = outputRate(view, {
        name: PARTITION_LATENCY.name,
        labels: { output: topicOf(view, PARTITION_LATENCY.name, "output", name) },
      });
    }
    return { text: kind ? `${kind} ${name}` : line.split("; keeps ")[0], id, title, ...rates };
  });
}

/** The topic of that name, or with the prefix of the run before it. @param {View} view @param {string} metric @param {string} label @param {string} name */
function topicOf(view, metric, label, name) {
  const topics = view.model.find(metric).map(({ labels }) => labels[label]);
  return topics.find((topic) => topic === name) ?? topics.find((topic) => topic.endsWith(name)) ?? name;
}

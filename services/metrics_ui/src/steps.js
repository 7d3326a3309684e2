/** The drill-down, pipeline to worker to computation: which series say what of each step. */

import { inWordsOf } from "./words.js";

/** @import {RunModel} from "./model.js" */
/** @import {Labels} from "./types.js" */
/** @import {Selector} from "./view.js" */

const PREFIX = "market_spread_";
const MEASURED = { phase: "measured" };

/**
 * A selector by the metric's name without prefix.
 * @param {string} name
 * @param {Labels} [labels]
 * @returns {Selector}
 */
export function metric(name, labels) {
  return labels === undefined ? { name: PREFIX + name } : { name: PREFIX + name, labels };
}

export const END_TO_END = metric("receiver_end_to_end_seconds", MEASURED);
export const SERVICE = metric("receiver_service_seconds", MEASURED);
export const SEND_LAG = metric("sender_send_lag_seconds");
export const SENT = metric("sender_messages_sent_total");
export const DUE = metric("sender_messages_due_total");
export const FAILED = metric("sender_messages_failed_total");
export const RECORDS = metric("job_records_read_total");
export const PROCESSED = metric("job_messages_processed_total");
export const COMMITTED = metric("job_messages_committed_total");
export const ALERTS = metric("receiver_alerts_total");
export const PARTITION_LATENCY = metric("receiver_partition_end_to_end_seconds");
export const PARTITION_COMMITTED = metric("job_partition_committed_total");
export const CPU = metric("process_cpu_seconds_total");
export const MEMORY = metric("process_memory_bytes");

/** The stages in the order in which an order passes them; their sums add up to that of end-to-end. */
export const STAGES = [
  { stage: "send_lag", id: "send", title: "Send lag", from: "intended", to: "sent" },
  { stage: "ingest", id: "ingest", title: "Broker and read", from: "sent", to: "read by Spark" },
  { stage: "compute", id: "compute", title: "Computation", from: "read by Spark", to: "emitted" },
  { stage: "delivery", id: "deliver", title: "Sink and delivery", from: "emitted", to: "received" },
];

/** @typedef {{title: string, of: Selector, unit: string}} Throughput */
/** @typedef {{level: string, id: string, title: string, about: string, latency: Selector | null, over: Selector[],
 *             throughput: Throughput[], workers: string, aboutSystem?: string}} Step
 *  latency: what the figures are of; over: what is drawn over time (warm-up too); workers: prefix of the sources;
 *  aboutSystem: what it is about where the system is not ours. */
/** @typedef {Step & {latency: Selector}} TimedStep  One that has a latency: all but some workers. */

const OFFERED = { title: "offered", of: SENT, unit: "messages/s" };
const DONE = { title: "processed", of: PROCESSED, unit: "messages/s" };
const READ = { title: "records read", of: RECORDS, unit: "records/s" };
const ALERTED = { title: "alerts", of: ALERTS, unit: "alerts/s" };

/** @type {TimedStep[]} */
export const PIPELINES = [
  {
    level: "pipeline",
    id: "market_spread",
    title: "Intended send to receipt",
    about: "From the moment an order was due by the schedule to the receipt of its alert.",
    latency: END_TO_END,
    over: [metric("receiver_end_to_end_seconds")],
    throughput: [OFFERED, DONE, ALERTED],
    workers: "receiver",
  },
  {
    level: "pipeline",
    id: "service",
    title: "Actual send to receipt",
    about: "From the moment an order was sent to the receipt of its alert; the sender's lateness is not in it.",
    latency: SERVICE,
    over: [metric("receiver_service_seconds")],
    throughput: [OFFERED, DONE, ALERTED],
    workers: "receiver",
  },
];

/** @type {TimedStep[]} */
export const COMPUTATIONS = [
  {
    level: "computation",
    id: "send",
    title: "Send lag, orders with an alert",
    about: "From the intended to the actual send of the orders that had an alert. It holds the wait in the frame.",
    aboutSystem:
      "From the intended to the actual send of the messages that had an output. It holds the wait for the others.",
    ...stage("send_lag"),
    throughput: [OFFERED],
    workers: "sender",
  },
  {
    level: "computation",
    id: "send_all",
    title: "Send lag, all messages",
    about: "From the intended to the actual send of every message, as the sender saw it.",
    latency: SEND_LAG,
    over: [SEND_LAG],
    throughput: [OFFERED],
    workers: "sender",
  },
  {
    level: "computation",
    id: "ingest",
    title: "Broker and read",
    about: "From the send of a frame to the moment Spark reads it: the broker, and the wait for the next read.",
    aboutSystem:
      "From the send of a message to the moment the system reads it, as the output's header read_us says. Without that " +
      "header it is 0.",
    ...stage("ingest"),
    throughput: [READ],
    workers: "job",
  },
  {
    level: "computation",
    id: "compute",
    title: "Computation",
    about: "From Spark's read to the moment the alert is emitted: frame opened, quote found, order judged.",
    aboutSystem:
      "From the system's read to the moment the output is emitted, as its headers say. Without them it is all from the " +
      "send to the broker's append.",
    ...stage("compute"),
    throughput: [DONE],
    workers: "job",
  },
  {
    level: "computation",
    id: "deliver",
    title: "Sink and delivery",
    about: "From the emission of an alert to its receipt: Kafka's producer, the broker, the receiver's poll.",
    aboutSystem: "From the emission of an output, or its append by the broker, to its receipt.",
    ...stage("delivery"),
    throughput: [ALERTED],
    workers: "receiver",
  },
];

/** @param {string} name */
function stage(name) {
  return {
    latency: metric("receiver_stage_seconds", { ...MEASURED, stage: name }),
    over: [metric("receiver_stage_seconds", { stage: name })],
  };
}

/** The selector of a stage's measured latency. @param {string} name */
export function stageLatency(name) {
  return stage(name).latency;
}

/** The sources of a run, by name, each once. @param {RunModel} model @returns {string[]} */
export function workers(model) {
  const pushed = [...model.series.values()].map(({ labels }) => labels.source);
  return [...new Set([...pushed, ...model.sources.map(({ source }) => source)])].filter(Boolean).sort();
}

/**
 * Steps in the words of the run.
 * @template {Step} T
 * @param {RunModel} model
 * @param {T[]} steps
 * @returns {T[]}
 */
export function stepsOf(model, steps) {
  if (!model.system) return steps;
  return steps.map((step) => ({
    ...step,
    title: inWordsOf(model, step.title),
    about: step.aboutSystem ?? inWordsOf(model, step.about),
    throughput: throughputOf(model, step.throughput),
  }));
}

/** @param {RunModel} model @param {Throughput[]} throughput @returns {Throughput[]} */
function throughputOf(model, throughput) {
  return throughput
    .filter(({ of }) => !model.system || model.system.kind === "pipeline" || of !== RECORDS) // nobody else counts reads
    .map(({ title, of, unit }) => ({ title: inWordsOf(model, title), of, unit: inWordsOf(model, unit) }));
}

/** The stages in the words of the run. @param {RunModel} model */
export function stagesOf(model) {
  return STAGES.map((each) => ({ ...each, from: inWordsOf(model, each.from), to: inWordsOf(model, each.to) }));
}

const WORK = [
  { kind: "sender", work: "offers the load" },
  { kind: "receiver", work: "takes the alerts" },
  { kind: "job", work: "runs the pipeline in Spark" },
];

/** @type {Record<string, string>} */
const JOB_OF_SYSTEM = {
  pipeline: "runs your pipeline in Spark",
  attached: "watches your system, whose CPU and memory are not seen",
};

/** What a worker does, by the begin of its name. @param {string} source @param {RunModel} model @returns {string} */
export function workOf(source, model) {
  if (model.system && source.startsWith("job")) {
    return JOB_OF_SYSTEM[model.system.kind] ?? "runs your system, and watches it";
  }
  return inWordsOf(model, WORK.find(({ kind }) => source.startsWith(kind))?.work ?? "");
}

const MAIN_LATENCY = [
  { kind: "sender", main: metric("sender_send_lag_seconds", {}) },
  { kind: "receiver", main: metric("receiver_end_to_end_seconds", MEASURED) },
];

/**
 * A worker as a step: the latency it records that matters most, and its counters.
 * @param {RunModel} model
 * @param {string} source
 * @returns {Step | null} null if nothing is known of that source
 */
function workerStep(model, source) {
  if (!workers(model).includes(source)) return null;
  /** @param {Selector} selector @returns {Selector} */
  const own = (selector) => ({ name: selector.name, labels: { ...selector.labels, source } });
  const main = MAIN_LATENCY.find(({ kind }) => source.startsWith(kind))?.main ?? null;
  const counters = [OFFERED, READ, DONE, ALERTED].filter(({ of }) => model.find(of.name, { source }).length > 0);
  return {
    level: "worker",
    id: source,
    title: source,
    about: workOf(source, model),
    latency: main && own(main),
    over: main ? [own({ name: main.name })] : [],
    throughput: throughputOf(model, counters).map((counter) => ({ ...counter, of: own(counter.of) })),
    workers: source,
  };
}

/**
 * The step of that level and id; null if there is none.
 * @param {RunModel} model
 * @param {"pipeline" | "worker" | "computation"} level
 * @param {string} id
 * @returns {Step | null}
 */
export function stepOf(model, level, id) {
  if (level === "worker") return workerStep(model, id);
  return stepsOf(model, level === "pipeline" ? PIPELINES : COMPUTATIONS).find((step) => step.id === id) ?? null;
}

/**
 * Histograms that a worker records, one for each set of labels.
 * @param {RunModel} model
 * @param {string} source
 * @returns {Selector[]}
 */
export function histogramsOf(model, source) {
  return [...model.series.values()]
    .filter(({ kind, labels }) => kind === "histogram" && labels.source === source && labels.phase !== "warm_up")
    .map(({ name, labels }) => ({ name, labels: { ...labels } }));
}

/** A metric's name for people: without prefix, kind and unit. @param {string} name @returns {string} */
export function plainName(name) {
  return name
    .replace(PREFIX, "")
    .replace(/_(seconds|total|bytes)$/, "")
    .replace(/^(sender|receiver|job|process)_/, "")
    .replaceAll("_", " ");
}

/** What two runs or more have in common and what not: figure by figure against the first, and in their manifests. */

import { signedPercent } from "./chartfacts.js";
import { NONE, counted, fixed, latency, rate, whole } from "./format.js";

/** @import {Documents, Facts} from "./types.js" */

/** @typedef {{path: string, title: string, say: (value: number) => string}} ComparedFigure  Of a result, by its path. */

/** More are too many for a screen, and for the memory of a page. */
export const RUNS_MAX = 6;

/** @param {number} ns */
const ofNs = (ns) => latency(ns / 1000);
/** @param {number} us */
const ofUs = (us) => `${fixed(us, 2)} µs`;

/** @type {ComparedFigure[]} */
export const FIGURES = [
  ...["p50", "p95", "p99", "p99.9", "p99.99", "max"].map((name) => ({
    path: `latency_ns.${name}`,
    title: `latency ${name}`,
    say: ofNs,
  })),
  { path: "latency_between_boundaries_ns.p99", title: "between boundaries p99", say: ofNs },
  { path: "service_time_ns.p99", title: "service time p99", say: ofNs },
  { path: "boundary_gap_ns_median", title: "commit pause, median", say: ofNs },
  { path: "latency_samples", title: "latency samples", say: whole },
  { path: "offered_rate_per_s", title: "offered, messages/s", say: rate },
  { path: "achieved_rate_per_s", title: "achieved, messages/s", say: rate },
  { path: "cpu_us_per_message", title: "CPU of the job a message", say: ofUs },
  { path: "broker_cpu_us_per_message", title: "CPU of the broker a message", say: ofUs },
];

/**
 * The values of a document by their paths: {a: {b: 1}} has a.b. Lists are values.
 * @param {Facts} document
 * @returns {Map<string, unknown>}
 */
export function flat(document) {
  /** @type {Map<string, unknown>} */
  const found = new Map();
  /** @param {Facts} values @param {string} before */
  const walk = (values, before) => {
    for (const [name, value] of Object.entries(values)) {
      const isInner = value !== null && typeof value === "object" && !Array.isArray(value);
      if (isInner) walk(/** @type {Facts} */ (value), `${before}${name}.`);
      else found.set(`${before}${name}`, value);
    }
  };
  walk(document, "");
  return found;
}

/**
 * A row for each figure that a run has: its value in each, with how far it is from the first run's. A percentile of a
 * tail that lies in too few clusters of time is no figure, as everywhere.
 * @param {Facts[]} results of the runs
 * @param {number} clustersMin how many it takes
 * @returns {{title: string, cells: {text: string, sub: string}[]}[]}
 */
export function figureRows(results, clustersMin) {
  const values = results.map(flat);
  /** @param {Map<string, unknown>} of @param {string} path */
  const clustersOf = (of, path) => /** @type {number | undefined} */ (of.get(`latency_clusters.${path}`));
  /** @param {Map<string, unknown>} of @param {string} path */
  const isTooFew = (of, path) => !path.endsWith(".p50") && (clustersOf(of, path) ?? clustersMin) < clustersMin;
  return FIGURES.flatMap(({ path, title, say }) => {
    const found = values.map((of) => of.get(path)).map((value) => (typeof value === "number" ? value : null));
    if (found.every((value) => value === null)) return [];
    const numbers = found.map((value, at) => (isTooFew(values[at], path) ? null : value));
    const cells = numbers.map((value, at) => ({
      text: value !== null ? say(value) : found[at] === null ? NONE : fewText(clustersOf(values[at], path) ?? 0),
      sub: at > 0 ? deltaText(numbers[0], value) : "",
    }));
    return [{ title, cells }];
  });
}

/** @param {number} clusters */
const fewText = (clusters) => `${NONE} (${counted(clusters, "cluster")})`;

/** @param {number | null} first @param {number | null} value */
function deltaText(first, value) {
  if (first === null || value === null) return "";
  if (first === 0) return value === 0 ? "0.0%" : "";
  return signedPercent(value / first - 1, 1);
}

/**
 * What the runs were made with, where it is not the same in all: its name, then its value in each. A run of which nothing
 * is known, as one out of a file, is not known to differ.
 * @param {Documents[]} documents of the runs
 * @returns {string[][]}
 */
export function differences(documents) {
  const facts = documents.map(madeWith);
  const names = [...new Set(facts.flatMap((of) => [...of.keys()]))].sort();
  return names
    .map((name) => [name, ...facts.map((of) => textOf(of.get(name)))])
    .filter(([, ...values]) => new Set(values.filter((_value, at) => isKnown(documents[at]))).size > 1);
}

/** Whether anything is known of what a run was made with. @param {Documents} documents */
export function isKnown(documents) {
  return [...madeWith(documents).values()].some((value) => value !== undefined);
}

/** @param {Documents} documents */
function madeWith({ manifest, result }) {
  const { settings, machine, workload, mode } = result ?? {};
  return flat(/** @type {Facts} */ (manifest?.sections ?? { settings, machine, workload, mode }));
}

/** @param {unknown} value */
function textOf(value) {
  if (value === undefined || value === null) return NONE;
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The command that compares these runs, each a group of its own. @param {string[]} runIds */
export function commandOf(runIds) {
  return `market-spread compare ${runIds.join(" ")} --html comparison.html`;
}

/** The runs that an address names, each once, as many as fit. @param {string} item @returns {string[]} */
export function runsOf(item) {
  return namedIn(item).slice(0, RUNS_MAX);
}

/** All of them. @param {string} item @returns {string[]} */
export function namedIn(item) {
  return [...new Set(item.split(",").filter(Boolean))];
}

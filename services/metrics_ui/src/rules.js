/**
 * What is out of the ordinary, in words with the figure. A rule is a pure function of the facts and says nothing, or
 * one finding for each thing that it found. A problem spoils figures or loses something; a note is to be known.
 *
 * What a run may be is not for the page to say: it judges by the limits that the run controller has sent, as long as the
 * run goes on. When there is a verdict, a problem is what that says failed, and nothing else. By a limit that is not there
 * nothing is a problem.
 */

import { counted, duration, elapsed, latency, share, whole } from "./format.js";

/** @import {Facts} from "./facts.js" */

/** @typedef {{level: "problem" | "note", text: string, page: string, would?: "void" | "failed"}} Finding  page: where more
 *   is to be seen; would: what the run comes to if it ends like this. */

/** A process pushes once a second. */
const SILENCE_MS = 3000;
/** What the job's count is late by and a little more, and by how much more it must have become to be more than noise. */
const BEHIND_S = 3;
const GROWN_S = 0.5;
/** @type {Record<string, string>} */
const DOERS = { system: "the system's doing", rig: "the rig's doing" };

/** @param {string} text @param {string} page @returns {Finding} */
const problem = (text, page) => ({ level: "problem", text, page });
/** @param {"void" | "failed"} would @returns {(text: string, page: string) => Finding} */
const ending = (would) => (text, page) => ({ level: "problem", text, page, would });
/** @param {string} text @param {string} page @returns {Finding} */
const note = (text, page) => ({ level: "note", text, page });

/** @param {Facts} facts @returns {Finding[]} */
export function failedChecks({ failedChecks: failed }) {
  return failed.map(({ text, cause }) => problem(`${text}${DOERS[cause] ? ` (${DOERS[cause]})` : ""}.`, "overview"));
}

/** @param {Facts} facts @returns {Finding[]} */
export function lateFrames({ framesLate, framesSent, limits }) {
  if (framesLate <= 0 || framesSent <= 0) return [];
  const { late_us: lateUs, late_share_max: allowed } = limits;
  const part = framesLate / framesSent;
  const late = lateUs === undefined ? "late" : `more than ${latency(lateUs)} after their plan`;
  const may = allowed === undefined ? "" : `; the run allows ${share(allowed)}`;
  const text = `${counted(framesLate, "frame")} of ${whole(framesSent)} (${share(part)}) left ${late}${may}.`;
  return [(allowed !== undefined && part > allowed ? ending("void") : note)(text, "computations/send_all")];
}

/** @param {Facts} facts @returns {Finding[]} */
export function silentSources({ live, sources }) {
  if (!live) return [];
  return sources
    .filter(({ silentMs }) => silentMs > SILENCE_MS)
    .map(({ source, silentMs }) =>
      note(`${source} has pushed nothing for ${duration(silentMs)}.`, `workers/${source}`),
    );
}

/** @param {Facts} facts @returns {Finding[]} */
export function pushesLost({ sources, limits }) {
  const { missing_share_max: allowed } = limits;
  const [lost, taken] = [sum(sources, "missing"), sum(sources, "pushes")];
  const say = allowed !== undefined && lost > allowed * (lost + taken) ? ending("void") : note;
  return sources
    .filter(({ missing, dropped }) => missing + dropped > 0)
    .map(({ source, missing, dropped }) =>
      say(
        `${source}: ${[
          missing > 0 && `${counted(missing, "push", "pushes")} missing`,
          dropped > 0 && `${counted(dropped, "push", "pushes")} dropped by the source`,
        ]
          .filter(Boolean)
          .join(", ")}; ` + "its figures lack what they held.",
        "aggregator",
      ),
    );
}

/** @param {Facts} facts @returns {Finding[]} */
export function clocksAdrift({ sources, hosts }) {
  if (hosts < 2) return [];
  /** @param {number} us */
  const bound = (us) => (us >= 0 ? `; the kernel bounds its error by ${latency(us)}` : "");
  return sources
    .filter(({ synchronised }) => !synchronised)
    .map(({ source, clockErrorUs: us }) => note(`${source}: its clock is not synchronised${bound(us)}.`, "pipeline"));
}

/** @param {Facts} facts @returns {Finding[]} */
export function clocksCoarse({ sources, hosts, p50Us, count }) {
  if (count === 0 || hosts < 2) return [];
  return sources
    .filter(({ synchronised, clockErrorUs }) => synchronised && clockErrorUs > p50Us)
    .map(({ source, clockErrorUs }) =>
      note(
        `${source}: its clock may be wrong by ${latency(clockErrorUs)}, more than the p50 of ${latency(p50Us)}.`,
        "pipeline",
      ),
    );
}

/** @param {Facts} facts @returns {Finding[]} */
export function restarts({ queryRestarts, sources }) {
  const query = `The query was started again ${times(queryRestarts)} after a failure.`;
  const processes = sources.filter((source) => source.restarts > 0);
  return [
    ...(queryRestarts > 0 ? [note(query, "workers")] : []),
    ...processes.map(({ source, restarts: again }) =>
      note(`${source} was started again ${times(again)}.`, `workers/${source}`),
    ),
  ];
}

/** @param {Facts} facts @returns {Finding[]} */
export function duplicates({ alertsDuplicated, sources }) {
  const pushed = sum(sources, "duplicates");
  const alerts = `${counted(alertsDuplicated, "alert")} came again; the first of each order counts.`;
  const pushes = `${counted(pushed, "push", "pushes")} came again and ${pushed === 1 ? "was" : "were"} left out.`;
  return [
    ...(alertsDuplicated > 0 ? [note(alerts, "computations/deliver")] : []),
    ...(pushed > 0 ? [note(pushes, "aggregator")] : []),
  ];
}

/** @param {Facts} facts @returns {Finding[]} */
export function malformed({ malformed: messages, alertsUnreadable: records }) {
  const reported = `${counted(messages, "message")} malformed, reported to the topic invalid.`;
  const unreadable = `${counted(records, "record")} of the alerts topic ${records === 1 ? "is" : "are"} no alert.`;
  return [
    ...(messages > 0 ? [ending("failed")(reported, "computations/compute")] : []),
    ...(records > 0 ? [ending("failed")(unreadable, "computations/deliver")] : []),
  ];
}

/** @param {Facts} facts @returns {Finding[]} */
export function refusedPushes({ refused, unwritten }) {
  const wrong = `${counted(refused, "push", "pushes")} refused as wrong; the log of the source says why.`;
  const waiting = `${counted(unwritten, "push", "pushes")} could not be written down; the source tries again.`;
  return [
    ...(refused > 0 ? [problem(wrong, "aggregator")] : []),
    ...(unwritten > 0 ? [problem(waiting, "aggregator")] : []),
  ];
}

/** @param {Facts} facts @returns {Finding[]} */
export function historyDropped({ historyDropped: dropped }) {
  const text = `${counted(dropped, "interval")} of the history made room for others; totals have them.`;
  return dropped > 0 ? [note(text, "aggregator")] : [];
}

/** @param {Facts} facts @returns {Finding[]} */
export function messagesFailed({ failed }) {
  return failed > 0
    ? [ending("void")(`${counted(failed, "message")} lost: the broker did not take them.`, "workers")]
    : [];
}

/** @param {Facts} facts @returns {Finding[]} */
export function stall({ stallMs, stallAtS, limits }) {
  if (limits.stall_us === undefined) return [];
  const limitMs = limits.stall_us / 1000;
  if (!(stallMs > limitMs)) return [];
  const text = `No alert came for ${duration(stallMs)}, from ${elapsed(stallAtS)} on`;
  return [ending("failed")(`${text}; the run allows ${duration(limitMs)}.`, "pipeline")];
}

/** @param {Facts} facts @returns {Finding[]} */
export function slowSoFar({ latencies }) {
  return latencies.flatMap(({ name, us, limitUs }) =>
    us !== null && us > limitUs
      ? [ending("failed")(`${name} is ${latency(us)} so far; the run allows ${latency(limitUs)}.`, "pipeline")]
      : [],
  );
}

/** @param {Facts} facts @returns {Finding[]} */
export function fallingBehind({ behindS, behindBeforeS }) {
  if (behindS <= BEHIND_S || behindS <= behindBeforeS + GROWN_S) return [];
  const before = duration(behindBeforeS * 1000);
  const text = `Processing is ${duration(behindS * 1000)} of load behind, ${before} a while before: it does not keep up.`;
  return [ending("failed")(text, "pipeline")];
}

/** @param {Facts} facts @returns {Finding[]} */
export function unevenPartitions({ oddPartitions }) {
  return oddPartitions.map((text) => note(text, "pipeline"));
}

/** @param {Facts} facts @returns {Finding[]} */
export function outOfRange({ negative, overflow, hosts }) {
  const why = hosts < 2 ? "a clock was moved" : "clocks disagree";
  const below = `${counted(negative, "value")} below zero counted as 0: ${why}.`;
  const above = `${counted(overflow, "value")} above 1 hour counted as 1 hour.`;
  return [...(negative > 0 ? [note(below, "pipeline")] : []), ...(overflow > 0 ? [problem(above, "pipeline")] : [])];
}

export const RULES = [
  failedChecks,
  messagesFailed,
  stall,
  fallingBehind,
  slowSoFar,
  silentSources,
  lateFrames,
  unevenPartitions,
  restarts,
  pushesLost,
  refusedPushes,
  outOfRange,
  historyDropped,
  malformed,
  duplicates,
  clocksAdrift,
  clocksCoarse,
];

/**
 * Everything that is out of the ordinary, problems first.
 * @param {Facts} facts
 * @returns {Finding[]}
 */
export function findings(facts) {
  const found = RULES.flatMap((rule) => {
    const said = rule(facts);
    return facts.verdict && rule !== failedChecks ? said.map(({ text, page }) => note(text, page)) : said;
  });
  return [...found.filter(({ level }) => level === "problem"), ...found.filter(({ level }) => level === "note")];
}

/** @param {Facts["sources"]} sources @param {"missing" | "pushes" | "duplicates"} name */
function sum(sources, name) {
  return sources.reduce((all, source) => all + source[name], 0);
}

/** @param {number} number */
function times(number) {
  return number === 1 ? "once" : `${whole(number)} times`;
}

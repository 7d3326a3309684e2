/** What is shown as text for other tools: tables as CSV, histograms in HdrHistogram's percentile format (.hgrm). */

import { highestValue, lowestValue, percentile } from "./hdr.js";

/** @import {Hist} from "./hdr.js" */

const TICKS_PER_HALF = 5;
const US_PER_MS = 1000;

/**
 * Rows as CSV after RFC 4180, with CRLF; null is an empty field. A text that a spreadsheet would run as a formula gets an
 * apostrophe before it.
 * @param {(string | number | null)[][]} rows
 */
export function csvOf(rows) {
  return rows.map((row) => `${row.map(field).join(",")}\r\n`).join("");
}

/** @param {string | number | null} value */
function field(value) {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/**
 * A histogram as `outputPercentileDistribution` of HdrHistogram writes it, five ticks a half distance, in milliseconds:
 * what the HdrHistogram plotter reads.
 * @param {Hist} hist
 */
export function hgrmOf(hist) {
  const lines = ["       Value     Percentile TotalCount 1/(1-Percentile)", ""];
  for (const { percent, below } of ticksOf(hist)) {
    const value = percent === 0 ? hist.minUs : percentile(hist, percent);
    const part = percent / 100;
    const columns = [fixed(value / US_PER_MS, 3, 12), fixed(part, 12, 14), String(below).padStart(10)];
    lines.push([...columns, ...(percent < 100 ? [fixed(1 / (1 - part), 2, 14)] : [])].join(" "));
  }
  const mean = hist.count > 0 ? hist.sumUs / hist.count : 0;
  lines.push(
    `#[Mean    = ${fixed(mean / US_PER_MS, 3, 12)}, StdDeviation   = ${fixed(deviationUs(hist, mean) / US_PER_MS, 3, 12)}]`,
    `#[Max     = ${fixed(hist.maxUs / US_PER_MS, 3, 12)}, Total count    = ${String(hist.count).padStart(12)}]`,
    `#[Buckets = ${"22".padStart(12)}, SubBuckets     = ${"2048".padStart(12)}]`,
  );
  return `${lines.join("\n")}\n`;
}

/**
 * The percentiles to tell, and how many values are at or below each: ever closer to 100, then 100 itself.
 * @param {Hist} hist
 */
function ticksOf(hist) {
  const ticks = [];
  if (hist.count === 0) return [];
  for (let percent = 0; ;) {
    const value = percent === 0 ? hist.minUs : percentile(hist, percent);
    const below = countUpTo(hist, value);
    ticks.push({ percent, below });
    if (below >= hist.count) break;
    const halves = Math.floor(Math.log2(100 / (100 - percent))) + 1;
    percent += 100 / (TICKS_PER_HALF * 2 ** halves);
  }
  return [...ticks.filter(({ percent }) => percent < 100), { percent: 100, below: hist.count }];
}

/** @param {Hist} hist @param {number} us */
function countUpTo({ indices, numbers }, us) {
  let count = 0;
  for (let at = 0; at < indices.length && lowestValue(indices[at]) <= us; at += 1) count += numbers[at];
  return count;
}

/** @param {Hist} hist @param {number} mean */
function deviationUs({ indices, numbers, count }, mean) {
  if (count === 0) return 0;
  let sum = 0;
  indices.forEach((slot, at) => {
    const median = lowestValue(slot) + Math.floor((highestValue(slot) - lowestValue(slot) + 1) / 2);
    sum += numbers[at] * (median - mean) ** 2;
  });
  return Math.sqrt(sum / count);
}

/** @param {number} value @param {number} digits @param {number} width */
function fixed(value, digits, width) {
  return value.toFixed(digits).padStart(width);
}

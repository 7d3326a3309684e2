/** Numbers and units in words. Every figure that the page shows comes through here. */

const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** @typedef {{name: string, us: number, digits: number}} Unit  A unit of latency, its size and its decimals. */

export const NONE = "–";
const MICRO = { name: "µs", us: 1, digits: 0 };
const MILLI = { name: "ms", us: 1000, digits: 2 };
const COARSE = { name: "ms", us: 1000, digits: 1 };
const SECOND = { name: "s", us: 1e6, digits: 2 };

/** A whole number with thousands separated. @param {number | null | undefined} value @returns {string} */
export function whole(value) {
  return value === null || value === undefined || Number.isNaN(value) ? NONE : WHOLE.format(Math.round(value));
}

/** A number with so many decimals. @param {number} value @param {number} digits @returns {string} */
export function fixed(value, digits) {
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/**
 * The unit in which a table of these latencies reads best.
 * @param {(number | null)[]} valuesUs
 * @returns {Unit}
 */
export function unitFor(valuesUs) {
  const positive = valuesUs.filter((value) => value !== null).filter((value) => value > 0);
  if (positive.length === 0) return MILLI;
  const least = Math.min(...positive);
  const most = Math.max(...positive);
  if (most < 10_000 && least < 500) return MICRO;
  if (least >= 10e6) return SECOND;
  return least >= 100_000 ? COARSE : MILLI;
}

/**
 * A latency in a given unit, without its name.
 * @param {number | null | undefined} us
 * @param {Unit} unit
 * @returns {string}
 */
export function inUnit(us, unit) {
  return us === null || us === undefined ? NONE : fixed(us / unit.us, unit.digits);
}

/**
 * A latency with the unit that fits it, three digits or more.
 * @param {number | null | undefined} us
 * @returns {string}
 */
export function latency(us) {
  if (us === null || us === undefined) return NONE;
  if (us < 1000) return `${fixed(us, us < 10 && us % 1 ? 1 : 0)} µs`;
  if (us < 10e6) return `${fixed(us / 1000, us < 10_000 ? 2 : us < 1e6 ? 1 : 0)} ms`;
  return `${fixed(us / 1e6, us < 100e6 ? 2 : 1)} s`;
}

/** A latency for an axis: as short as it is exact. @param {number} us @returns {string} */
export function axisLatency(us) {
  if (us < 1000) return `${+us.toPrecision(3)} µs`;
  if (us < 1e6) return `${+(us / 1000).toPrecision(3)} ms`;
  return `${+(us / 1e6).toPrecision(3)} s`;
}

/** A number for an axis: 20 k, 1.5 M. @param {number} value @returns {string} */
export function axisNumber(value) {
  const size = Math.abs(value);
  if (size >= 1e9) return `${+(value / 1e9).toPrecision(3)} G`;
  if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)} M`;
  if (size >= 10_000) return `${+(value / 1000).toPrecision(3)} k`;
  return size >= 100 || Number.isInteger(value) ? whole(value) : `${+value.toPrecision(3)}`;
}

/** A rate, without its unit. @param {number | null | undefined} perSecond @returns {string} */
export function rate(perSecond) {
  if (perSecond === null || perSecond === undefined) return NONE;
  if (perSecond === 0) return "0";
  return perSecond < 10 ? fixed(perSecond, 2) : perSecond < 100 ? fixed(perSecond, 1) : whole(perSecond);
}

const BYTE_UNITS = [
  { name: "GiB", size: 2 ** 30 },
  { name: "MiB", size: 2 ** 20 },
  { name: "KiB", size: 2 ** 10 },
];

/** Bytes in the unit that fits. @param {number | null | undefined} value @returns {string} */
export function bytes(value) {
  if (value === null || value === undefined) return NONE;
  for (const { name, size } of BYTE_UNITS) {
    if (Math.abs(value) >= size) {
      return `${fixed(value / size, value / size < 10 ? 2 : value / size < 100 ? 1 : 0)} ${name}`;
    }
  }
  return `${whole(value)} B`;
}

/** Steps of an axis of bytes: halves and wholes of the units above. */
export const BYTE_STEPS = Array.from({ length: 44 }, (_none, at) => 2 ** at);

/** A share as percent. @param {number} value @returns {string} */
export function share(value) {
  return `${fixed(100 * value, value !== 0 && value < 0.01 ? 2 : 1)}%`;
}

/** A duration: 0.4 s, 42 s, 3 min 05 s, 2 h 07 min. @param {number} ms @returns {string} */
export function duration(ms) {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 10) return `${+seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const all = Math.round(seconds);
  if (all < 3600) return `${Math.floor(all / 60)} min${all % 60 ? ` ${pad(all % 60)} s` : ""}`;
  return `${Math.floor(all / 3600)} h${all % 3600 >= 60 ? ` ${pad(Math.floor((all % 3600) / 60))} min` : ""}`;
}

/**
 * Time since the run's begin: 0:07, 12:30, 1:02:03; with decimals where asked for.
 * @param {number} seconds
 * @param {number} [digits]
 */
export function elapsed(seconds, digits = 0) {
  const ticks = Math.round(Math.abs(seconds) * 10 ** digits);
  const sign = seconds < 0 && ticks > 0 ? "−" : "";
  const all = Math.floor(ticks / 10 ** digits);
  const rest = digits ? `.${String(ticks % 10 ** digits).padStart(digits, "0")}` : "";
  const [h, m, s] = [Math.floor(all / 3600), Math.floor((all % 3600) / 60), all % 60];
  return `${sign}${h ? `${h}:${pad(m)}` : m}:${pad(s)}${rest}`;
}

/** Wall clock of the reader's zone: 14:03:07. @param {number} unixMs @returns {string} */
export function clockTime(unixMs) {
  const at = new Date(unixMs);
  return `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
}

/** Date and wall clock of the reader's zone: 2026-11-22 14:03:07. @param {number} unixMs @returns {string} */
export function dateTime(unixMs) {
  const at = new Date(unixMs);
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${clockTime(unixMs)}`;
}

/**
 * One of something, or several: 1 frame, 12 frames.
 * @param {number} number
 * @param {string} noun
 * @param {string} [many]
 */
export function counted(number, noun, many = `${noun}s`) {
  return `${whole(number)} ${Math.round(number) === 1 ? noun : many}`;
}

/** A percentile's name: p50, p99.9. @param {number} percent @returns {string} */
export function percentName(percent) {
  return `p${percent}`;
}

/** @param {number} number */
function pad(number) {
  return String(number).padStart(2, "0");
}

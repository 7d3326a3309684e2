// Built by `make ui` from services/metrics_ui/src; change it there.
"use strict";
(() => {
  // src/dom.js
  var SVG = "http://www.w3.org/2000/svg";
  function h(tag, attributes = {}, ...children) {
    const [name, ...classes] = tag.split(".");
    const element = (
      /** @type {ElementOf<Tag>} */
      document.createElement(name)
    );
    return filled(element, classes, attributes, children);
  }
  function svg(tag, attributes = {}, ...children) {
    const [name, ...classes] = tag.split(".");
    return filled(document.createElementNS(SVG, name), classes, attributes, children);
  }
  function filled(element, classes, { on = {}, ...attributes }, children) {
    if (classes.length > 0) element.setAttribute("class", classes.join(" "));
    for (const [name, value] of Object.entries(attributes)) {
      if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== null && value !== void 0) element.setAttribute(name, String(value));
    }
    for (const [name, listener] of Object.entries(on)) {
      element.addEventListener(
        name,
        /** @type {(event: Event) => unknown} */
        listener
      );
    }
    element.append(...children.flat().filter((child) => child !== null && child !== false && child !== void 0));
    return element;
  }
  function setText(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }
  function setAttribute(element, name, value) {
    if (value === null || value === false) element.removeAttribute(name);
    else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
  }
  function show(element, shown2) {
    if (element.hidden === shown2) element.hidden = !shown2;
  }
  function table({ caption, columns, quiet = false }) {
    const units = columns.map(({ unit = "" }) => h("span.unit", {}, unit));
    const head = h(
      "tr",
      {},
      columns.map(({ title, numeric: numeric2 }, at) => h(numeric2 ? "th.number" : "th", { scope: "col" }, title, " ", units[at]))
    );
    const body = h("tbody");
    const element = h(
      "div.table",
      { tabindex: 0, role: "region", "aria-label": caption },
      h("table", {}, h(quiet ? "caption.hidden" : "caption", {}, caption), h("thead", {}, head), body)
    );
    return {
      element,
      setUnits: (texts) => texts.forEach((text, at) => setText(units[at], text)),
      setRows: (rows) => {
        while (body.rows.length > rows.length) body.deleteRow(-1);
        rows.forEach((cells, at) => fillRow(body.rows[at] ?? body.insertRow(), cells, columns));
      }
    };
  }
  function fillRow(row3, cells, columns) {
    cells.forEach((given, at) => {
      let cell = row3.cells[at];
      if (!cell) {
        cell = at === 0 ? h("th", { scope: "row" }) : h("td");
        if (columns[at].numeric) cell.classList.add("number");
        row3.append(cell);
      }
      const { text, href, sub } = typeof given === "object" && given !== null ? given : { text: given };
      if (href) fillLink(cell, String(text), href);
      else setText(cell, String(text));
      if (sub && !href) cell.append(h("span.sub", {}, sub));
    });
  }
  function fillLink(cell, text, href) {
    let link = cell.firstElementChild;
    if (link?.tagName !== "A") {
      cell.textContent = "";
      link = cell.appendChild(h("a"));
    }
    setText(link, text);
    setAttribute(link, "href", href);
  }
  function beginAt(main) {
    if (document.activeElement === document.body) main.focus();
    window.scrollTo(0, 0);
  }

  // src/save.js
  function save(name, blob) {
    const url = URL.createObjectURL(blob);
    const link = h("a", { href: url, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 1e4);
  }
  function saveText(name, text, type = "text/plain") {
    save(name, new Blob([text], { type: `${type};charset=utf-8` }));
  }
  function fileName(title, extension) {
    return `${title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "")}.${extension}`;
  }

  // src/hdr.js
  var SLOTS = 23552;
  var PERCENTS = [50, 95, 99, 99.9, 99.99];
  var SCRATCH = new Float64Array(SLOTS);
  var NO_INDICES = new Int32Array(0);
  var NO_NUMBERS = new Float64Array(0);
  function emptyHist() {
    return {
      count: 0,
      sumUs: 0,
      minUs: 0,
      maxUs: 0,
      overflow: 0,
      negative: 0,
      indices: NO_INDICES,
      numbers: NO_NUMBERS
    };
  }
  function decodeCounts(text) {
    const bytes2 = atob(text);
    const indices = [];
    const numbers = [];
    let slot = 0;
    for (let at = 0; at < bytes2.length; ) {
      let zigzag = 0;
      let scale = 1;
      for (let more = true; more; scale *= 128) {
        if (at >= bytes2.length) throw new RangeError(`the counts end inside a number, after ${bytes2.length} bytes`);
        const byte = bytes2.charCodeAt(at);
        at += 1;
        more = byte >= 128 && scale < 2 ** 56;
        zigzag += (more ? byte - 128 : byte) * scale;
      }
      if (zigzag % 2 === 1) {
        slot += (zigzag + 1) / 2;
      } else {
        if (zigzag > 0) {
          indices.push(slot);
          numbers.push(zigzag / 2);
        }
        slot += 1;
      }
      if (slot > SLOTS) throw new RangeError(`the counts have more than ${SLOTS} buckets`);
    }
    return { indices: Int32Array.from(indices), numbers: Float64Array.from(numbers) };
  }
  function mergeHists(hists) {
    const used = hists.filter((hist) => hist.count > 0);
    if (used.length === 0) return emptyHist();
    if (used.length === 1) return used[0];
    const merged = { ...emptyHist(), minUs: Infinity };
    let first = SLOTS;
    let last = -1;
    for (const hist of used) {
      merged.count += hist.count;
      merged.sumUs += hist.sumUs;
      merged.minUs = Math.min(merged.minUs, hist.minUs);
      merged.maxUs = Math.max(merged.maxUs, hist.maxUs);
      merged.overflow += hist.overflow;
      merged.negative += hist.negative;
      const { indices: indices2, numbers: numbers2 } = hist;
      for (let i = 0; i < indices2.length; i += 1) SCRATCH[indices2[i]] += numbers2[i];
      if (indices2.length > 0) {
        first = Math.min(first, indices2[0]);
        last = Math.max(last, indices2[indices2.length - 1]);
      }
    }
    const indices = [];
    const numbers = [];
    for (let slot = first; slot <= last; slot += 1) {
      if (SCRATCH[slot] > 0) {
        indices.push(slot);
        numbers.push(SCRATCH[slot]);
        SCRATCH[slot] = 0;
      }
    }
    return { ...merged, indices: Int32Array.from(indices), numbers: Float64Array.from(numbers) };
  }
  function lowestValue(slot) {
    const shift = Math.max((slot >> 10) - 1, 0);
    return (slot - (shift << 10)) * 2 ** shift;
  }
  function highestValue(slot) {
    return lowestValue(slot) + 2 ** Math.max((slot >> 10) - 1, 0) - 1;
  }
  function percentiles(hist, percents) {
    return valuesAtRanks(
      hist,
      percents.map((percent) => Math.max(1, Math.floor(percent * hist.count / 100 + 0.5)))
    );
  }
  function percentile(hist, percent) {
    return percentiles(hist, [percent])[0];
  }
  function supports(hist, percent) {
    return clustersOf(hist, percent) === void 0 && hist.count * Math.round((100 - percent) * 1e6) >= 10 * 1e8;
  }
  function clustersOf({ tooFew }, percent) {
    return tooFew?.[`p${percent}`];
  }
  function shownPercentile(hist, percent) {
    return supports(hist, percent) ? percentile(hist, percent) : null;
  }
  function meanUs(hist) {
    return hist.count > 0 ? hist.sumUs / hist.count : null;
  }
  function countsByRow(hist) {
    const rows = /* @__PURE__ */ new Map();
    for (let i = 0; i < hist.indices.length; i += 1) {
      const row3 = rowOf(lowestValue(hist.indices[i]));
      rows.set(row3, (rows.get(row3) ?? 0) + hist.numbers[i]);
    }
    return rows;
  }
  function rowLowest(row3) {
    return 2 ** Math.floor(row3 / 4) * (1 + row3 % 4 / 4);
  }
  function rowOf(valueUs) {
    if (valueUs < 1) return 0;
    const octave = 31 - Math.clz32(valueUs);
    return 4 * octave + Math.floor((valueUs / 2 ** octave - 1) * 4);
  }
  function valuesAtRanks(hist, ranks) {
    if (hist.count === 0) return ranks.map(() => 0);
    const values = [];
    let seen = 0;
    let at = 0;
    for (const rank of ranks) {
      while (at < hist.numbers.length && seen + hist.numbers[at] < rank) {
        seen += hist.numbers[at];
        at += 1;
      }
      const slot = at < hist.numbers.length ? hist.indices[at] : SLOTS - 1;
      values.push(Math.min(highestValue(slot), hist.maxUs));
    }
    return values;
  }

  // src/textfiles.js
  var TICKS_PER_HALF = 5;
  var US_PER_MS = 1e3;
  function csvOf(rows) {
    return rows.map((row3) => `${row3.map(field).join(",")}\r
`).join("");
  }
  function field(value) {
    if (value === null) return "";
    if (typeof value === "number") return String(value);
    const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }
  function hgrmOf(hist) {
    const lines = ["       Value     Percentile TotalCount 1/(1-Percentile)", ""];
    for (const { percent, below } of ticksOf(hist)) {
      const value = percent === 0 ? hist.minUs : percentile(hist, percent);
      const part = percent / 100;
      const columns = [fixed(value / US_PER_MS, 3, 12), fixed(part, 12, 14), String(below).padStart(10)];
      lines.push([...columns, ...percent < 100 ? [fixed(1 / (1 - part), 2, 14)] : []].join(" "));
    }
    const mean = hist.count > 0 ? hist.sumUs / hist.count : 0;
    lines.push(
      `#[Mean    = ${fixed(mean / US_PER_MS, 3, 12)}, StdDeviation   = ${fixed(deviationUs(hist, mean) / US_PER_MS, 3, 12)}]`,
      `#[Max     = ${fixed(hist.maxUs / US_PER_MS, 3, 12)}, Total count    = ${String(hist.count).padStart(12)}]`,
      `#[Buckets = ${"22".padStart(12)}, SubBuckets     = ${"2048".padStart(12)}]`
    );
    return `${lines.join("\n")}
`;
  }
  function ticksOf(hist) {
    const ticks = [];
    if (hist.count === 0) return [];
    for (let percent = 0; ; ) {
      const value = percent === 0 ? hist.minUs : percentile(hist, percent);
      const below = countUpTo(hist, value);
      ticks.push({ percent, below });
      if (below >= hist.count) break;
      const halves = Math.floor(Math.log2(100 / (100 - percent))) + 1;
      percent += 100 / (TICKS_PER_HALF * 2 ** halves);
    }
    return [...ticks.filter(({ percent }) => percent < 100), { percent: 100, below: hist.count }];
  }
  function countUpTo({ indices, numbers }, us) {
    let count = 0;
    for (let at = 0; at < indices.length && lowestValue(indices[at]) <= us; at += 1) count += numbers[at];
    return count;
  }
  function deviationUs({ indices, numbers, count }, mean) {
    if (count === 0) return 0;
    let sum3 = 0;
    indices.forEach((slot, at) => {
      const median = lowestValue(slot) + Math.floor((highestValue(slot) - lowestValue(slot) + 1) / 2);
      sum3 += numbers[at] * (median - mean) ** 2;
    });
    return Math.sqrt(sum3 / count);
  }
  function fixed(value, digits, width) {
    return value.toFixed(digits).padStart(width);
  }

  // src/theme.js
  var KEY = "market-spread-theme";
  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  var listeners = /* @__PURE__ */ new Set();
  var colours = /* @__PURE__ */ new Map();
  function startTheme() {
    apply(stored());
    dark.addEventListener("change", () => apply(stored()));
  }
  function theme() {
    return stored() ?? (dark.matches ? "dark" : "light");
  }
  function toggleTheme() {
    const other = theme() === "dark" ? "light" : "dark";
    remember(other === (dark.matches ? "dark" : "light") ? null : other);
    apply(stored());
  }
  function onTheme(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }
  function colour(name) {
    const known = colours.get(name);
    if (known !== void 0) return known;
    const found = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    colours.set(name, found);
    return found;
  }
  function channels(name) {
    const hex = colour(name).replace("#", "");
    return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
  }
  function apply(chosen) {
    if (chosen) document.documentElement.dataset.theme = chosen;
    else delete document.documentElement.dataset.theme;
    colours = /* @__PURE__ */ new Map();
    for (const listener of listeners) listener();
  }
  var unstored = null;
  function stored() {
    try {
      return (
        /** @type {Theme | null} */
        localStorage.getItem(KEY)
      );
    } catch {
      return unstored;
    }
  }
  function remember(value) {
    unstored = value;
    try {
      if (value === null) localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, value);
    } catch {
    }
  }

  // src/format.js
  var WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
  var NONE = "–";
  var MICRO = { name: "µs", us: 1, digits: 0 };
  var MILLI = { name: "ms", us: 1e3, digits: 2 };
  var COARSE = { name: "ms", us: 1e3, digits: 1 };
  var SECOND = { name: "s", us: 1e6, digits: 2 };
  function whole(value) {
    return value === null || value === void 0 || Number.isNaN(value) ? NONE : WHOLE.format(Math.round(value));
  }
  function fixed2(value, digits) {
    return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  }
  function unitFor(valuesUs) {
    const positive = valuesUs.filter((value) => value !== null).filter((value) => value > 0);
    if (positive.length === 0) return MILLI;
    const least = Math.min(...positive);
    const most = Math.max(...positive);
    if (most < 1e4 && least < 500) return MICRO;
    if (least >= 1e7) return SECOND;
    return least >= 1e5 ? COARSE : MILLI;
  }
  function inUnit(us, unit) {
    return us === null || us === void 0 ? NONE : fixed2(us / unit.us, unit.digits);
  }
  function latency(us) {
    if (us === null || us === void 0) return NONE;
    if (us < 1e3) return `${fixed2(us, us < 10 && us % 1 ? 1 : 0)} µs`;
    if (us < 1e7) return `${fixed2(us / 1e3, us < 1e4 ? 2 : us < 1e6 ? 1 : 0)} ms`;
    return `${fixed2(us / 1e6, us < 1e8 ? 2 : 1)} s`;
  }
  function axisLatency(us) {
    if (us < 1e3) return `${+us.toPrecision(3)} µs`;
    if (us < 1e6) return `${+(us / 1e3).toPrecision(3)} ms`;
    return `${+(us / 1e6).toPrecision(3)} s`;
  }
  function axisNumber(value) {
    const size = Math.abs(value);
    if (size >= 1e9) return `${+(value / 1e9).toPrecision(3)} G`;
    if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)} M`;
    if (size >= 1e4) return `${+(value / 1e3).toPrecision(3)} k`;
    return size >= 100 || Number.isInteger(value) ? whole(value) : `${+value.toPrecision(3)}`;
  }
  function rate(perSecond) {
    if (perSecond === null || perSecond === void 0) return NONE;
    if (perSecond === 0) return "0";
    return perSecond < 10 ? fixed2(perSecond, 2) : perSecond < 100 ? fixed2(perSecond, 1) : whole(perSecond);
  }
  var BYTE_UNITS = [
    { name: "GiB", size: 2 ** 30 },
    { name: "MiB", size: 2 ** 20 },
    { name: "KiB", size: 2 ** 10 }
  ];
  function bytes(value) {
    if (value === null || value === void 0) return NONE;
    for (const { name, size } of BYTE_UNITS) {
      if (Math.abs(value) >= size) {
        return `${fixed2(value / size, value / size < 10 ? 2 : value / size < 100 ? 1 : 0)} ${name}`;
      }
    }
    return `${whole(value)} B`;
  }
  var BYTE_STEPS = Array.from({ length: 44 }, (_none, at) => 2 ** at);
  function share(value) {
    return `${fixed2(100 * value, value !== 0 && value < 0.01 ? 2 : 1)}%`;
  }
  function duration(ms) {
    const seconds3 = Math.max(0, ms) / 1e3;
    if (seconds3 < 10) return `${+seconds3.toFixed(1)} s`;
    if (seconds3 < 60) return `${Math.round(seconds3)} s`;
    const all = Math.round(seconds3);
    if (all < 3600) return `${Math.floor(all / 60)} min${all % 60 ? ` ${pad(all % 60)} s` : ""}`;
    return `${Math.floor(all / 3600)} h${all % 3600 >= 60 ? ` ${pad(Math.floor(all % 3600 / 60))} min` : ""}`;
  }
  function elapsed(seconds3, digits = 0) {
    const ticks = Math.round(Math.abs(seconds3) * 10 ** digits);
    const sign = seconds3 < 0 && ticks > 0 ? "−" : "";
    const all = Math.floor(ticks / 10 ** digits);
    const rest = digits ? `.${String(ticks % 10 ** digits).padStart(digits, "0")}` : "";
    const [h2, m, s] = [Math.floor(all / 3600), Math.floor(all % 3600 / 60), all % 60];
    return `${sign}${h2 ? `${h2}:${pad(m)}` : m}:${pad(s)}${rest}`;
  }
  function clockTime(unixMs) {
    const at = new Date(unixMs);
    return `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
  }
  function dateTime(unixMs) {
    const at = new Date(unixMs);
    return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${clockTime(unixMs)}`;
  }
  function counted(number, noun, many = `${noun}s`) {
    return `${whole(number)} ${Math.round(number) === 1 ? noun : many}`;
  }
  function percentName(percent) {
    return `p${percent}`;
  }
  function pad(number) {
    return String(number).padStart(2, "0");
  }

  // src/faults.js
  var AROUND_MS = 5e3;
  function faultBands(result) {
    const events = (result?.causes?.events ?? []).filter(({ kind }) => kind === "fault");
    const figures2 = result?.planned_faults ?? [];
    return events.map(({ begin_unix_ms: from, duration_ms: length, text: title }, at) => ({
      from,
      to: from + length,
      title,
      // Both are by their begin; where one of them lacks some, nobody knows which belong together.
      text: events.length === figures2.length ? faultText(figures2[at]) : "its figures are not known"
    }));
  }
  function faultText({ silence_s: silence, recovered_s: recovered, lost, late, doubled, orders }) {
    const back = recovered === null ? "not seen to recover" : `recovered ${seconds(recovered)} after its end`;
    return `silent for ${seconds(silence)}, ${back}; of ${counted(orders, "order")} that it met ${whole(lost)} lost, ${whole(late)} late` + (doubled > 0 ? `, ${whole(doubled)} answered twice` : "");
  }
  function aroundFault({ from, to }) {
    return { from: from - AROUND_MS, to: to + AROUND_MS };
  }
  function faultAt(bands, ms) {
    return bands.find(({ from, to }) => ms >= from && ms <= to) ?? null;
  }
  function seconds(value) {
    return `${value.toFixed(value < 10 ? 2 : 1)} s`;
  }

  // src/phases.js
  var MEASURING = /measur/;
  var MEASURED = "measuring";
  function measuredPart(notes, range) {
    const phases = notes.filter(({ kind }) => kind === "phase");
    const at = phases.findIndex(({ name }) => MEASURING.test(name));
    if (at < 0) return range;
    const from = Math.max(range.from, phases[at].unix_ms);
    const to = Math.min(range.to, phases[at + 1]?.unix_ms ?? Infinity);
    return to - from >= 1e3 ? { from, to } : range;
  }
  function warmUp(notes, span) {
    const phases = notes.filter(({ kind }) => kind === "phase");
    const measuring = phases.find(({ name }) => MEASURING.test(name));
    return phases.length > 0 ? [{ from: span.from, to: measuring?.unix_ms ?? span.to }] : [];
  }
  function progressOf(notes, nowMs) {
    const phases = notes.filter(({ kind }) => kind === "phase");
    const phase = phases.at(-1);
    if (!phase) return null;
    const planned = notes.findLast(({ kind }) => kind === "plan")?.phases_ms ?? {};
    const passedMs = 1e3 * Math.max(0, Math.floor((nowMs - phase.unix_ms) / 1e3));
    const lastsMs = planned[phase.name] ?? 0;
    const measuredMs = planned[MEASURED] ?? 0;
    const isBefore = measuredMs > 0 && !phases.some(({ name }) => name === MEASURED);
    const then = isBefore ? `; then ${duration(measuredMs)} are measured` : "";
    const title = `${phase.name.slice(0, 1).toUpperCase()}${phase.name.slice(1)}`;
    if (lastsMs === 0) {
      return { title, text: `for ${elapsed(passedMs / 1e3)}${then}`, left: "", part: null };
    }
    const left = passedMs < lastsMs ? `${elapsed((lastsMs - passedMs) / 1e3)} left` : "about to end";
    const at = elapsed(Math.min(passedMs, lastsMs) / 1e3);
    return {
      title,
      text: `${at} of ${elapsed(lastsMs / 1e3)}, ${left}${then}`,
      left,
      part: Math.min(1, passedMs / lastsMs)
    };
  }

  // src/charts/plot.js
  var SYNC_KEY = "time";
  var UNMARKED = ["verdict", "limits", "plan", "system", "result"];
  var MARKS = { boundary: [6, 2], gc: [], event: [2, 3] };
  var CLICK_MS = 250;
  var STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400];
  function axisFont(size = 11) {
    return `${size}px ${colour("--font")}`;
  }
  function axis(more) {
    return {
      stroke: () => colour("--ink-2"),
      font: axisFont(),
      grid: { stroke: () => colour("--grid"), width: 1 },
      ticks: { show: false },
      gap: 6,
      ...more
    };
  }
  function timeAxis() {
    return axis({
      size: 26,
      grid: { show: false },
      ticks: { show: true, stroke: () => colour("--grid"), size: 4 },
      space: 64,
      incrs: STEPS_S,
      values: (_plot, splits) => splits.map((seconds3) => elapsed(seconds3))
    });
  }
  function latencyAxis() {
    return axis({
      size: 58,
      splits: (_plot, _axis, least, most) => logSplits(least, most),
      filter: (_plot, splits) => splits,
      values: (_plot, splits) => splits.map(axisLatency)
    });
  }
  function latencyScale() {
    return {
      distr: 3,
      range: (_plot, least, most) => least > 0 ? [roundLog(least, Math.floor), roundLog(Math.max(most, least * 1.01), Math.ceil)] : [1e3, 1e6]
    };
  }
  var MANTISSAS = [1, 2, 5, 10];
  function roundLog(value, towards) {
    const decade = 10 ** Math.floor(Math.log10(value));
    const steps = MANTISSAS.map((mantissa) => mantissa * decade);
    const found = towards === Math.floor ? steps.filter((step) => step <= value * 1.000001).at(-1) : steps.find((step) => step >= value * 0.999999);
    return found ?? null;
  }
  function logSplits(least, most) {
    const decades = Math.log10(most / least);
    const mantissas = decades > 5 ? [1] : decades > 3 ? [1, 3] : [1, 2, 5];
    const splits = [];
    for (let decade = 10 ** Math.floor(Math.log10(least)); decade <= most; decade *= 10) {
      splits.push(
        ...mantissas.map((mantissa) => mantissa * decade).filter((value) => value >= least * 0.9999 && value <= most * 1.0001)
      );
    }
    return splits;
  }
  function timeCursor() {
    return {
      y: false,
      sync: { key: SYNC_KEY, setSeries: false, scales: ["x", null] },
      drag: { x: true, y: false, setScale: false, dist: 4 },
      points: { size: 5, width: 1 },
      bind: { dblclick: () => () => null }
    };
  }
  function brushHooks(beginMs, actions) {
    const msAt = (plot, left) => beginMs() + plot.posToVal(left, "x") * 1e3;
    return {
      init: [
        (plot) => {
          clicks(plot, (left) => actions.pick?.(msAt(plot, left)), actions.whole);
          cursorKeys(plot, (left, right) => actions.brush(msAt(plot, left), msAt(plot, right)));
          wheel(plot, (left, right) => actions.brush(msAt(plot, left), msAt(plot, right)));
        }
      ],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width < 4 || keyed.has(plot)) return;
          plot.setSelect(NOTHING, false);
          if (plot.over.matches(":hover")) actions.brush(msAt(plot, left), msAt(plot, left + width));
        }
      ]
    };
  }
  var NOTHING = { left: 0, top: 0, width: 0, height: 0 };
  var keyed = /* @__PURE__ */ new WeakSet();
  function clicks({ over }, once, twice) {
    let waiting;
    over.addEventListener("click", ({ clientX }) => {
      clearTimeout(waiting);
      const left = clientX - over.getBoundingClientRect().left;
      waiting = setTimeout(() => once(left), CLICK_MS);
    });
    over.addEventListener("dblclick", () => {
      clearTimeout(waiting);
      twice();
    });
  }
  function cursorKeys(plot, take2) {
    const place = plot.root.parentElement;
    if (!place) return;
    let from = 0;
    const moveTo = (left) => {
      const at = Math.max(0, Math.min(plot.over.clientWidth, left));
      const setCursor = (
        /** @type {(at: object, fire: boolean, tell: boolean) => void} */
        plot.setCursor
      );
      setCursor({ left: at, top: plot.over.clientHeight / 2 }, true, true);
      return at;
    };
    const leave = () => {
      keyed.delete(plot);
      plot.setSelect(NOTHING, false);
    };
    const onKey = (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const { clientWidth: width, clientHeight: height } = plot.over;
      const left = Math.max(0, plot.cursor.left ?? 0);
      const step = { ArrowLeft: -width / 100, ArrowRight: width / 100, Home: -width, End: width }[event.key];
      if (step !== void 0) {
        if (event.shiftKey && take2 && !keyed.has(plot)) {
          keyed.add(plot);
          from = left;
        } else if (!event.shiftKey) leave();
        const at = moveTo(left + step);
        if (keyed.has(plot)) {
          plot.setSelect({ left: Math.min(from, at), top: 0, width: Math.abs(at - from), height }, false);
        }
      } else if (event.key === "Enter" && keyed.has(plot)) {
        const { left: first, width: wide } = plot.select;
        leave();
        if (wide >= 1) take2?.(first, first + wide);
      } else if (event.key === "Escape" && keyed.has(plot)) leave();
      else return;
      event.preventDefault();
      event.stopPropagation();
    };
    place.tabIndex = 0;
    place.addEventListener("keydown", onKey);
  }
  function wheel({ over }, take2) {
    over.addEventListener(
      "wheel",
      (event) => {
        const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
        const zooms = event.ctrlKey || event.metaKey;
        if (!zooms && Math.abs(sideways) <= Math.abs(event.shiftKey ? 0 : event.deltaY)) return;
        event.preventDefault();
        const { left, width } = over.getBoundingClientRect();
        const [first, last] = zooms ? zoomed(event.clientX - left, width, event.deltaY > 0 ? 1.25 : 0.8) : [0, width].map((at) => at + Math.sign(sideways) * width * 0.1);
        take2(first, last);
      },
      { passive: false }
    );
  }
  function zoomed(at, width, factor) {
    return [at - at * factor, at + (width - at) * factor];
  }
  function marksHook(state) {
    return (plot) => {
      const { view } = state();
      if (!view) return;
      const { ctx, bbox } = plot;
      const at = (ms) => plot.valToPos((ms - view.begin) / 1e3, "x", true);
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      for (const { from, to } of warmUp(view.model.notes, view.span)) {
        ctx.fillStyle = colour("--shade");
        ctx.fillRect(at(from), bbox.top, at(to) - at(from), bbox.height);
      }
      for (const { from, to } of faultBands(view.history.result)) {
        const wide = Math.max(2 * uPlot.pxRatio, at(to) - at(from));
        ctx.fillStyle = colour("--fault");
        ctx.fillRect(at(from), bbox.top, wide, bbox.height);
        ctx.fillStyle = colour("--bad");
        ctx.fillRect(at(from), bbox.top, wide, 3 * uPlot.pxRatio);
      }
      ctx.lineWidth = uPlot.pxRatio;
      for (const { unix_ms: ms, kind } of view.model.notes) {
        if (UNMARKED.includes(kind)) continue;
        ctx.strokeStyle = colour(kind in MARKS ? "--ink-2" : "--mark");
        ctx.setLineDash((MARKS[kind] ?? []).map((length) => length * uPlot.pxRatio));
        const x = Math.round(at(ms)) + 0.5;
        ctx.beginPath();
        ctx.moveTo(x, kind === "gc" ? bbox.top + bbox.height - 10 * uPlot.pxRatio : bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
      }
      ctx.restore();
    };
  }
  function placed(place, height, make) {
    let plot = null;
    const fit = () => {
      const width = Math.floor(place.clientWidth);
      if (width < 40) return;
      if (plot === null) plot = make({ width, height });
      else if (plot.width !== width) plot.setSize({ width, height });
    };
    place.style.setProperty("height", `${height}px`);
    const observer = new ResizeObserver(fit);
    observer.observe(place);
    const endTheme = onTheme(() => plot?.redraw(false, true));
    fit();
    return {
      plot: () => plot,
      release: () => {
        observer.disconnect();
        endTheme();
        plot?.destroy();
      }
    };
  }

  // src/charts/figure.js
  var TABLE_ROWS_MAX = 2e3;
  var figures = /* @__PURE__ */ new Set();
  var allTables = false;
  var numbered = 0;
  function toggleAllTables() {
    allTables = !allTables;
    for (const figure2 of figures) figure2.showTable(allTables);
    return allTables;
  }
  var Figure = class {
    /** @type {() => Cell[][]} */
    #rows = () => [];
    /** @type {(() => (string | number | null)[][]) | undefined} */
    #raw;
    /** @type {Line[]} */
    #lines = [];
    /** @type {Table} */
    #table;
    /**
     * @param {{title: string, unit?: string, about?: string, columns: {title: string, unit?: string, numeric?: boolean}[]}} given
     *   about: what there is to know to read it; columns: of the table twin, numbers if it is not said of one.
     */
    constructor({ title, unit = "", about = "", columns }) {
      numbered += 1;
      const id = `figure-${numbered}`;
      this.title = title;
      this.columns = columns;
      this.plot = h("div.plot", { role: "img", "aria-label": title });
      this.when = h("b");
      this.clock = h("span");
      this.legend = h("div.legend", { "aria-hidden": "true" }, h("div.key", {}, this.when, this.clock));
      this.summary = h("p.summary", { id: `${id}-summary` });
      this.toggle = h("button.quiet", { type: "button", on: { click: () => this.showTable(!this.tabled) } }, "table");
      setAttribute(this.toggle, "aria-label", `${title} as a table`);
      this.tools = h("span.tools", {}, this.toggle);
      this.addTool("csv", "csv", () => saveText(fileName(title, "csv"), this.#csv(), "text/csv"));
      this.addTool("png", "png", () => this.#picture());
      this.#table = table({
        caption: `${title}${unit ? `, ${unit}` : ""}`,
        columns: columns.map((column) => ({ numeric: true, ...column })),
        quiet: true
      });
      this.twin = h("div.twin", { hidden: true }, this.#table.element);
      this.element = h(
        "figure.chart",
        { "aria-labelledby": id },
        h("figcaption", {}, h("h3", { id }, title, unit && h("span.unit", {}, ` ${unit}`)), this.tools),
        this.legend,
        this.plot,
        this.twin,
        this.summary,
        about && h("p.about", {}, about)
      );
      this.tabled = false;
      figures.add(this);
      if (allTables) this.showTable(true);
    }
    /**
     * A line in the legend, with a place for its value below its name.
     * @param {Line} line
     * @returns {HTMLElement} the place
     */
    addKey(line) {
      const value = h("b");
      this.#lines.push(line);
      this.legend.append(h("div.key", {}, h("span", {}, swatch(line), line.title), value));
      return value;
    }
    /** A file that the chart gives. @param {string} text @param {string} kind in words @param {() => void} click */
    addTool(text, kind, click) {
      const button = h("button.quiet", { type: "button", on: { click } }, text);
      setAttribute(button, "aria-label", `${this.title} as ${kind}`);
      this.tools.prepend(button);
    }
    /** What the legend's values are of: a moment, or the range. @param {string} when @param {string} [clock] */
    setWhen(when, clock = "") {
      setText(this.when, when);
      setText(this.clock, clock);
    }
    /**
     * Say what is to be seen, and give the table's rows, which are worked out only if they are shown.
     * @param {string} text
     * @param {() => Cell[][]} rows
     * @param {() => (string | number | null)[][]} [raw] the same for a CSV file, as plain numbers, with titles first
     */
    describe(text, rows, raw) {
      setText(this.summary, text);
      setAttribute(this.plot, "aria-label", `${this.title}. ${text}`);
      this.#rows = rows;
      this.#raw = raw;
      if (this.tabled) this.#fill();
    }
    /** Put the unit of the twin's columns. @param {string[]} units */
    setUnits(units) {
      this.#table.setUnits(units);
    }
    /** The table instead of the chart, or the chart again. @param {boolean} shown */
    showTable(shown2) {
      this.tabled = shown2;
      show(this.twin, shown2);
      show(this.plot, !shown2);
      setText(this.toggle, shown2 ? "chart" : "table");
      setAttribute(this.toggle, "aria-label", `${this.title} as a ${shown2 ? "chart" : "table"}`);
      if (shown2) this.#fill();
    }
    /** No longer among those that `toggleAllTables` reaches. */
    release() {
      figures.delete(this);
    }
    #csv() {
      if (this.#raw) return csvOf(this.#raw());
      const texts = this.#rows().map((row3) => row3.map((cell) => typeof cell === "string" ? cell : cell.text));
      return csvOf([this.columns.map(({ title }) => title), ...texts]);
    }
    /** The chart as it is drawn, with its title and the names of its lines above it. */
    #picture() {
      const canvas = this.plot.querySelector("canvas");
      const picture = document.createElement("canvas");
      const ctx = picture.getContext("2d");
      if (!canvas || !ctx) return;
      const ratio = window.devicePixelRatio || 1;
      [picture.width, picture.height] = [canvas.width, canvas.height + 44 * ratio];
      ctx.fillStyle = colour("--paper");
      ctx.fillRect(0, 0, picture.width, picture.height);
      ctx.drawImage(canvas, 0, 44 * ratio);
      ctx.scale(ratio, ratio);
      ctx.fillStyle = colour("--ink");
      ctx.font = `600 ${axisFont(13)}`;
      ctx.fillText(this.title, 8, 17);
      ctx.font = axisFont(11);
      this.#lines.reduce((left, line) => drawnKey(ctx, line, left), 8);
      picture.toBlob((blob) => blob && save(fileName(this.title, "png"), blob));
    }
    #fill() {
      const rows = this.#rows();
      this.#table.setRows(rows.slice(-TABLE_ROWS_MAX));
    }
  };
  function drawnKey(ctx, { title, colour: name, dash = [], width = 1.5 }, left) {
    ctx.strokeStyle = colour(name);
    ctx.lineWidth = width;
    ctx.setLineDash(dash);
    ctx.beginPath();
    ctx.moveTo(left, 32);
    ctx.lineTo(left + 20, 32);
    ctx.stroke();
    ctx.fillText(title, left + 25, 36);
    return left + 41 + ctx.measureText(title).width;
  }
  function swatch({ colour: name, dash = [], width = 1.5 }) {
    const line = svg("line", { x1: 0, y1: 5, x2: 20, y2: 5, "stroke-width": width, "stroke-dasharray": dash.join(" ") });
    line.style.setProperty("stroke", `var(${name})`);
    return svg("svg.swatch", { width: 20, height: 10, "aria-hidden": "true" }, line);
  }

  // src/drops.js
  function takeDrops(open) {
    const mark = (over) => document.body.classList.toggle("dropping", over);
    addEventListener("dragover", (event) => {
      event.preventDefault();
      mark(true);
    });
    addEventListener("dragleave", (event) => mark(event.relatedTarget !== null));
    addEventListener("drop", (event) => {
      event.preventDefault();
      mark(false);
      const file = event.dataTransfer?.files[0];
      if (file) open(file);
    });
  }

  // src/stream.js
  var LINE_MAX = 64 * 1024 * 1024;
  function eventReader() {
    let rest = "";
    let fields = { id: "", event: "", data: [] };
    return (piece) => {
      const lines = (rest + piece).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? "";
      if (rest.length > LINE_MAX) throw new RangeError("an event of the stream is longer than 64 MiB");
      const events = [];
      for (const line of lines) {
        if (line === "") {
          if (fields.data.length > 0) {
            events.push({ id: fields.id, event: fields.event || "message", data: fields.data.join("\n") });
          }
          fields = { id: fields.id, event: "", data: [] };
        } else if (!line.startsWith(":")) {
          take(line, fields);
        }
      }
      return events;
    };
  }
  function take(line, fields) {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") fields.data.push(value);
    else if (name === "event" || name === "id") fields[name] = value;
  }

  // src/live.js
  var BACKOFF_MS = [500, 1e3, 2e3, 5e3, 1e4];
  var DEAD_MS = 35e3;
  var LiveStream = class {
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
        () => this.#again()
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
      for (; ; ) {
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
  };

  // src/model.js
  var INTERVALS_MAX = 2e3;
  var RunModel = class {
    /** @type {Note | undefined} */
    #resultNote;
    /** @type {ResultData | null} */
    #result = null;
    /** @param {RunData} data the answer of /api/v1/runs/{run_id}/data; RangeError if it is of another format */
    constructor(data) {
      if (data.format !== 1) throw new RangeError(`the data has format ${data.format}, this page reads format 1`);
      this.runId = data.run_id;
      this.title = data.title || data.run_id;
      this.live = Boolean(data.live);
      this.phase = data.phase ?? "";
      this.tick = data.tick ?? 0;
      this.nowMs = data.generated_unix_ms;
      this.sources = data.sources ?? [];
      this.aggregator = data.aggregator ?? {};
      this.notes = inOrder(data.notes ?? []);
      this.metrics = data.metrics ?? {};
      this.series = /* @__PURE__ */ new Map();
      for (const given of data.series ?? []) this.#take(given);
    }
    /**
     * Take what is new. @param {TickData} event the data of an SSE `data` event
     * @returns {boolean} false if the event is not newer than what is known: the sender has begun anew
     */
    apply(event) {
      if (event.tick <= this.tick) return false;
      this.tick = event.tick;
      this.nowMs = event.now_unix_ms;
      this.live = Boolean(event.live);
      this.phase = event.phase ?? this.phase;
      this.title = event.title || this.title;
      for (const given of event.series ?? []) this.#take(given);
      if (event.notes?.length) {
        this.notes = inOrder([...this.notes, ...event.notes]);
      }
      for (const changed of event.sources ?? []) this.#takeSource(changed);
      if (event.aggregator) this.aggregator = event.aggregator;
      return true;
    }
    /** The newest verdict's name; empty as long as the run is not judged. */
    get verdict() {
      return this.#verdictNote?.name ?? "";
    }
    /** The verdict with its cause, in the words of the run controller; that of an older one has no cause. */
    get outcome() {
      return this.#verdictNote?.outcome || this.verdict;
    }
    /** The checks of the verdict that failed. @returns {{check: string, text: string, cause: string}[]} */
    get failed() {
      return this.#verdictNote?.failed ?? [];
    }
    /** What the run is judged by, as its controller has said it: nothing is judged by what is not there. */
    get limits() {
      return this.notes.findLast(({ kind }) => kind === "limits")?.limits ?? {};
    }
    /**
     * The system under test, if it is not ours: its kind, and the steps of a pipeline as its user named them.
     * @returns {{kind: string, steps: string[]} | null}
     */
    get system() {
      const said = this.notes.findLast(({ kind }) => kind === "system");
      return said ? { kind: said.name, steps: said.text.split("\n").slice(1) } : null;
    }
    /** How many hosts, and so clocks, the processes are known to be on. */
    get hosts() {
      return new Set(this.sources.map(({ host }) => host).filter(Boolean)).size;
    }
    /**
     * The part of the run that its result's latencies are of; null as long as there is none.
     * @returns {{from: number, to: number} | null}
     */
    get judged() {
      const judged = this.#verdictNote?.judged;
      return judged && judged.series.length > 0 ? { from: judged.from_unix_ms, to: judged.to_unix_ms } : null;
    }
    /**
     * The result's own histogram of a latency, which is of orders and not of when they were pushed; null if there is none.
     * @param {import("./view.js").Selector} of
     * @returns {Hist | null}
     */
    judgedHist({ name, labels = {} }) {
      const same = (given) => given.name === name && sameLabels(given.labels, labels);
      const found = this.#verdictNote?.judged?.series.find(same);
      return found ? { ...histOf(slotOf(found.total)), tooFew: found.too_few } : null;
    }
    /** The latencies of the result as text: titles of columns, then a row each; empty if there are none. */
    get latencyRows() {
      return this.#verdictNote?.judged?.rows ?? [];
    }
    /** The result whole, as result.json has it; null as long as there is none, and of a run of an older version. */
    get result() {
      const note2 = this.notes.findLast(({ kind }) => kind === "result");
      if (note2 !== this.#resultNote) [this.#resultNote, this.#result] = [note2, note2 ? resultIn(note2) : null];
      return this.#result;
    }
    get #verdictNote() {
      return this.notes.findLast(({ kind }) => kind === "verdict");
    }
    /**
     * Series of that name whose labels are those given.
     * @param {string} name
     * @param {Labels} [labels]
     * @returns {Series[]}
     */
    find(name, labels = {}) {
      const wanted = Object.entries(labels);
      return [...this.series.values()].filter(
        (series) => series.name === name && wanted.every(([label, value]) => series.labels[label] === value)
      );
    }
    /**
     * From the first interval's begin to the last one's end; null if there is none.
     * @returns {{from: number, to: number} | null}
     */
    span() {
      let [from, to] = [Infinity, -Infinity];
      for (const { intervals } of this.series.values()) {
        if (intervals.length === 0) continue;
        from = Math.min(from, intervals[0].start);
        to = Math.max(to, intervals[intervals.length - 1].end);
      }
      return to > from ? { from, to } : null;
    }
    /**
     * The longest interval of a histogram that begins in the range, ms; 0 if there is none.
     * @param {Part} range
     * @param {string} [of] the histogram; else all of them
     */
    coarseness(range, of = "") {
      let longest = 0;
      for (const { name, kind, intervals } of this.series.values()) {
        if (kind !== "histogram" || of && name !== of) continue;
        for (const { start, end } of intervals) {
          if (start >= range.from && start < range.to) longest = Math.max(longest, end - start);
        }
      }
      return longest;
    }
    /** @param {SeriesData} given */
    #take(given) {
      const key = `${given.name}\0${JSON.stringify(Object.entries(given.labels).sort())}`;
      const known = this.series.get(key);
      const read = readSeries(given);
      if (known === void 0) {
        this.series.set(key, read);
        return;
      }
      if (given.total !== void 0) known.total = read.total;
      known.intervals.push(...read.intervals);
      if (known.intervals.length > INTERVALS_MAX) coarsen(known);
    }
    /** @param {SourceData} changed */
    #takeSource(changed) {
      const same = (known) => known.source === changed.source && known.epoch_unix_ns === changed.epoch_unix_ns && known.epoch_unix_ms === changed.epoch_unix_ms;
      const at = this.sources.findIndex(same);
      if (at < 0) this.sources = [...this.sources, changed];
      else this.sources = this.sources.with(at, changed);
    }
  };
  function sameLabels(one, other) {
    const names = Object.keys(one);
    return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
  }
  function resultIn({ text }) {
    try {
      return JSON.parse(text);
    } catch {
      return null;
    }
  }
  function inOrder(notes) {
    return [...notes].sort((one, other) => one.unix_ms - other.unix_ms);
  }
  function outliersOf({ hist, head }) {
    return hist ? { negative: hist.negative, overflow: hist.overflow } : { negative: head[5], overflow: head[4] };
  }
  function histOf(slot) {
    if (slot.hist === null) {
      const [count, sumUs, minUs, maxUs, overflow, negative] = slot.head;
      const counts = count > 0 ? decodeCounts(slot.text) : emptyHist();
      slot.hist = {
        count,
        sumUs,
        minUs,
        maxUs,
        overflow,
        negative,
        indices: counts.indices,
        numbers: counts.numbers
      };
      slot.text = "";
    }
    return slot.hist;
  }
  function readSeries({ name, labels, ...given }) {
    if (given.kind === "histogram") {
      const total2 = given.total ? slotOf(given.total) : null;
      return { name, kind: given.kind, labels, total: total2, intervals: (given.intervals ?? []).map(readSlot) };
    }
    return { name, kind: given.kind, labels, total: given.total, intervals: (given.intervals ?? []).map(readPoint) };
  }
  function readSlot([start, end, ...total2]) {
    return { ...slotOf(total2), start, end };
  }
  function slotOf([count, sumUs, minUs, maxUs, overflow, negative, text]) {
    return { start: 0, end: 0, head: [count, sumUs, minUs, maxUs, overflow, negative], text, hist: null };
  }
  function readPoint([start, end, value]) {
    return { start, end, value };
  }
  function coarsen(series) {
    if (series.kind === "histogram") {
      series.intervals = halved(series.intervals, (older, newer) => ({
        start: older.start,
        end: newer.end,
        head: [],
        text: "",
        hist: mergeHists([histOf(older), histOf(newer)])
      }));
    } else {
      const isCounter = series.kind === "counter";
      series.intervals = halved(series.intervals, (older, newer) => ({
        start: older.start,
        end: newer.end,
        value: isCounter ? older.value + newer.value : newer.value
      }));
    }
  }
  function halved(intervals, merge) {
    const half = 2 * Math.floor(intervals.length / 4);
    const merged = [];
    for (let i = 0; i < half; i += 2) merged.push(merge(intervals[i], intervals[i + 1]));
    return [...merged, ...intervals.slice(half)];
  }

  // src/words.js
  var WORDS = [
    [alone("([Aa])n order"), "$1 message"],
    [alone("order(s?)"), "message$1"],
    [alone("Order(s?)"), "Message$1"],
    [alone("alert(s?)"), "output$1"],
    [alone("Alert(s?)"), "Output$1"],
    [alone("Spark"), "the system"]
  ];
  function alone(word) {
    return new RegExp(`(?<![\\w/]|\\w[.-])${word}(?!\\w|/(?!s\\b)|[.-]\\w)`, "g");
  }
  function inWordsOf(model, text) {
    return model.system ? WORDS.reduce((said, [ours, theirs]) => said.replace(ours, theirs), text) : text;
  }
  function countedHow({ system }) {
    return system && system.kind !== "pipeline" ? "it is told by what the system has committed" : "the job counts live, up to 2 s late";
  }

  // src/steps.js
  var PREFIX = "market_spread_";
  var MEASURED2 = { phase: "measured" };
  function metric(name, labels) {
    return labels === void 0 ? { name: PREFIX + name } : { name: PREFIX + name, labels };
  }
  var END_TO_END = metric("receiver_end_to_end_seconds", MEASURED2);
  var SERVICE = metric("receiver_service_seconds", MEASURED2);
  var SEND_LAG = metric("sender_send_lag_seconds");
  var SENT = metric("sender_messages_sent_total");
  var DUE = metric("sender_messages_due_total");
  var FAILED = metric("sender_messages_failed_total");
  var RECORDS = metric("job_records_read_total");
  var PROCESSED = metric("job_messages_processed_total");
  var COMMITTED = metric("job_messages_committed_total");
  var ALERTS = metric("receiver_alerts_total");
  var PARTITION_LATENCY = metric("receiver_partition_end_to_end_seconds");
  var PARTITION_COMMITTED = metric("job_partition_committed_total");
  var CPU = metric("process_cpu_seconds_total");
  var MEMORY = metric("process_memory_bytes");
  var STAGES = [
    { stage: "send_lag", id: "send", title: "Send lag", from: "intended", to: "sent" },
    { stage: "ingest", id: "ingest", title: "Broker and read", from: "sent", to: "read by Spark" },
    { stage: "compute", id: "compute", title: "Computation", from: "read by Spark", to: "emitted" },
    { stage: "delivery", id: "deliver", title: "Sink and delivery", from: "emitted", to: "received" }
  ];
  var OFFERED = { title: "offered", of: SENT, unit: "messages/s" };
  var DONE = { title: "processed", of: PROCESSED, unit: "messages/s" };
  var READ = { title: "records read", of: RECORDS, unit: "records/s" };
  var ALERTED = { title: "alerts", of: ALERTS, unit: "alerts/s" };
  var PIPELINES = [
    {
      level: "pipeline",
      id: "market_spread",
      title: "Intended send to receipt",
      about: "From the moment an order was due by the schedule to the receipt of its alert.",
      latency: END_TO_END,
      over: [metric("receiver_end_to_end_seconds")],
      throughput: [OFFERED, DONE, ALERTED],
      workers: "receiver"
    },
    {
      level: "pipeline",
      id: "service",
      title: "Actual send to receipt",
      about: "From the moment an order was sent to the receipt of its alert; the sender's lateness is not in it.",
      latency: SERVICE,
      over: [metric("receiver_service_seconds")],
      throughput: [OFFERED, DONE, ALERTED],
      workers: "receiver"
    }
  ];
  var COMPUTATIONS = [
    {
      level: "computation",
      id: "send",
      title: "Send lag, orders with an alert",
      about: "From the intended to the actual send of the orders that had an alert. It holds the wait in the frame.",
      aboutSystem: "From the intended to the actual send of the messages that had an output. It holds the wait for the others.",
      ...stage("send_lag"),
      throughput: [OFFERED],
      workers: "sender"
    },
    {
      level: "computation",
      id: "send_all",
      title: "Send lag, all messages",
      about: "From the intended to the actual send of every message, as the sender saw it.",
      latency: SEND_LAG,
      over: [SEND_LAG],
      throughput: [OFFERED],
      workers: "sender"
    },
    {
      level: "computation",
      id: "ingest",
      title: "Broker and read",
      about: "From the send of a frame to the moment Spark reads it: the broker, and the wait for the next read.",
      aboutSystem: "From the send of a message to the moment the system reads it, as the output's header read_us says. Without that header it is 0.",
      ...stage("ingest"),
      throughput: [READ],
      workers: "job"
    },
    {
      level: "computation",
      id: "compute",
      title: "Computation",
      about: "From Spark's read to the moment the alert is emitted: frame opened, quote found, order judged.",
      aboutSystem: "From the system's read to the moment the output is emitted, as its headers say. Without them it is all from the send to the broker's append.",
      ...stage("compute"),
      throughput: [DONE],
      workers: "job"
    },
    {
      level: "computation",
      id: "deliver",
      title: "Sink and delivery",
      about: "From the emission of an alert to its receipt: Kafka's producer, the broker, the receiver's poll.",
      aboutSystem: "From the emission of an output, or its append by the broker, to its receipt.",
      ...stage("delivery"),
      throughput: [ALERTED],
      workers: "receiver"
    }
  ];
  function stage(name) {
    return {
      latency: metric("receiver_stage_seconds", { ...MEASURED2, stage: name }),
      over: [metric("receiver_stage_seconds", { stage: name })]
    };
  }
  function stageLatency(name) {
    return stage(name).latency;
  }
  function workers(model) {
    const pushed = [...model.series.values()].map(({ labels }) => labels.source);
    return [.../* @__PURE__ */ new Set([...pushed, ...model.sources.map(({ source }) => source)])].filter(Boolean).sort();
  }
  function stepsOf(model, steps) {
    if (!model.system) return steps;
    return steps.map((step) => ({
      ...step,
      title: inWordsOf(model, step.title),
      about: step.aboutSystem ?? inWordsOf(model, step.about),
      throughput: throughputOf(model, step.throughput)
    }));
  }
  function throughputOf(model, throughput) {
    return throughput.filter(({ of }) => !model.system || model.system.kind === "pipeline" || of !== RECORDS).map(({ title, of, unit }) => ({ title: inWordsOf(model, title), of, unit: inWordsOf(model, unit) }));
  }
  function stagesOf(model) {
    return STAGES.map((each) => ({ ...each, from: inWordsOf(model, each.from), to: inWordsOf(model, each.to) }));
  }
  var WORK = [
    { kind: "sender", work: "offers the load" },
    { kind: "receiver", work: "takes the alerts" },
    { kind: "job", work: "runs the pipeline in Spark" }
  ];
  var JOB_OF_SYSTEM = {
    pipeline: "runs your pipeline in Spark",
    attached: "watches your system, whose CPU and memory are not seen"
  };
  function workOf(source, model) {
    if (model.system && source.startsWith("job")) {
      return JOB_OF_SYSTEM[model.system.kind] ?? "runs your system, and watches it";
    }
    return inWordsOf(model, WORK.find(({ kind }) => source.startsWith(kind))?.work ?? "");
  }
  var MAIN_LATENCY = [
    { kind: "sender", main: metric("sender_send_lag_seconds", {}) },
    { kind: "receiver", main: metric("receiver_end_to_end_seconds", MEASURED2) }
  ];
  function workerStep(model, source) {
    if (!workers(model).includes(source)) return null;
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
      workers: source
    };
  }
  function stepOf(model, level, id) {
    if (level === "worker") return workerStep(model, id);
    return stepsOf(model, level === "pipeline" ? PIPELINES : COMPUTATIONS).find((step) => step.id === id) ?? null;
  }
  function histogramsOf(model, source) {
    return [...model.series.values()].filter(({ kind, labels }) => kind === "histogram" && labels.source === source && labels.phase !== "warm_up").map(({ name, labels }) => ({ name, labels: { ...labels } }));
  }
  function plainName(name) {
    return name.replace(PREFIX, "").replace(/_(seconds|total|bytes)$/, "").replace(/^(sender|receiver|job|process)_/, "").replaceAll("_", " ");
  }

  // src/rundata.js
  var BINS = 240;
  var LONG_MS = 6e5;
  var BUSY_MS = 500;
  var COARSE2 = `points=60&only=${END_TO_END.name}`;
  function firstQuery(head) {
    return head && (head.end_unix_ms ?? 0) - (head.begin_unix_ms ?? 0) > LONG_MS ? COARSE2 : "";
  }
  function sideQuery(coarse) {
    return coarse ? COARSE2 : `points=${BINS}&only=${END_TO_END.name}`;
  }
  function pageQuery(fine) {
    return fine ? `points=${BINS}&fine=${fine}` : "";
  }
  function rangeQuery({ from, to }, fine) {
    return `from_unix_ms=${Math.floor(from)}&to_unix_ms=${Math.ceil(to)}&${pageQuery(fine) || "points=600"}`;
  }
  async function fetchData(runId, query = "") {
    const answer = await fetch(`${addressOf(runId)}/data${query && `?${query}`}`, { cache: "no-store" });
    if (!answer.ok) {
      throw new Error((await answer.json().catch(() => ({}))).error ?? `the aggregator answered ${answer.status}`);
    }
    return answer.json();
  }
  async function fetchFine(runId, query) {
    await new Promise(
      (resolve2) => "requestIdleCallback" in globalThis ? requestIdleCallback(resolve2, { timeout: BUSY_MS }) : setTimeout(resolve2)
    );
    return fetchData(runId, query);
  }
  async function fetchDocuments(runId) {
    try {
      const answer = await fetch(`${addressOf(runId)}/documents`, { cache: "no-store" });
      return answer.ok ? await answer.json() : {};
    } catch {
      return {};
    }
  }
  function addressOf(runId) {
    return `api/v1/runs/${encodeURIComponent(runId)}`;
  }

  // src/runfile.js
  var ELEMENT_ID = "run-data";
  var MARKED = /<script type="application\/gzip" id="run-data">([A-Za-z0-9+/=\s]*)<\/script>/;
  async function embeddedRun(page) {
    const element = page.getElementById(ELEMENT_ID);
    return element ? unpacked(element.textContent) : null;
  }
  async function runInText(text) {
    const found = MARKED.exec(text);
    if (found) return unpacked(found[1]);
    if (text.trimStart().startsWith("{")) {
      const data = JSON.parse(text);
      if (data.format && data.series) return data;
    }
    throw new Error("The file holds no run. Drop an HTML file that was exported here.");
  }
  async function unpacked(base64) {
    const packed = Uint8Array.from(atob(base64.replace(/\s/g, "")), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  // src/feed.js
  var RUNS_EVERY_MS = { none: 1e3, ended: 1e4, live: 3e4 };
  var SILENT_MS = 1500;
  var FINE_ENOUGH_MS = 1500;
  var Feed = class {
    /** @type {RunModel | null} the run that is open */
    model = null;
    /** @type {RunHead[]} as /api/v1/runs has them, those out of files first */
    runs = [];
    /** @type {{state: LinkState, retryMs: number}} */
    link = { state: "connecting", retryMs: 0 };
    loading = true;
    /** Why there is nothing to show; empty if there is, or may come. */
    failure = "";
    /** Whether the aggregator answered when it was last asked. */
    reached = true;
    /** Whether there is an aggregator: not if this page is an exported file. */
    served = true;
    fromFile = false;
    /** Whether finer intervals of what is looked at are on their way. */
    refining = false;
    /** @type {Map<string, {data: RunData, head: RunHead}>} */
    #files = /* @__PURE__ */ new Map();
    /** @type {RunHead[]} */
    #known = [];
    #wanted = "";
    #opening = "";
    /** @type {LiveStream | null} */
    #stream = null;
    #heardAt = 0;
    /** @type {{model: RunModel, range: Range, tick: number, fine: string} | null} of a part of the run */
    #detail = null;
    #asked = "";
    /** What the open run was asked for; empty for all of it. */
    #held = "";
    /** @type {{query: string, heard: TickData[]} | null} what takes its place, and what was new since it was asked for */
    #coming = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    #timer;
    #changed;
    /** @param {() => void} changed called after everything that may have to be drawn */
    constructor(changed) {
      this.#changed = changed;
    }
    /**
     * Begin with the run inside the page, or with those of the aggregator.
     * @param {RunData | null} embedded
     * @param {string} runId
     */
    async start(embedded, runId) {
      this.served = embedded === null;
      this.#wanted = runId;
      if (embedded) this.#takeFile(embedded);
      else await this.#watchRuns();
    }
    /** Ask for the list of runs now. */
    refresh() {
      if (this.served) this.#watchRuns();
    }
    /** Open that run; the newest if it is empty. @param {string} runId */
    want(runId) {
      this.#wanted = runId;
      const id = runId || this.runs[0]?.run_id;
      if (id && id !== this.model?.runId && id !== this.#opening) this.#open(id);
    }
    /**
     * Open a run out of a file's text.
     * @param {string} text
     * @returns {Promise<string>} its id; Error with a sentence if there is none
     */
    async openText(text) {
      const data = await runInText(text);
      this.#takeFile(data);
      return data.run_id;
    }
    /** Once a second: time goes on for a live run also while nothing comes. */
    second() {
      const passed = performance.now() - this.#heardAt;
      if (!this.model?.live || this.fromFile || this.link.state !== "open" || passed < SILENT_MS) return;
      this.model.nowMs += passed;
      this.#heardAt = performance.now();
      this.#changed();
    }
    /**
     * The run's data for a range: the aggregator's finer intervals of it, once they are here.
     * @param {RunModel} model the run that is open
     * @param {Range} range
     * @param {string} [page] that shows it
     * @returns {RunModel}
     */
    modelFor(model, range, page = "") {
      const fine = page === "overview" ? END_TO_END.name : "";
      if (model.live) this.#complete(model, pageQuery(fine));
      const held = this.#detailOf(model, range, fine) ?? model;
      const needed = Math.max(FINE_ENOUGH_MS, 2 * (range.to - range.from) / BINS);
      const isHeldWhole = range.whole && (model.live || this.#firstOf(model.runId) === "");
      if (this.served && !this.fromFile && !isHeldWhole && held.coarseness(range, fine) > needed) {
        this.#refine(model, range, fine);
      }
      return held;
    }
    /**
     * What was fetched beside the run, if it is of that range.
     * @param {RunModel} model
     * @param {Range} range
     * @param {string} fine
     */
    #detailOf(model, range, fine) {
      const detail = this.#detail;
      if (!detail || detail.tick !== model.tick || detail.fine !== "" && detail.fine !== fine) return null;
      if (detail.range.from > range.from || detail.range.to < range.to) return null;
      return Object.assign(detail.model, { sources: model.sources, nowMs: model.nowMs, aggregator: model.aggregator });
    }
    /**
     * A run and its documents, beside the one that is open; of its histograms only the latency has intervals. Error with a
     * sentence if there is none.
     * @param {string} runId
     * @param {boolean} [coarse] whether few intervals of the latency will do; else there are as many as are drawn
     * @returns {Promise<{model: RunModel, documents: Documents}>}
     */
    async load(runId, coarse = false) {
      const file = this.#files.get(runId);
      if (file) return { model: new RunModel(file.data), documents: {} };
      const [data, documents] = await Promise.all([fetchData(runId, sideQuery(coarse)), fetchDocuments(runId)]);
      return { model: new RunModel(data), documents };
    }
    async #watchRuns() {
      clearTimeout(this.#timer);
      try {
        const answer = await fetch("api/v1/runs", { cache: "no-store" });
        if (!answer.ok) throw new Error(`it answered ${answer.status}`);
        this.#known = (await answer.json()).runs;
        this.#list();
        this.reached = true;
        if (this.runs.length === 0) Object.assign(this, { loading: false, failure: "" });
        this.want(this.#wanted);
        this.#comeBack();
      } catch (error) {
        this.reached = false;
        if (!this.model) this.failure = `the aggregator does not answer (${messageOf(error)})`;
      }
      this.#changed();
      const state = this.model ? this.model.live ? "live" : "ended" : "none";
      this.#timer = setTimeout(() => this.#watchRuns(), RUNS_EVERY_MS[state]);
    }
    /** Follow the open run if it goes on after it was thought to have ended. */
    #comeBack() {
      const { model } = this;
      if (!model) return;
      const goesOn = this.#known.some(({ run_id: id, live }) => live && id === model.runId);
      if (goesOn && !model.live && !this.fromFile && this.#stream === null && this.#opening === "") {
        this.#open(model.runId);
      }
    }
    /** @param {string} runId */
    async #open(runId) {
      this.#leave();
      this.#opening = runId;
      const file = this.#files.get(runId);
      if (file) {
        this.#show(file.data, true);
        return;
      }
      try {
        const query = this.#firstOf(runId);
        const data = await fetchData(runId, query);
        if (this.#opening === runId) this.#show(data, false, query);
      } catch (error) {
        if (this.#opening !== runId) return;
        this.#opening = "";
        this.model = null;
        this.failure = messageOf(error);
        this.#changed();
      }
    }
    /** @param {RunData} data @param {boolean} fromFile @param {string} [held] what it was asked for */
    #show(data, fromFile, held = "") {
      this.model = new RunModel(fromFile ? { ...data, live: false } : data);
      this.fromFile = fromFile;
      this.loading = false;
      this.failure = "";
      this.#opening = "";
      this.refining = false;
      this.#detail = null;
      this.#asked = "";
      this.#held = held;
      this.#coming = null;
      this.#heardAt = performance.now();
      if (this.model.live && this.#stream === null) this.#follow(this.model.runId);
      this.#changed();
    }
    #leave() {
      this.#stream?.close();
      this.#stream = null;
      this.#coming = null;
    }
    /** @param {string} runId */
    #follow(runId) {
      const stream = new LiveStream({
        url: `api/v1/runs/${encodeURIComponent(runId)}/events`,
        lastId: () => this.model?.tick ?? 0,
        onEvent: (event) => this.#heard(event),
        onReset: async () => {
          const query = this.#firstOf(runId);
          const data = await fetchData(runId, query);
          if (this.#stream === stream) this.#show(data, false, query);
        },
        onState: (state, retryMs) => {
          this.link = { state, retryMs };
          this.#changed();
        }
      });
      this.#stream = stream;
      stream.start();
    }
    /** @param {TickData} event */
    #heard(event) {
      const { model } = this;
      if (!model) return;
      this.#coming?.heard.push(event);
      if (!model.apply(event)) {
        this.#open(model.runId);
        return;
      }
      this.#heardAt = performance.now();
      if (!model.live && model.verdict) this.#leave();
      this.#changed();
    }
    /** What a run is asked for when it is opened. @param {string} runId */
    #firstOf(runId) {
      return firstQuery(this.#known.find(({ run_id: id }) => id === runId));
    }
    /**
     * Ask for what a page takes of a live run that was opened with less. What its stream tells meanwhile is in both.
     * @param {RunModel} model @param {string} query
     */
    #complete({ runId }, query) {
      if (["", query].includes(this.#held) || this.#coming?.query === query || this.fromFile) return;
      const coming = { query, heard: (
        /** @type {TickData[]} */
        []
      ) };
      this.#coming = coming;
      this.refining = true;
      fetchFine(runId, query).then(
        (data) => {
          if (this.#coming !== coming || this.model?.runId !== runId) return;
          this.#show(data, false, query);
          for (const event of coming.heard) this.model.apply(event);
        },
        () => {
          if (this.#coming === coming) [this.#coming, this.refining] = [null, false];
        }
      );
    }
    /** @param {RunModel} model @param {Range} range @param {string} fine */
    #refine({ runId, tick, live }, range, fine) {
      const asked = `${runId} ${tick} ${range.from} ${range.to} ${fine}`;
      if (this.#asked === asked) return;
      this.#asked = asked;
      this.refining = true;
      fetchFine(runId, rangeQuery(range, fine)).then(
        (data) => {
          if (this.model?.runId !== runId || this.#asked !== asked) return;
          this.#detail = { model: new RunModel({ ...data, live }), range, tick, fine };
          this.#refined();
        },
        () => this.#asked === asked && this.#refined()
        // what there is stays shown
      );
    }
    #refined() {
      this.refining = false;
      this.#changed();
    }
    /** @param {RunData} data */
    #takeFile(data) {
      const { runId, title, phase, verdict, outcome } = new RunModel(data);
      const head = {
        run_id: runId,
        title,
        phase,
        verdict,
        outcome,
        live: false,
        file: true,
        begin_unix_ms: data.range?.from_unix_ms,
        end_unix_ms: data.range?.to_unix_ms
      };
      this.#files.set(runId, { data, head });
      this.#list();
      this.#leave();
      this.#wanted = data.run_id;
      this.#show(data, true);
    }
    /** Runs of files and of the aggregator, as one list. */
    #list() {
      this.runs = [
        ...[...this.#files.values()].map(({ head }) => head),
        ...this.#known.filter(({ run_id: id }) => !this.#files.has(id))
      ];
    }
  };
  function messageOf(error) {
    return error instanceof Error ? error.message : String(error);
  }

  // src/keys.js
  var SEQUENCE_MS = 1200;
  function startKeys(page, actions) {
    let prefixUntil = 0;
    page.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey || typed(event.target)) return;
      if (page.querySelector("dialog[open]")) return;
      const after = event.timeStamp < prefixUntil;
      prefixUntil = 0;
      if (event.key === "g" && !after) {
        prefixUntil = event.timeStamp + SEQUENCE_MS;
        return;
      }
      const action = actions[after ? `g ${event.key}` : event.key];
      if (action) {
        event.preventDefault();
        action();
      }
    });
  }
  function typed(target) {
    return target instanceof Element && target.matches("input:not([type=checkbox], [type=file]), textarea, select, [contenteditable]");
  }

  // src/chartfacts.js
  function signedPercent(value, digits) {
    const text = digits === void 0 ? `${Number((100 * value).toFixed(4))}` : (100 * value).toFixed(digits);
    return `${value > 0 && Number(text) > 0 ? "+" : ""}${text.replace("-", "−")}%`;
  }

  // src/parts/figures.js
  function keyFigures(names) {
    const parts = names.map((name) => ({
      name: h("dt", {}, name),
      value: h("b"),
      unit: h("span.unit"),
      sub: h("span.sub"),
      delta: h("span.delta")
    }));
    const groups = parts.map(
      ({ name, value, unit, sub, delta }) => h("div", {}, name, h("dd", {}, value, " ", unit, sub, delta))
    );
    return {
      element: h("dl.figures", {}, groups),
      set: (values, pinned = []) => values.forEach((figure2, at) => {
        show(groups[at], figure2 !== null);
        const { value, unit = "", sub = "", small = false } = figure2 ?? { value: "" };
        setText(parts[at].value, value);
        setText(parts[at].unit, unit);
        setText(parts[at].sub, sub);
        setText(parts[at].delta, deltaText(pinned[at]?.number, figure2?.number));
        groups[at].classList.toggle("small", small);
      })
    };
  }
  function apart(text) {
    const [value, unit = ""] = text.split(" ");
    return { value, unit };
  }
  function deltaText(pinned, number) {
    if (pinned == null || number == null || pinned === 0 && number !== 0) return "";
    return `${signedPercent(pinned === 0 ? 0 : number / pinned - 1, 1)} vs pinned`;
  }

  // src/parts/pushes.js
  function newestPush({ end_unix_ms: end }, { model, begin }) {
    return model.live ? `${duration(Math.max(0, model.nowMs - end))} ago` : `at ${elapsed((end - begin) / 1e3)}`;
  }

  // src/pages/aggregator.js
  var COUNTS = [
    ["pushes", "pushes merged"],
    ["duplicates", "came again, left out"],
    ["missing", "never came"],
    ["dropped", "dropped by their source"],
    ["refused", "refused, wrong"],
    ["unwritten", "not written down"]
  ];
  var COSTS = [
    ["push", "Push, from arrival to answer"],
    ["merge", "Of that, merging it"],
    ["lag", "Lag, from the end of a push's interval to its arrival"]
  ];
  var COST_COLUMNS = ["p50", "p99", "max"];
  var AggregatorPage = class {
    title = "Aggregator";
    /** @param {App} app */
    constructor(app) {
      this.app = app;
      this.figures = keyFigures([
        ...COUNTS.map(([, title]) => title),
        "lag",
        "memory",
        "pages open",
        "series",
        "history"
      ]);
      this.about = h("p.about");
      this.costs = table({
        caption: "What a push takes, since the aggregator started",
        columns: [{ title: "" }, ...COST_COLUMNS.map((name) => ({ title: name, numeric: true }))]
      });
      this.sources = table({
        caption: "Sources of this run, each start of a process",
        columns: [
          { title: "source" },
          { title: "pushes", numeric: true },
          { title: "came again", numeric: true },
          { title: "missing", numeric: true },
          { title: "dropped", numeric: true },
          { title: "newest push", numeric: true },
          { title: "clock error", numeric: true },
          { title: "synchronised" }
        ]
      });
      this.metrics = table({
        caption: "Metrics that were pushed",
        columns: [{ title: "metric" }, { title: "kind" }, { title: "series", numeric: true }, { title: "meaning" }]
      });
      this.element = h(
        "div",
        {},
        this.about,
        this.figures.element,
        h(
          "div.grid",
          {},
          h("div.full", {}, this.sources.element),
          h("div.half", {}, this.costs.element),
          h("div.full", {}, this.metrics.element)
        )
      );
    }
    /** @param {View} view */
    update(view) {
      const { model } = view;
      const own = model.aggregator;
      const took = own.pushes > 0 || model.sources.every(({ pushes }) => pushes === 0);
      setText(this.about, took ? "" : "This aggregator only reads the run's log: another one took its pushes.");
      const full = own.history_limit_bytes > 0 ? own.history_bytes / own.history_limit_bytes : null;
      this.figures.set([
        ...COUNTS.map(([name]) => took ? { value: whole(own[name]) } : null),
        took ? { ...apart(own.lag_seconds >= 0 ? latency(own.lag_seconds * 1e6) : NONE), sub: "behind the pushes" } : null,
        { ...apart(bytes(own.memory_bytes)), sub: "resident" },
        { value: whole(own.clients), sub: "of at most 100" },
        { value: whole(own.series), sub: `${whole(own.series_evicted)} forgotten` },
        {
          ...apart(bytes(own.history_bytes)),
          sub: full === null ? "" : `${share(full)} of ${bytes(own.history_limit_bytes)}`
        }
      ]);
      const known = COST_COLUMNS.map((column) => COSTS.map(([name]) => own[`${name}_us_${column}`]));
      show(this.costs.element, took);
      this.costs.setRows(COSTS.map(([, title], at) => [title, ...known.map((values) => latency(values[at]))]));
      this.sources.setRows(
        model.sources.map((source) => [
          { text: source.source, href: this.app.href("workers", source.source) },
          whole(source.pushes),
          whole(source.duplicates),
          whole(source.missing),
          whole(source.pushes_dropped),
          newestPush(source, view),
          source.clock_error_us >= 0 ? `±${latency(source.clock_error_us)}` : "unknown",
          source.clock_synchronised ? "yes" : "no"
        ])
      );
      const counts = /* @__PURE__ */ new Map();
      for (const { name } of model.series.values()) counts.set(name, (counts.get(name) ?? 0) + 1);
      this.metrics.setRows(
        Object.entries(model.metrics).filter(([name]) => counts.has(name)).map(([name, { kind, meaning }]) => [name, kind, whole(counts.get(name)), meaning])
      );
    }
    release() {
    }
  };

  // src/charts/curve.js
  var STEPS_A_DECADE = 16;
  var EXACT = /* @__PURE__ */ new Map([
    [2, 50],
    [4, 75],
    [10, 90],
    [20, 95],
    [100, 99],
    [1e3, 99.9],
    [1e4, 99.99],
    [1e5, 99.999],
    [1e6, 99.9999],
    [1e7, 99.99999]
  ]);
  var TICKS = [...EXACT.keys()];
  var CurveChart = class {
    /** @type {Columns | null} */
    #data = null;
    /** @type {Hist[]} */
    #hists = [];
    /** @param {{title: string, lines: Line[], height?: number}} given */
    constructor(given) {
      this.given = given;
      this.figure = new Figure({
        title: given.title,
        unit: "latency over 1/(1−q)",
        about: "What was observed, drawn as far as ten samples lie above.",
        columns: [{ title: "percentile" }, ...given.lines.map(({ title }) => ({ title }))]
      });
      this.values = given.lines.map((line) => this.figure.addKey(line));
      const [{ title: first }] = given.lines;
      this.figure.addTool("hgrm", `hgrm, ${first}`, () => {
        if (this.#hists.length > 0) saveText(fileName(first, "hgrm"), hgrmOf(this.#hists[0]));
      });
      this.place = placed(this.figure.plot, given.height ?? 240, (size) => this.#make(size));
      this.element = this.figure.element;
    }
    /** @param {Hist[]} hists one a line @param {string} summary */
    update(hists, summary) {
      const xs = curvePoints(Math.max(...hists.map(({ count }) => count)));
      const lines = hists.map((hist) => curveValues(hist, xs));
      this.#hists = hists;
      this.#data = [xs, ...lines];
      this.place.plot()?.setData(this.#data);
      this.#legend(this.place.plot()?.cursor.idx);
      this.figure.describe(
        xs.length > 0 ? summary : "Too few samples for any percentile.",
        () => xs.map((x, at) => [nameAt(x), ...lines.map((line) => latency(line[at]))]),
        () => [
          ["percentile", ...this.given.lines.map(({ title }) => `${title}, us`)],
          ...xs.map((x, at) => [percentAt(x), ...lines.map((line) => line[at])])
        ]
      );
    }
    release() {
      this.figure.release();
      this.place.release();
    }
    /** @param {{width: number, height: number}} size */
    #make(size) {
      const { lines } = this.given;
      return new uPlot(
        {
          ...size,
          padding: [6, 18, 0, 0],
          legend: { show: false },
          cursor: { y: false, drag: { x: false, y: false }, points: { size: 5, width: 1 } },
          scales: {
            x: { time: false, distr: 3, range: (_plot, _least, most) => [1, Math.max(most ?? 10, 10)] },
            y: latencyScale()
          },
          axes: [
            axis({
              size: 26,
              space: 30,
              grid: { show: true, stroke: () => colour("--grid"), width: 1 },
              splits: ({
                scales: {
                  x: { min = 0, max = 0 }
                }
              }) => TICKS.filter((tick) => tick >= min && tick <= max),
              filter: (_plot, splits) => splits,
              values: (plot, splits) => splits.map((x) => plot.width < 560 && (x === 4 || x === 20) ? "" : nameAt(x))
            }),
            latencyAxis()
          ],
          series: [
            {},
            ...lines.map((line) => ({
              stroke: () => colour(line.colour),
              width: line.width ?? 1.5,
              dash: line.dash,
              points: { show: false }
            }))
          ],
          hooks: { init: [(plot) => cursorKeys(plot)], setCursor: [(plot) => this.#legend(plot.cursor.idx)] }
        },
        this.#data ?? [[], ...lines.map(() => [])],
        this.figure.plot
      );
    }
    /**
     * Latencies at the cursor; else those at the 99th percentile, where it rests on enough clusters of time.
     * @param {number | null} [index]
     */
    #legend(index) {
      if (!this.#data) return;
      const [xs, ...columns] = this.#data;
      const at = index ?? xs.indexOf(100);
      this.figure.setWhen(at >= 0 && at < xs.length ? nameAt(xs[at]) : "");
      const isShown = (line) => at >= 0 && (index != null || clustersOf(this.#hists[line], 99) === void 0);
      this.values.forEach((place, line) => setText(place, latency(isShown(line) ? columns[line][at] ?? null : null)));
    }
  };
  function curvePoints(count) {
    const points = [];
    for (let step = 1; 10 ** (step / STEPS_A_DECADE) <= count / 10; step += 1) points.push(10 ** (step / STEPS_A_DECADE));
    return [.../* @__PURE__ */ new Set([...points, ...TICKS.filter((tick) => tick <= count / 10)])].sort((one, other) => one - other);
  }
  function curveValues(hist, xs) {
    const supported = xs.filter((x) => x <= hist.count / 10);
    const values = percentiles(hist, supported.map(percentAt));
    return xs.map((_x, at) => at < values.length ? values[at] : null);
  }
  function percentAt(x) {
    return EXACT.get(x) ?? 100 * (1 - 1 / x);
  }
  function nameAt(x) {
    if (EXACT.has(x)) return `p${EXACT.get(x)}`;
    return `p${percentAt(x).toFixed(Math.max(1, Math.floor(Math.log10(x))))}`;
  }

  // src/charts/heatmap.js
  var LEGEND_STEPS = 6;
  var OVER = [
    { title: "p50", colour: "--p50", width: 2 },
    { title: "max", colour: "--max", width: 1.5, dash: [4, 3] }
  ];
  var Heatmap = class {
    /** @type {View | null} */
    #view = null;
    /** @type {Column[]} */
    #columns = [];
    #most = 1;
    /** @type {(number | null)[][]} p50 and maximum of each bin */
    #over = [];
    /** @type {[number, number]} from and to which one, if nothing was measured those of 1 to 32 ms */
    #rows = [40, 60];
    /** @param {{title: string, actions: Actions, height?: number, lines?: boolean}} given lines: p50 and max over it */
    constructor(given) {
      this.given = given;
      this.figure = new Figure({
        title: given.title,
        unit: "samples",
        columns: [
          { title: "from" },
          { title: "to" },
          { title: "latency from" },
          { title: "below" },
          { title: "samples" }
        ]
      });
      this.ramp = h("span.ramp");
      this.most = h("span");
      this.read = h("b");
      this.figure.legend.append(h("div.key", {}, h("span", {}, "1 ", this.ramp, " ", this.most), this.read));
      this.lines = given.lines ? OVER : [];
      this.values = this.lines.map((line) => this.figure.addKey(line));
      this.steps = Array.from({ length: LEGEND_STEPS }, () => this.ramp.appendChild(h("i")));
      this.place = placed(this.figure.plot, given.height ?? 240, (size) => this.#make(size));
      this.element = this.figure.element;
    }
    /**
     * @param {View} view
     * @param {HistBin[]} bins
     * @param {string} summary
     * @param {[least: number, most: number]} [of] the latencies that the axis has, us, if not those of the bins
     */
    update(view, bins, summary, of) {
      this.#view = view;
      this.#columns = heatColumns(bins);
      this.#most = Math.max(1, ...this.#columns.flatMap(({ rows }) => [...rows.values()]));
      this.#over = [
        bins.map(({ hist }) => shownPercentile(hist, 50)),
        bins.map(({ hist }) => hist.count > 0 ? hist.maxUs : null)
      ];
      const measured = bins.filter(({ from, to }) => from >= view.flow.from && to <= view.flow.to);
      const ruling = measured.length > 0 ? measured : bins;
      const [least, most] = of ?? latencyRange(ruling);
      this.#rows = bins.length > 0 ? [rowOf(least), rowOf(most) + 1] : [40, 60];
      const cut = bins.some(({ hist }) => rowOf(hist.maxUs) >= this.#rows[1]);
      this.#colourLegend();
      const plot = this.place.plot();
      plot?.setData(this.#data(view));
      this.#read(plot);
      const said = `${summary}${cut ? "; slower ones of the warm-up are above the axis" : ""}`;
      this.figure.describe(
        bins.length > 0 ? said : "Nothing was measured in this range.",
        () => this.#table(view),
        () => this.#raw()
      );
    }
    release() {
      this.figure.release();
      this.place.release();
    }
    /** @param {View} view @returns {PlotData} */
    #data({ begin }) {
      const xs = this.#columns.map(({ from, to }) => ((from + to) / 2 - begin) / 1e3);
      return [xs, ...this.lines.length > 0 ? this.#over.flatMap((line) => [line, line]) : [xs.map(() => null)]];
    }
    /** @param {{width: number, height: number}} size */
    #make(size) {
      const { actions } = this.given;
      const brush = brushHooks(() => this.#view?.begin ?? 0, actions);
      return new uPlot(
        {
          ...size,
          padding: [6, 18, 0, 0],
          legend: { show: false },
          cursor: { ...timeCursor(), y: true, points: { show: false } },
          scales: {
            x: { time: false, range: () => this.#xRange() },
            y: { distr: 3, range: () => [rowLowest(this.#rows[0]), rowLowest(this.#rows[1])] }
          },
          axes: [timeAxis(), latencyAxis()],
          series: this.lines.length > 0 ? [{}, ...this.lines.flatMap(cased)] : [{}, {}],
          hooks: {
            ...brush,
            drawClear: [marksHook(() => ({ view: this.#view }))],
            drawAxes: [(plot) => this.#paint(plot)],
            setCursor: [(plot) => this.#read(plot)]
          }
        },
        this.#view ? this.#data(this.#view) : [[], []],
        this.figure.plot
      );
    }
    /** @returns {[number, number]} */
    #xRange() {
      if (!this.#view) return [0, 1];
      const { begin, range } = this.#view;
      return [(range.from - begin) / 1e3, (range.to - begin) / 1e3];
    }
    /** @param {Plot} plot */
    #paint(plot) {
      if (!this.#view) return;
      this.#colourLegend();
      const { ctx, bbox } = plot;
      const { begin } = this.#view;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      for (const { from, to, rows } of this.#columns) {
        const left = Math.round(plot.valToPos((from - begin) / 1e3, "x", true));
        const right = Math.max(left + 1, Math.round(plot.valToPos((to - begin) / 1e3, "x", true)));
        for (const [row3, count] of rows) {
          const bottom = Math.round(plot.valToPos(rowLowest(row3), "y", true));
          const top = Math.round(plot.valToPos(rowLowest(row3 + 1), "y", true));
          ctx.fillStyle = heat(depth(count, this.#most));
          ctx.fillRect(left, top, right - left, Math.max(1, bottom - top));
        }
      }
      ctx.restore();
    }
    /** The cell at the cursor; all of them without one. @param {Plot | null} plot */
    #read(plot) {
      const { left = -1, top = -1, idx = null } = plot?.cursor ?? {};
      this.values.forEach(
        (place, line) => setText(place, left < 0 || idx === null ? "" : latency(this.#over[line][idx]))
      );
      if (!plot || !this.#view || left < 0) {
        this.figure.setWhen("range");
        setText(
          this.read,
          counted(
            this.#columns.reduce((sum3, { rows }) => sum3 + total(rows), 0),
            "sample"
          )
        );
        return;
      }
      const ms = this.#view.begin + plot.posToVal(left, "x") * 1e3;
      const column = this.#columns.find(({ from, to }) => ms >= from && ms < to);
      this.figure.setWhen(elapsed((ms - this.#view.begin) / 1e3), clockTime(ms));
      if (!plot.over.matches(":hover")) {
        setText(this.read, counted(column ? total(column.rows) : 0, "sample"));
        return;
      }
      const row3 = rowOf(plot.posToVal(top, "y"));
      setText(
        this.read,
        `${counted(column?.rows.get(row3) ?? 0, "sample")} of ${latency(rowLowest(row3))} to ${latency(rowLowest(row3 + 1))}`
      );
    }
    #colourLegend() {
      setText(this.most, whole(this.#most));
      this.steps.forEach((step, at) => step.style.setProperty("background", heat(at / (LEGEND_STEPS - 1))));
    }
    #raw() {
      const cells = this.#columns.flatMap(
        ({ from, to, rows }) => [...rows.entries()].sort(([one], [other]) => one - other).map(([row3, count]) => [from, to, rowLowest(row3), rowLowest(row3 + 1), count])
      );
      return [["from_unix_ms", "to_unix_ms", "from_us", "below_us", "samples"], ...cells];
    }
    /** @param {View} view @returns {Cell[][]} */
    #table({ begin }) {
      return this.#columns.flatMap(
        ({ from, to, rows }) => [...rows.entries()].sort(([one], [other]) => one - other).map(([row3, count]) => [
          elapsed((from - begin) / 1e3),
          elapsed((to - begin) / 1e3),
          latency(rowLowest(row3)),
          latency(rowLowest(row3 + 1)),
          whole(count)
        ])
      );
    }
  };
  function latencyRange(bins) {
    return [Math.min(...bins.map(({ hist }) => hist.minUs)), Math.max(...bins.map(({ hist }) => hist.maxUs))];
  }
  function cased({ colour: name, width = 1.5, dash }) {
    const points = { show: false };
    return [
      { stroke: () => colour("--paper"), width: width + 2.5, points },
      { stroke: () => colour(name), width, dash, points }
    ];
  }
  function heatColumns(bins) {
    return bins.map(({ from, to, hist }) => ({ from, to, rows: countsByRow(hist) }));
  }
  function total(rows) {
    return [...rows.values()].reduce((sum3, count) => sum3 + count, 0);
  }
  function depth(count, most) {
    return most <= 1 ? 1 : Math.log(count) / Math.log(most);
  }
  function heat(part) {
    const stops = ["--heat-0", "--heat-1", "--heat-2"].map(channels);
    const [low, high] = part < 0.5 ? [stops[0], stops[1]] : [stops[1], stops[2]];
    const within = part < 0.5 ? part * 2 : part * 2 - 1;
    return `rgb(${low.map((value, at) => Math.round(value + (high[at] - value) * within)).join(" ")})`;
  }

  // src/comparing.js
  var RUNS_MAX = 6;
  var ofNs = (ns) => latency(ns / 1e3);
  var ofUs = (us) => `${fixed2(us, 2)} µs`;
  var FIGURES = [
    ...["p50", "p95", "p99", "p99.9", "p99.99", "max"].map((name) => ({
      path: `latency_ns.${name}`,
      title: `latency ${name}`,
      say: ofNs
    })),
    { path: "latency_between_boundaries_ns.p99", title: "between boundaries p99", say: ofNs },
    { path: "service_time_ns.p99", title: "service time p99", say: ofNs },
    { path: "boundary_gap_ns_median", title: "commit pause, median", say: ofNs },
    { path: "latency_samples", title: "latency samples", say: whole },
    { path: "offered_rate_per_s", title: "offered, messages/s", say: rate },
    { path: "achieved_rate_per_s", title: "achieved, messages/s", say: rate },
    { path: "cpu_us_per_message", title: "CPU of the job a message", say: ofUs },
    { path: "broker_cpu_us_per_message", title: "CPU of the broker a message", say: ofUs }
  ];
  function flat(document2) {
    const found = /* @__PURE__ */ new Map();
    const walk = (values, before) => {
      for (const [name, value] of Object.entries(values)) {
        const isInner = value !== null && typeof value === "object" && !Array.isArray(value);
        if (isInner) walk(
          /** @type {Facts} */
          value,
          `${before}${name}.`
        );
        else found.set(`${before}${name}`, value);
      }
    };
    walk(document2, "");
    return found;
  }
  function figureRows(results, clustersMin) {
    const values = results.map(flat);
    const clustersOf2 = (of, path) => (
      /** @type {number | undefined} */
      of.get(`latency_clusters.${path}`)
    );
    const isTooFew = (of, path) => !path.endsWith(".p50") && (clustersOf2(of, path) ?? clustersMin) < clustersMin;
    return FIGURES.flatMap(({ path, title, say }) => {
      const found = values.map((of) => of.get(path)).map((value) => typeof value === "number" ? value : null);
      if (found.every((value) => value === null)) return [];
      const numbers = found.map((value, at) => isTooFew(values[at], path) ? null : value);
      const cells = numbers.map((value, at) => ({
        text: value !== null ? say(value) : found[at] === null ? NONE : fewText(clustersOf2(values[at], path) ?? 0),
        sub: at > 0 ? deltaText2(numbers[0], value) : ""
      }));
      return [{ title, cells }];
    });
  }
  var fewText = (clusters) => `${NONE} (${counted(clusters, "cluster")})`;
  function deltaText2(first, value) {
    if (first === null || value === null) return "";
    if (first === 0) return value === 0 ? "0.0%" : "";
    return signedPercent(value / first - 1, 1);
  }
  function differences(documents) {
    const facts = documents.map(madeWith);
    const names = [...new Set(facts.flatMap((of) => [...of.keys()]))].sort();
    return names.map((name) => [name, ...facts.map((of) => textOf(of.get(name)))]).filter(([, ...values]) => new Set(values.filter((_value, at) => isKnown(documents[at]))).size > 1);
  }
  function isKnown(documents) {
    return [...madeWith(documents).values()].some((value) => value !== void 0);
  }
  function madeWith({ manifest, result }) {
    const { settings, machine, workload, mode } = result ?? {};
    return flat(
      /** @type {Facts} */
      manifest?.sections ?? { settings, machine, workload, mode }
    );
  }
  function textOf(value) {
    if (value === void 0 || value === null) return NONE;
    return typeof value === "string" ? value : JSON.stringify(value);
  }
  function commandOf(runIds) {
    return `market-spread compare ${runIds.join(" ")} --html comparison.html`;
  }
  function runsOf(item) {
    return namedIn(item).slice(0, RUNS_MAX);
  }
  function namedIn(item) {
    return [...new Set(item.split(",").filter(Boolean))];
  }

  // src/parts/latencies.js
  var LISTED = [25, 50, 75, 90, 95, 99, 99.9, 99.99];
  var TOO_SMALL = "n too small";
  function latencyTable(caption, first) {
    const columns = [first, "n", "mean", ...PERCENTS.map(percentName), "max"].map((title, at) => ({
      title,
      numeric: at > 0
    }));
    const made = table({ caption, columns });
    return {
      element: made.element,
      set: (rows) => {
        const hists = rows.map(({ hist }) => hist);
        const unit = unitFor(hists.flatMap((hist) => [meanUs(hist), shownPercentile(hist, 50)]));
        made.setUnits(columns.map((_column, at) => at > 1 ? unit.name : ""));
        made.setRows(
          rows.map(({ title, hist }) => [
            title,
            whole(hist.count),
            inUnit(meanUs(hist), unit),
            ...PERCENTS.map((percent) => shown(hist, percent, unit)),
            inUnit(hist.count > 0 ? hist.maxUs : null, unit)
          ])
        );
      }
    };
  }
  function percentileTable(caption) {
    const columns = [{ title: "percentile" }, { title: "latency" }, { title: "samples above" }];
    const made = table({ caption, columns: columns.map((column, at) => ({ ...column, numeric: at > 0 })) });
    return {
      element: made.element,
      set: (hist) => made.setRows([
        row("min", hist.minUs, hist),
        row("mean", meanUs(hist), hist),
        ...LISTED.map((percent) => [percentName(percent), shownOr(hist, percent), whole(above(hist, percent))]),
        row("max", hist.maxUs, hist)
      ])
    };
  }
  function fillResultTable(element, [head, ...rows], caption = "Latencies of the result, with their 95% intervals") {
    if (!head || element.childElementCount > 0) return;
    const columns = head.map((title, at) => ({ title, numeric: at > 0 }));
    const made = table({ caption, columns });
    made.setRows(rows);
    element.append(made.element);
  }
  function row(name, us, hist) {
    return [name, hist.count > 0 ? latency(us) : NONE, ""];
  }
  function shownOr(hist, percent) {
    return supports(hist, percent) ? latency(percentile(hist, percent)) : missing(hist, percent);
  }
  function missing(hist, percent) {
    if (hist.count === 0) return NONE;
    const clusters = clustersOf(hist, percent);
    return clusters === void 0 ? TOO_SMALL : `${NONE} (${counted(clusters, "cluster")})`;
  }
  function percentileFigure(hist, percent, sub, clustersMin) {
    const text = shownOr(hist, percent);
    if (supports(hist, percent) || hist.count === 0) {
      return { ...apart(text), sub, number: hist.count === 0 ? null : percentile(hist, percent) };
    }
    const needed = clustersOf(hist, percent) === void 0 ? `n < ${whole(1e3 / (100 - percent))}` : `${clustersMin} needed`;
    return { value: text, sub: needed, small: true };
  }
  function resultFigures({ latency_ns: ns, latency_samples: count }, rows, clustersMin) {
    const figures2 = PERCENTS.map((percent, at) => {
      const [value, text] = [ns[percentName(percent)], rows[1][at + 1]];
      if (value === null) return { value: count > 0 ? TOO_SMALL : NONE, small: count > 0 };
      if (text.startsWith(NONE)) return { value: text, sub: `${clustersMin} needed`, small: true };
      return { ...apart(latency(value / 1e3)), sub: at === 0 ? "result" : "", number: value / 1e3 };
    });
    return [...figures2, maxFigure(ns.max === null ? null : ns.max / 1e3, count)];
  }
  function betweenFigure({ boundaries: boundaries2, latency_between_boundaries_ns: between }, rows, clustersMin) {
    const ns = between?.p99 ?? null;
    if (!boundaries2 || ns === null) return null;
    const text = rows.find(([title]) => title.trim().startsWith("between"))?.[rows[0].indexOf("p99")] ?? "";
    if (text.startsWith(NONE)) return { value: text, sub: `${clustersMin} needed`, small: true };
    return { ...apart(latency(ns / 1e3)), sub: "result", number: ns / 1e3 };
  }
  function maxFigure(us, count) {
    return { ...apart(latency(us)), sub: `of ${counted(count, "sample")}`, number: us };
  }
  function shown(hist, percent, unit) {
    return supports(hist, percent) ? inUnit(percentile(hist, percent), unit) : missing(hist, percent);
  }
  function above(hist, percent) {
    return Math.round(hist.count * Math.round((100 - percent) * 1e6) / 1e8);
  }

  // src/range.js
  var SHORTEST_MS = 1e3;
  var FOLLOW_MS = 6e4;
  var WIDTHS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200];
  var WHOLE2 = { kind: "whole" };
  var JUDGED = { kind: "judged" };
  function resolve(choice, span, judged = null) {
    if (choice.kind === "judged" && judged) return { ...judged, whole: false };
    if (choice.kind === "last" && choice.ms < span.to - span.from) {
      return { from: span.to - choice.ms, to: span.to, whole: false };
    }
    if (choice.kind === "fixed") {
      const from = Math.max(span.from, Math.min(choice.from, span.to - SHORTEST_MS));
      const to = Math.min(span.to, Math.max(choice.to, from + SHORTEST_MS));
      return { from, to, whole: from <= span.from && to >= span.to };
    }
    return { ...span, whole: true };
  }
  function overlaps(choice, span) {
    return choice.kind !== "fixed" || choice.to > span.from && choice.from < span.to;
  }
  function moved(range, direction, span) {
    if (range.whole) return WHOLE2;
    const width = range.to - range.from;
    const from = Math.max(span.from, Math.min(range.from + direction * width / 2, span.to - width));
    return { kind: "fixed", from, to: from + width };
  }
  function newest(range) {
    const widthMs = range.whole ? FOLLOW_MS : range.to - range.from;
    return { kind: "last", ms: Math.max(1, Math.round(widthMs / 1e3)) * 1e3 };
  }
  function binWidth(range, coarsenessMs, most) {
    const least = Math.max((range.to - range.from) / most, coarsenessMs * 0.9);
    return 1e3 * (WIDTHS_S.find((width) => width * 1e3 >= least) ?? Math.ceil(least / 36e5) * 3600);
  }
  function nextWidth(widthMs, direction) {
    const at = WIDTHS_S.findIndex((width) => width * 1e3 >= widthMs);
    return 1e3 * WIDTHS_S[Math.max(0, Math.min(WIDTHS_S.length - 1, (at < 0 ? WIDTHS_S.length - 1 : at) + direction))];
  }
  function typedChoice(text, span) {
    const plain = text.trim().toLowerCase();
    if (plain === "" || plain === "whole run") return WHOLE2;
    const last = /^last (\d+)( s| min)?$/.exec(plain);
    if (last) return { kind: "last", ms: Math.max(1, Number(last[1])) * (last[2] === " min" ? 6e4 : 1e3) };
    const parts = plain.split(/\s*[-–]\s*/).map(secondsOf);
    const [from, to] = parts;
    if (parts.length !== 2 || from === null || to === null || from >= to) return null;
    return { kind: "fixed", from: span.from + from * 1e3, to: span.from + to * 1e3 };
  }
  function secondsOf(text) {
    if (!/^\d+(:\d{1,2}){0,2}(\.\d+)?$/.test(text)) return null;
    return text.split(":").reduce((sum3, part) => sum3 * 60 + Number(part), 0);
  }
  function choiceText(choice) {
    if (choice.kind === "whole") return "whole";
    if (choice.kind === "last") return `last-${choice.ms / 1e3}`;
    if (choice.kind !== "fixed") return "";
    const from = Math.round(choice.from);
    return `${from}-${Math.max(Math.round(choice.to), from + 1)}`;
  }
  function choiceOf(text) {
    if (text === "whole") return WHOLE2;
    const last = /^last-(\d+)$/.exec(text ?? "");
    if (last && Number(last[1]) > 0) return { kind: "last", ms: Number(last[1]) * 1e3 };
    const fixed3 = /^(\d+)-(\d+)$/.exec(text ?? "");
    if (fixed3 && Number(fixed3[2]) > Number(fixed3[1])) {
      return { kind: "fixed", from: Number(fixed3[1]), to: Number(fixed3[2]) };
    }
    return JUDGED;
  }

  // src/intervals.js
  function middle({ start, end }) {
    return (start + end) / 2;
  }
  function inside(intervals, { from, to, whole: whole2 }) {
    return whole2 ? intervals : intervals.filter((interval) => middle(interval) >= from && middle(interval) < to);
  }
  function share2({ start, end }, { from, to }) {
    if (end <= start) return start >= from && start < to ? 1 : 0;
    return Math.max(0, Math.min(end, to) - Math.max(start, from)) / (end - start);
  }
  function grownIn(series, range) {
    return sum(series.flatMap(({ intervals }) => intervals.map((point) => point.value * share2(point, range))));
  }
  function sum(values) {
    return values.reduce((total2, value) => total2 + value, 0);
  }

  // src/view.js
  var AWAITED_MS = 3e3;
  var BINS2 = 240;
  var View = class {
    /** @type {Map<string, unknown>} what was worked out, by method and argument */
    #kept = /* @__PURE__ */ new Map();
    /**
     * @param {RunModel} model
     * @param {Range} range
     * @param {Part} span what the run has
     * @param {{widthMs?: number, bins?: number, history?: RunModel}} [more] widthMs: of the bins, else
     *   as fits; bins: at most so many; history: the whole run, where the model has that range only
     */
    constructor(model, range, span, { widthMs = 0, bins = BINS2, history: history2 = model } = {}) {
      this.model = model;
      this.history = history2;
      this.range = range;
      this.span = span;
      this.begin = span.from;
      const coarseness = model.coarseness(range, END_TO_END.name) || model.coarseness(range);
      this.leastWidthMs = binWidth(range, coarseness, bins);
      this.widthMs = Math.max(widthMs, this.leastWidthMs);
      this.seconds = (range.to - range.from) / 1e3;
      const { judged } = history2;
      this.judged = judged !== null && judged.from === range.from && judged.to === range.to;
      this.flow = measuredPart(model.notes, range);
      this.flowLabel = this.flow.from === range.from && this.flow.to === range.to ? "range" : "measured";
    }
    /** Whether anything was pushed for it. @param {Selector | Selector[]} of */
    has(of) {
      return this.series(of).length > 0;
    }
    /** @param {Selector | Selector[]} of one selector or several @returns {Series[]} */
    series(of) {
      return this.#once("series", of, () => [of].flat().flatMap(({ name, labels }) => this.model.find(name, labels)));
    }
    /** The same of counters and gauges: by its name a metric is of one kind. @param {Selector | Selector[]} of */
    numbers(of) {
      return (
        /** @type {NumberSeries[]} */
        this.series(of)
      );
    }
    /** The same of histograms. @param {Selector | Selector[]} of */
    #histograms(of) {
      return (
        /** @type {HistogramSeries[]} */
        this.series(of)
      );
    }
    /**
     * All values in the range, merged; of what was judged, those of the result. Of a series that does not tell warm-up
     * from measured load by a label, those of the time in which the measured load flowed.
     * @param {Selector | Selector[]} of
     * @returns {Hist}
     */
    hist(of) {
      return this.#once("hist", of, () => {
        const judged = this.judged && !Array.isArray(of) ? this.history.judgedHist(of) : null;
        if (judged) return judged;
        return mergeHists(
          this.#histograms(of).flatMap(({ labels, total: total2, intervals }) => {
            const range = "phase" in labels ? this.range : this.flow;
            if (range.whole) return total2 ? [histOf(total2)] : [];
            return inside(intervals, range).map(histOf);
          })
        );
      });
    }
    /**
     * How many values of all histograms were below 0, and above 1 hour.
     * @returns {{negative: number, overflow: number}}
     */
    outliers() {
      const slots = [...this.model.series.values()].flatMap(({ kind, total: total2, intervals }) => {
        if (kind !== "histogram" || total2 === null) return [];
        return this.range.whole ? [total2] : inside(intervals, this.range);
      });
      const counts = slots.map(outliersOf);
      return {
        negative: sum(counts.map(({ negative }) => negative)),
        overflow: sum(counts.map(({ overflow }) => overflow))
      };
    }
    /**
     * The values in bins of `widthMs`, those without any left out.
     * @param {Selector | Selector[]} of
     * @returns {HistBin[]}
     */
    histBins(of) {
      return this.#once("histBins", of, () => {
        const byBin = /* @__PURE__ */ new Map();
        for (const { intervals } of this.#histograms(of)) {
          for (const slot of inside(intervals, this.range)) {
            const bin = Math.floor((middle(slot) - this.begin) / this.widthMs);
            const known = byBin.get(bin);
            if (known) known.push(slot);
            else byBin.set(bin, [slot]);
          }
        }
        return [...byBin.entries()].sort(([one], [other]) => one - other).map(([bin, slots]) => ({
          ...this.#bin(bin),
          hist: mergeHists(slots.map(histOf))
        })).filter(({ hist }) => hist.count > 0);
      });
    }
    /**
     * What the counters grew by in the range; null if there is no such series.
     * @param {Selector | Selector[]} of
     * @returns {number | null}
     */
    grown(of) {
      return this.#once("grown", of, () => {
        const found = this.numbers(of);
        if (found.length === 0) return null;
        return this.range.whole ? sum(found.map(({ total: total2 }) => total2)) : grownIn(found, this.range);
      });
    }
    /**
     * What they grew by while the measured load flowed, as far as that is in the range.
     * @param {Selector | Selector[]} of
     * @returns {number | null}
     */
    flowed(of) {
      return this.#once("flowed", of, () => this.has(of) ? grownIn(this.numbers(of), this.flow) : null);
    }
    /**
     * What they grew by a second in that time, as far as it is known yet; null if there is no such series.
     * @param {Selector | Selector[]} of
     * @returns {number | null}
     */
    rate(of) {
      const grown = this.flowed(of);
      const { from } = this.flow;
      const to = Math.min(this.flow.to, this.#awaitedFrom(of));
      return grown === null || to <= from ? null : grown * 1e3 / (to - from);
    }
    /**
     * Growth a second, bin by bin; null in the newest bins of a live run, as long as what they come to is on its way.
     * @param {Selector | Selector[]} of
     * @returns {ValueBin[]}
     */
    rateBins(of) {
      return this.#once("rateBins", of, () => {
        const bins = this.#emptyBins();
        for (const { intervals } of this.numbers(of)) {
          for (const point of intervals) this.#spread(point, bins);
        }
        const awaited = this.#awaitedFrom(of);
        return bins.map(({ from, to, value }) => ({
          from,
          to,
          value: to > awaited ? null : value * 1e3 / (to - from)
        }));
      });
    }
    /**
     * The sum of the counters since the begin of the run at the end of each bin; null as in `rateBins`.
     * @param {Selector | Selector[]} of
     * @returns {ValueBin[]}
     */
    totalBins(of) {
      const before = { from: this.span.from - 1, to: this.range.from };
      const series = [of].flat().flatMap(({ name, labels }) => this.history.find(name, labels));
      let total2 = grownIn(
        /** @type {NumberSeries[]} */
        series,
        before
      );
      return this.rateBins(of).map(({ from, to, value }) => {
        total2 += (value ?? 0) * (to - from) / 1e3;
        return { from, to, value: value === null ? null : total2 };
      });
    }
    /**
     * The gauges' newest values in each bin, summed over series; null where nothing is known.
     * @param {Selector | Selector[]} of
     * @returns {ValueBin[]}
     */
    gaugeBins(of) {
      return this.#once("gaugeBins", of, () => {
        const bins = this.#emptyBins().map((bin) => ({ ...bin, value: null }));
        for (const { intervals } of this.numbers(of)) {
          let at = 0;
          let newest2 = null;
          for (const bin of bins) {
            while (at < intervals.length && intervals[at].end <= bin.to) {
              newest2 = intervals[at].value;
              at += 1;
            }
            if (newest2 !== null) bin.value = (bin.value ?? 0) + newest2;
          }
        }
        return bins;
      });
    }
    /** The gauges' values at the end of the range, summed. @param {Selector | Selector[]} of @returns {number | null} */
    gauge(of) {
      const bins = this.gaugeBins(of);
      return bins.length > 0 ? bins[bins.length - 1].value : null;
    }
    /** When the series had their last interval; null if they have none. @param {Selector | Selector[]} of */
    lastMs(of) {
      const ends = this.series(of).flatMap(({ intervals }) => intervals.slice(-1).map(({ end }) => end));
      return ends.length > 0 ? Math.max(...ends) : null;
    }
    /**
     * From when on figures of a live run are still on their way; Infinity if none is.
     * @param {Selector | Selector[]} of
     */
    #awaitedFrom(of) {
      const lastMs = this.lastMs(of) ?? -Infinity;
      return this.model.live && this.span.to - lastMs < AWAITED_MS ? lastMs : Infinity;
    }
    /** @param {number} number @returns {Part} */
    #bin(number) {
      const from = this.begin + number * this.widthMs;
      return { from: Math.max(from, this.range.from), to: Math.min(from + this.widthMs, this.range.to) };
    }
    #emptyBins() {
      const first = Math.floor((this.range.from - this.begin) / this.widthMs);
      const bins = [];
      for (let number = first; this.begin + number * this.widthMs < this.range.to; number += 1) {
        bins.push({ ...this.#bin(number), value: 0 });
      }
      return bins;
    }
    /** @param {Point} point @param {KnownBin[]} bins */
    #spread(point, bins) {
      if (bins.length === 0 || point.end <= bins[0].from) return;
      const first = Math.floor((bins[0].from - this.begin) / this.widthMs);
      let at = Math.max(0, Math.floor((point.start - this.begin) / this.widthMs) - first);
      for (; at < bins.length && bins[at].from < point.end; at += 1) {
        bins[at].value += point.value * share2(point, bins[at]);
      }
    }
    /**
     * @template T
     * @param {string} what
     * @param {Selector | Selector[]} of
     * @param {() => T} compute
     */
    #once(what, of, compute) {
      const key = `${what} ${JSON.stringify(of)}`;
      if (!this.#kept.has(key)) this.#kept.set(key, compute());
      return (
        /** @type {T} */
        this.#kept.get(key)
      );
    }
  };

  // src/pin.js
  var KEY2 = "market-spread-pinned";
  var Pin = class {
    /** The run's id; empty without one. */
    id = "";
    /** @type {View | null} what was judged of it, or all of a run without a verdict; null until it is loaded */
    view = null;
    /** Whether it is not known, or has nothing to compare with. */
    missing = false;
    #feed;
    #changed;
    /**
     * @param {Feed} feed
     * @param {() => void} changed called when the run is loaded, or cannot be
     */
    constructor(feed, changed) {
      this.#feed = feed;
      this.#changed = changed;
    }
    /** Pin another run, and remember it; none if the id is empty. @param {string} id */
    set(id) {
      remember2(id);
      this.#follow(id);
    }
    /**
     * Compare with the run that the address names, else with the one that was pinned last.
     * @param {string} [named]
     * @returns {string} that run; empty without one
     */
    take(named2) {
      this.#follow(named2 || stored2());
      return this.id;
    }
    /** @param {string} id */
    #follow(id) {
      if (id === this.id) return;
      Object.assign(this, { id, view: null, missing: false });
      if (id) this.#load(id);
    }
    /** @param {string} id */
    async #load(id) {
      const model = await this.#feed.load(id, true).then(
        (loaded) => loaded.model,
        () => null
      );
      if (this.id !== id) return;
      this.view = model && judgedView(model);
      this.missing = this.view === null;
      this.#changed();
    }
  };
  function judgedView(model) {
    const span = model.span();
    return span && new View(model, resolve(JUDGED, span, model.judged), span);
  }
  function stored2() {
    try {
      return localStorage.getItem(KEY2) ?? "";
    } catch {
      return "";
    }
  }
  function remember2(id) {
    try {
      if (id) localStorage.setItem(KEY2, id);
      else localStorage.removeItem(KEY2);
    } catch {
    }
  }

  // src/pages/compare.js
  var BESIDE_MAX = 3;
  var COLOURS = ["--p50", "--p99", "--p999", "--p95", "--max", "--p9999"];
  var DASHES = [[], [7, 3], [2, 3], [10, 3, 2, 3], [4, 2], [1, 2]];
  var ComparePage = class {
    title = "Comparison";
    /** @type {(CurveChart | Heatmap)[]} */
    #charts = [];
    #left = false;
    /** @param {App} app @param {string} item the runs, with commas between */
    constructor(app, item) {
      this.app = app;
      this.ids = runsOf(item);
      this.place = h("p.notice", { role: "status" }, "Loading the runs…");
      this.element = h("section.compare", {}, this.place);
      if (this.ids.length < 2) {
        this.place.textContent = "The address names fewer than two runs; select them on the page of runs.";
      } else {
        this.#load();
      }
      const named2 = namedIn(item).length;
      if (named2 > RUNS_MAX) app.say(`The address names ${named2} runs; the first ${RUNS_MAX} are compared.`);
    }
    update() {
    }
    release() {
      this.#left = true;
      for (const chart of this.#charts) chart.release();
    }
    async #load() {
      try {
        const loaded = await Promise.all(this.ids.map((id) => this.app.feed.load(id)));
        if (!this.#left) this.#build(loaded.map((run, at) => ({ ...run, id: this.ids[at] })));
      } catch (error) {
        this.place.textContent = `The runs cannot be compared: ${messageOf(error)}.`;
      }
    }
    /** @param {{id: string, model: RunModel, documents: Documents}[]} loaded */
    #build(loaded) {
      const runs = loaded.map(({ id, model, documents }) => ({ id, view: judgedView(model), documents }));
      const beside = runs.length <= BESIDE_MAX ? "div.half" : "div.full";
      this.element.replaceChildren(
        verdictNote(this.ids),
        h(
          "div.grid",
          {},
          h(beside, {}, figuresTable(loaded, runs)),
          h(beside, {}, this.#curves(runs)),
          this.#heatmaps(runs)
        ),
        differencesTable(runs)
      );
    }
    /** @param {Compared[]} runs */
    #curves(runs) {
      const drawn = runs.flatMap(({ id, view }, at) => view ? [{ id, hist: view.hist(END_TO_END), at }] : []);
      if (drawn.length === 0) return h("p.about", {}, "None of the runs has latencies.");
      const lines = drawn.map(({ id, at }) => ({ title: id, colour: COLOURS[at], dash: DASHES[at], width: 2 }));
      const curve = new CurveChart({ title: "Percentile curves, intended send to receipt", height: 320, lines });
      this.#charts.push(curve);
      const said = drawn.map(({ id, hist }) => `${id}: ${shownOr(hist, 50)} at p50, ${shownOr(hist, 99)} at p99`);
      curve.update(
        drawn.map(({ hist }) => hist),
        said.join("; ")
      );
      return curve.element;
    }
    /** A heat map a run, all over the same latencies. @param {Compared[]} runs */
    #heatmaps(runs) {
      const drawn = runs.flatMap(({ id, view }) => {
        const bins = view?.histBins({ name: END_TO_END.name }) ?? [];
        return view && bins.length > 0 ? [{ id, view, bins }] : [];
      });
      const [least, most] = latencyRange(drawn.flatMap(({ bins }) => bins));
      return drawn.map(({ id, view, bins }) => {
        const heat2 = new Heatmap({ title: id, actions: { brush: () => {
        }, whole: () => {
        } } });
        this.#charts.push(heat2);
        const samples = whole(view.hist(END_TO_END).count);
        const said = `${samples} samples of the measured load; all runs have one axis, ${latency(least)} to ${latency(most)}`;
        heat2.update(view, bins, said, [least, most]);
        return h("div.half", {}, heat2.element);
      });
    }
  };
  function verdictNote(ids) {
    return h(
      "div.verdictless",
      {},
      h(
        "p",
        {},
        h("b", {}, "Single runs give no verdict. "),
        "A machine differs more from run to run than most changes do, so a difference here may be chance. A verdict takes 8 runs of each, made in turn, or 6 pairs of ",
        h("code", {}, "market-spread ab"),
        ". The figures of these runs, with what that says of them:"
      ),
      h("p", {}, h("code", {}, commandOf(ids)))
    );
  }
  function figuresTable(loaded, runs) {
    const made = table({
      caption: "Figures, each with its distance from the first run's",
      columns: [{ title: "figure" }, ...runs.map(({ id }) => ({ title: id, numeric: true }))]
    });
    const rows = figureRows(
      runs.map(({ view, documents: { result } }) => hasFigures(result) ? result : figuresOf(view)),
      Math.max(0, ...loaded.map(({ model }) => model.limits.clusters_min ?? 0))
    );
    made.setRows([
      ["verdict", ...loaded.map(({ model }) => model.outcome || "–")],
      ...rows.map(({ title, cells }) => [title, ...cells])
    ]);
    return made.element;
  }
  function hasFigures(result) {
    return result !== void 0 && "latency_ns" in result;
  }
  function figuresOf(view) {
    if (!view) return {};
    const hist = view.hist(END_TO_END);
    const entries = PERCENTS.map((percent) => {
      const us = shownPercentile(hist, percent);
      return [percentName(percent), us === null ? null : us * 1e3];
    });
    const max = hist.count > 0 ? hist.maxUs * 1e3 : null;
    return { latency_ns: { ...Object.fromEntries(entries), max }, latency_samples: hist.count };
  }
  function differencesTable(runs) {
    const rows = differences(runs.map(({ documents }) => documents));
    const unknown = runs.filter(({ documents }) => !isKnown(documents));
    const lacking = unknown.length > 0 ? `Nothing is known of what ${unknown.map(({ id }) => id).join(", ")} ran with.` : "";
    if (rows.length === 0) {
      const same = ["The manifests of all runs say the same.", "The manifests of the other runs say the same."];
      const isCompared = runs.length - unknown.length > 1;
      return h("p.about", {}, [lacking, isCompared ? same[Math.min(1, unknown.length)] : ""].filter(Boolean).join(" "));
    }
    const made = table({
      caption: "What the runs were made with, where it differs",
      columns: [{ title: "" }, ...runs.map(({ id }) => ({ title: id }))]
    });
    made.setRows(rows);
    return lacking ? h("div", {}, made.element, h("p.about", {}, lacking)) : made.element;
  }

  // src/charts/timechart.js
  var TimeChart = class {
    /** @type {View | null} */
    #view = null;
    /** @type {Columns | null} */
    #data = null;
    /** @type {Row[]} */
    #rows = [];
    /** @type {Overall} */
    #overall = { label: "", values: [] };
    /**
     * @param {{title: string, unit?: string, about?: string, lines: Line[], log?: boolean, height?: number,
     *          steps?: number[], tick: (value: number) => string, text: (value: number | null) => string,
     *          actions: Actions}} given
     *   steps: between lines of the grid; tick: a value on the axis; text: a value in legend and table, with its unit.
     */
    constructor(given) {
      this.given = given;
      const { title, unit, about, lines } = given;
      this.figure = new Figure({
        title,
        unit,
        about,
        columns: [{ title: "from" }, { title: "to" }, ...lines.map((line) => ({ title: line.title }))]
      });
      this.values = lines.map((line) => this.figure.addKey(line));
      this.place = placed(this.figure.plot, given.height ?? 200, (size) => this.#make(size));
      this.element = this.figure.element;
    }
    /**
     * @param {View} view
     * @param {Row[]} rows
     * @param {Overall} overall
     * @param {string} summary
     * @param {string} [none] what is said without any row
     */
    update(view, rows, overall, summary, none = "Nothing was measured in this range.") {
      this.#view = view;
      this.#rows = rows;
      this.#overall = overall;
      this.#data = this.#columns(view);
      this.place.plot()?.setData(this.#data);
      this.#legend(this.place.plot()?.cursor.idx);
      const text = this.given.text;
      this.figure.describe(
        rows.length > 0 ? summary : none,
        () => rows.map(({ from, to, values }) => [
          elapsed((from - view.begin) / 1e3),
          elapsed((to - view.begin) / 1e3),
          ...values.map(text)
        ]),
        () => this.#raw()
      );
    }
    /** Rows in plain numbers; latencies in us. */
    #raw() {
      const { lines, log, unit } = this.given;
      const titles = lines.map(({ title }) => [title, log ? "us" : unit].filter(Boolean).join(", "));
      return [
        ["from_unix_ms", "to_unix_ms", ...titles],
        ...this.#rows.map(({ from, to, values }) => [from, to, ...values])
      ];
    }
    release() {
      this.figure.release();
      this.place.release();
    }
    /** x and each line, with a gap where nothing was measured for more than two bins. @param {View} view */
    #columns({ begin, widthMs }) {
      const xs = [];
      const lines = this.given.lines.map(() => []);
      let before = null;
      for (const { from, to, values } of this.#rows) {
        if (before !== null && from - before > 2 * widthMs) {
          xs.push(((before + from) / 2 - begin) / 1e3);
          for (const line of lines) line.push(null);
        }
        xs.push(((from + to) / 2 - begin) / 1e3);
        values.forEach((value, at) => lines[at].push(value));
        before = to;
      }
      return (
        /** @type {Columns} */
        [xs, ...lines]
      );
    }
    /** @param {{width: number, height: number}} size */
    #make(size) {
      const { lines, log = false, tick, steps } = this.given;
      const brush = brushHooks(() => this.#view?.begin ?? 0, this.given.actions);
      return new uPlot(
        {
          ...size,
          padding: [6, 18, 0, 0],
          legend: { show: false },
          cursor: timeCursor(),
          scales: {
            x: { time: false, range: () => this.#xRange() },
            y: log ? latencyScale() : { range: zeroRange }
          },
          axes: [
            timeAxis(),
            log ? latencyAxis() : axis({
              size: 58,
              space: 34,
              values: (_plot, splits) => splits.map(tick),
              ...steps ? { incrs: steps } : {}
            })
          ],
          series: [
            {},
            ...lines.map(({ fill, ...line }) => ({
              stroke: () => colour(line.colour),
              fill: fill ? () => colour(fill) : void 0,
              width: line.width ?? 1.5,
              dash: line.dash,
              points: { show: isLone }
            }))
          ],
          hooks: {
            ...brush,
            drawClear: [marksHook(() => ({ view: this.#view }))],
            setCursor: [(plot) => this.#legend(plot.cursor.idx)]
          }
        },
        this.#data ?? [[], ...lines.map(() => [])],
        this.figure.plot
      );
    }
    /** @returns {[number, number]} */
    #xRange() {
      if (!this.#view) return [0, 1];
      const { begin, range } = this.#view;
      return [(range.from - begin) / 1e3, (range.to - begin) / 1e3];
    }
    /** Values at the cursor, or those of the range. @param {number | null} [index] */
    #legend(index) {
      if (!this.#data || !this.#view) return;
      const { begin } = this.#view;
      const [xs, ...columns] = this.#data;
      const pointed = index !== null && index !== void 0 && index < xs.length;
      if (pointed) this.figure.setWhen(elapsed(xs[index]), clockTime(begin + xs[index] * 1e3));
      else this.figure.setWhen(this.#overall.label);
      this.values.forEach((place, line) => {
        setText(place, this.given.text((pointed ? columns[line][index] : this.#overall.values[line]) ?? null));
      });
    }
  };
  function isLone(plot, at) {
    return (
      /** @type {Columns} */
      plot.data[at].filter((value) => value !== null).length < 2
    );
  }
  function zeroRange(_plot, _least, most) {
    return [0, most > 0 ? most * 1.08 : 1];
  }

  // src/parts/lines.js
  var PERCENT_LINES = [
    { title: "p50", colour: "--p50", width: 2 },
    { title: "p95", colour: "--p95", dash: [7, 3] },
    { title: "p99", colour: "--p99", width: 2 },
    { title: "p99.9", colour: "--p999", dash: [3, 2] },
    { title: "p99.99", colour: "--p9999", dash: [8, 3, 2, 3] },
    { title: "max", colour: "--max", width: 1 }
  ];
  var RATE_LINES = [
    { colour: "--rate-1", width: 2 },
    { colour: "--rate-2", dash: [6, 3], width: 1.5 },
    { colour: "--rate-3", dash: [2, 2], width: 1.5 },
    { colour: "--rate-4", dash: [8, 3, 2, 3], width: 1.5 },
    { colour: "--p9999", dash: [1, 3], width: 2 },
    { colour: "--max", width: 1.5 },
    { colour: "--rate-1", dash: [3, 2], width: 1.5 },
    { colour: "--rate-2", dash: [1, 2], width: 2 },
    { colour: "--rate-3", dash: [9, 3], width: 1.5 },
    { colour: "--rate-4", dash: [12, 3, 2, 3], width: 1.5 }
  ];
  function rateLines(titles) {
    return titles.map((title, at) => ({ title, ...RATE_LINES[at % RATE_LINES.length] }));
  }
  function percentileRows(bins) {
    return bins.map(({ from, to, hist }) => ({
      from,
      to,
      values: [...PERCENTS.map((percent) => shownPercentile(hist, percent)), hist.maxUs]
    }));
  }
  function percentileOverall(hist, view) {
    return {
      label: view.judged ? "result" : "range",
      values: [...PERCENTS.map((percent) => shownPercentile(hist, percent)), hist.count > 0 ? hist.maxUs : null]
    };
  }
  function rateOverall(view, selectors) {
    return { label: view.flowLabel, values: selectors.map((selector) => view.rate(selector)) };
  }
  function rateRows(view, selectors) {
    return rowsOf(
      selectors.map((selector) => view.has(selector) ? view.rateBins(selector) : null),
      view.rateBins([])
    );
  }
  function gaugeRows(view, selectors) {
    return rowsOf(
      selectors.map((selector) => view.has(selector) ? view.gaugeBins(selector) : null),
      view.rateBins([])
    );
  }
  function histRows(view, selectors, figure2) {
    const byFrom = /* @__PURE__ */ new Map();
    selectors.forEach((of, line) => {
      for (const { from, to, hist } of view.histBins(of)) {
        const row3 = byFrom.get(from) ?? { from, to, values: selectors.map(() => null) };
        row3.values[line] = figure2(hist);
        byFrom.set(from, row3);
      }
    });
    return [...byFrom.values()].sort((one, other) => one.from - other.from);
  }
  function rowsOf(columns, bins) {
    return columns.every((column) => column === null) ? [] : bins.map(({ from, to }, at) => ({ from, to, values: columns.map((column) => column?.[at].value ?? null) }));
  }
  function percentileSummary(view, bins) {
    const rows = percentileRows(bins);
    const said = PERCENTS.flatMap((percent, at) => {
      const known = rows.map(({ values }) => values[at]).filter((value) => value !== null);
      if (known.length === 0) return [];
      const [least, most2] = [Math.min(...known), Math.max(...known)];
      return [
        least === most2 ? `${percentName(percent)} ${latency(least)}` : `${percentName(percent)} ${latency(least)} to ${latency(most2)}`
      ];
    });
    const slowest = bins.reduce((found, bin) => bin.hist.maxUs > found.hist.maxUs ? bin : found, bins[0]);
    const missing2 = PERCENTS.filter((_percent, at) => rows.every(({ values }) => values[at] === null));
    const most = Math.max(...bins.map(({ hist }) => hist.count));
    return [
      said.join(", "),
      slowest && `slowest ${latency(slowest.hist.maxUs)} at ${elapsed((slowest.from - view.begin) / 1e3)}`,
      missing2.length > 0 && `n too small for ${missing2.map(percentName).join(", ")} in bins of ${view.widthMs / 1e3} s (at most ${most} samples)`
    ].filter(Boolean).join("; ");
  }
  function rateSummary(view, throughput, text) {
    return throughput.filter(({ of }) => view.has(of)).map(({ title, of }) => {
      const values = view.rateBins(of).map(({ value }) => value).filter((value) => value !== null);
      const flow = view.flowLabel === "measured" ? " while measuring" : "";
      const bins = values.length > 0 ? `, ${text(Math.min(...values))} to ${text(Math.max(...values))} from bin to bin` : "";
      return `${title} ${text(view.rate(of))}${flow}${bins}`;
    }).join("; ");
  }

  // src/parts/detail.js
  var Detail = class {
    /**
     * @param {Step} step
     * @param {Actions} actions
     * @param {HTMLElement[]} [more] small charts to stand with those of throughput
     */
    constructor(step, actions, more = []) {
      this.step = step;
      const units = [...new Set(step.throughput.map(({ unit }) => unit))];
      this.throughput = units.map((unit) => {
        const counters = step.throughput.filter((counter) => counter.unit === unit);
        const lines = rateLines(counters.map(({ title: title2 }) => title2));
        const title = { "alerts/s": "Alerts", "outputs/s": "Outputs" }[unit] ?? "Throughput";
        return {
          chart: new TimeChart({ title, unit, lines, tick: axisNumber, text: rate, actions, height: 160 }),
          counters
        };
      });
      this.latencies = step.latency === null ? null : {
        over: new TimeChart({
          title: "Latency percentiles over time",
          unit: "log scale",
          lines: PERCENT_LINES,
          log: true,
          tick: axisLatency,
          text: latency,
          actions,
          height: 230
        }),
        heat: new Heatmap({ title: "Latency heatmap", actions, height: 230 }),
        curve: new CurveChart({
          title: "Percentile curve",
          lines: [{ title: step.title, colour: "--p50", width: 2 }],
          height: 230
        })
      };
      this.percentiles = percentileTable("Percentiles of the range");
      const large = this.latencies ? [...Object.values(this.latencies).map(({ element }) => element), this.percentiles.element] : [];
      const small = [...this.throughput.map(({ chart }) => chart.element), ...more];
      const size = small.length % 3 === 0 ? "third" : small.length % 2 === 0 ? "half" : "full";
      this.element = h(
        "div.grid",
        {},
        large.map((element) => h("div.half", {}, element)),
        small.map((element) => h(`div.${size}`, {}, element))
      );
    }
    /** @param {View} view */
    update(view) {
      const { step } = this;
      for (const { chart, counters } of this.throughput) {
        const selectors = counters.map(({ of }) => of);
        chart.update(view, rateRows(view, selectors), rateOverall(view, selectors), rateSummary(view, counters, rate));
      }
      if (!this.latencies || step.latency === null) return;
      const bins = view.histBins(step.over);
      const hist = view.hist(step.latency);
      this.latencies.over.update(
        view,
        percentileRows(bins),
        percentileOverall(hist, view),
        percentileSummary(view, bins)
      );
      this.latencies.heat.update(view, bins, heatSummary(bins));
      this.latencies.curve.update([hist], curveSummary(hist));
      this.percentiles.set(hist);
    }
    release() {
      for (const { chart } of this.throughput) chart.release();
      for (const chart of Object.values(this.latencies ?? {})) chart.release();
    }
  };
  function curveSummary(hist) {
    const known = PERCENTS.filter((percent) => supports(hist, percent));
    return `${counted(hist.count, "sample")}: ${[
      ...known.map((percent) => `p${percent} ${latency(percentile(hist, percent))}`),
      `max ${latency(hist.maxUs)}`
    ].join(", ")}`;
  }
  function heatSummary(bins) {
    const all = bins.reduce((sum3, { hist }) => sum3 + hist.count, 0);
    const [least, most] = [
      Math.min(...bins.map(({ hist }) => hist.minUs)),
      Math.max(...bins.map(({ hist }) => hist.maxUs))
    ];
    return `${counted(all, "sample")} in ${counted(bins.length, "bin")}, from ${latency(least)} to ${latency(most)}`;
  }

  // src/partitions.js
  var OTHERS = "others";
  var ODD = 3;
  function places(model) {
    const found = placesOf([...model.find(PARTITION_COMMITTED.name), ...model.find(PARTITION_LATENCY.name)]);
    const joined = [...found.values()].filter(({ partition }) => partition === OTHERS).map(({ topic }) => topic);
    for (const [name, place] of placesOf(model.find(SENT.name))) {
      if (!joined.includes(place.topic)) found.set(name, place);
    }
    return [...found.values()].sort(
      (one, other) => one.topic.localeCompare(other.topic) || numberOf(one) - numberOf(other)
    );
  }
  function partitionFigures(view) {
    const known = places(view.model);
    return known.map((place) => {
      const sent = sentTo(view.model, place, known);
      const committed = { name: PARTITION_COMMITTED.name, labels: { ...place } };
      const answered = { name: PARTITION_LATENCY.name, labels: { ...place } };
      return {
        name: nameOf(place),
        sent: view.rate(sent),
        committed: view.rate(committed),
        outputs: outputRate(view, answered),
        ...backlog(view, sent, committed),
        hist: view.hist(answered)
      };
    });
  }
  function outputLatencies(view) {
    const hist = (labels) => view.hist({ name: PARTITION_LATENCY.name, labels });
    const outputs = new Set(view.model.find(PARTITION_LATENCY.name).map(({ labels }) => labels.output));
    return [...outputs].sort().flatMap((output) => [
      { name: output, hist: hist({ output }) },
      ...places(view.model).map((place) => ({
        name: `${output}, of ${nameOf(place)}`,
        hist: hist({ output, ...place })
      }))
    ]);
  }
  function outputRate(view, of) {
    if (!view.has(PARTITION_LATENCY)) return null;
    const series = (
      /** @type {HistogramSeries[]} */
      view.series(of)
    );
    const count = sum(series.flatMap(({ intervals }) => inside(intervals, view.flow).map((slot) => histOf(slot).count)));
    return count * 1e3 / (view.flow.to - view.flow.from);
  }
  function oddPartitions(figures2, beginMs) {
    if (figures2.length < 2) return [];
    const said = [];
    const [behind2, next] = [...figures2].sort((one, other) => (other.most ?? 0) - (one.most ?? 0));
    if ((behind2.most ?? 0) > Math.max(behind2.sent ?? 0, ODD * (next.most ?? 0))) {
      const stood = behind2.stoodMs > 0 ? `; nothing of it was committed for up to ${duration(behind2.stoodMs)}` : "";
      const at = elapsed((behind2.mostMs - beginMs) / 1e3);
      said.push(
        `${behind2.name} was ${counted(behind2.most ?? 0, "message")} behind at ${at}, no other partition more than ${counted(next.most ?? 0, "message")}${stood}.`
      );
    }
    const timed = figures2.filter(({ hist }) => supports(hist, 50));
    const [slow, ...others] = timed.sort((one, other) => percentile(other.hist, 50) - percentile(one.hist, 50));
    if (others.length > 0) {
      const [p50Us, restUs] = [slow.hist, mergeHists(others.map(({ hist }) => hist))].map((hist) => percentile(hist, 50));
      if (p50Us > ODD * restUs) {
        said.push(`${slow.name} is slow: its outputs have a p50 of ${latency(p50Us)}, all others ${latency(restUs)}.`);
      }
    }
    return said;
  }
  function backlog(view, sent, committed) {
    const found = { behind: (
      /** @type {number | null} */
      null
    ), most: (
      /** @type {number | null} */
      null
    ) };
    const times2 = { mostMs: 0, stoodMs: 0 };
    if (!view.has(sent) || !view.has(committed)) return { ...found, ...times2 };
    const done = view.totalBins(committed);
    const grown = view.rateBins(committed);
    let standing = 0;
    view.totalBins(sent).forEach(({ from, to, value }, at) => {
      const there = done[at].value;
      if (value === null || there === null) return;
      found.behind = Math.max(0, Math.round(value - there));
      standing = found.behind > 0 && grown[at].value === 0 ? standing + to - from : 0;
      times2.stoodMs = Math.max(times2.stoodMs, standing);
      if (found.most === null || found.behind > found.most) [found.most, times2.mostMs] = [found.behind, to];
    });
    return { ...found, ...times2 };
  }
  function sentTo(model, { topic, partition }, known) {
    const own = new Set(known.map(nameOf));
    return model.find(SENT.name, { topic }).map(({ labels }) => ({ topic, partition: labels.partition })).filter((place) => partition === OTHERS ? !own.has(nameOf(place)) : place.partition === partition).map((labels) => ({ name: SENT.name, labels }));
  }
  function placesOf(series) {
    return new Map(
      series.map(({ labels: { topic, partition } }) => [nameOf({ topic, partition }), { topic, partition }])
    );
  }
  function nameOf({ topic, partition }) {
    return `${topic}/${partition}`;
  }
  function numberOf({ partition }) {
    return partition === OTHERS ? Infinity : Number(partition);
  }

  // src/usersteps.js
  var TIMED_IN = [
    { kind: "source", id: "ingest", title: "Broker and read" },
    { kind: "sink", id: "deliver", title: "Sink and delivery" },
    { kind: "", id: "compute", title: "Computation" }
  ];
  function userSteps(view) {
    const lines = (view.history.system?.steps ?? []).map((line) => line.trim()).filter(Boolean);
    const sources = lines.filter((line) => line.startsWith("source "));
    return lines.map((line) => {
      const { kind, id, title } = TIMED_IN.find((each) => line.startsWith(each.kind && `${each.kind} `)) ?? TIMED_IN[2];
      const name = line.slice(kind.length + 1).split(":")[0];
      const rates = { into: (
        /** @type {number | null} */
        null
      ), out: (
        /** @type {number | null} */
        null
      ) };
      if (kind === "source") {
        rates.into = view.rate({ name: SENT.name, labels: { topic: topicOf(view, SENT.name, "topic", name) } });
        rates.out = sources.length === 1 ? view.rate(RECORDS) : null;
      } else if (kind === "sink") {
        rates.out = outputRate(view, {
          name: PARTITION_LATENCY.name,
          labels: { output: topicOf(view, PARTITION_LATENCY.name, "output", name) }
        });
      }
      return { text: kind ? `${kind} ${name}` : line.split("; keeps ")[0], id, title, ...rates };
    });
  }
  function topicOf(view, metric2, label, name) {
    const topics = view.model.find(metric2).map(({ labels }) => labels[label]);
    return topics.find((topic) => topic === name) ?? topics.find((topic) => topic.endsWith(name)) ?? name;
  }

  // src/parts/usersteps.js
  var ABOUT = "Spark fuses steps without state into one task, so what passes from one step to the next is not seen: all between a source and a sink is timed together, and has no rates of its own. Outputs are the first of each message.";
  var UserSteps = class {
    /** @param {App} app */
    constructor(app) {
      this.app = app;
      this.table = table({
        caption: "Steps of the pipeline",
        columns: [
          { title: "step" },
          { title: "timed in" },
          { title: "messages/s in", numeric: true },
          { title: "messages/s out", numeric: true }
        ]
      });
      this.element = h("div.full", { hidden: true }, this.table.element, h("p.about", {}, ABOUT));
    }
    /** @param {View} view */
    update(view) {
      const steps = userSteps(view);
      show(this.element, steps.length > 0);
      this.table.setRows(
        steps.map(({ text, id, title, into, out }) => [
          text,
          { text: title, href: this.app.href("computations", id) },
          rate(into),
          rate(out)
        ])
      );
    }
  };

  // src/parts/tabs.js
  function tabs(label, links) {
    return h(
      "nav.tabs",
      { "aria-label": label },
      links.map(({ title, href, current }) => h("a", { href, "aria-current": current ? "page" : null }, title))
    );
  }

  // src/pages/computations.js
  var OVER_TIME = [
    { title: "p50 of each computation", figure: (hist) => shownPercentile(hist, 50) },
    { title: "Maximum of each computation", figure: (hist) => hist.count > 0 ? hist.maxUs : null }
  ];
  var ComputationsPage = class {
    title = "Computations";
    /** @param {App} app */
    constructor(app) {
      this.app = app;
      this.steps = stepsOf(app.model, COMPUTATIONS);
      this.latencies = latencyTable("Latency of each computation", "computation");
      this.rates = table({
        caption: "Throughput of each computation",
        columns: [
          { title: "computation" },
          { title: "what" },
          { title: "a second", numeric: true },
          { title: "done by" }
        ]
      });
      this.charts = OVER_TIME.map(({ title, figure: figure2 }) => ({
        figure: figure2,
        chart: new TimeChart({
          title,
          unit: "log scale",
          lines: rateLines(this.steps.map((step) => step.title)),
          log: true,
          tick: axisLatency,
          text: latency,
          actions: app.actions,
          height: 220
        })
      }));
      this.userSteps = new UserSteps(app);
      this.element = h(
        "div",
        {},
        siblings(app, ""),
        h(
          "div.grid",
          {},
          this.userSteps.element,
          h("div.full", {}, this.latencies.element),
          this.charts.map(({ chart }) => h("div.half", {}, chart.element)),
          h("div.full", {}, this.rates.element)
        )
      );
    }
    /** @param {View} view */
    update(view) {
      const { app } = this;
      this.userSteps.update(view);
      const link = ({ id, title }) => ({ text: title, href: app.href("computations", id) });
      this.latencies.set([
        ...this.steps.map((step) => ({ title: link(step), hist: view.hist(step.latency) })),
        { title: { text: PIPELINES[0].title, href: app.href("pipeline", PIPELINES[0].id) }, hist: view.hist(END_TO_END) }
      ]);
      for (const { chart, figure: figure2 } of this.charts) {
        const values = this.steps.map((step) => figure2(view.hist(step.latency)));
        const said = this.steps.map(({ title }, at) => `${title} ${latency(values[at])}`).join("; ");
        chart.update(
          view,
          histRows(
            view,
            this.steps.map(({ over }) => over),
            figure2
          ),
          { label: "range", values },
          said
        );
      }
      this.rates.setRows(
        this.steps.flatMap(
          (step) => step.throughput.map(({ title, of }) => [
            link(step),
            title,
            rate(view.has(of) ? view.rate(of) : null),
            doneBy(view.model, step) || NONE
          ])
        )
      );
    }
    release() {
      for (const { chart } of this.charts) chart.release();
    }
  };
  var ComputationPage = class {
    /** @param {App} app @param {string} id */
    constructor(app, id) {
      this.app = app;
      this.step = stepOf(app.model, "computation", id);
      this.title = this.step?.title ?? "Computation";
      this.detail = this.step ? new Detail(this.step, app.actions) : null;
      this.others = latencyTable("The others of this pipeline", "computation");
      this.workers = table({ caption: "Workers that do it", columns: [{ title: "worker" }, { title: "what it does" }] });
      this.element = h(
        "div",
        {},
        siblings(app, id),
        h("p.about", {}, this.step ? this.step.about : `There is no computation "${id}".`),
        this.detail?.element,
        h("div.grid", {}, h("div.full", {}, this.others.element), h("div.full", {}, this.workers.element))
      );
    }
    /** @param {View} view */
    update(view) {
      const { app } = this;
      this.detail?.update(view);
      this.others.set([
        ...stepsOf(view.model, PIPELINES).map(({ id, title, latency: of }) => ({
          title: { text: title, href: app.href("pipeline", id) },
          hist: view.hist(of)
        })),
        ...stepsOf(view.model, COMPUTATIONS).filter(({ id }) => id !== this.step?.id).map(({ id, title, latency: of }) => ({
          title: { text: title, href: app.href("computations", id) },
          hist: view.hist(of)
        }))
      ]);
      const doing = workers(view.model).filter((source) => this.step && source.startsWith(this.step.workers));
      this.workers.setRows(
        doing.map((source) => [{ text: source, href: app.href("workers", source) }, workOf(source, view.model)])
      );
    }
    release() {
      this.detail?.release();
    }
  };
  function siblings(app, current) {
    return tabs(
      "Computations",
      [{ id: "", title: "All" }, ...stepsOf(app.model, COMPUTATIONS)].map(({ id, title }) => ({
        title,
        href: app.href("computations", id),
        current: id === current
      }))
    );
  }
  function doneBy(model, step) {
    return workers(model).filter((source) => source.startsWith(step.workers)).join(", ");
  }

  // src/facts.js
  var ORDERS_FLOW_PER_S = 1;
  var FINE_BINS = 4e3;
  var LATELY_MS = 1e4;
  function factsOf(view) {
    const { model } = view;
    const latency2 = view.hist(END_TO_END);
    return {
      live: model.live,
      verdict: view.history.verdict,
      failedChecks: view.history.failed,
      limits: view.history.limits,
      hosts: view.history.hosts,
      framesSent: view.flowed(metric("sender_frames_sent_total")) ?? 0,
      framesLate: view.flowed(metric("sender_frames_late_total")) ?? 0,
      failed: view.grown(FAILED) ?? 0,
      sources: newestOfEach(model.sources, model.nowMs),
      count: latency2.count,
      p50Us: percentile(latency2, 50),
      queryRestarts: view.grown(metric("job_restarts_total")) ?? 0,
      alertsDuplicated: view.grown(metric("receiver_alerts_duplicated_total")) ?? 0,
      alertsUnreadable: view.grown(metric("receiver_alerts_unreadable_total")) ?? 0,
      malformed: view.grown(metric("receiver_invalid_total")) ?? 0,
      refused: model.aggregator.refused ?? 0,
      unwritten: model.aggregator.unwritten ?? 0,
      historyDropped: model.aggregator.history_dropped ?? 0,
      ...view.outliers(),
      ...longestStandstill(view),
      ...model.live ? { latencies: latenciesSoFar(view), ...behind(view) } : { latencies: [], behindS: 0, behindBeforeS: 0 },
      oddPartitions: view.history.system ? oddPartitions(partitionFigures(view), view.begin) : []
    };
  }
  function lagPoints(view) {
    const fine = new View(view.model, view.range, view.span, { bins: FINE_BINS, history: view.history });
    const processed = fine.totalBins(PROCESSED);
    return fine.totalBins(SENT).flatMap(({ from, to, value: sent }, at) => {
      const done = processed[at].value;
      return sent === null || done === null ? [] : [{ from, to, value: Math.max(0, Math.round(sent - done)) }];
    });
  }
  function lagBins(view, points) {
    const bins = /* @__PURE__ */ new Map();
    for (const { from, to, value } of points) {
      const number = Math.floor(((from + to) / 2 - view.begin) / view.widthMs);
      const known = bins.get(number);
      if (known) Object.assign(known, { to, value: Math.max(known.value, value) });
      else bins.set(number, { from, to, value });
    }
    return [...bins.values()];
  }
  function uncounted(view, most) {
    if (view.history.find(PROCESSED.name).length > 0) return void 0;
    if (view.history.live) return "The job has not counted anything yet.";
    const counted2 = most === void 0 ? "" : `; the run controller saw ${whole(most)} messages at most`;
    return `The job did not push how many messages it has processed, so this is not known over time${counted2}.`;
  }
  function latenciesSoFar(view) {
    const { latency_us_max: limits = {}, settle_us: settleUs = 0 } = view.history.limits;
    const from = view.flow.from + settleUs / 1e3;
    const settled = new View(view.model, { ...view.range, from, whole: false }, view.span, { history: view.history });
    const hist = settled.hist(END_TO_END);
    return Object.entries(limits).map(([name, limitUs]) => {
      const max = hist.count > 0 ? hist.maxUs : null;
      return { name, us: name === "max" ? max : shownPercentile(hist, Number(name.slice(1))), limitUs };
    });
  }
  function behind(view) {
    const latelyMs = Math.max(LATELY_MS, 2 * ((view.history.limits.stall_us ?? 0) / 1e3));
    const recent = { from: Math.max(view.range.from, view.range.to - 3 * latelyMs), to: view.range.to, whole: false };
    const points = lagPoints(new View(view.model, recent, view.span, { history: view.history })).filter(
      ({ from }) => from >= view.flow.from
    );
    const rate2 = view.rate(SENT) ?? 0;
    const end = points.at(-1)?.to ?? 0;
    if (rate2 < ORDERS_FLOW_PER_S || end - view.flow.from < 2 * latelyMs) return { behindS: 0, behindBeforeS: 0 };
    const least = (back) => {
      const within = points.filter(({ to }) => to > end - (back + 1) * latelyMs && to <= end - back * latelyMs);
      return Math.min(...within.map(({ value }) => value)) / rate2;
    };
    return { behindS: least(0), behindBeforeS: least(1) };
  }
  function newestOfEach(sources, nowMs) {
    const bySource = /* @__PURE__ */ new Map();
    for (const epoch of sources) {
      const known = bySource.get(epoch.source);
      bySource.set(epoch.source, {
        source: epoch.source,
        silentMs: Math.min(known?.silentMs ?? Infinity, nowMs - epoch.end_unix_ms),
        pushes: (known?.pushes ?? 0) + epoch.pushes,
        missing: (known?.missing ?? 0) + epoch.missing,
        dropped: (known?.dropped ?? 0) + epoch.pushes_dropped,
        duplicates: (known?.duplicates ?? 0) + epoch.duplicates,
        clockErrorUs: epoch.clock_error_us,
        synchronised: epoch.clock_synchronised,
        restarts: (known?.restarts ?? -1) + 1
      });
    }
    return [...bySource.values()];
  }
  function longestStandstill(view) {
    const times2 = view.numbers({ name: ALERTS.name, labels: { phase: "measured" } }).flatMap(({ intervals }) => intervals).filter(({ end, start, value }) => value > 0 && end > view.range.from && start < view.range.to).map(({ start, end }) => ({ start, end })).sort((one, other) => one.start - other.start);
    const sentMs = view.lastMs(SENT) ?? 0;
    const sending = view.model.live && view.model.nowMs - sentMs < 3e3 && (view.rate(SENT) ?? 0) > ORDERS_FLOW_PER_S;
    if (sending && times2.length > 0) times2.push({ start: sentMs, end: sentMs });
    let longest = { stallMs: 0, stallAtS: 0 };
    for (let i = 1; i < times2.length; i += 1) {
      const pauseMs = times2[i].start - times2[i - 1].end;
      if (pauseMs > longest.stallMs) {
        longest = { stallMs: pauseMs, stallAtS: (times2[i - 1].end - view.begin) / 1e3 };
      }
    }
    return longest;
  }

  // src/rules.js
  var SILENCE_MS = 3e3;
  var BEHIND_S = 3;
  var GROWN_S = 0.5;
  var DOERS = { system: "the system's doing", rig: "the rig's doing" };
  var problem = (text, page) => ({ level: "problem", text, page });
  var ending = (would) => (text, page) => ({ level: "problem", text, page, would });
  var note = (text, page) => ({ level: "note", text, page });
  function failedChecks({ failedChecks: failed }) {
    return failed.map(({ text, cause }) => problem(`${text}${DOERS[cause] ? ` (${DOERS[cause]})` : ""}.`, "overview"));
  }
  function lateFrames({ framesLate, framesSent, limits }) {
    if (framesLate <= 0 || framesSent <= 0) return [];
    const { late_us: lateUs, late_share_max: allowed } = limits;
    const part = framesLate / framesSent;
    const late = lateUs === void 0 ? "late" : `more than ${latency(lateUs)} after their plan`;
    const may = allowed === void 0 ? "" : `; the run allows ${share(allowed)}`;
    const text = `${counted(framesLate, "frame")} of ${whole(framesSent)} (${share(part)}) left ${late}${may}.`;
    return [(allowed !== void 0 && part > allowed ? ending("void") : note)(text, "computations/send_all")];
  }
  function silentSources({ live, sources }) {
    if (!live) return [];
    return sources.filter(({ silentMs }) => silentMs > SILENCE_MS).map(
      ({ source, silentMs }) => note(`${source} has pushed nothing for ${duration(silentMs)}.`, `workers/${source}`)
    );
  }
  function pushesLost({ sources, limits }) {
    const { missing_share_max: allowed } = limits;
    const [lost, taken] = [sum2(sources, "missing"), sum2(sources, "pushes")];
    const say = allowed !== void 0 && lost > allowed * (lost + taken) ? ending("void") : note;
    return sources.filter(({ missing: missing2, dropped }) => missing2 + dropped > 0).map(
      ({ source, missing: missing2, dropped }) => say(
        `${source}: ${[
          missing2 > 0 && `${counted(missing2, "push", "pushes")} missing`,
          dropped > 0 && `${counted(dropped, "push", "pushes")} dropped by the source`
        ].filter(Boolean).join(", ")}; its figures lack what they held.`,
        "aggregator"
      )
    );
  }
  function clocksAdrift({ sources, hosts }) {
    if (hosts < 2) return [];
    const bound = (us) => us >= 0 ? `; the kernel bounds its error by ${latency(us)}` : "";
    return sources.filter(({ synchronised }) => !synchronised).map(({ source, clockErrorUs: us }) => note(`${source}: its clock is not synchronised${bound(us)}.`, "pipeline"));
  }
  function clocksCoarse({ sources, hosts, p50Us, count }) {
    if (count === 0 || hosts < 2) return [];
    return sources.filter(({ synchronised, clockErrorUs }) => synchronised && clockErrorUs > p50Us).map(
      ({ source, clockErrorUs }) => note(
        `${source}: its clock may be wrong by ${latency(clockErrorUs)}, more than the p50 of ${latency(p50Us)}.`,
        "pipeline"
      )
    );
  }
  function restarts({ queryRestarts, sources }) {
    const query = `The query was started again ${times(queryRestarts)} after a failure.`;
    const processes = sources.filter((source) => source.restarts > 0);
    return [
      ...queryRestarts > 0 ? [note(query, "workers")] : [],
      ...processes.map(
        ({ source, restarts: again }) => note(`${source} was started again ${times(again)}.`, `workers/${source}`)
      )
    ];
  }
  function duplicates({ alertsDuplicated, sources }) {
    const pushed = sum2(sources, "duplicates");
    const alerts = `${counted(alertsDuplicated, "alert")} came again; the first of each order counts.`;
    const pushes = `${counted(pushed, "push", "pushes")} came again and ${pushed === 1 ? "was" : "were"} left out.`;
    return [
      ...alertsDuplicated > 0 ? [note(alerts, "computations/deliver")] : [],
      ...pushed > 0 ? [note(pushes, "aggregator")] : []
    ];
  }
  function malformed({ malformed: messages, alertsUnreadable: records }) {
    const reported = `${counted(messages, "message")} malformed, reported to the topic invalid.`;
    const unreadable = `${counted(records, "record")} of the alerts topic ${records === 1 ? "is" : "are"} no alert.`;
    return [
      ...messages > 0 ? [ending("failed")(reported, "computations/compute")] : [],
      ...records > 0 ? [ending("failed")(unreadable, "computations/deliver")] : []
    ];
  }
  function refusedPushes({ refused, unwritten }) {
    const wrong = `${counted(refused, "push", "pushes")} refused as wrong; the log of the source says why.`;
    const waiting = `${counted(unwritten, "push", "pushes")} could not be written down; the source tries again.`;
    return [
      ...refused > 0 ? [problem(wrong, "aggregator")] : [],
      ...unwritten > 0 ? [problem(waiting, "aggregator")] : []
    ];
  }
  function historyDropped({ historyDropped: dropped }) {
    const text = `${counted(dropped, "interval")} of the history made room for others; totals have them.`;
    return dropped > 0 ? [note(text, "aggregator")] : [];
  }
  function messagesFailed({ failed }) {
    return failed > 0 ? [ending("void")(`${counted(failed, "message")} lost: the broker did not take them.`, "workers")] : [];
  }
  function stall({ stallMs, stallAtS, limits }) {
    if (limits.stall_us === void 0) return [];
    const limitMs = limits.stall_us / 1e3;
    if (!(stallMs > limitMs)) return [];
    const text = `No alert came for ${duration(stallMs)}, from ${elapsed(stallAtS)} on`;
    return [ending("failed")(`${text}; the run allows ${duration(limitMs)}.`, "pipeline")];
  }
  function slowSoFar({ latencies }) {
    return latencies.flatMap(
      ({ name, us, limitUs }) => us !== null && us > limitUs ? [ending("failed")(`${name} is ${latency(us)} so far; the run allows ${latency(limitUs)}.`, "pipeline")] : []
    );
  }
  function fallingBehind({ behindS, behindBeforeS }) {
    if (behindS <= BEHIND_S || behindS <= behindBeforeS + GROWN_S) return [];
    const before = duration(behindBeforeS * 1e3);
    const text = `Processing is ${duration(behindS * 1e3)} of load behind, ${before} a while before: it does not keep up.`;
    return [ending("failed")(text, "pipeline")];
  }
  function unevenPartitions({ oddPartitions: oddPartitions2 }) {
    return oddPartitions2.map((text) => note(text, "pipeline"));
  }
  function outOfRange({ negative, overflow, hosts }) {
    const why = hosts < 2 ? "a clock was moved" : "clocks disagree";
    const below = `${counted(negative, "value")} below zero counted as 0: ${why}.`;
    const above2 = `${counted(overflow, "value")} above 1 hour counted as 1 hour.`;
    return [...negative > 0 ? [note(below, "pipeline")] : [], ...overflow > 0 ? [problem(above2, "pipeline")] : []];
  }
  var RULES = [
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
    clocksCoarse
  ];
  function findings(facts) {
    const found = RULES.flatMap((rule) => {
      const said = rule(facts);
      return facts.verdict && rule !== failedChecks ? said.map(({ text, page }) => note(text, page)) : said;
    });
    return [...found.filter(({ level }) => level === "problem"), ...found.filter(({ level }) => level === "note")];
  }
  function sum2(sources, name) {
    return sources.reduce((all, source) => all + source[name], 0);
  }
  function times(number) {
    return number === 1 ? "once" : `${whole(number)} times`;
  }

  // src/parts/findings.js
  var SIGNS = { problem: "▲", note: "•", none: "✓" };
  var NOTHING2 = { level: "none", text: "Nothing is out of the ordinary." };
  var Findings = class {
    #shown = "";
    /** @param {(page: string, item: string) => string} href the address of a page */
    constructor(href) {
      this.href = href;
      this.heading = h("span");
      this.count = h("span.unit");
      this.list = h("ul.findings");
      this.element = h("section.narrow", {}, h("h2", {}, this.heading, this.count), this.list);
    }
    /** @param {import("../view.js").View} view */
    update(view) {
      const found = findings(factsOf(view)).map((each) => ({ ...each, text: inWordsOf(view.history, each.text) }));
      const problems = found.filter(({ level }) => level === "problem").length;
      const counts = ` ${counted(problems, "problem")}, ${counted(found.length - problems, "note")}`;
      setText(this.heading, found.length === 0 ? "Healthy" : `Out of the ordinary${view.model.live ? " now" : ""}`);
      setText(this.count, found.length === 0 ? "" : counts);
      const said = [...verdictOf(view.model), ...found.length > 0 ? found : [NOTHING2]];
      const key = JSON.stringify(said) + location.hash;
      if (this.#shown === key) return;
      this.#shown = key;
      this.list.replaceChildren(...said.map((finding) => this.#item(finding)));
    }
    /** @param {Item} item */
    #item({ level, text, page }) {
      const sign = h("span.sign", { "aria-hidden": "true" }, SIGNS[level]);
      const [name, ...item] = (page ?? "").split("/");
      const link = page && h("a", { href: this.href(name, item.join("/")) }, "show");
      const problem2 = level === "problem" && h("span.hidden", {}, "Problem: ");
      return h(`li.${level}`, {}, sign, h("span", {}, problem2, text, " ", link || null));
    }
  };
  function verdictOf({ notes, outcome }) {
    const verdict = notes.findLast(({ kind }) => kind === "verdict");
    if (!verdict) return [];
    const text = `Verdict: ${outcome}${verdict.text && !verdict.failed?.length ? `; ${verdict.text}` : ""}.`;
    return [{ level: verdict.name === "passed" ? "none" : "problem", text }];
  }

  // src/parts/progress.js
  var WORDS2 = { void: "Void", failed: "Failed" };
  var Progress = class {
    #shown = "";
    constructor() {
      this.phase = h("b");
      this.left = h("span");
      this.bar = h("progress", { max: 1, "aria-label": "How much of the phase is over" });
      this.hints = h("ul.hints");
      this.element = h(
        "section.now",
        { "aria-label": "The run now" },
        h("p.phase", {}, this.phase, " ", this.left),
        this.bar,
        h("div", { role: "status" }, this.hints)
      );
    }
    /** @param {View} view */
    update(view) {
      const { history: history2 } = view;
      const progress = history2.live ? progressOf(history2.notes, history2.nowMs) : null;
      show(this.element, progress !== null);
      if (!progress) return;
      setText(this.phase, progress.title);
      setText(this.left, progress.text);
      show(this.bar, progress.part !== null);
      setAttribute(this.bar, "value", (progress.part ?? 0).toFixed(3));
      const whole2 = view.range.whole ? view : new View(history2, { ...view.span, whole: true }, view.span);
      const found = findings(factsOf(whole2)).filter(({ would }) => would);
      const said = found.map(
        ({ text, would = "void" }) => `${WORDS2[would]} if it ended now: ${inWordsOf(history2, text)}`
      );
      const isMeasured = history2.notes.some(({ kind, name }) => kind === "phase" && name === MEASURED);
      if (said.length === 0 && isMeasured) said.push("So far nothing would make this run void or failed.");
      if (this.#shown === said.join()) return;
      this.#shown = said.join();
      const level = found.length > 0 ? "problem" : "none";
      this.hints.replaceChildren(
        ...said.map(
          (text) => h(
            `li.${level}`,
            {},
            h("span.sign", { "aria-hidden": "true" }, found.length > 0 ? "▲" : "✓"),
            h("span", {}, text)
          )
        )
      );
    }
  };

  // src/causes.js
  var AROUND_MS2 = 2e3;
  var SECOND_MS = 1e3;
  var LANES = {
    boundary: "boundaries",
    restart: "restarts",
    fault: "faults",
    gc: "GC",
    safepoint: "safepoints",
    broker: "broker",
    machine: "machine",
    sender: "sender late",
    receiver: "receiver",
    pressure: "pressure"
  };
  function whyNone({ live, result }) {
    if (result?.causes) return "";
    if (live) return "What the slowest orders met is worked out when the run has ended.";
    if (result?.causes === null) return "No alert was timed, so there is nothing to explain.";
    return "The version that judged this run did not look for causes.";
  }
  function causeText({ text, share: part, stage_shares: stages }) {
    const spent = Object.entries(stages).filter(([, of]) => of >= 0.1).sort(([, one], [, other]) => other - one).map(([stage2, of]) => `${titleOf(stage2).toLowerCase()} ${share(of)}`);
    return `${share(part)} met ${text}${spent.length > 0 ? `; of their time ${spent.join(", ")}` : ""}`;
  }
  function unexplainedText({ found, unexplained_share: part }) {
    return found.length > 0 && part >= 5e-3 ? `${share(part)} met nothing that is known` : "";
  }
  function tailText({ tail }) {
    const least = latency(tail.least_ns / 1e3);
    const without = tail.else_p99_ns === null ? "" : `; p99 of the others ${latency(tail.else_p99_ns / 1e3)}`;
    return `The slowest: ${counted(tail.orders, "order")} of ${least} or more${without}.`;
  }
  function around({ begin_unix_ms: begin }) {
    return { from: begin - AROUND_MS2, to: begin + SECOND_MS + AROUND_MS2 };
  }
  function aroundMoment(ms) {
    return around({ begin_unix_ms: Math.floor(ms / SECOND_MS) * SECOND_MS, max_ns: 0, orders: 0, kind: null, text: "" });
  }
  function chosenSecond(seconds3, chosen) {
    if (!chosen) return -1;
    return seconds3.findIndex((second) => {
      const { from, to } = around(second);
      return Math.abs(from - chosen.from) < 1 && Math.abs(to - chosen.to) < 1;
    });
  }
  function nextSecond(seconds3, chosen, direction) {
    const at = chosenSecond(seconds3, chosen);
    if (at < 0) return seconds3[0] ?? null;
    return seconds3[Math.max(0, Math.min(seconds3.length - 1, at + direction))];
  }
  function eventsIn(events, { from, to }) {
    return events.filter(({ begin_unix_ms: at, duration_ms: length }) => at < to && at + length >= from);
  }
  function lanesOf(events) {
    const kinds = [...Object.keys(LANES), ...events.map(({ kind }) => kind)];
    return [...new Set(kinds)].map((kind) => ({
      kind,
      title: LANES[kind] ?? kind.replaceAll("_", " "),
      events: events.filter((event) => event.kind === kind)
    })).filter(({ events: of }) => of.length > 0);
  }
  function eventAt({ events }, ms, withinMs) {
    const away = ({ begin_unix_ms: from, duration_ms: length }) => Math.max(from - ms, ms - from - length, 0);
    const nearest = events.reduce(
      (found, event) => found === null || away(event) < away(found) ? event : found,
      /** @type {EventData | null} */
      null
    );
    return nearest && away(nearest) <= withinMs ? nearest : null;
  }
  function orderLatencyUs({ intended_unix_us: due, received_unix_us: got }) {
    return due === null || got === null ? null : got - due;
  }
  function ordersIn(orders, { from, to }) {
    return orders.filter(({ intended_unix_us: due, received_unix_us: got }) => {
      return due !== null && got !== null && due / 1e3 < to && got / 1e3 >= from;
    }).sort((one, other) => (orderLatencyUs(other) ?? 0) - (orderLatencyUs(one) ?? 0));
  }
  function segmentsOf(order) {
    const stamps = [
      order.intended_unix_us,
      order.sent_unix_us,
      order.ingested_unix_us,
      order.emitted_unix_us,
      order.received_unix_us
    ];
    const segments = [];
    let [first, fromUs] = [-1, 0];
    stamps.forEach((us, at) => {
      if (us === null || us === void 0) return;
      if (first >= 0) {
        const passed = STAGES.slice(first, at);
        segments.push({
          stage: passed.length === 1 ? passed[0].stage : "",
          title: passed.map(({ title }) => title).join(" + "),
          fromUs,
          toUs: Math.max(fromUs, us)
        });
      }
      [first, fromUs] = [at, us];
    });
    return segments;
  }
  function meanStages(orders) {
    const sums = /* @__PURE__ */ new Map();
    for (const { stage: stage2, title, fromUs, toUs } of orders.flatMap(segmentsOf)) {
      const known = sums.get(title) ?? { title, stage: stage2, us: 0 };
      sums.set(title, { ...known, us: known.us + (toUs - fromUs) / orders.length });
    }
    const total2 = [...sums.values()].reduce((sum3, { us }) => sum3 + us, 0);
    return [...sums.values()].map((each) => ({ ...each, share: total2 > 0 ? each.us / total2 : 0 }));
  }
  function titleOf(stage2) {
    return STAGES.find((each) => each.stage === stage2)?.title ?? stage2.replaceAll("_", " ");
  }

  // src/charts/lanes.js
  var LANE_PX = 26;
  var AXIS_PX = 32;
  var NEAR_PX = 5;
  var Lanes = class {
    /** @type {View | null} */
    #view = null;
    /** @type {Lane[]} */
    #lanes = [];
    /** @type {ValueBin[]} */
    #cpu = [];
    #cores = 0;
    #shown = 0;
    /** @type {ReturnType<typeof placed> | null} */
    #place = null;
    /** @param {Actions} actions */
    constructor(actions) {
      this.actions = actions;
      this.figure = new Figure({
        title: "Events of the run",
        columns: [{ title: "from" }, { title: "length" }, { title: "what", numeric: false }]
      });
      this.read = h("b");
      this.figure.legend.append(h("div.key.said", {}, h("span", {}, "event"), this.read));
      this.element = this.figure.element;
    }
    /**
     * @param {View} view
     * @param {EventData[]} events of the run
     * @param {ValueBin[]} cpu cores in use, bin by bin
     * @param {number} cores of the machine; 0 if that is not known
     */
    update(view, events, cpu, cores2) {
      this.#view = view;
      this.#lanes = lanesOf(events);
      this.#cpu = cpu;
      this.#cores = Math.max(cores2, ...cpu.map(({ value }) => value ?? 0));
      const lanes = this.#lanes.length + Number(cpu.length > 0);
      if (lanes !== this.#shown) {
        this.#shown = lanes;
        this.#place?.release();
        this.figure.plot.replaceChildren();
        this.#place = lanes > 0 ? placed(this.figure.plot, lanes * LANE_PX + AXIS_PX, (size) => this.#make(size)) : null;
      }
      this.#place?.plot()?.setData(this.#data());
      this.#read(this.#place?.plot() ?? null);
      const shown2 = eventsIn(events, view.range);
      this.figure.describe(
        summaryOf(this.#lanes, view),
        () => shown2.map((event) => rowOf2(event, view)),
        () => [
          ["from_unix_ms", "length, ms", "kind", "what"],
          ...shown2.map((event) => [event.begin_unix_ms, lengthOf(event), event.kind, event.text])
        ]
      );
    }
    release() {
      this.figure.release();
      this.#place?.release();
    }
    /** @returns {PlotData} */
    #data() {
      const begin = this.#view?.begin ?? 0;
      const xs = this.#cpu.map(({ from, to }) => ((from + to) / 2 - begin) / 1e3);
      return xs.length > 0 ? [xs, xs.map(() => null)] : [[0], [null]];
    }
    /** @param {{width: number, height: number}} size */
    #make(size) {
      const brush = brushHooks(() => this.#view?.begin ?? 0, this.actions);
      return new uPlot(
        {
          ...size,
          padding: [6, 18, 0, 0],
          legend: { show: false },
          cursor: { ...timeCursor(), points: { show: false } },
          scales: { x: { time: false, range: () => this.#xRange() }, y: { range: () => [0, 1] } },
          axes: [timeAxis(), { size: 58, grid: { show: false }, ticks: { show: false }, values: () => [] }],
          series: [{}, {}],
          hooks: {
            ...brush,
            drawClear: [marksHook(() => ({ view: this.#view }))],
            drawAxes: [(plot) => this.#paint(plot)],
            setCursor: [(plot) => this.#read(plot)]
          }
        },
        this.#data(),
        this.figure.plot
      );
    }
    /** @returns {[number, number]} */
    #xRange() {
      if (!this.#view) return [0, 1];
      const { begin, range } = this.#view;
      return [(range.from - begin) / 1e3, (range.to - begin) / 1e3];
    }
    /** @param {Plot} plot */
    #paint(plot) {
      if (!this.#view) return;
      const { ctx, bbox } = plot;
      const { begin } = this.#view;
      const ratio = uPlot.pxRatio;
      const height = bbox.height / this.#shown;
      const at = (ms) => plot.valToPos((ms - begin) / 1e3, "x", true);
      ctx.save();
      ctx.font = axisFont(11 * ratio);
      ctx.textBaseline = "middle";
      ctx.textAlign = "right";
      const titles = [...this.#lanes.map(({ title }) => title), ...this.#cpu.length > 0 ? ["CPU"] : []];
      titles.forEach((title, lane) => {
        const top = bbox.top + lane * height;
        ctx.fillStyle = colour("--ink-2");
        ctx.fillText(title, bbox.left - 6 * ratio, top + height / 2, bbox.left - 8 * ratio);
        ctx.fillStyle = colour("--grid");
        ctx.fillRect(bbox.left, Math.round(top + height) - ratio, bbox.width, ratio);
      });
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      ctx.fillStyle = colour("--event");
      this.#lanes.forEach(({ events }, lane) => {
        const top = Math.round(bbox.top + lane * height + 6 * ratio);
        for (const { begin_unix_ms: from, duration_ms: length } of events) {
          const left = Math.round(at(from));
          ctx.fillRect(left, top, Math.max(2 * ratio, Math.round(at(from + length)) - left), height - 12 * ratio);
        }
      });
      ctx.fillStyle = colour("--strip-cpu");
      const foot = bbox.top + this.#shown * height - ratio;
      for (const { from, to, value } of this.#cpu) {
        const high = (value ?? 0) / Math.max(this.#cores, 0.01) * (height - 4 * ratio);
        ctx.fillRect(at(from), foot - high, Math.max(1, at(to) - at(from)), high);
      }
      ctx.restore();
    }
    /** What is at the cursor: the lane's event under the pointer, or any. @param {Plot | null} plot */
    #read(plot) {
      const { left = -1, top = -1 } = plot?.cursor ?? {};
      if (!plot || !this.#view || left < 0) {
        this.figure.setWhen("range");
        setText(this.read, "");
        return;
      }
      const ms = this.#view.begin + plot.posToVal(left, "x") * 1e3;
      const near = (plot.posToVal(NEAR_PX, "x") - plot.posToVal(0, "x")) * 1e3;
      this.figure.setWhen(elapsed((ms - this.#view.begin) / 1e3), clockTime(ms));
      const pointed = plot.over.matches(":hover") ? Math.floor(top / plot.over.clientHeight * this.#shown) : -1;
      const lanes = pointed >= 0 ? this.#lanes.slice(pointed, pointed + 1) : this.#lanes;
      const found = lanes.map((lane) => eventAt(lane, ms, near)?.text).filter(Boolean);
      const cores2 = this.#cpu.find(({ from, to }) => ms >= from && ms < to)?.value;
      const cpu = cores2 === null || cores2 === void 0 ? [] : [`CPU ${fixed2(cores2, 2)} cores`];
      setText(this.read, [...found, ...pointed < 0 || pointed >= this.#lanes.length ? cpu : []].join("; "));
    }
  };
  function summaryOf(lanes, view) {
    const found = lanes.map(({ title, events }) => ({ title, events: eventsIn(events, view.range) })).filter(({ events }) => events.length > 0);
    if (found.length === 0) return "No event is known in this range.";
    return found.map(({ title, events }) => {
      const longest = Math.max(0, ...events.map(lengthOf).filter((length) => length !== null));
      const most = longest > 0 ? `, at most ${fixed2(longest, longest < 10 ? 1 : 0)} ms` : "";
      return `${title}: ${counted(events.length, "event")}${most}`;
    }).join("; ");
  }
  function rowOf2(event, { begin }) {
    const length = lengthOf(event);
    const at = elapsed((event.begin_unix_ms - begin) / 1e3, 1);
    return [at, length === null ? NONE : `${fixed2(length, 1)} ms`, event.text];
  }
  function lengthOf({ duration_ms: length, within }) {
    return within || length <= 0 ? null : length;
  }

  // src/charts/orders.js
  var STAGE_COLOURS = {
    send_lag: "--stage-1",
    ingest: "--stage-2",
    compute: "--stage-3",
    delivery: "--stage-4"
  };
  function orderRows(orders, beginMs) {
    const longest = Math.max(1, ...orders.map((order) => orderLatencyUs(order) ?? 0));
    return orders.map((order) => {
      const segments = segmentsOf(order);
      const due = order.intended_unix_us ?? 0;
      return h(
        "tr",
        {},
        h("th", { scope: "row" }, String(order.order_id), h("span.sub", {}, ` ${order.symbol ?? ""}`)),
        h("td.number", {}, elapsed((due / 1e3 - beginMs) / 1e3, 3)),
        h("td.number", {}, latency(orderLatencyUs(order))),
        h(
          "td.bars",
          { "aria-hidden": "true" },
          segments.map((segment) => bar(segment, due, longest))
        ),
        ...STAGES.map(({ stage: stage2 }) => h("td.number", {}, stageTime(segments, stage2)))
      );
    });
  }
  function bar({ stage: stage2, title, fromUs, toUs }, dueUs, longestUs) {
    const element = h("span.bar", { title: `${title}: ${latency(toUs - fromUs)}` });
    element.style.setProperty("--from", String((fromUs - dueUs) / longestUs));
    element.style.setProperty("--part", String((toUs - fromUs) / longestUs));
    element.style.setProperty("--colour", `var(${STAGE_COLOURS[stage2] ?? "--mark"})`);
    return element;
  }
  function stageTime(segments, stage2) {
    const found = segments.find((segment) => segment.stage === stage2);
    return latency(found ? found.toUs - found.fromUs : null);
  }

  // src/events.js
  var BATCH = metric("job_batch_id");
  var COMMIT = metric("job_commit_seconds");
  var LATE = metric("sender_frames_late_total");
  var BATCH_MS_MIN = 5e3;
  var NOTED = { "planned fault": "fault", "query restarted": "restart" };
  function eventsSoFar(model) {
    return [...noted(model), ...boundaries(model), ...lateFrames2(model)].sort(
      (one, other) => one.begin_unix_ms - other.begin_unix_ms
    );
  }
  function noted({ notes }) {
    return notes.filter(({ kind, name }) => kind === "event" && name in NOTED).map(({ name, text, unix_ms: at }) => ({ kind: NOTED[name], begin_unix_ms: at, duration_ms: 0, text }));
  }
  function boundaries(model) {
    return numbersOf(model, BATCH.name).flatMap(({ labels, intervals }) => {
      const commits = numbersOf(model, COMMIT.name).find((each) => each.labels.source === labels.source);
      const changes = intervals.filter(({ value }, at) => at === 0 || value !== intervals[at - 1].value);
      return changes.slice(1).flatMap(({ start, end: at, value }, before) => {
        const ended = endedBetween(changes[before].value, value);
        if (at - changes[before].end < BATCH_MS_MIN * ended) return [];
        if (ended > 1) {
          const text2 = `${counted(ended, "batch", "batches")} ended, the last of them batch ${value}`;
          return [{ kind: "boundary", begin_unix_ms: start, duration_ms: at - start, within: true, text: text2 }];
        }
        const commit = commits?.intervals.findLast(({ end }) => end <= at)?.value;
        const ms = 1e3 * (commit ?? 0);
        const text = `batch ${value} ended${commit === void 0 ? "" : `, its commit took ${latency(1e3 * ms)}`}`;
        return [{ kind: "boundary", begin_unix_ms: at - ms, duration_ms: ms, text }];
      });
    });
  }
  function endedBetween(before, value) {
    return value > before ? value - before : value + 1;
  }
  function lateFrames2(model) {
    return numbersOf(model, LATE.name).flatMap(
      ({ labels, intervals }) => intervals.filter(({ value }) => value > 0).map(({ start, end, value }) => ({
        kind: "sender",
        begin_unix_ms: start,
        duration_ms: end - start,
        within: true,
        text: `${counted(value, "late frame")} of ${labels.source}`
      }))
    );
  }
  function numbersOf(model, name) {
    return (
      /** @type {NumberSeries[]} */
      model.find(name)
    );
  }

  // src/trace.js
  var ORDERS = 1;
  var EVENTS = 2;
  function traceOf({ runId, beginMs, orders, events, say = (text) => text }) {
    const lanes = lanesOf(events).flatMap((lane) => apart2(lane, beginMs));
    return {
      displayTimeUnit: "ms",
      otherData: { run_id: runId, begin_unix_ms: String(beginMs) },
      traceEvents: [
        ...named(
          ORDERS,
          say("slowest orders"),
          orders.map(({ order_id: id, symbol }) => `${say(`order ${id}`)} ${symbol ?? ""}`.trim())
        ),
        ...named(
          EVENTS,
          "events",
          lanes.map(({ title }) => title)
        ),
        ...orders.flatMap(
          (order, at) => stagesOf2(order, beginMs * 1e3).map(
            ({ title, ts, dur }) => complete(title, "stage", ORDERS, at + 1, ts, dur, { order_id: order.order_id })
          )
        ),
        ...lanes.flatMap(
          ({ kind, events: of }, at) => of.map(
            ({ text, begin_unix_ms: from, duration_ms: length }) => complete(text, kind, EVENTS, at + 1, (from - beginMs) * 1e3, length * 1e3, {})
          )
        )
      ]
    };
  }
  function apart2({ kind, title, events }, beginMs) {
    const rows = [];
    for (const event of [...events].sort((one, other) => one.begin_unix_ms - other.begin_unix_ms)) {
      const { begin_unix_ms: from, duration_ms: length } = event;
      const ts = Math.round((from - beginMs) * 1e3);
      let row3 = rows.find(({ endUs }) => endUs <= ts);
      if (!row3) {
        row3 = { kind, title: rows.length > 0 ? `${title} ${rows.length + 1}` : title, events: [], endUs: -Infinity };
        rows.push(row3);
      }
      row3.events.push(event);
      row3.endUs = ts + atLeastOne(length * 1e3);
    }
    return rows;
  }
  function stagesOf2(order, beginUs) {
    let endUs = -Infinity;
    return segmentsOf(order).map(({ title, fromUs, toUs }) => {
      const ts = Math.max(Math.round(fromUs - beginUs), endUs);
      const dur = atLeastOne(toUs - beginUs - ts);
      endUs = ts + dur;
      return { title, ts, dur };
    });
  }
  function atLeastOne(us) {
    return Math.max(1, Math.round(us));
  }
  function named(pid, name, threads) {
    if (threads.length === 0) return [];
    return [
      { name: "process_name", ph: "M", pid, tid: 0, args: { name } },
      ...threads.flatMap((title, at) => [
        /** @type {TraceEvent} */
        { name: "thread_name", ph: "M", pid, tid: at + 1, args: { name: title } },
        /** @type {TraceEvent} */
        { name: "thread_sort_index", ph: "M", pid, tid: at + 1, args: { sort_index: at } }
      ])
    ];
  }
  function complete(name, cat, pid, tid, ts, dur, args) {
    return { name, ph: "X", cat, pid, tid, ts: Math.round(ts), dur: atLeastOne(dur), args };
  }

  // src/parts/faults.js
  var PlannedFaults = class {
    /** @type {HTMLButtonElement[]} */
    #buttons = [];
    /** @type {Part | null} */
    #chosen = null;
    #shown = "";
    /** @param {(fault: FaultBand) => void} choose */
    constructor(choose) {
      this.choose = choose;
      this.list = h("ul");
      this.element = h("section.faults", { "aria-label": "Planned faults" }, h("h3", {}, "Planned faults"), this.list);
    }
    /** @param {FaultBand[]} faults @param {Part | null} chosen @param {number} beginMs of the run */
    update(faults, chosen, beginMs) {
      show(this.element, faults.length > 0);
      const key = JSON.stringify([faults, beginMs]);
      if (this.#shown !== key) this.#fill(faults, beginMs);
      this.#shown = key;
      this.#chosen = chosen;
      faults.forEach((fault, at) => {
        setAttribute(this.#buttons[at], "aria-pressed", this.isChosen(fault));
        this.#buttons[at].closest("li")?.classList.toggle("chosen", this.isChosen(fault));
      });
    }
    /** Whether it is what the reader looks at. @param {FaultBand} fault */
    isChosen(fault) {
      const { from, to } = aroundFault(fault);
      return this.#chosen !== null && Math.abs(from - this.#chosen.from) < 1 && Math.abs(to - this.#chosen.to) < 1;
    }
    /** @param {FaultBand[]} faults @param {number} beginMs */
    #fill(faults, beginMs) {
      this.#buttons = faults.map(
        (fault) => h(
          "button.quiet",
          { type: "button", title: "Look at this fault", on: { click: () => this.choose(fault) } },
          `${elapsed((fault.from - beginMs) / 1e3)} ${fault.title}`
        )
      );
      this.list.replaceChildren(
        ...faults.map(
          ({ text }, at) => h("li", {}, h("i.fault", { "aria-hidden": "true" }), this.#buttons[at], " ", text)
        )
      );
    }
  };

  // src/parts/worst.js
  var WorstSeconds = class {
    /** @type {SecondData[]} */
    #seconds = [];
    /** @type {Part | null} */
    #chosen = null;
    #shown = "";
    /** @type {HTMLButtonElement[]} */
    #buttons = [];
    /** @param {(second: SecondData) => void} choose @param {(text: string) => string} say in the words of the run */
    constructor(choose, say) {
      this.choose = choose;
      this.say = say;
      this.body = h("tbody");
      this.element = h(
        "section.worst",
        { on: { keydown: (event) => this.#key(event) } },
        h(
          "div.table",
          {},
          h(
            "table",
            {},
            h("caption", {}, "Worst seconds"),
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                h("th", { scope: "col" }, "at"),
                h("th.number", { scope: "col" }, "max"),
                h("th.number", { scope: "col" }, say("orders")),
                h("th", { scope: "col" }, "met")
              )
            ),
            this.body
          )
        )
      );
    }
    /** @param {SecondData[]} seconds worst first @param {Part | null} chosen @param {number} beginMs of the run */
    update(seconds3, chosen, beginMs) {
      this.#seconds = seconds3;
      this.#chosen = chosen;
      show(this.element, seconds3.length > 0);
      const key = JSON.stringify([seconds3, beginMs]);
      if (this.#shown !== key) this.#fill(seconds3, beginMs);
      this.#shown = key;
      const at = chosenSecond(seconds3, chosen);
      this.#buttons.forEach((button, number) => {
        setAttribute(button, "aria-pressed", number === at);
        button.closest("tr")?.classList.toggle("chosen", number === at);
      });
    }
    /** The next worse second (-1), or the next less bad one (1). @param {number} direction */
    move(direction) {
      const next = nextSecond(this.#seconds, this.#chosen, direction);
      if (!next) return;
      if (this.element.contains(document.activeElement)) this.#buttons[this.#seconds.indexOf(next)].focus();
      this.choose(next);
    }
    /** Go to the chosen second, beside which stands what it met; to the worst one if none is chosen. */
    focus() {
      this.#buttons[Math.max(0, chosenSecond(this.#seconds, this.#chosen))]?.focus();
    }
    /** @param {SecondData[]} seconds @param {number} beginMs */
    #fill(seconds3, beginMs) {
      this.#buttons = seconds3.map(
        (second) => h(
          "button.quiet",
          { type: "button", title: "Look at this second", on: { click: () => this.choose(second) } },
          elapsed((second.begin_unix_ms - beginMs) / 1e3)
        )
      );
      this.body.replaceChildren(
        ...seconds3.map(
          (second, at) => h(
            "tr",
            { on: { click: ({ target }) => target !== this.#buttons[at] && this.choose(second) } },
            h("th", { scope: "row" }, this.#buttons[at]),
            h("td.number", {}, latency(second.max_ns / 1e3)),
            h("td.number", {}, whole(second.orders)),
            h("td", {}, second.text ? this.say(second.text) : h("span.sub", {}, "nothing that is known"))
          )
        )
      );
    }
    /** @param {KeyboardEvent} event */
    #key(event) {
      const direction = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 }[event.key];
      if (direction === void 0 || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      event.stopPropagation();
      this.move(direction);
    }
  };

  // src/parts/slow.js
  var ORDERS_MAX = 12;
  var SlowSeconds = class {
    /** @type {View | null} */
    #view = null;
    /** @type {CausesData | null} */
    #causes = null;
    /** @type {FaultBand[]} */
    #faults = [];
    /** @param {RunModel} model for its words @param {Actions} actions */
    constructor(model, actions) {
      this.say = (text) => inWordsOf(model, text);
      const picking = {
        ...actions,
        pick: (ms) => {
          const fault = faultAt(this.#faults, ms);
          const isShown = fault && this.faults.isChosen(fault);
          const { from, to } = fault && !isShown ? aroundFault(fault) : aroundMoment(ms);
          actions.brush(from, to);
        }
      };
      this.heat = new Heatmap({ title: "Latency over time", actions: picking, height: 280, lines: true });
      this.lanes = new Lanes(picking);
      this.worst = new WorstSeconds((second) => {
        const { from, to } = around(second);
        actions.brush(from, to);
      }, this.say);
      this.faults = new PlannedFaults((fault) => {
        const { from, to } = aroundFault(fault);
        actions.brush(from, to);
      });
      this.rows = h("tbody");
      this.caption = h("caption");
      this.table = h("div.table", { tabindex: 0, role: "region", "aria-label": this.say("Slowest orders") });
      this.orders = this.#orders();
      this.median = stageTable(this.say("Where p50 goes: the median of each stage"));
      this.slowest = stageTable(this.say("Where p99 goes: the mean of the slowest orders"));
      this.where = h("section.where", {}, this.median.element, this.slowest.element);
      this.map = h("div.map", {}, this.heat.element, this.lanes.element, this.faults.element);
    }
    /**
     * @param {View} view
     * @param {ResultData | null} result of the run, as far as there is one
     * @param {Part | null} chosen by the reader
     */
    update(view, result, chosen) {
      const causes = result?.causes ?? null;
      [this.#view, this.#causes] = [view, causes];
      const bins = view.histBins({ name: END_TO_END.name });
      const samples = bins.reduce((sum3, { hist }) => sum3 + hist.count, 0);
      this.heat.update(view, bins, `${counted(samples, "sample")}; the stronger the colour, the more of them`);
      const cpu = view.has(CPU) ? view.rateBins(CPU) : [];
      this.#faults = faultBands(result);
      this.faults.update(this.#faults, chosen, view.begin);
      const events = causes ? this.#eventsOf(causes) : eventsSoFar(view.history);
      this.lanes.update(view, events, cpu, result?.machine?.cores ?? 0);
      this.worst.update(causes?.seconds ?? [], chosen, view.begin);
      const orders = ordersIn(causes?.orders ?? [], view.range);
      this.#showOrders(orders, view.begin);
      this.#showStages(view, orders);
    }
    /** The events, those of faults with what became of the output. @param {CausesData} causes */
    #eventsOf({ events }) {
      const faults = [...this.#faults];
      return events.map((event) => {
        const fault = event.kind === "fault" ? faults.shift() : void 0;
        return fault ? { ...event, text: `${event.text}: ${fault.text}` } : event;
      });
    }
    /** From a worst second to the next, to its orders, and back to what it met. @returns {Record<string, () => void>} */
    get keys() {
      return {
        n: () => this.worst.move(1),
        p: () => this.worst.move(-1),
        s: () => this.table.focus(),
        w: () => this.worst.focus()
      };
    }
    release() {
      this.heat.release();
      this.lanes.release();
    }
    #orders() {
      const save2 = h("button.quiet", { type: "button", on: { click: () => this.#saveTrace() } }, "Perfetto trace");
      const columns = ["due at", "whole", ...STAGES.map(({ title }) => title)];
      const [due, all, ...stages] = columns.map((title) => h("th.number", { scope: "col" }, title));
      stages.forEach((cell, at) => cell.prepend(patch(STAGES[at].stage)));
      this.table.append(
        h(
          "table.waterfall",
          {},
          this.caption,
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("th", { scope: "col" }, this.say("order")),
              due,
              all,
              h("th.bars", { scope: "col", "aria-hidden": "true" }),
              stages
            )
          ),
          this.rows
        )
      );
      return h("section.orders", {}, h("div.tools", {}, save2), this.table);
    }
    /** @param {OrderData[]} orders @param {number} beginMs */
    #showOrders(orders, beginMs) {
      show(this.orders, orders.length > 0);
      const most = Math.min(orders.length, ORDERS_MAX);
      const of = orders.length > most ? `, of ${whole(orders.length)} that were kept` : "";
      setText(this.caption, this.say(`The slowest ${counted(most, "order")} of this range${of}`));
      this.rows.replaceChildren(...orderRows(orders.slice(0, most), beginMs));
    }
    /** @param {View} view @param {OrderData[]} orders */
    #showStages(view, orders) {
      const hists = STAGES.map(({ stage: stage2 }) => view.hist(stageLatency(stage2)));
      const medians = hists.map((hist) => percentile(hist, 50));
      const sum3 = medians.reduce((all, us) => all + us, 0);
      this.median.set(
        sum3 > 0 ? STAGES.map(({ stage: stage2, title }, at) => ({ stage: stage2, title, us: medians[at], share: medians[at] / sum3 })) : [],
        "Medians of stages need not add up to the median of the whole."
      );
      this.slowest.set(
        meanStages(orders),
        this.say(`Of the ${counted(orders.length, "order")} that were kept of this range.`)
      );
    }
    #saveTrace() {
      if (!this.#view || !this.#causes) return;
      const { model, begin, range } = this.#view;
      const trace = traceOf({
        runId: model.runId,
        beginMs: begin,
        orders: ordersIn(this.#causes.orders, range),
        events: eventsIn(this.#causes.events, range),
        say: this.say
      });
      saveText(`${model.runId || "run"}-trace.json`, JSON.stringify(trace), "application/json");
    }
  };
  function stageTable(caption) {
    const body = h("tbody");
    const about = h("p.summary");
    const element = h("div.stages", {}, h("table.waterfall", {}, h("caption", {}, caption), body), about);
    return {
      element,
      /** @param {StagePart[]} parts @param {string} text */
      set: (parts, text) => {
        show(element, parts.length > 0);
        setText(about, text);
        let before = 0;
        body.replaceChildren(
          ...parts.map(({ stage: stage2, title, us, share: part }) => {
            const bar2 = h("span.bar");
            bar2.style.setProperty("--from", String(before));
            bar2.style.setProperty("--part", String(part));
            bar2.style.setProperty("--colour", `var(${STAGE_COLOURS[stage2] ?? "--mark"})`);
            before += part;
            return h(
              "tr",
              {},
              h("th", { scope: "row" }, title),
              h("td.bars", { "aria-hidden": "true" }, bar2),
              h("td.number", {}, latency(us)),
              h("td.number", {}, share(part))
            );
          })
        );
      }
    };
  }
  function patch(stage2) {
    const element = h("i.patch", { "aria-hidden": "true" });
    element.style.setProperty("background", `var(${STAGE_COLOURS[stage2]})`);
    return element;
  }

  // src/parts/tiles.js
  var NAMES = [
    "latency p50",
    "p95",
    "p99",
    "p99 between boundaries",
    "p99.9",
    "p99.99",
    "max",
    "messages offered",
    "processed",
    "CPU a message",
    "lag"
  ];
  var BETWEEN = 3;
  var NOW_MS = 1e4;
  var Tiles = class {
    /** @param {RunModel} model */
    constructor(model) {
      this.model = model;
      this.figures = keyFigures(NAMES);
      this.element = this.figures.element;
    }
    /**
     * @param {View} view
     * @param {Hist} hist of the latencies
     * @param {number | null} lag in messages
     * @param {View | null} pinned what was judged of the run to compare with
     */
    update(view, hist, lag, pinned) {
      const compared = pinned ? figuresOf2(pinned, pinned.hist(END_TO_END), null) : [];
      this.figures.set(figuresOf2(view, hist, lag), compared);
    }
  };
  function figuresOf2(view, hist, lag) {
    const result = view.judged && view.history.latencyRows.length > 1 ? view.history.result : null;
    const latencies = result ? ofResult(result, view) : ofRange(view, hist);
    const now = view.model.live ? nowOf(view) : null;
    const rates = [SENT, PROCESSED].map((of) => ({
      value: rate(view.rate(of)),
      unit: "/s",
      sub: now ? `now ${rate(now.rate(of))}` : `${whole(view.grown(of))} in all`,
      number: view.rate(of)
    }));
    if (result) {
      const achieved = result.achieved_rate_per_s;
      rates[0] = { value: rate(achieved), unit: "/s", sub: "result", number: achieved };
    }
    return [...latencies, ...rates, cpuFigure(view, result), lagFigure(view, lag)];
  }
  function ofResult(result, view) {
    const { latencyRows: rows, limits } = view.history;
    const clustersMin = limits.clusters_min ?? 0;
    const figures2 = resultFigures(result, rows, clustersMin);
    const between = betweenFigure(result, rows, clustersMin);
    return [...figures2.slice(0, BETWEEN), between, ...figures2.slice(BETWEEN)];
  }
  function ofRange(view, hist) {
    const of = view.judged ? "result" : "of this range";
    const figures2 = [50, 95, 99, 99.9, 99.99].map(
      (percent, at) => percentileFigure(hist, percent, at === 0 ? of : "", view.history.limits.clusters_min)
    );
    const max = {
      ...apart(latency(hist.count > 0 ? hist.maxUs : null)),
      sub: `of ${counted(hist.count, "sample")}`,
      number: hist.count > 0 ? hist.maxUs : null
    };
    return [...figures2.slice(0, BETWEEN), null, ...figures2.slice(BETWEEN), max];
  }
  function nowOf({ model, span, history: history2 }) {
    return new View(model, { from: Math.max(span.from, span.to - NOW_MS), to: span.to, whole: false }, span, { history: history2 });
  }
  function cpuFigure(view, result) {
    if (result) {
      const us = result.cpu_us_per_message;
      return us === null ? null : { value: fixed2(us, 2), unit: "µs", sub: "result", number: us };
    }
    const jobs = view.numbers(CPU).filter(({ labels }) => labels.source?.startsWith("job"));
    const spent = view.flowed(jobs.map(({ name, labels }) => ({ name, labels: { source: labels.source } })));
    const done = view.flowed(PROCESSED) ?? 0;
    return jobs.length > 0 && spent !== null && done > 0 ? { value: fixed2(spent * 1e6 / done, 2), unit: "µs", sub: "", number: spent * 1e6 / done } : null;
  }
  function lagFigure(view, lag) {
    const sentRate = view.rate(SENT) ?? 0;
    if (!view.model.live || lag === null) return null;
    const seconds3 = sentRate > 0 ? `${(lag / sentRate).toFixed(2)} s of load; ` : "";
    return { value: whole(lag), unit: "messages", sub: `${seconds3}counted up to 2 s late` };
  }

  // src/parts/why.js
  var Why = class {
    #shown = "";
    constructor() {
      this.sentence = h("p.sentence");
      this.list = h("ul.causes");
      this.tail = h("p.about");
      this.element = h("section.why", { "aria-label": "Why" }, h("h2", {}, "Why"), this.sentence, this.list, this.tail);
    }
    /** @param {RunModel | null} model for its words @param {{live: boolean, result: ResultData | null}} run */
    update(model, run) {
      const say = (text) => model ? inWordsOf(model, text) : text;
      const causes = run.result?.causes ?? null;
      const sentence = causes ? `${capital(causes.sentence.replace(/\.$/, ""))}.` : whyNone(run);
      const key = JSON.stringify([sentence, causes?.found]);
      if (this.#shown === key) return;
      this.#shown = key;
      this.sentence.classList.toggle("none", causes === null);
      setText(this.sentence, say(sentence));
      this.list.replaceChildren(...causes ? items(causes, say) : []);
      show(this.list, this.list.childElementCount > 0);
      setText(this.tail, causes ? say(tailText(causes)) : "");
    }
  };
  function items(causes, say) {
    const left = unexplainedText(causes);
    return [
      ...causes.found.map(
        (cause) => h(
          "li",
          {},
          meter(cause.share),
          h("span", {}, say(causeText(cause)), cause.advice && h("span.advice", {}, ` Try first: ${say(cause.advice)}`))
        )
      ),
      left && h("li.rest", {}, meter(causes.unexplained_share), h("span", {}, say(left))),
      causes.saturation && h("li.rest", {}, h("span", {}, say(`${capital(causes.saturation)}.`)))
    ].filter((item) => item instanceof HTMLElement);
  }
  function meter(part) {
    const fill = h("i");
    fill.style.setProperty("--part", String(Math.max(0, Math.min(1, part))));
    return h("span.meter", { "aria-hidden": "true" }, fill);
  }
  function capital(text) {
    return text.slice(0, 1).toUpperCase() + text.slice(1);
  }

  // src/pages/overview.js
  var THROUGHPUT = [
    { title: "offered", of: SENT },
    { title: "processed", of: PROCESSED }
  ];
  var ALERTED2 = [{ title: "alerts", of: ALERTS }];
  var TRIPLE = [
    { title: "Intended send to receipt", of: END_TO_END, page: "pipeline", item: "market_spread" },
    { title: "Actual send to receipt", of: SERVICE, page: "pipeline", item: "service" },
    { title: "Send lag, all messages", of: SEND_LAG, page: "computations", item: "send_all" }
  ];
  var COUNTS2 = [
    { title: "Due by the schedule", of: DUE },
    { title: "Offered: sent", of: SENT },
    { title: "Accepted: sent, and not lost at the broker", of: SENT, less: FAILED },
    { title: "Lost at the broker", of: FAILED },
    { title: "Processed, live", of: PROCESSED },
    { title: "Processed, in committed batches", of: COMMITTED },
    { title: "Alerts, the first of each order", of: ALERTS },
    { title: "Alerts that came again", of: metric("receiver_alerts_duplicated_total") },
    { title: "Malformed messages", of: metric("receiver_invalid_total") }
  ];
  var OverviewPage = class {
    title = "Overview";
    /** @param {App} app */
    constructor(app) {
      this.app = app;
      const { actions } = app;
      this.progress = new Progress();
      this.why = new Why();
      this.tiles = new Tiles(app.model);
      this.slow = new SlowSeconds(app.model, actions);
      this.pinned = h("p.about.pinned");
      this.over = new TimeChart({
        title: "Latency, intended send to receipt",
        unit: "log scale",
        lines: PERCENT_LINES,
        log: true,
        height: 260,
        tick: axisLatency,
        text: latency,
        actions
      });
      this.rates = rateChart("Throughput", "messages/s", THROUGHPUT, actions);
      this.alerted = ALERTED2.map(({ title, of }) => ({ title: inWordsOf(app.model, title), of }));
      const [alerts, perSecond] = ["Alerts", "alerts/s"].map((text) => inWordsOf(app.model, text));
      this.alerts = rateChart(alerts, perSecond, this.alerted, actions);
      this.lag = new TimeChart({
        title: "Lag",
        unit: "messages, the highest in each bin",
        height: 170,
        lines: [{ title: "lag", colour: "--p50", width: 1.5, fill: "--band" }],
        tick: axisNumber,
        text: whole,
        actions
      });
      this.curve = new CurveChart({
        title: "Percentile curves",
        height: 240,
        lines: [
          { title: "intended to receipt", colour: "--p50", width: 2 },
          { title: "actual to receipt", colour: "--p99", dash: [7, 3] },
          { title: "send lag, all", colour: "--p9999", dash: [2, 2], width: 2 },
          ...app.pin.view ? [{ title: `pinned: ${app.pin.id}`, colour: "--p999", dash: [10, 3, 2, 3], width: 2 }] : []
        ]
      });
      this.about = h("p.about");
      this.findings = new Findings(app.href);
      this.triple = latencyTable("The triple of latencies", "from, to");
      this.result = h("div.full");
      this.counts = table({
        caption: inWordsOf(app.model, "Messages and alerts"),
        columns: [{ title: "" }, { title: "in the range", numeric: true }, { title: "a second", numeric: true }]
      });
      this.notes = table({
        caption: "What went on",
        columns: [{ title: "at" }, { title: "clock" }, { title: "what" }, { title: "" }]
      });
      this.element = h(
        "div",
        {},
        this.progress.element,
        this.why.element,
        this.tiles.element,
        this.pinned,
        this.about,
        h(
          "div.grid",
          {},
          h("div.widest", {}, this.slow.map),
          h("div.beside", {}, this.slow.worst.element, this.findings.element),
          h("div.curve", {}, this.curve.element),
          h("div.over", {}, this.over.element),
          h("div.full", {}, this.slow.orders),
          h("div.full", {}, this.slow.where),
          ...[this.rates, this.lag, this.alerts].map(({ element }) => h("div.third", {}, element)),
          h("div.full", {}, this.triple.element),
          this.result,
          h("div.half", {}, this.counts.element),
          h("div.half", {}, this.notes.element)
        )
      );
    }
    /** @param {View} view */
    update(view) {
      const hist = view.hist(END_TO_END);
      const points = view.has(SENT) && view.has(PROCESSED) ? lagPoints(view) : [];
      const { choice } = this.app.route;
      const { live } = view.model;
      this.progress.update(view);
      this.why.update(view.history, { live, result: view.history.result });
      const compared = this.#compared(view);
      this.tiles.update(view, hist, points.at(-1)?.value ?? null, compared);
      this.slow.update(view, view.history.result, choice.kind === "fixed" ? choice : null);
      setText(this.about, inWordsOf(view.history, aboutLatencies(view)));
      const bins = view.histBins({ name: END_TO_END.name });
      this.over.update(view, percentileRows(bins), percentileOverall(hist, view), percentileSummary(view, bins));
      this.lag.update(
        view,
        lagBins(view, points).map(({ from, to, value }) => ({ from, to, values: [value] })),
        { label: "at the end", values: [points.at(-1)?.value ?? null] },
        lagSummary(view, points),
        uncounted(view)
      );
      for (const { chart, counters } of [
        { chart: this.rates, counters: THROUGHPUT },
        { chart: this.alerts, counters: this.alerted }
      ]) {
        const selectors = counters.map(({ of }) => of);
        chart.update(view, rateRows(view, selectors), rateOverall(view, selectors), rateSummary(view, counters, rate));
      }
      const hists = TRIPLE.map(({ of }) => view.hist(of));
      const pinned = this.app.pin.view?.hist(END_TO_END);
      const curves = pinned ? [...hists, pinned] : hists;
      this.curve.update(
        curves,
        [...TRIPLE.map(({ title }) => title), "Pinned run"].slice(0, curves.length).map((title, at) => `${title}: ${shownOr(curves[at], 50)} at p50, ${shownOr(curves[at], 99)} at p99`).join("; ")
      );
      this.triple.set(
        TRIPLE.map(({ title, page, item }, at) => ({
          title: { text: title, href: this.app.href(page, item) },
          hist: hists[at]
        }))
      );
      fillResultTable(this.result, view.history.latencyRows);
      show(this.result, view.judged);
      this.counts.setRows(
        COUNTS2.filter(({ of }) => view.has(of)).map(({ title, of, less }) => [
          inWordsOf(view.history, title),
          whole((view.grown(of) ?? 0) - (less ? view.grown(less) ?? 0 : 0)),
          rate((view.rate(of) ?? 0) - (less ? view.rate(less) ?? 0 : 0))
        ])
      );
      this.notes.setRows(
        view.model.notes.filter(({ kind, unix_ms: ms }) => {
          return kind !== "result" && kind !== "plan" && (choice.kind !== "fixed" || ms >= view.range.from && ms < view.range.to);
        }).map(({ unix_ms: ms, kind, name, text }) => [
          elapsed((ms - view.begin) / 1e3),
          clockTime(ms),
          kind === "phase" ? name : `${kind}: ${name}`,
          kind === "limits" ? inWordsOf(view.history, text) : text
        ])
      );
      this.findings.update(view);
    }
    /** The pinned run, if this is another one, and a word of what it is compared with. @param {View} view */
    #compared(view) {
      const { pin } = this.app;
      const isThis = pin.id === view.history.runId;
      show(this.pinned, pin.id !== "");
      const key = [pin.id, isThis, pin.missing, pin.view !== null].join();
      if (this.pinned.dataset.key !== key) {
        this.pinned.dataset.key = key;
        this.pinned.replaceChildren(...this.#pinnedWords(isThis), unpinButton(this.app));
      }
      return isThis ? null : pin.view;
    }
    /** @param {boolean} isThis @returns {(string | Node)[]} */
    #pinnedWords(isThis) {
      const { pin, href } = this.app;
      if (isThis) return ["This is the pinned run; open another one to compare it. "];
      if (pin.missing) return [`The pinned run ${pin.id} is not known here. `];
      if (pin.view === null) return [`The pinned run ${pin.id} is loading… `];
      const link = h("a", { href: href("overview", "", pin.id) }, pin.id);
      return ["Compared with what was judged of the pinned run ", link, ". Two single runs give no verdict. "];
    }
    /** @param {string} key one of the slow seconds' */
    press(key) {
      this.slow.keys[key]?.();
    }
    release() {
      for (const part of [this.slow, this.over, this.rates, this.alerts, this.lag, this.curve]) part.release();
    }
  };
  function unpinButton(app) {
    return h("button.quiet", { type: "button", on: { click: () => app.pinRun("") } }, "unpin");
  }
  function aboutLatencies({ judged, history: history2 }) {
    if (judged) {
      return "Latencies are those of the result: the first alert of each order that was due after the load had settled.";
    }
    return history2.judged === null ? "" : "Latencies are of the alerts that came in this range; those of the result are under “judged”.";
  }
  function rateChart(title, unit, counters, actions) {
    return new TimeChart({
      title,
      unit,
      lines: rateLines(counters.map((counter) => counter.title)),
      tick: axisNumber,
      text: rate,
      actions,
      height: 170
    });
  }
  function lagSummary(view, points) {
    if (points.length === 0) return "";
    const most = points.reduce((found, point) => point.value > found.value ? point : found, points[0]);
    const newest2 = counted(points[points.length - 1].value, "message");
    const when = elapsed((most.to - view.begin) / 1e3);
    return `${newest2} sent and not yet processed at the end, at most ${whole(most.value)} at ${when}; ${countedHow(view.history)}`;
  }

  // src/charts/waterfall.js
  var SHOWN = [50, 99, 99.9];
  var Waterfall = class {
    /**
     * @param {{stage: string, title: string, from: string, to: string, href: string}[]} stages in their order
     * @param {(text: string) => string} [say] puts a text into the words of the run
     */
    constructor(stages, say = (text) => text) {
      this.say = say;
      this.stages = stages;
      const columns = ["mean", "share", ...SHOWN.map(percentName)];
      this.units = [];
      const number = (title) => h("th.number", { scope: "col" }, title, " ", this.#unit(title === "share" ? "" : "ms"));
      this.rows = stages.map((stage2) => this.#row(stage2.title, `${stage2.from} → ${stage2.to}`, stage2.href, stage2.stage));
      this.whole = this.#row("Whole", "intended → received", "#");
      this.whole.element.classList.add("whole");
      this.element = h(
        "div.table",
        { tabindex: 0, role: "region", "aria-label": "Stage waterfall" },
        h(
          "table.waterfall",
          {},
          h("caption.hidden", {}, say("Stages of the way of an order, by mean, with their percentiles")),
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("th", { scope: "col" }, "stage"),
              h("th.bars", { scope: "col", "aria-hidden": "true" }),
              columns.map(number)
            )
          ),
          h(
            "tbody",
            {},
            this.rows.map(({ element }) => element),
            this.whole.element
          )
        )
      );
      this.sum = h("p.summary");
    }
    /** @param {Hist[]} hists of the stages @param {Hist} all of the whole */
    update(hists, all) {
      const means = hists.map((hist) => meanUs(hist) ?? 0);
      const total2 = meanUs(all) ?? 0;
      const unit = unitFor([...means, total2]);
      for (const element of this.units) setText(element, unit.name);
      let before = 0;
      this.rows.forEach((row3, at) => {
        this.#fill(row3, hists[at], { from: before, mean: means[at], total: total2, unit });
        before += means[at];
      });
      this.#fill(this.whole, all, { from: 0, mean: total2, total: total2, unit });
      const sumUs = hists.reduce((sum3, hist) => sum3 + hist.sumUs, 0);
      const exact = sumUs === all.sumUs && hists.every(({ count }) => count === all.count);
      const added = `The stages' means add up to ${inUnit(before, unit)} ${unit.name}, the mean of the whole is`;
      const why = exact ? `the sums over ${whole(all.count)} orders are equal to the microsecond` : "the range cuts orders apart, so they differ a little";
      const sentence = `${added} ${inUnit(total2, unit)} ${unit.name}: ${why}. Percentiles do not add up.`;
      setText(this.sum, this.say(all.count > 0 ? sentence : "No order with an alert was measured in this range."));
    }
    /** @param {string} text */
    #unit(text) {
      const element = h("span.unit", {}, text);
      if (text) this.units.push(element);
      return element;
    }
    /** @param {string} title @param {string} way @param {string} href @param {string} [stage] @returns {StageRow} */
    #row(title, way, href, stage2 = "") {
      const bar2 = h("span.bar");
      bar2.style.setProperty("--colour", `var(${STAGE_COLOURS[stage2] ?? "--mark"})`);
      const cells = Array.from({ length: 2 + SHOWN.length }, () => h("td.number"));
      const name = href === "#" ? title : h("a", { href }, title);
      return {
        bar: bar2,
        cells,
        element: h(
          "tr",
          {},
          h("th", { scope: "row" }, name, h("span.sub", {}, ` ${way}`)),
          h("td.bars", { "aria-hidden": "true" }, bar2),
          cells
        )
      };
    }
    /**
     * @param {StageRow} row
     * @param {Hist} hist
     * @param {{from: number, mean: number, total: number, unit: Unit}} given from, mean, total: us
     */
    #fill({ bar: bar2, cells }, hist, { from, mean, total: total2, unit }) {
      bar2.style.setProperty("--from", String(total2 > 0 ? from / total2 : 0));
      bar2.style.setProperty("--part", String(total2 > 0 ? mean / total2 : 0));
      const values = SHOWN.map((percent) => shownPercentile(hist, percent));
      const texts = [
        inUnit(hist.count > 0 ? mean : null, unit),
        total2 > 0 ? `${fixed2(100 * mean / total2, 1)}%` : NONE,
        ...values.map((value) => inUnit(value, unit))
      ];
      texts.forEach((text, at) => setText(cells[at], text));
    }
  };

  // src/parts/partitions.js
  var ABOUT2 = {
    command: "Committed is what its consumer group has committed.",
    attached: "Committed is what its consumer group has committed.",
    spark: "Committed is what its queries have committed, at the end of each batch.",
    pipeline: "Spark commits at the end of a batch; until then all of a partition counts as behind."
  };
  var Partitions = class {
    constructor() {
      this.about = h("p.about");
      this.odd = h("p.summary");
      this.rates = table({
        caption: "Input by topic and partition",
        columns: [
          { title: "partition" },
          ...[
            "sent/s",
            "committed/s",
            "outputs/s",
            "behind at the end",
            "behind at most",
            "longest without a commit"
          ].map((title) => ({ title, numeric: true }))
        ]
      });
      this.latencies = latencyTable("Latency by output topic, and by the partition of the message", "output");
      this.element = h(
        "section",
        { hidden: true },
        h("h2", {}, "Partitions"),
        this.about,
        this.odd,
        h("div.grid", {}, h("div.full", {}, this.rates.element), h("div.full", {}, this.latencies.element))
      );
    }
    /** @param {View} view */
    update(view) {
      const { system } = view.history;
      show(this.element, system !== null);
      if (system === null) return;
      const figures2 = partitionFigures(view);
      setText(this.about, ABOUT2[
        /** @type {keyof typeof ABOUT} */
        system.kind
      ] ?? "");
      setText(this.odd, oddPartitions(figures2, view.begin).join(" ") || "No partition differs much from the others.");
      this.rates.setRows(
        figures2.map(({ name, sent, committed, outputs, behind: behind2, most, stoodMs }) => [
          name,
          rate(sent),
          rate(committed),
          rate(outputs),
          whole(behind2),
          whole(most),
          most === null ? NONE : duration(stoodMs)
        ])
      );
      this.latencies.set(outputLatencies(view).map(({ name, hist }) => ({ title: name, hist })));
    }
  };

  // src/pages/pipeline.js
  var PipelinePage = class {
    /** @param {App} app @param {string} item which pipeline; the first if it is empty */
    constructor(app, item) {
      this.app = app;
      const pipelines = stepsOf(app.model, PIPELINES);
      const step = pipelines.find(({ id }) => id === item) ?? pipelines[0];
      this.title = "Pipeline";
      const links = pipelines.map(({ id, title }) => ({
        title,
        href: app.href("pipeline", id),
        current: id === step.id
      }));
      this.waterfall = new Waterfall(
        stagesOf(app.model).map((stage2) => ({ ...stage2, href: app.href("computations", stage2.id) })),
        (text) => inWordsOf(app.model, text)
      );
      this.clock = h("p.summary");
      this.partitions = new Partitions();
      this.detail = new Detail(step, app.actions);
      this.computations = latencyTable("Computations of this pipeline", "computation");
      this.workers = table({
        caption: "Workers of this pipeline",
        columns: [
          { title: "worker" },
          { title: "what it does" },
          { title: "clock error", numeric: true },
          { title: "synchronised" }
        ]
      });
      this.element = h(
        "div",
        {},
        tabs("Pipelines", links),
        h("p.about", {}, step.about),
        h("section", {}, h("h2", {}, "Where the time goes"), this.waterfall.element, this.waterfall.sum, this.clock),
        this.partitions.element,
        this.detail.element,
        h("div.grid", {}, h("div.full", {}, this.computations.element), h("div.full", {}, this.workers.element))
      );
    }
    /** @param {View} view */
    update(view) {
      const { app } = this;
      this.waterfall.update(
        STAGES.map(({ stage: stage2 }) => view.hist(stageLatency(stage2))),
        view.hist(END_TO_END)
      );
      this.partitions.update(view);
      setText(this.clock, clockSentence(view.model));
      this.detail.update(view);
      this.computations.set(
        stepsOf(view.model, COMPUTATIONS).filter(({ latency: of }) => view.has(of)).map(({ id, title, latency: of }) => ({
          title: { text: title, href: app.href("computations", id) },
          hist: view.hist(of)
        }))
      );
      const clocks = new Map(view.model.sources.map((source) => [source.source, source]));
      this.workers.setRows(
        workers(view.model).map((source) => {
          const known = clocks.get(source);
          return [
            { text: source, href: app.href("workers", source) },
            workOf(source, view.model),
            errorText(known),
            known ? known.clock_synchronised ? "yes" : "no" : NONE
          ];
        })
      );
    }
    release() {
      this.detail.release();
    }
  };
  function errorText(source) {
    return source && source.clock_error_us >= 0 ? `±${latency(source.clock_error_us)}` : "unknown";
  }
  function clockSentence(model) {
    if (model.hosts === 1) return "All processes are on one host and read the same clock.";
    const newest2 = new Map(model.sources.map((source) => [source.source, source]));
    const stamping = [...newest2.values()].filter(({ source }) => /^(sender|receiver|job)/.test(source));
    if (stamping.length === 0) return "No process has said yet how exact its clock is.";
    const known = stamping.filter(({ clock_error_us: us }) => us >= 0);
    const unsynchronised = stamping.filter(({ clock_synchronised: kept }) => !kept).map(({ source }) => source);
    const two = known.map(({ clock_error_us: us }) => us).sort((one, other) => other - one).slice(0, 2);
    const bound = two.length > 0 ? `Between two processes a stage may be wrong by ±${latency(two.reduce((sum3, us) => sum3 + us, 0))}, by the bounds of their kernels, where they run on two machines; on one machine they read the same clock.` : "No kernel gives a bound of its clock's error.";
    return unsynchronised.length > 0 ? `${bound} Not synchronised: ${[...new Set(unsynchronised)].join(", ")}.` : bound;
  }

  // src/router.js
  var PAGES = ["overview", "pipeline", "workers", "computations", "runs", "compare", "aggregator"];
  function readRoute(fragment) {
    const [path, query = ""] = fragment.replace(/^#\/?/, "").split("?");
    const [page, ...rest] = path.split("/").map(decoded);
    const params = new URLSearchParams(query);
    const range = params.get("range") ?? "";
    const choice = choiceOf(range);
    return {
      page: PAGES.includes(page) ? page : "overview",
      item: PAGES.includes(page) ? rest.join("/") : "",
      run: params.get("run") ?? "",
      choice,
      pin: params.get("pin") ?? "",
      refused: choiceText(choice) ? "" : range,
      widthMs: /^\d{1,5}$/.test(params.get("bins") ?? "") ? Number(params.get("bins")) * 1e3 : 0
    };
  }
  function routeText({ page, item, run, choice, widthMs, pin }) {
    const params = new URLSearchParams();
    if (run) params.set("run", run);
    if (choiceText(choice)) params.set("range", choiceText(choice));
    if (widthMs) params.set("bins", String(widthMs / 1e3));
    if (pin) params.set("pin", pin);
    const query = params.toString();
    const path = [page, ...item ? item.split("/") : []].map(encodeURIComponent).join("/");
    return `#/${path}${query ? `?${query}` : ""}`;
  }
  function decoded(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return "";
    }
  }

  // src/runlist.js
  var figure = ({ figures: figures2 }, path) => {
    const value = figures2?.[path];
    return typeof value === "number" ? value : null;
  };
  function sparklineOf({ figures: figures2 }) {
    const sparkline2 = figures2?.latency_sparkline_ns;
    return Array.isArray(sparkline2) ? sparkline2.map((each) => each !== null && each > 0 ? each : null) : [];
  }
  function scaleOf(runs) {
    const known = runs.flatMap(sparklineOf).filter((each) => each !== null);
    return known.length > 0 ? { low: Math.min(...known), high: Math.max(...known) } : null;
  }
  function sparklinePath(sparkline2, { low, high }, width, height) {
    const span = Math.log(high / low) || 1;
    const step = width / Math.max(1, sparkline2.length - 1);
    const move = (at) => at === 0 || sparkline2[at - 1] === null ? "M" : "L";
    return sparkline2.map((value, at) => {
      if (value === null) return "";
      const y = height * (1 - Math.log(value / low) / span);
      const alone2 = move(at) === "M" && (sparkline2[at + 1] ?? null) === null ? "h0.01" : "";
      return `${move(at)}${(at * step).toFixed(1)} ${y.toFixed(1)}${alone2}`;
    }).join("");
  }
  var highestOf = (run) => scaleOf([run])?.high ?? null;
  var lengthMs = ({ begin_unix_ms: from, end_unix_ms: to }) => from && to ? to - from : null;
  var numeric = (key, title, text) => ({
    key,
    title,
    numeric: true,
    value: (run) => figure(run, key),
    text: (run) => {
      const value = figure(run, key);
      return value === null ? NONE : text(value);
    }
  });
  var stateOf = (run) => run.live ? `live, ${run.phase || "starting"}` : run.file ? "from a file" : "finished";
  var SPARKLINE = "latency_sparkline_ns";
  var COLUMNS = [
    { key: "run", title: "run", numeric: false, value: (run) => run.run_id, text: (run) => run.run_id },
    {
      key: "verdict",
      title: "verdict",
      numeric: false,
      value: (run) => run.outcome,
      text: (run) => run.outcome || NONE
    },
    numeric("latency_ns.p50", "p50", (ns) => latency(ns / 1e3)),
    numeric("latency_ns.p99", "p99", (ns) => latency(ns / 1e3)),
    {
      key: SPARKLINE,
      title: "latency over the run",
      numeric: false,
      value: highestOf,
      text: (run) => {
        const highest = highestOf(run);
        return highest === null ? NONE : `up to ${latency(highest / 1e3)}`;
      }
    },
    numeric("achieved_rate_per_s", "messages/s", rate),
    numeric("cpu_us_per_message", "CPU, µs/message", (us) => fixed2(us, 2)),
    { key: "what", title: "what", numeric: false, value: (run) => run.title, text: (run) => run.title },
    { key: "state", title: "state", numeric: false, value: stateOf, text: stateOf },
    {
      key: "begin",
      title: "begin",
      numeric: false,
      value: (run) => run.begin_unix_ms ?? null,
      text: (run) => run.begin_unix_ms ? dateTime(run.begin_unix_ms) : NONE
    },
    {
      key: "length",
      title: "length",
      numeric: true,
      value: lengthMs,
      text: (run) => {
        const ms = lengthMs(run);
        return ms === null ? NONE : duration(ms);
      }
    }
  ];
  function filtered(runs, text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    return runs.filter((run) => {
      const cells = COLUMNS.map((column) => column.text(run).toLowerCase());
      return words.every((word) => cells.some((cell) => cell.includes(word)));
    });
  }
  function ordered(runs, { key, down }) {
    const column = COLUMNS.find((each) => each.key === key);
    if (!column) return runs;
    const known = (run) => {
      const value = column.value(run);
      return value === "" ? null : value;
    };
    return [...runs].sort((one, other) => {
      const [first, second] = [known(one), known(other)];
      if (first === null || second === null) return Number(first === null) - Number(second === null);
      return (first < second ? -1 : first > second ? 1 : 0) * (down ? -1 : 1);
    });
  }

  // src/pages/runs.js
  var NEWEST = { key: "", down: false };
  var SPARKLINE_WIDTH = 120;
  var SPARKLINE_HEIGHT = 20;
  var RunsPage = class {
    title = "Runs";
    #order = NEWEST;
    /** @type {Set<string>} the runs that are to be compared, in the order in which they were selected */
    #selected = /* @__PURE__ */ new Set();
    #shown = "";
    /** @param {App} app */
    constructor(app) {
      this.app = app;
      this.caption = h("caption");
      this.heads = COLUMNS.map((column) => {
        const button = h("button.quiet", { type: "button", on: { click: () => this.#sort(column.key) } }, column.title);
        return h(column.numeric ? "th.number" : "th", { scope: "col" }, button);
      });
      this.body = h("tbody");
      this.filter = h("input", {
        type: "search",
        placeholder: "filter",
        "aria-label": "Show only runs that have these words",
        on: { input: () => this.update() }
      });
      this.count = h("span.length", { role: "status" });
      this.compare = h("a.button", { "aria-disabled": "true" }, "compare");
      this.clear = h("button.quiet", { type: "button", on: { click: () => this.#select(null) } }, "select none");
      this.note = h("p.about");
      const input = h("input.hidden", {
        type: "file",
        id: "run-file",
        accept: ".html,.json,text/html,application/json",
        on: { change: () => this.#open(input) }
      });
      this.element = h(
        "section.runs",
        {},
        h("div.controls", {}, h("div.group", {}, this.filter, this.count), h("div.group", {}, this.compare, this.clear)),
        h(
          "div.table",
          { tabindex: 0, role: "region", "aria-label": "Runs" },
          h(
            "table",
            {},
            this.caption,
            h("thead", {}, h("tr", {}, this.heads, h("th", {}, "pin"), h("th", {}, "one file"))),
            this.body
          )
        ),
        this.note,
        h(
          "p.drop",
          {},
          "Drop an exported run on the page to open it, or ",
          h("label.button", { for: "run-file" }, "choose a file"),
          input,
          "."
        )
      );
    }
    update() {
      const { runs } = this.app.feed;
      const shown2 = ordered(filtered(runs, this.filter.value), this.#order);
      const column = COLUMNS.find(({ key }) => key === this.#order.key);
      setText(this.caption, column ? `Runs by ${column.title}` : "Runs, newest first");
      COLUMNS.forEach(({ key }, at) => {
        const direction = this.#order.down ? "descending" : "ascending";
        setAttribute(this.heads[at], "aria-sort", key === this.#order.key ? direction : null);
      });
      this.#fill(shown2);
      setText(this.count, shown2.length < runs.length ? `${shown2.length} of ${counted(runs.length, "run")}` : "");
      setText(
        this.note,
        runs.length === 0 ? "No run is known yet. A run shows up here as soon as it pushes its first figures." : `Figures are the result's.${scaleText(scaleOf(runs))} An exported run is one HTML file: this page with the run inside. It opens anywhere without a server.`
      );
      this.#offer();
    }
    release() {
    }
    /** The rows, if they are others: what is not drawn anew keeps its focus. @param {RunHead[]} runs */
    #fill(runs) {
      const scale = scaleOf(this.app.feed.runs);
      const drawn = JSON.stringify([this.app.pin.id, runs, scale]);
      if (drawn === this.#shown) return;
      this.#shown = drawn;
      const focused = this.#focused();
      this.body.replaceChildren(...runs.map((run) => this.#row(run, scale)));
      if (focused) this.#stops(focused.id)[focused.at]?.focus();
    }
    /** What of which run has the focus; a list that is drawn anew is not to lose it. */
    #focused() {
      const row3 = document.activeElement?.closest("tr");
      const id = row3 && this.body.contains(row3) && row3.dataset.run || "";
      return id ? { id, at: this.#stops(id).findIndex((stop) => stop === document.activeElement) } : null;
    }
    /** What of a run takes the focus. @param {string} id @returns {HTMLElement[]} */
    #stops(id) {
      const row3 = [...this.body.rows].find(({ dataset }) => dataset.run === id);
      return [...row3?.querySelectorAll("input, a, button") ?? []].filter((stop) => stop instanceof HTMLElement);
    }
    /** @param {RunHead} run @param {Scale | null} scale of the sparklines of all runs */
    #row(run, scale) {
      const { feed, href } = this.app;
      const { run_id: id } = run;
      const check = h("input", { type: "checkbox", "aria-label": `Select ${id}`, checked: this.#selected.has(id) });
      check.addEventListener("change", () => this.#select(id, check.checked));
      const cells = COLUMNS.slice(1).map((column) => {
        const drawn = column.key === SPARKLINE && scale !== null ? sparkline(run, scale, column.text(run)) : null;
        const cell = h(column.numeric ? "td.number" : "td", {}, drawn ?? column.text(run));
        if (column.key === "verdict") cell.dataset.verdict = run.verdict;
        return cell;
      });
      const hasExport = feed.served && !run.file;
      const exported = h("a", { href: `api/v1/runs/${encodeURIComponent(id)}/export` }, "export");
      return h(
        "tr",
        { "data-run": id },
        h("th", { scope: "row" }, check, h("a", { href: href("overview", "", id) }, id)),
        cells,
        h("td", {}, this.#pinButton(id)),
        h("td", {}, hasExport ? exported : NONE)
      );
    }
    /** Pins a run, to compare others with it on their overview. @param {string} id */
    #pinButton(id) {
      const { app } = this;
      const isPinned = app.pin.id === id;
      const button = h("button.quiet", { type: "button", "aria-pressed": String(isPinned), "aria-label": `Pin ${id}` });
      button.textContent = isPinned ? "pinned" : "pin";
      button.addEventListener("click", () => {
        app.pinRun(app.pin.id === id ? "" : id);
        this.update();
      });
      return button;
    }
    /** First upwards, then downwards, then as they were. @param {string} key */
    #sort(key) {
      const { key: before, down } = this.#order;
      this.#order = before !== key ? { key, down: false } : down ? NEWEST : { key, down: true };
      this.update();
    }
    /** @param {string | null} id null for none of them @param {boolean} [chosen] */
    #select(id, chosen = false) {
      if (id === null) this.#selected.clear();
      else if (chosen) this.#selected.add(id);
      else this.#selected.delete(id);
      if (id === null) for (const check of this.body.querySelectorAll("input")) check.checked = false;
      this.#offer();
    }
    #offer() {
      const ids = [...this.#selected];
      const can = ids.length >= 2 && ids.length <= RUNS_MAX;
      const address = routeText({
        page: "compare",
        item: ids.join(","),
        run: "",
        choice: JUDGED,
        widthMs: 0,
        pin: this.app.pin.id
      });
      setAttribute(this.compare, "href", can ? address : null);
      setAttribute(this.compare, "aria-disabled", can ? null : "true");
      const many = ids.length > RUNS_MAX ? `compare: at most ${RUNS_MAX}` : `compare ${ids.length} runs`;
      setText(this.compare, ids.length < 2 ? "select two or more to compare" : many);
      this.clear.hidden = ids.length === 0;
    }
    /** @param {HTMLInputElement} input */
    async #open(input) {
      const file = input.files?.[0];
      input.value = "";
      if (file) await this.app.openFile(file);
    }
  };
  function scaleText(scale) {
    if (scale === null) return "";
    const [low, high] = [scale.low, scale.high].map((ns) => latency(ns / 1e3));
    return ` Latency over the run is the highest of each sixtieth of it, in all runs on one scale: ${low} to ${high}.`;
  }
  function sparkline(run, scale, text) {
    if (scaleOf([run]) === null) return null;
    const box = `-2 -2 ${SPARKLINE_WIDTH + 4} ${SPARKLINE_HEIGHT + 4}`;
    return svg(
      "svg.sparkline",
      { viewBox: box, width: SPARKLINE_WIDTH + 4, height: SPARKLINE_HEIGHT + 4, role: "img", "aria-label": text },
      svg("title", {}, text),
      svg("path", { d: sparklinePath(sparklineOf(run), scale, SPARKLINE_WIDTH, SPARKLINE_HEIGHT) })
    );
  }

  // src/pages/workers.js
  var WorkersPage = class {
    title = "Workers";
    /** @param {App} app */
    constructor(app) {
      this.app = app;
      this.table = workerTable("The processes of this run");
      this.sources = workers(app.model);
      this.cpu = cpuChart(this.sources, app.actions, 220);
      this.memory = memoryChart(this.sources, app.actions, 220);
      this.element = h(
        "section",
        {},
        siblings2(app, ""),
        this.table.element,
        h("div.grid", {}, h("div.half", {}, this.cpu.element), h("div.half", {}, this.memory.element))
      );
    }
    /** @param {View} view */
    update(view) {
      this.table.set(view, this.app, workers(view.model));
      updateCpu(this.cpu, view, this.sources);
      updateMemory(this.memory, view, this.sources);
    }
    release() {
      this.cpu.release();
      this.memory.release();
    }
  };
  var WorkerPage = class {
    /** @param {App} app @param {string} source */
    constructor(app, source) {
      this.app = app;
      this.source = source;
      this.title = source;
      const step = stepOf(app.model, "worker", source);
      this.about = h(
        "p.about",
        {},
        step ? `${step.about ? `It ${step.about}. ` : ""}${step.latency ? "" : "It records no latency itself."}` : `Nothing was pushed by ${source} in this run.`
      );
      const { actions } = app;
      this.cpu = cpuChart([source], actions, 160);
      this.memory = memoryChart([source], actions, 160);
      this.detail = step ? new Detail(step, actions, [this.cpu.element, this.memory.element]) : null;
      this.histograms = latencyTable("All that it measures", "histogram");
      this.computations = latencyTable("Computations that it does", "computation");
      this.others = workerTable("The other workers");
      this.element = h(
        "div",
        {},
        siblings2(app, source),
        this.about,
        this.detail?.element,
        h(
          "div.grid",
          {},
          h("div.full", {}, this.histograms.element),
          h("div.full", {}, this.computations.element),
          h("div.full", {}, this.others.element)
        )
      );
    }
    /** @param {View} view */
    update(view) {
      const { app, source } = this;
      this.detail?.update(view);
      updateCpu(this.cpu, view, [source]);
      updateMemory(this.memory, view, [source]);
      this.histograms.element.hidden = histogramsOf(view.model, source).length === 0;
      this.histograms.set(
        histogramsOf(view.model, source).map((selector) => ({ title: titleOf2(selector), hist: view.hist(selector) }))
      );
      const done = stepsOf(view.model, COMPUTATIONS).filter(
        ({ workers: kind, latency: selector }) => source.startsWith(kind) && view.has(selector)
      );
      this.computations.element.hidden = done.length === 0;
      this.computations.set(
        done.map(({ id, title, latency: selector }) => ({
          title: { text: title, href: app.href("computations", id) },
          hist: view.hist(selector)
        }))
      );
      this.others.set(
        view,
        app,
        workers(view.model).filter((other) => other !== source)
      );
    }
    release() {
      this.detail?.release();
      this.cpu.release();
      this.memory.release();
    }
  };
  function ofSource({ name }, source) {
    return { name, labels: { source } };
  }
  function cpuChart(sources, actions, height) {
    return new TimeChart({
      title: "CPU",
      unit: "cores",
      lines: rateLines(sources),
      tick: axisNumber,
      text: cores,
      actions,
      height
    });
  }
  function memoryChart(sources, actions, height) {
    return new TimeChart({
      title: "Memory, resident",
      unit: "bytes",
      lines: rateLines(sources),
      steps: BYTE_STEPS,
      tick: bytes,
      text: bytes,
      actions,
      height
    });
  }
  function updateCpu(chart, view, sources) {
    const selectors = sources.map((source) => ofSource(CPU, source));
    const said = sources.map(
      (source, at) => `${source} ${cores(view.rate(selectors[at]))}${view.flowLabel === "measured" ? " while measuring" : ""}, ${seconds2(view.grown(selectors[at]))} of CPU time in the range`
    );
    chart.update(view, rateRows(view, selectors), rateOverall(view, selectors), said.join("; "));
  }
  function updateMemory(chart, view, sources) {
    const selectors = sources.map((source) => ofSource(MEMORY, source));
    const values = selectors.map((selector) => view.gauge(selector));
    const said = sources.map((source, at) => `${source} ${bytes(values[at])} at the end`).join("; ");
    chart.update(view, gaugeRows(view, selectors), { label: "at the end", values }, said);
  }
  function siblings2(app, current) {
    return tabs(
      "Workers",
      ["", ...workers(app.model)].map((source) => ({
        title: source || "All",
        href: app.href("workers", source),
        current: source === current
      }))
    );
  }
  function workerTable(caption) {
    const made = table({
      caption,
      columns: [
        { title: "worker" },
        { title: "what it does" },
        { title: "messages/s", numeric: true },
        { title: "CPU cores", numeric: true },
        { title: "CPU µs a message", numeric: true },
        { title: "memory", numeric: true },
        { title: "starts", numeric: true },
        { title: "newest push", numeric: true },
        { title: "clock error", numeric: true }
      ]
    });
    return {
      element: made.element,
      /** @param {View} view @param {App} app @param {string[]} sources */
      set: (view, app, sources) => made.setRows(sources.map((source) => row2(view, app, source)))
    };
  }
  function row2(view, app, source) {
    const own = { source };
    const counted2 = view.model.system ? [SENT, PROCESSED, ALERTS] : [SENT, PROCESSED];
    const messages = counted2.map(({ name }) => ({ name, labels: own })).find((selector) => view.has(selector));
    const ownCpu = { name: CPU.name, labels: own };
    const cpu = view.flowed(ownCpu);
    const cpuRate = view.rate(ownCpu);
    const epochs = view.model.sources.filter((epoch) => epoch.source === source);
    const newest2 = epochs.at(-1);
    const count = messages ? view.flowed(messages) ?? 0 : 0;
    return [
      { text: source, href: app.href("workers", source) },
      workOf(source, view.model),
      messages ? whole(view.rate(messages)) : NONE,
      cpuRate === null ? NONE : fixed2(cpuRate, 2),
      cpu !== null && count > 0 ? fixed2(cpu * 1e6 / count, 2) : NONE,
      bytes(view.gauge({ name: MEMORY.name, labels: own })),
      whole(epochs.length || null),
      newest2 ? newestPush(newest2, view) : NONE,
      newest2 && newest2.clock_error_us >= 0 ? `±${latency(newest2.clock_error_us)}` : "unknown"
    ];
  }
  function titleOf2({ name, labels = {} }) {
    const rest = Object.entries(labels).filter(([label]) => !["phase", "source", "run_id"].includes(label));
    return [plainName(name), ...rest.map(([, value]) => value)].join(", ").replaceAll("_", " ");
  }
  function cores(value) {
    return value === null ? NONE : `${fixed2(value, 2)} cores`;
  }
  function seconds2(value) {
    return value === null ? NONE : `${fixed2(value, 1)} s`;
  }

  // src/parts/document.js
  function hasNoObjective({ verdict, verdicts: given }) {
    return verdict === "passed" && given?.objectives?.evidence.length === 0;
  }

  // src/parts/bar.js
  var TITLES = {
    overview: "Overview",
    pipeline: "Pipeline",
    workers: "Workers",
    computations: "Computations",
    runs: "Runs",
    aggregator: "Aggregator"
  };
  var STALE_MS = 3e3;
  var Bar = class {
    /** @param {App} app */
    constructor(app) {
      this.app = app;
      this.links = Object.fromEntries(Object.entries(TITLES).map(([page, title]) => [page, h("a", {}, title)]));
      this.word = h("b", { role: "status" });
      this.text = h("span");
      this.state = h("p.state", {}, h("i.dot", { "aria-hidden": "true" }), this.word, this.text);
      this.title = h("span.title");
      this.runId = h("span.runid");
      this.verdict = h("span.verdict");
      this.objective = h("span.sub", {}, "no objective set");
      this.export = h("a.button", { download: "" }, "export");
      this.theme = h("button.quiet", { type: "button", on: { click: () => app.toggleTheme() } });
      this.tables = h(
        "button.quiet",
        {
          type: "button",
          title: "All charts as tables (t)",
          "aria-pressed": "false",
          on: { click: () => app.toggleTables() }
        },
        "tables"
      );
      this.help = h(
        "button.quiet",
        { type: "button", title: "Keys and how to read this (?)", "aria-label": "Help", on: { click: () => app.help() } },
        "?"
      );
      this.run = h("div.run", {}, this.title, this.runId, this.verdict, this.objective, this.state, this.export);
      this.element = h(
        "header.bar",
        {},
        h(
          "div.top",
          {},
          h("span.product", {}, "Market Spread"),
          h("nav", { "aria-label": "Pages" }, Object.values(this.links)),
          h("div.tools", {}, this.tables, this.theme, this.help)
        ),
        this.run
      );
    }
    /** Links and marks, after the address has changed. */
    route() {
      const { app } = this;
      for (const [page, link] of Object.entries(this.links)) {
        setAttribute(link, "href", app.href(page));
        const shown2 = app.route.page === "compare" ? "runs" : app.route.page;
        setAttribute(link, "aria-current", page === shown2 ? "page" : null);
      }
      this.#buttons();
    }
    /** What the run is and does. */
    update() {
      const { app } = this;
      const { feed } = app;
      const { model } = feed;
      show(this.run, app.route.page !== "compare");
      setText(this.title, model?.title ?? "No run");
      setText(this.runId, model && model.title !== model.runId ? model.runId : "");
      setText(this.verdict, model?.outcome || "not judged yet");
      this.verdict.dataset.verdict = model?.verdict ?? "";
      show(this.verdict, Boolean(model));
      show(this.objective, Boolean(model?.result && hasNoObjective(model.result)));
      show(this.export, Boolean(model) && feed.served && !feed.fromFile);
      if (model) setAttribute(this.export, "href", `api/v1/runs/${encodeURIComponent(model.runId)}/export`);
      const state = stateOf2(feed);
      setText(this.word, state.word);
      setText(this.text, state.text);
      this.state.dataset.level = state.level;
      this.#buttons();
    }
    #buttons() {
      const other = theme() === "dark" ? "light" : "dark";
      setText(this.theme, other);
      setAttribute(this.theme, "aria-label", `Change to ${other} colours`);
      setAttribute(this.tables, "aria-pressed", this.app.tables);
    }
  };
  function stateOf2({ model, fromFile, loading, failure, reached, link }) {
    if (!model) {
      if (failure) return { word: reached ? "no such run" : "disconnected", text: "", level: "bad" };
      return loading ? { word: "loading", text: "", level: "calm" } : { word: "waiting", text: "for the first run", level: "calm" };
    }
    if (fromFile) return { word: "from a file", text: `as of ${dateTime(model.nowMs)}`, level: "calm" };
    if (model.live && link.state === "waiting") {
      return {
        word: "disconnected",
        text: `the aggregator does not answer; next attempt in ${duration(link.retryMs)}`,
        level: "bad"
      };
    }
    const span = model.span();
    if (!model.live) return { word: "finished", text: span ? dateTime(span.to) : "", level: "calm" };
    const newest2 = Math.max(0, ...model.sources.map(({ end_unix_ms: ms }) => ms));
    const ageMs = model.nowMs - newest2;
    const phase = model.phase ? `${model.phase}, ` : "";
    if (link.state === "connecting") return { word: "connecting", text: phase.replace(", ", ""), level: "calm" };
    if (newest2 > 0 && ageMs > STALE_MS) {
      return { word: "stale", text: `${phase}no push for ${duration(ageMs)}`, level: "bad" };
    }
    const left = progressOf(model.notes, model.nowMs)?.left ?? "";
    return { word: "live", text: `${model.phase}${left && `, ${left}`}`, level: "good" };
  }
  function missingText({ failure, loading, model }) {
    if (failure) return `${failure[0].toUpperCase()}${failure.slice(1)}.`;
    if (model) return "The run has begun; nothing was pushed yet.";
    return loading ? "Loading the run…" : "No run yet. A run shows up here as soon as it pushes its first figures.";
  }

  // src/parts/help.js
  var KEYS = [
    ["g o", "overview"],
    ["g p", "pipeline"],
    ["g w", "workers"],
    ["g c", "computations"],
    ["g r", "runs"],
    ["g a", "aggregator"],
    ["[ ]", "range half its width earlier, later"],
    ["n p", "next, previous worst second, on the overview"],
    ["s w", "the slowest orders of what is shown; what the second met"],
    ["← →", "move a chart's cursor; with Shift pick a range, Enter takes it"],
    ["Ctrl wheel", "zoom a chart; Shift wheel moves it"],
    ["l", "follow the newest data"],
    ["0", "the whole run"],
    ["− +", "narrower, wider bins"],
    ["t", "all charts as tables, and back"],
    ["d", "dark or light"],
    ["?", "this help"],
    ["Esc", "close it"]
  ];
  var NOTES = [
    "Drag over any chart, or over the strip, to pick a range; double-click for the whole run. Every figure of the page is then computed again from the histograms of that range; nothing is averaged.",
    "A percentile is the highest value of its bucket, 0.1% wide at most, and never above the exact maximum. It is shown only if at least ten samples lie above it.",
    "An interval's histogram belongs to the range if its middle lies in it; what a counter grew by counts in parts.",
    "Figures are of the measured load: by the receiver's label, or by the time of the phase where there is none. What is drawn over time has the warm-up too, shaded."
  ];
  function helpDialog() {
    const close = h("button", { type: "button", on: { click: () => element.close() } }, "close");
    const element = h(
      "dialog.help",
      { "aria-labelledby": "help-title", on: { click: (event) => event.target === element && element.close() } },
      h(
        "div.inner",
        {},
        h("h2", { id: "help-title" }, "Keys"),
        h(
          "dl.keys",
          {},
          KEYS.map(
            ([keys, what]) => h(
              "div",
              {},
              h(
                "dt",
                {},
                keys.split(" ").map((key) => h("kbd", {}, key))
              ),
              h("dd", {}, what)
            )
          )
        ),
        h("h2", {}, "How to read this"),
        h(
          "ul",
          {},
          NOTES.map((text) => h("li", {}, text))
        ),
        close
      )
    );
    return {
      element,
      open: () => {
        if (!element.open) element.showModal();
      }
    };
  }

  // src/charts/strip.js
  var HEIGHT = 56;
  var FOOT = 14;
  var Strip = class {
    /** @type {Drawn | null} */
    #drawn = null;
    /** @type {number | null} where dragging began, ms */
    #from = null;
    /** @param {Actions} actions */
    constructor(actions) {
      this.actions = actions;
      this.canvas = h("canvas.strip", { role: "img", height: HEIGHT });
      this.window = h("div.window", { "aria-hidden": "true" });
      this.element = h("div.stripbox", {}, this.canvas, this.window);
      this.canvas.addEventListener("pointerdown", (event) => this.#down(event));
      this.canvas.addEventListener("pointermove", (event) => this.#move(event));
      this.canvas.addEventListener("pointerup", (event) => this.#up(event));
      this.canvas.addEventListener("dblclick", () => actions.whole());
      new ResizeObserver(() => this.#paint()).observe(this.element);
      onTheme(() => this.#paint());
    }
    /** Which percentile the line is. */
    get percent() {
      return this.#drawn?.shape.percent ?? 99;
    }
    /**
     * @param {View} whole a view of the whole run
     * @param {Range} range what is shown
     */
    update(whole2, range) {
      const shape = this.#drawn?.whole === whole2 ? this.#drawn.shape : shapeOf(whole2);
      this.#drawn = { whole: whole2, shape, range };
      const seconds3 = (ms) => elapsed((ms - whole2.begin) / 1e3);
      setAttribute(
        this.canvas,
        "aria-label",
        `The whole run, ${seconds3(whole2.span.to)} long; shown is ${range.whole ? "all of it" : `${seconds3(range.from)} to ${seconds3(range.to)}`}.`
      );
      this.#paint();
    }
    #paint() {
      const width = this.element.clientWidth;
      const ctx = this.canvas.getContext("2d");
      if (!this.#drawn || !ctx || width < 40) return;
      const { whole: whole2, shape, range } = this.#drawn;
      const ratio = window.devicePixelRatio || 1;
      this.canvas.width = width * ratio;
      this.canvas.height = HEIGHT * ratio;
      ctx.scale(ratio, ratio);
      const { span, model } = whole2;
      const x = (ms) => (ms - span.from) / (span.to - span.from) * width;
      ctx.clearRect(0, 0, width, HEIGHT);
      for (const { from, to } of warmUp(model.notes, span)) {
        ctx.fillStyle = colour("--shade");
        ctx.fillRect(x(from), 0, x(to) - x(from), HEIGHT - FOOT);
      }
      this.#area(ctx, shape.rate, x, "--strip-rate");
      this.#line(ctx, shape.tail, x);
      this.#times(ctx, whole2, width, x);
      this.#phases(ctx, model.notes, x, width);
      this.#frame(span, range, !range.whole);
    }
    /** @param {CanvasRenderingContext2D} ctx @param {ShapePoint[]} points @param {Place} x @param {string} name */
    #area(ctx, points, x, name) {
      ctx.fillStyle = colour(name);
      for (const { from, to, part } of points) {
        const height = part * (HEIGHT - FOOT - 14);
        ctx.fillRect(x(from), HEIGHT - FOOT - height, Math.max(1, x(to) - x(from) + 0.5), height);
      }
    }
    /** @param {CanvasRenderingContext2D} ctx @param {ShapePoint[]} points @param {Place} x */
    #line(ctx, points, x) {
      ctx.strokeStyle = colour("--rate-2");
      ctx.lineWidth = 1.25;
      ctx.beginPath();
      let before = -Infinity;
      for (const { from, to, part } of points) {
        const y = HEIGHT - FOOT - 2 - part * (HEIGHT - FOOT - 16);
        if (from - before > 2 * (to - from)) ctx.moveTo(x((from + to) / 2), y);
        else ctx.lineTo(x((from + to) / 2), y);
        before = to;
      }
      ctx.stroke();
    }
    /** @param {CanvasRenderingContext2D} ctx @param {View} whole @param {number} width @param {Place} x */
    #times(ctx, { span, begin }, width, x) {
      const step = [5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400].find((s) => x(span.from + s * 1e3) >= 64) ?? 86400;
      ctx.fillStyle = colour("--ink-2");
      ctx.strokeStyle = colour("--grid");
      ctx.font = axisFont(10);
      ctx.textBaseline = "bottom";
      ctx.beginPath();
      for (let s = 0; begin + s * 1e3 <= span.to; s += step) {
        const at = x(begin + s * 1e3);
        ctx.textAlign = s === 0 ? "left" : at > width - 16 ? "right" : "center";
        ctx.fillText(elapsed(s), at, HEIGHT);
      }
      ctx.moveTo(0, HEIGHT - FOOT + 0.5);
      ctx.lineTo(width, HEIGHT - FOOT + 0.5);
      ctx.stroke();
    }
    /** @param {CanvasRenderingContext2D} ctx @param {Note[]} notes @param {Place} x @param {number} width */
    #phases(ctx, notes, x, width) {
      ctx.textBaseline = "top";
      ctx.textAlign = "left";
      ctx.lineWidth = 1;
      let free = -Infinity;
      const phases = notes.filter(({ kind }) => kind === "phase");
      phases.forEach(({ unix_ms: ms, name }, at) => {
        const left = Math.round(x(ms)) + 0.5;
        ctx.strokeStyle = colour("--mark");
        ctx.beginPath();
        ctx.moveTo(left, 0);
        ctx.lineTo(left, HEIGHT - FOOT);
        ctx.stroke();
        const room = (at + 1 < phases.length ? x(phases[at + 1].unix_ms) : width) - left;
        const wide = ctx.measureText(name).width;
        if (left > free && wide + 6 < room) {
          ctx.fillStyle = colour("--ink-2");
          ctx.fillText(name, left + 4, 2);
          free = left + wide + 4;
        }
      });
    }
    /** Frame a part of the run. @param {Part} span of the run @param {Part} framed @param {boolean} shown */
    #frame(span, framed, shown2) {
      const scale = this.element.clientWidth / (span.to - span.from);
      this.window.hidden = !shown2;
      this.window.style.setProperty("left", `${(framed.from - span.from) * scale}px`);
      this.window.style.setProperty("width", `${Math.max(3, (framed.to - framed.from) * scale)}px`);
    }
    /** @param {PointerEvent} event */
    #down(event) {
      if (event.button !== 0 || !this.#drawn) return;
      this.canvas.setPointerCapture(event.pointerId);
      this.#from = this.#msAt(event, this.#drawn.whole.span);
    }
    /** @param {PointerEvent} event */
    #move(event) {
      if (this.#from === null || !this.#drawn) return;
      const { span } = this.#drawn.whole;
      const [from, to] = [this.#from, this.#msAt(event, span)].sort((one, other) => one - other);
      this.#frame(span, { from, to }, true);
    }
    /** @param {PointerEvent} event */
    #up(event) {
      if (this.#from === null || !this.#drawn) return;
      const { whole: whole2, range } = this.#drawn;
      const { span } = whole2;
      const [from, to] = [this.#from, this.#msAt(event, span)].sort((one, other) => one - other);
      this.#from = null;
      if ((to - from) / (span.to - span.from) * this.element.clientWidth >= 4) this.actions.brush(from, to);
      else this.update(whole2, range);
    }
    /** @param {PointerEvent} event @param {Part} span of the run */
    #msAt(event, span) {
      const { left, width } = this.canvas.getBoundingClientRect();
      return span.from + Math.max(0, Math.min(1, (event.clientX - left) / width)) * (span.to - span.from);
    }
  };
  function shapeOf(view) {
    const bins = view.histBins({ name: END_TO_END.name });
    const supported = (percent2) => bins.filter(({ hist }) => supports(hist, percent2)).length * 2 >= bins.length;
    const percent = PERCENTS.findLast((each) => each <= 99 && supported(each)) ?? PERCENTS[0];
    const known = bins.filter(({ hist }) => supports(hist, percent));
    const logs = known.map(({ hist }) => Math.log(Math.max(1, percentile(hist, percent))));
    const [least, most] = [Math.min(...logs), Math.max(...logs)];
    const rates = view.rateBins(SENT);
    const fastest = Math.max(1, ...rates.map(({ value }) => value ?? 0));
    return {
      percent,
      tail: known.map(({ from, to }, at) => ({
        from,
        to,
        part: most > least ? (logs[at] - least) / (most - least) : 0.5
      })),
      rate: rates.flatMap(
        ({ from, to, value }) => value !== null && value > 0 ? [{ from, to, part: value / fastest }] : []
      )
    };
  }

  // src/parts/rangebar.js
  var PRESETS = [
    { title: "whole run", choice: WHOLE2 },
    { title: "last 1 min", choice: { kind: "last", ms: 6e4 } },
    { title: "last 5 min", choice: { kind: "last", ms: 3e5 } }
  ];
  var EXAMPLES = "0:30-1:15 or last 90";
  var RangeBar = class {
    /** @type {Part | null} */
    #span = null;
    /** @param {App} app */
    constructor(app) {
      this.app = app;
      this.strip = new Strip(app.actions);
      this.buttons = PRESETS.map(
        ({ title, choice }) => h("button", { type: "button", on: { click: () => app.choose(choice) } }, title)
      );
      this.judged = h(
        "button",
        {
          type: "button",
          title: "What the result is of: the load after it has settled; its latencies are the result's",
          on: { click: () => app.choose(JUDGED) }
        },
        "judged"
      );
      this.follow = h(
        "button",
        { type: "button", title: "Follow the newest data (l)", on: { click: () => app.goLive() } },
        "live"
      );
      this.field = h("input", {
        type: "text",
        size: 15,
        spellcheck: "false",
        autocomplete: "off",
        "aria-label": `Range, as ${EXAMPLES}`,
        on: { change: () => this.#typed() }
      });
      this.length = h("span.length");
      this.percent = h("span");
      this.key = h(
        "div.group.stripkey",
        { "aria-hidden": "true" },
        h("i.line"),
        this.percent,
        h("i.block"),
        "offered rate"
      );
      this.bins = h("span.length");
      const step = (title, click, sign, key = sign) => h("button", { type: "button", title: `${title} (${key})`, "aria-label": title, on: { click } }, sign);
      this.element = h(
        "section.range",
        { "aria-label": "Range of time" },
        this.strip.element,
        h(
          "div.controls",
          {},
          h("div.group", { role: "group", "aria-label": "Presets" }, this.buttons, this.judged, this.follow),
          h(
            "div.group",
            {},
            h("label", {}, "range ", this.field),
            step("Earlier", () => app.move(-1), "‹", "["),
            step("Later", () => app.move(1), "›", "]"),
            this.length
          ),
          this.key,
          h(
            "div.group",
            { role: "group", "aria-label": "Bins" },
            this.bins,
            step("Narrower bins", () => app.stepBins(-1), "−"),
            step("Wider bins", () => app.stepBins(1), "+")
          )
        )
      );
    }
    /** @param {View} view what is shown @param {View} whole the whole run */
    update(view, whole2) {
      const { app } = this;
      this.#span = view.span;
      this.strip.update(whole2, view.range);
      setText(this.percent, percentName(this.strip.percent));
      const at = (ms) => elapsed((ms - view.begin) / 1e3);
      if (document.activeElement !== this.field) this.field.value = `${at(view.range.from)}–${at(view.range.to)}`;
      setText(this.length, duration(view.range.to - view.range.from));
      setText(this.bins, `bins of ${duration(view.widthMs)}${app.feed.refining ? "; finer data is loading" : ""}`);
      const { judged } = view.history;
      const chosen = app.route.choice.kind === "judged" && !judged ? WHOLE2 : app.route.choice;
      this.buttons.forEach((button, number) => {
        setAttribute(button, "aria-pressed", JSON.stringify(PRESETS[number].choice) === JSON.stringify(chosen));
      });
      this.judged.hidden = judged === null;
      setAttribute(this.judged, "aria-pressed", view.judged);
      this.follow.hidden = !view.model.live;
      setAttribute(this.follow, "aria-pressed", chosen.kind !== "fixed");
    }
    #typed() {
      if (!this.#span) return;
      const choice = typedChoice(this.field.value, this.#span);
      setAttribute(this.field, "aria-invalid", choice === null ? "true" : null);
      if (choice === null) {
        this.app.say(`“${this.field.value}” is no range; one is written from the earlier to the later, as ${EXAMPLES}.`);
        return;
      }
      this.app.choose(choice);
      this.field.blur();
    }
  };

  // src/app.js
  var TOAST_MS = 6e3;
  var App = class {
    feed = new Feed(() => this.draw());
    pin = new Pin(this.feed, () => this.draw());
    route = readRoute(location.hash);
    /** @type {View | null} what is shown */
    view = null;
    tables = false;
    /** @type {Actions} */
    actions = {
      brush: (from, to) => this.choose({ kind: "fixed", from, to }),
      whole: () => this.choose(WHOLE2)
    };
    /** @type {Page | null} */
    #page = null;
    /** Whether the reader has chosen the run; else it is the newest, and the address has its name all the same. */
    #pinned = this.route.run !== "";
    #shown = "";
    #series = 0;
    #drawing = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    #toastTimer;
    constructor() {
      startTheme();
      this.bar = new Bar(this);
      this.range = new RangeBar(this);
      this.dialog = helpDialog();
      this.notice = document.getElementById("waiting") ?? h("p.notice", { role: "status" });
      this.toast = h("p.toast", { role: "alert", hidden: true });
      this.heading = h("h1.hidden");
      this.place = h("div.place");
      this.main = h("main", { id: "main", tabindex: -1 }, this.heading, this.notice, this.place);
    }
    async start() {
      this.#build();
      onTheme(() => this.draw());
      addEventListener("hashchange", () => this.#routed());
      document.addEventListener("visibilitychange", () => this.draw());
      startKeys(document, this.#keys());
      takeDrops((file) => this.openFile(file));
      const embedded = await embeddedRun(document);
      if (!embedded) this.#takePin();
      await this.feed.start(embedded, this.route.run);
      setInterval(() => this.feed.second(), 1e3);
    }
    /** The open run; pages of a run are made only when there is one. @returns {RunModel} */
    get model() {
      if (this.feed.model === null) throw new Error("no run is open");
      return this.feed.model;
    }
    /**
     * The address of a page, of this run with the range that is shown, or of another run.
     * @param {string} page
     * @param {string} [item]
     * @param {string} [run]
     */
    href = (page, item = "", run = this.route.run) => routeText({ ...this.route, ...run === this.route.run ? {} : { choice: JUDGED, widthMs: 0 }, page, item, run });
    /** Show another range. @param {Choice} choice */
    choose(choice) {
      if (choice.kind === "fixed" && this.route.run) this.#pin();
      this.#replace({ choice, refused: "" });
    }
    /** @param {string} runId */
    pinRun(runId) {
      this.pin.set(runId);
      this.#replace({ pin: runId });
    }
    /** Show what is half a range's width earlier (-1) or later (1). @param {number} direction */
    move(direction) {
      if (this.view) this.choose(moved(this.#range(this.view), direction, this.view.span));
    }
    /** Follow the newest data, with as wide a range as is shown. */
    goLive() {
      if (this.view) this.choose(newest(this.#range(this.view)));
    }
    /** Wider bins (1) or narrower ones (-1); the narrowest are those that fit. @param {number} direction */
    stepBins(direction) {
      if (!this.view) return;
      const widthMs = nextWidth(Math.max(this.route.widthMs, this.view.leastWidthMs), direction);
      this.#replace({ widthMs: widthMs <= this.view.leastWidthMs ? 0 : widthMs });
    }
    toggleTables() {
      this.tables = toggleAllTables();
      this.bar.update();
    }
    toggleTheme() {
      toggleTheme();
      this.bar.update();
    }
    help() {
      this.dialog.open();
    }
    /** Open a run out of a file. @param {File} file */
    async openFile(file) {
      try {
        const run = await this.feed.openText(await file.text());
        location.hash = routeText({ ...this.route, page: "overview", item: "", run, choice: JUDGED, widthMs: 0 });
        this.say(`Opened ${run} from ${file.name}.`);
      } catch (error) {
        this.say(error instanceof SyntaxError ? `${file.name} cannot be read.` : messageOf(error));
      }
    }
    /** Draw what has changed, once for all changes of a moment. */
    draw() {
      if (this.#drawing || document.hidden) return;
      this.#drawing = true;
      requestAnimationFrame(() => {
        this.#drawing = false;
        this.#draw();
      });
    }
    #build() {
      const skip = (event) => {
        event.preventDefault();
        this.main.focus();
      };
      document.body.append(
        h("a.skip", { href: "#main", on: { click: skip } }, "Skip to the figures"),
        this.bar.element,
        this.range.element,
        this.main,
        this.toast,
        this.dialog.element
      );
      this.bar.route();
      this.draw();
    }
    #keys() {
      const go = (page) => () => {
        location.hash = this.href(page);
      };
      return {
        "g o": go("overview"),
        "g p": go("pipeline"),
        "g w": go("workers"),
        "g c": go("computations"),
        "g r": go("runs"),
        "g a": go("aggregator"),
        "[": () => this.move(-1),
        "]": () => this.move(1),
        ...Object.fromEntries([..."npsw"].map((key) => [key, () => this.#page?.press?.(key)])),
        l: () => this.goLive(),
        0: () => this.choose(WHOLE2),
        t: () => this.toggleTables(),
        d: () => this.toggleTheme(),
        "?": () => this.help(),
        "+": () => this.stepBins(1),
        "=": () => this.stepBins(1),
        "-": () => this.stepBins(-1)
      };
    }
    /** The range as it is chosen: what is drawn may still be the one before. @param {View} view */
    #range({ span }) {
      return resolve(this.route.choice, span, this.model.judged);
    }
    /** @param {Partial<Route>} change */
    #replace(change) {
      this.route = { ...this.route, ...change };
      history.replaceState(null, "", routeText(this.route));
      this.bar.route();
      this.draw();
    }
    /** Have the address name the pinned run, where there is one. A file knows no other run. */
    #takePin() {
      if (this.feed.served && this.pin.take(this.route.pin) !== this.route.pin) this.#replace({ pin: this.pin.id });
    }
    #pin() {
      this.#pinned = true;
      this.feed.want(this.route.run);
    }
    #routed() {
      const route = readRoute(location.hash);
      if (route.run && route.run !== this.route.run) this.#pinned = true;
      this.route = route;
      this.#takePin();
      this.bar.route();
      this.feed.want(this.#pinned ? this.route.run : "");
      if (this.route.page === "runs") this.feed.refresh();
      this.draw();
    }
    #draw() {
      const { feed, route } = this;
      const { model } = feed;
      const span = model?.span() ?? null;
      const withoutRun = route.page === "runs" || route.page === "compare";
      if (model && span && !withoutRun) this.#settle(model, span);
      this.view = model && span && this.#viewOf(model, span);
      this.bar.update();
      show(this.range.element, span !== null && !withoutRun);
      if (this.view && !withoutRun) this.range.update(this.view, this.#wholeOf(this.view));
      setText(this.notice, span || withoutRun ? "" : missingText(feed));
      show(this.notice, !span && !withoutRun);
      const pinned = this.pin.view ? this.pin.id : "";
      const page = [route.page, route.item, ...withoutRun ? [] : [model?.runId, pinned]].join("\0");
      this.#turn(span || withoutRun ? page : "", model && span && !withoutRun ? model.series.size : 0);
      setText(this.heading, this.#page?.title ?? "Market Spread");
      document.title = `${this.heading.textContent}${model ? ` – ${model.title}` : ""}`;
      this.#page?.update(
        /** @type {View} */
        this.view
      );
    }
    /**
     * Have the address name the run that is open, and a range that it has.
     * @param {RunModel} model
     * @param {Part} span
     */
    #settle(model, span) {
      const { route } = this;
      if (this.#pinned && route.run !== model.runId) return;
      const named2 = this.#pinned || !this.feed.served ? {} : { run: model.runId };
      const fits = overlaps(route.choice, span);
      const shown2 = model.judged ? "what was judged is shown" : "the whole run is shown";
      if (!fits) this.say(`The range of the address lies outside of this run; ${shown2}.`);
      if (route.refused) this.say(`The range “${route.refused}” of the address cannot be read; ${shown2}.`);
      this.route = { ...route, ...named2, ...fits ? {} : { choice: JUDGED }, refused: "" };
      if (routeText(this.route) === routeText(route) && !route.refused) return;
      history.replaceState(null, "", routeText(this.route));
      this.bar.route();
    }
    /**
     * Leave the page that is shown for the one of that name, if it is another one, or was made for fewer series.
     * @param {string} name
     * @param {number} series
     */
    #turn(name, series) {
      const other = this.#shown !== name;
      if (!other && this.#series === series) return;
      this.#page?.release();
      this.#page = name ? this.#make() : null;
      this.place.replaceChildren(...this.#page ? [this.#page.element] : []);
      if (other && this.#shown) beginAt(this.main);
      this.#shown = name;
      this.#series = series;
    }
    /** @returns {Page} */
    #make() {
      const { page, item } = this.route;
      if (page === "workers") return item ? new WorkerPage(this, item) : new WorkersPage(this);
      if (page === "computations") return item ? new ComputationPage(this, item) : new ComputationsPage(this);
      if (page === "pipeline") return new PipelinePage(this, item);
      if (page === "runs") return new RunsPage(this);
      if (page === "compare") return new ComparePage(this, item);
      return page === "aggregator" ? new AggregatorPage(this) : new OverviewPage(this);
    }
    /** @param {RunModel} model @param {Part} span */
    #viewOf(model, span) {
      const { choice, page, widthMs } = this.route;
      const range = resolve(choice, span, model.judged);
      return new View(this.feed.modelFor(model, range, page), range, span, { widthMs, history: model });
    }
    /** A view of the whole run. @param {View} view what is shown */
    #wholeOf(view) {
      if (view.range.whole && !this.route.widthMs) return view;
      return new View(view.history, { ...view.span, whole: true }, view.span);
    }
    /** Tell the reader something, for some seconds. @param {string} text */
    say(text) {
      setText(this.toast, text);
      show(this.toast, true);
      clearTimeout(this.#toastTimer);
      this.#toastTimer = setTimeout(() => show(this.toast, false), TOAST_MS);
    }
  };
  new App().start();
})();

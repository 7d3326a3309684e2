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
    const head2 = h(
      "tr",
      {},
      columns.map(({ title, numeric }, at) => h(numeric ? "th.number" : "th", { scope: "col" }, title, " ", units[at]))
    );
    const body = h("tbody");
    const element = h(
      "div.table",
      { tabindex: 0, role: "region", "aria-label": caption },
      h("table", {}, h(quiet ? "caption.hidden" : "caption", {}, caption), h("thead", {}, head2), body)
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
  function fillRow(row, cells, columns) {
    cells.forEach((given, at) => {
      let cell = row.cells[at];
      if (!cell) {
        cell = at === 0 ? h("th", { scope: "row" }) : h("td");
        if (columns[at].numeric) cell.classList.add("number");
        row.append(cell);
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
    const bytes = atob(text);
    const indices = [];
    const numbers = [];
    let slot = 0;
    for (let at = 0; at < bytes.length; ) {
      let zigzag = 0;
      let scale = 1;
      for (let more = true; more; scale *= 128) {
        if (at >= bytes.length) throw new RangeError(`the counts end inside a number, after ${bytes.length} bytes`);
        const byte = bytes.charCodeAt(at);
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
      const row = rowOf(lowestValue(hist.indices[i]));
      rows.set(row, (rows.get(row) ?? 0) + hist.numbers[i]);
    }
    return rows;
  }
  function rowLowest(row) {
    return 2 ** Math.floor(row / 4) * (1 + row % 4 / 4);
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
      const note = this.notes.findLast(({ kind }) => kind === "result");
      if (note !== this.#resultNote) [this.#resultNote, this.#result] = [note, note ? resultIn(note) : null];
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
        for (const { start: start2, end } of intervals) {
          if (start2 >= range.from && start2 < range.to) longest = Math.max(longest, end - start2);
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
  function outliersOf({ hist, head: head2 }) {
    return hist ? { negative: hist.negative, overflow: hist.overflow } : { negative: head2[5], overflow: head2[4] };
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
  function readSlot([start2, end, ...total2]) {
    return { ...slotOf(total2), start: start2, end };
  }
  function slotOf([count, sumUs, minUs, maxUs, overflow, negative, text]) {
    return { start: 0, end: 0, head: [count, sumUs, minUs, maxUs, overflow, negative], text, hist: null };
  }
  function readPoint([start2, end, value]) {
    return { start: start2, end, value };
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

  // src/textfiles.js
  var TICKS_PER_HALF = 5;
  var US_PER_MS = 1e3;
  function csvOf(rows) {
    return rows.map((row) => `${row.map(field).join(",")}\r
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
    const mean2 = hist.count > 0 ? hist.sumUs / hist.count : 0;
    lines.push(
      `#[Mean    = ${fixed(mean2 / US_PER_MS, 3, 12)}, StdDeviation   = ${fixed(deviationUs(hist, mean2) / US_PER_MS, 3, 12)}]`,
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
  function deviationUs({ indices, numbers, count }, mean2) {
    if (count === 0) return 0;
    let sum2 = 0;
    indices.forEach((slot, at) => {
      const median = lowestValue(slot) + Math.floor((highestValue(slot) - lowestValue(slot) + 1) / 2);
      sum2 += numbers[at] * (median - mean2) ** 2;
    });
    return Math.sqrt(sum2 / count);
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
  var BYTE_STEPS = Array.from({ length: 44 }, (_none, at) => 2 ** at);
  function share(value) {
    return `${fixed2(100 * value, value !== 0 && value < 0.01 ? 2 : 1)}%`;
  }
  function duration(ms) {
    const seconds2 = Math.max(0, ms) / 1e3;
    if (seconds2 < 10) return `${+seconds2.toFixed(1)} s`;
    if (seconds2 < 60) return `${Math.round(seconds2)} s`;
    const all = Math.round(seconds2);
    if (all < 3600) return `${Math.floor(all / 60)} min${all % 60 ? ` ${pad(all % 60)} s` : ""}`;
    return `${Math.floor(all / 3600)} h${all % 3600 >= 60 ? ` ${pad(Math.floor(all % 3600 / 60))} min` : ""}`;
  }
  function elapsed(seconds2, digits = 0) {
    const ticks = Math.round(Math.abs(seconds2) * 10 ** digits);
    const sign = seconds2 < 0 && ticks > 0 ? "−" : "";
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
      values: (_plot, splits) => splits.map((seconds2) => elapsed(seconds2))
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
  function cursorKeys(plot, take) {
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
        if (event.shiftKey && take && !keyed.has(plot)) {
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
        if (wide >= 1) take?.(first, first + wide);
      } else if (event.key === "Escape" && keyed.has(plot)) leave();
      else return;
      event.preventDefault();
      event.stopPropagation();
    };
    place.tabIndex = 0;
    place.addEventListener("keydown", onKey);
  }
  function wheel({ over }, take) {
    over.addEventListener(
      "wheel",
      (event) => {
        const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
        const zooms = event.ctrlKey || event.metaKey;
        if (!zooms && Math.abs(sideways) <= Math.abs(event.shiftKey ? 0 : event.deltaY)) return;
        event.preventDefault();
        const { left, width } = over.getBoundingClientRect();
        const [first, last] = zooms ? zoomed(event.clientX - left, width, event.deltaY > 0 ? 1.25 : 0.8) : [0, width].map((at) => at + Math.sign(sideways) * width * 0.1);
        take(first, last);
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
    for (const figure of figures) figure.showTable(allTables);
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
      const texts = this.#rows().map((row) => row.map((cell) => typeof cell === "string" ? cell : cell.text));
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

  // src/parts/document.js
  var TITLES = {
    correct: "Correct",
    valid: "Valid",
    objectives: "Meets the objectives",
    survives: "Survives its planned faults"
  };
  function head({ result, outcome }) {
    const themes = h("button.quiet", { type: "button", on: { click: () => toggleTheme() } }, "light / dark");
    const tables = h("button.quiet", { type: "button", on: { click: () => toggleAllTables() } }, "tables");
    const verdict = h("span.verdict", { "data-verdict": result.verdict }, outcome);
    return h(
      "header.report-head",
      {},
      h("div.tools", {}, tables, themes),
      h("h1", {}, `${result.workload} `, verdict, hasNoObjective(result) && h("span.sub", {}, " no objective set")),
      h(
        "p.sub",
        {},
        `${result.run_id}, ${dateTime(Date.parse(result.started))}, ${result.mode}, ${whole(result.offered_rate_per_s)} messages/s for ${result.duration_s} s`
      ),
      result.self_test && h("p.sub.rig", {}, `${result.self_test.fits ? "" : "rig: "}${result.self_test.text}`),
      result.reasons.length > 0 && h(
        "ul.reasons",
        {},
        result.reasons.map((reason) => h("li", {}, reason))
      )
    );
  }
  function hasNoObjective({ verdict, verdicts: given }) {
    return verdict === "passed" && given?.objectives?.evidence.length === 0;
  }
  function verdicts({ verdicts: given }) {
    const word = (holds, evidence) => holds === null ? evidence.length > 0 ? "not known" : "none asked for" : holds ? "yes" : "no";
    return h(
      "section.verdicts",
      { "aria-label": "Verdicts" },
      Object.entries(given).map(
        ([name, { holds, evidence }]) => h(
          "details",
          holds === false ? { open: true } : {},
          h(
            "summary",
            {},
            h("h2", {}, `${TITLES[name]}: `, h("b", { "data-holds": String(holds) }, word(holds, evidence))),
            " ",
            evidence.length > 0 && h("span.sub", {}, heldText(evidence))
          ),
          h(
            "ul",
            {},
            evidence.map((each) => h("li", { "data-holds": String(each.holds) }, each.text))
          )
        )
      )
    );
  }
  function heldText(evidence) {
    const unknown = evidence.filter(({ holds }) => holds === null).length;
    const held = `${evidence.filter(({ holds }) => holds).length} of ${evidence.length} hold`;
    return unknown > 0 ? `${held}, ${unknown} not known` : held;
  }
  function anomalies({ anomalies: given = [] }) {
    const lines = given.length > 0 ? given : ["Nothing."];
    return h(
      "section",
      {},
      h("h2", {}, "Out of the ordinary"),
      h(
        "ul.report-list",
        {},
        lines.map((line) => h("li", {}, line))
      )
    );
  }
  function environment({ manifest, result }) {
    const sections = { ...manifest.sections, settings: result.settings };
    const known = Object.entries(sections).filter(([, values]) => Object.keys(values).length > 0);
    return h(
      "section",
      {},
      h("h2", {}, "Environment"),
      h("p.about", {}, `Manifest ${result.manifest_sha256 ?? "none"}`),
      h(
        "div.facts",
        {},
        known.map(
          ([name, values]) => h(
            "details",
            name === "cpu" || name === "code" ? { open: true } : {},
            h("summary", {}, name.replaceAll("_", " ")),
            h(
              "dl",
              {},
              Object.entries(values).flatMap(([key, value]) => [h("dt", {}, key), h("dd", {}, factText(value))])
            )
          )
        )
      )
    );
  }
  function factText(value) {
    if (value === null || value === void 0) return "not known";
    return typeof value === "object" ? JSON.stringify(value) : String(value);
  }
  function marks({ result }) {
    const events = result.causes?.events ?? [];
    const noted2 = {
      unix_ms: Date.parse(result.started),
      kind: "result",
      name: result.verdict,
      text: JSON.stringify(result)
    };
    const marked = events.filter(({ kind }) => kind === "boundary" || kind === "gc").map(({ kind, begin_unix_ms: ms, duration_ms: length, text: name }) => ({
      unix_ms: ms,
      kind,
      name,
      text: `${Math.round(length)} ms`
    }));
    return [noted2, ...marked];
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
      set: (values, pinned = []) => values.forEach((figure, at) => {
        show(groups[at], figure !== null);
        const { value, unit = "", sub = "", small = false } = figure ?? { value: "" };
        setText(parts[at].value, value);
        setText(parts[at].unit, unit);
        setText(parts[at].sub, sub);
        setText(parts[at].delta, deltaText(pinned[at]?.number, figure?.number));
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

  // src/parts/latencies.js
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
  function fillResultTable(element, [head2, ...rows], caption = "Latencies of the result, with their 95% intervals") {
    if (!head2 || element.childElementCount > 0) return;
    const columns = head2.map((title, at) => ({ title, numeric: at > 0 }));
    const made = table({ caption, columns });
    made.setRows(rows);
    element.append(made.element);
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
  function rangeFigures(hist) {
    const figures2 = PERCENTS.map((percent, at) => percentileFigure(hist, percent, at === 0 ? "of this range" : ""));
    return [...figures2, maxFigure(hist.count > 0 ? hist.maxUs : null, hist.count)];
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
  var MEASURED = { phase: "measured" };
  function metric(name, labels) {
    return labels === void 0 ? { name: PREFIX + name } : { name: PREFIX + name, labels };
  }
  var END_TO_END = metric("receiver_end_to_end_seconds", MEASURED);
  var SERVICE = metric("receiver_service_seconds", MEASURED);
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
      latency: metric("receiver_stage_seconds", { ...MEASURED, stage: name }),
      over: [metric("receiver_stage_seconds", { stage: name })]
    };
  }
  function stageLatency(name) {
    return stage(name).latency;
  }
  function stagesOf(model) {
    return STAGES.map((each) => ({ ...each, from: inWordsOf(model, each.from), to: inWordsOf(model, each.to) }));
  }
  var MAIN_LATENCY = [
    { kind: "sender", main: metric("sender_send_lag_seconds", {}) },
    { kind: "receiver", main: metric("receiver_end_to_end_seconds", MEASURED) }
  ];

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
  function chosenSecond(seconds2, chosen) {
    if (!chosen) return -1;
    return seconds2.findIndex((second) => {
      const { from, to } = around(second);
      return Math.abs(from - chosen.from) < 1 && Math.abs(to - chosen.to) < 1;
    });
  }
  function nextSecond(seconds2, chosen, direction) {
    const at = chosenSecond(seconds2, chosen);
    if (at < 0) return seconds2[0] ?? null;
    return seconds2[Math.max(0, Math.min(seconds2.length - 1, at + direction))];
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
    const total2 = [...sums.values()].reduce((sum2, { us }) => sum2 + us, 0);
    return [...sums.values()].map((each) => ({ ...each, share: total2 > 0 ? each.us / total2 : 0 }));
  }
  function titleOf(stage2) {
    return STAGES.find((each) => each.stage === stage2)?.title ?? stage2.replaceAll("_", " ");
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
      this.rows.forEach((row, at) => {
        this.#fill(row, hists[at], { from: before, mean: means[at], total: total2, unit });
        before += means[at];
      });
      this.#fill(this.whole, all, { from: 0, mean: total2, total: total2, unit });
      const sumUs = hists.reduce((sum2, hist) => sum2 + hist.sumUs, 0);
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
    #fill({ bar: bar2, cells }, hist, { from, mean: mean2, total: total2, unit }) {
      bar2.style.setProperty("--from", String(total2 > 0 ? from / total2 : 0));
      bar2.style.setProperty("--part", String(total2 > 0 ? mean2 / total2 : 0));
      const values = SHOWN.map((percent) => shownPercentile(hist, percent));
      const texts = [
        inUnit(hist.count > 0 ? mean2 : null, unit),
        total2 > 0 ? `${fixed2(100 * mean2 / total2, 1)}%` : NONE,
        ...values.map((value) => inUnit(value, unit))
      ];
      texts.forEach((text, at) => setText(cells[at], text));
    }
  };

  // src/intervals.js
  function middle({ start: start2, end }) {
    return (start2 + end) / 2;
  }
  function inside(intervals, { from, to, whole: whole2 }) {
    return whole2 ? intervals : intervals.filter((interval) => middle(interval) >= from && middle(interval) < to);
  }
  function share2({ start: start2, end }, { from, to }) {
    if (end <= start2) return start2 >= from && start2 < to ? 1 : 0;
    return Math.max(0, Math.min(end, to) - Math.max(start2, from)) / (end - start2);
  }
  function grownIn(series, range) {
    return sum(series.flatMap(({ intervals }) => intervals.map((point) => point.value * share2(point, range))));
  }
  function sum(values) {
    return values.reduce((total2, value) => total2 + value, 0);
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
    const [behind, next] = [...figures2].sort((one, other) => (other.most ?? 0) - (one.most ?? 0));
    if ((behind.most ?? 0) > Math.max(behind.sent ?? 0, ODD * (next.most ?? 0))) {
      const stood = behind.stoodMs > 0 ? `; nothing of it was committed for up to ${duration(behind.stoodMs)}` : "";
      const at = elapsed((behind.mostMs - beginMs) / 1e3);
      said.push(
        `${behind.name} was ${counted(behind.most ?? 0, "message")} behind at ${at}, no other partition more than ${counted(next.most ?? 0, "message")}${stood}.`
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
    const times = { mostMs: 0, stoodMs: 0 };
    if (!view.has(sent) || !view.has(committed)) return { ...found, ...times };
    const done = view.totalBins(committed);
    const grown = view.rateBins(committed);
    let standing = 0;
    view.totalBins(sent).forEach(({ from, to, value }, at) => {
      const there = done[at].value;
      if (value === null || there === null) return;
      found.behind = Math.max(0, Math.round(value - there));
      standing = found.behind > 0 && grown[at].value === 0 ? standing + to - from : 0;
      times.stoodMs = Math.max(times.stoodMs, standing);
      if (found.most === null || found.behind > found.most) [found.most, times.mostMs] = [found.behind, to];
    });
    return { ...found, ...times };
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

  // src/range.js
  var WIDTHS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200];
  function binWidth(range, coarsenessMs, most) {
    const least = Math.max((range.to - range.from) / most, coarsenessMs * 0.9);
    return 1e3 * (WIDTHS_S.find((width) => width * 1e3 >= least) ?? Math.ceil(least / 36e5) * 3600);
  }

  // src/view.js
  var AWAITED_MS = 3e3;
  var BINS = 240;
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
    constructor(model, range, span, { widthMs = 0, bins = BINS, history = model } = {}) {
      this.model = model;
      this.history = history;
      this.range = range;
      this.span = span;
      this.begin = span.from;
      const coarseness = model.coarseness(range, END_TO_END.name) || model.coarseness(range);
      this.leastWidthMs = binWidth(range, coarseness, bins);
      this.widthMs = Math.max(widthMs, this.leastWidthMs);
      this.seconds = (range.to - range.from) / 1e3;
      const { judged } = history;
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
          let newest = null;
          for (const bin of bins) {
            while (at < intervals.length && intervals[at].end <= bin.to) {
              newest = intervals[at].value;
              at += 1;
            }
            if (newest !== null) bin.value = (bin.value ?? 0) + newest;
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

  // src/facts.js
  var FINE_BINS = 4e3;
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

  // src/parts/partitions.js
  var ABOUT = {
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
      setText(this.about, ABOUT[
        /** @type {keyof typeof ABOUT} */
        system.kind
      ] ?? "");
      setText(this.odd, oddPartitions(figures2, view.begin).join(" ") || "No partition differs much from the others.");
      this.rates.setRows(
        figures2.map(({ name, sent, committed, outputs, behind, most, stoodMs }) => [
          name,
          rate(sent),
          rate(committed),
          rate(outputs),
          whole(behind),
          whole(most),
          most === null ? NONE : duration(stoodMs)
        ])
      );
      this.latencies.set(outputLatencies(view).map(({ name, hist }) => ({ title: name, hist })));
    }
  };

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
        for (const [row, count] of rows) {
          const bottom = Math.round(plot.valToPos(rowLowest(row), "y", true));
          const top = Math.round(plot.valToPos(rowLowest(row + 1), "y", true));
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
            this.#columns.reduce((sum2, { rows }) => sum2 + total(rows), 0),
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
      const row = rowOf(plot.posToVal(top, "y"));
      setText(
        this.read,
        `${counted(column?.rows.get(row) ?? 0, "sample")} of ${latency(rowLowest(row))} to ${latency(rowLowest(row + 1))}`
      );
    }
    #colourLegend() {
      setText(this.most, whole(this.#most));
      this.steps.forEach((step, at) => step.style.setProperty("background", heat(at / (LEGEND_STEPS - 1))));
    }
    #raw() {
      const cells = this.#columns.flatMap(
        ({ from, to, rows }) => [...rows.entries()].sort(([one], [other]) => one - other).map(([row, count]) => [from, to, rowLowest(row), rowLowest(row + 1), count])
      );
      return [["from_unix_ms", "to_unix_ms", "from_us", "below_us", "samples"], ...cells];
    }
    /** @param {View} view @returns {Cell[][]} */
    #table({ begin }) {
      return this.#columns.flatMap(
        ({ from, to, rows }) => [...rows.entries()].sort(([one], [other]) => one - other).map(([row, count]) => [
          elapsed((from - begin) / 1e3),
          elapsed((to - begin) / 1e3),
          latency(rowLowest(row)),
          latency(rowLowest(row + 1)),
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
    return [...rows.values()].reduce((sum2, count) => sum2 + count, 0);
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
    update(view, events, cpu, cores) {
      this.#view = view;
      this.#lanes = lanesOf(events);
      this.#cpu = cpu;
      this.#cores = Math.max(cores, ...cpu.map(({ value }) => value ?? 0));
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
      const cores = this.#cpu.find(({ from, to }) => ms >= from && ms < to)?.value;
      const cpu = cores === null || cores === void 0 ? [] : [`CPU ${fixed2(cores, 2)} cores`];
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

  // src/events.js
  var BATCH = metric("job_batch_id");
  var COMMIT = metric("job_commit_seconds");
  var LATE = metric("sender_frames_late_total");
  var BATCH_MS_MIN = 5e3;
  var NOTED = { "planned fault": "fault", "query restarted": "restart" };
  function eventsSoFar(model) {
    return [...noted(model), ...boundaries(model), ...lateFrames(model)].sort(
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
      return changes.slice(1).flatMap(({ start: start2, end: at, value }, before) => {
        const ended = endedBetween(changes[before].value, value);
        if (at - changes[before].end < BATCH_MS_MIN * ended) return [];
        if (ended > 1) {
          const text2 = `${counted(ended, "batch", "batches")} ended, the last of them batch ${value}`;
          return [{ kind: "boundary", begin_unix_ms: start2, duration_ms: at - start2, within: true, text: text2 }];
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
  function lateFrames(model) {
    return numbersOf(model, LATE.name).flatMap(
      ({ labels, intervals }) => intervals.filter(({ value }) => value > 0).map(({ start: start2, end, value }) => ({
        kind: "sender",
        begin_unix_ms: start2,
        duration_ms: end - start2,
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
      let row = rows.find(({ endUs }) => endUs <= ts);
      if (!row) {
        row = { kind, title: rows.length > 0 ? `${title} ${rows.length + 1}` : title, events: [], endUs: -Infinity };
        rows.push(row);
      }
      row.events.push(event);
      row.endUs = ts + atLeastOne(length * 1e3);
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
    update(seconds2, chosen, beginMs) {
      this.#seconds = seconds2;
      this.#chosen = chosen;
      show(this.element, seconds2.length > 0);
      const key = JSON.stringify([seconds2, beginMs]);
      if (this.#shown !== key) this.#fill(seconds2, beginMs);
      this.#shown = key;
      const at = chosenSecond(seconds2, chosen);
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
    #fill(seconds2, beginMs) {
      this.#buttons = seconds2.map(
        (second) => h(
          "button.quiet",
          { type: "button", title: "Look at this second", on: { click: () => this.choose(second) } },
          elapsed((second.begin_unix_ms - beginMs) / 1e3)
        )
      );
      this.body.replaceChildren(
        ...seconds2.map(
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
      const samples = bins.reduce((sum2, { hist }) => sum2 + hist.count, 0);
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
      const sum2 = medians.reduce((all, us) => all + us, 0);
      this.median.set(
        sum2 > 0 ? STAGES.map(({ stage: stage2, title }, at) => ({ stage: stage2, title, us: medians[at], share: medians[at] / sum2 })) : [],
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

  // src/parts/reportcharts.js
  var THROUGHPUT = [
    { title: "offered", of: SENT },
    { title: "processed", of: PROCESSED }
  ];
  var TRIPLE = [
    { title: "Intended send to receipt", of: END_TO_END },
    { title: "Actual send to receipt", of: SERVICE },
    { title: "Send lag, all messages", of: SEND_LAG }
  ];
  var ReportCharts = class {
    /** @type {Part | null} what the reader has chosen */
    #chosen = null;
    /**
     * @param {ReportData} facts what the run controller says
     * @param {RunModel} model what the processes pushed
     * @param {Part} span of it
     */
    constructor(facts, model, span) {
      this.facts = facts;
      this.model = model;
      this.span = span;
      const actions = {
        brush: (from, to) => this.#choose({ from, to }),
        whole: () => this.#choose(null)
      };
      this.key = keyFigures([
        ...PERCENTS.map((percent) => `${percent === 50 ? "latency " : ""}${percentName(percent)}`),
        "max",
        "p99 between boundaries",
        "achieved",
        "CPU of the job",
        "backlog, most"
      ]);
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
      this.curve = new CurveChart({
        title: "Percentile curves",
        height: 260,
        lines: [
          { title: "intended to receipt", colour: "--p50", width: 2 },
          { title: "actual to receipt", colour: "--p99", dash: [7, 3] },
          { title: "send lag, all", colour: "--p9999", dash: [2, 2], width: 2 }
        ]
      });
      this.slow = new SlowSeconds(model, actions);
      this.rates = new TimeChart({
        title: "Throughput",
        unit: "messages/s",
        lines: rateLines(THROUGHPUT.map(({ title }) => title)),
        tick: axisNumber,
        text: rate,
        height: 170,
        actions
      });
      this.lag = new TimeChart({
        title: "Backlog",
        unit: "messages, the highest in each bin",
        lines: [{ title: "backlog", colour: "--p50", fill: "--band" }],
        tick: axisNumber,
        text: whole,
        height: 170,
        actions
      });
      this.cpus = this.#seriesChart("CPUs in use", "cpus", actions);
      this.pressure = this.#seriesChart("Time waited for a resource, and stolen", "pressure", actions);
      this.waterfall = new Waterfall(
        stagesOf(model).map((stage2) => ({ ...stage2, href: "#" })),
        (text) => inWordsOf(model, text)
      );
      this.partitions = new Partitions();
      this.triple = latencyTable("The triple of latencies", "from, to");
      this.element = h(
        "main",
        {},
        this.key.element,
        h(
          "p.about.marks-key",
          {},
          "Charts over time mark ",
          h("i.boundary"),
          "batch boundaries and ",
          h("i.gc"),
          "collections of 5 ms or more. Drag, or Shift and arrows, to look closer; double-click for all of what was measured."
        ),
        h(
          "div.grid",
          {},
          h("div.widest", {}, this.slow.map),
          h("div.beside", {}, this.slow.worst.element),
          h("div.curve", {}, this.curve.element),
          h("div.over", {}, this.over.element),
          h("div.full", {}, this.slow.orders),
          h("div.full", {}, this.slow.where),
          h("div.half", {}, this.rates.element),
          h("div.half", {}, this.lag.element),
          h("div.full", {}, h("h2", {}, "Where the time goes"), this.waterfall.element, this.waterfall.sum),
          h("div.full", {}, this.triple.element),
          h("div.full", {}, this.partitions.element),
          h("div.half", {}, this.cpus.chart.element),
          h("div.half", {}, this.pressure.chart.element)
        )
      );
    }
    draw() {
      const { model, span } = this;
      const measured = measuredPart(model.notes, { ...span, whole: true });
      const shown2 = this.#chosen ?? { from: measured.from, to: measured.to };
      const judged = this.#chosen ?? model.judged ?? shown2;
      const view = new View(model, { ...shown2, whole: false }, span);
      this.#figures(new View(model, { ...judged, whole: false }, span), view);
      this.#over(view);
      this.partitions.update(view);
      this.#machine(view);
    }
    /** @param {string} title @param {"cpus" | "pressure"} name @param {Actions} actions @returns {MachineChart} */
    #seriesChart(title, name, actions) {
      const { lines } = this.facts.charts[name];
      const text = name === "cpus" ? cpusOrNone : shareOrNone;
      const chart = new TimeChart({
        title,
        lines: rateLines(lines),
        tick: name === "cpus" ? axisNumber : share,
        text,
        height: 170,
        actions
      });
      return { chart, name };
    }
    /** @param {Part | null} range */
    #choose(range) {
      this.#chosen = range;
      this.draw();
    }
    /** @param {View} judged @param {View} view */
    #figures(judged, view) {
      const hist = judged.hist(END_TO_END);
      const { result, latencies, clusters_min: clustersMin } = this.facts;
      this.key.set([
        ...this.#chosen ? rangeFigures(hist) : resultFigures(result, latencies, clustersMin),
        this.#chosen ? null : betweenFigure(result, latencies, clustersMin),
        { value: rate(result.achieved_rate_per_s), unit: "/s", sub: `offered ${rate(result.offered_rate_per_s)}` },
        { value: result.cpu_us_per_message?.toFixed(2) ?? "–", unit: "µs", sub: "a message" },
        { value: whole(result.backlog.messages_max), unit: "messages", sub: "as the controller saw" }
      ]);
      const hists = TRIPLE.map(({ of }) => judged.hist(of));
      this.curve.update(
        hists,
        TRIPLE.map(
          ({ title }, at) => `${title}: ${shownOr(hists[at], 50)} at p50, ${shownOr(hists[at], 99)} at p99`
        ).join("; ")
      );
      this.triple.set(TRIPLE.map(({ title }, at) => ({ title: { text: title }, hist: hists[at] })));
      this.waterfall.update(
        STAGES.map(({ stage: stage2 }) => judged.hist(stageLatency(stage2))),
        hist
      );
      const bins = view.histBins({ name: END_TO_END.name });
      this.over.update(view, percentileRows(bins), percentileOverall(hist, judged), percentileSummary(view, bins));
      this.slow.update(view, result, this.#chosen);
    }
    /** @param {View} view */
    #over(view) {
      const selectors = THROUGHPUT.map(({ of }) => of);
      this.rates.update(
        view,
        rateRows(view, selectors),
        rateOverall(view, selectors),
        rateSummary(view, THROUGHPUT, rate)
      );
      const points = view.has(SENT) && view.has(PROCESSED) ? lagPoints(view) : [];
      const most = Math.max(0, ...points.map(({ value }) => value));
      this.lag.update(
        view,
        lagBins(view, points).map(({ from, to, value }) => ({ from, to, values: [value] })),
        { label: "at the end", values: [points.at(-1)?.value ?? null] },
        `${whole(most)} messages at most were sent and not yet processed; ${countedHow(view.history)}`,
        uncounted(view, this.facts.result.backlog.messages_max)
      );
    }
    /** @param {View} view */
    #machine(view) {
      for (const { chart, name } of [this.cpus, this.pressure]) {
        const { lines, width_s: width, rows } = this.facts.charts[name];
        const inside2 = rows.filter(
          ([second]) => second * 1e3 >= view.range.from - 1e3 && second * 1e3 < view.range.to
        );
        chart.update(
          view,
          inside2.map(([second, ...values]) => ({ from: second * 1e3, to: (second + width) * 1e3, values })),
          { label: "mean", values: lines.map((_line, at) => mean(inside2.map(([, ...values]) => values[at]))) },
          lines.map((line, at) => `${line}: ${chart.given.text(mean(inside2.map(([, ...values]) => values[at])))}`).join(", ")
        );
      }
    }
  };
  function mean(values) {
    const known = values.filter((value) => value !== null);
    return known.length > 0 ? known.reduce((sum2, value) => sum2 + value, 0) / known.length : null;
  }
  function cpusOrNone(value) {
    return value === null ? "–" : fixed2(value, 2);
  }
  function shareOrNone(value) {
    return value === null ? "–" : share(value);
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

  // src/runfile.js
  var ELEMENT_ID = "run-data";
  async function embeddedRun(page) {
    const element = page.getElementById(ELEMENT_ID);
    return element ? unpacked(element.textContent) : null;
  }
  async function unpacked(base64) {
    const packed = Uint8Array.from(atob(base64.replace(/\s/g, "")), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  // src/report.js
  function build(facts, data) {
    const model = data && new RunModel({ ...data, notes: [...data.notes ?? [], ...marks(facts)] });
    const span = model?.span() ?? null;
    document.title = `${facts.result.run_id} – Market Spread`;
    const latencies = h("section");
    fillResultTable(latencies, facts.latencies);
    const faults = h("section");
    fillResultTable(faults, facts.faults ?? [], "Planned faults, and what became of the output");
    const why = new Why();
    why.update(model, { live: false, result: facts.result });
    document.body.append(head(facts), why.element, verdicts(facts.result), faults);
    if (model && span) {
      const charts = new ReportCharts(facts, model, span);
      document.body.append(charts.element);
      charts.draw();
      onTheme(() => charts.draw());
      startKeys(document, charts.slow.keys);
    } else {
      document.body.append(h("p.notice", {}, "Nothing was measured: the run ended before anything was pushed."));
    }
    document.body.append(latencies, anomalies(facts), environment(facts));
  }
  async function start() {
    startTheme();
    build(JSON.parse(document.getElementById("report-data")?.textContent ?? ""), await embeddedRun(document));
  }
  start();
})();

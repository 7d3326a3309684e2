// Built by `make ui` from services/metrics_ui/src; change it there.
"use strict";
(() => {
  // src/axes.js
  var DIGITS = [1, 2, 5, 10];
  function linearAxis(title, values, say) {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const span = high - low || Math.abs(high) || 1;
    const power = 10 ** Math.floor(Math.log10(span / 5));
    const step = power * (DIGITS.find((digit) => digit * power >= span / 5 * 0.999) ?? 10);
    const first = Math.floor(low / step);
    const last = Math.max(Math.ceil(high / step), first + 1);
    const ticks = Array.from({ length: last - first + 1 }, (_none, at) => (first + at) * step);
    return axisOf(title, ticks, say, false);
  }
  function logAxis(title, values, say) {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const [from, to] = [Math.floor(Math.log10(low)) - 1, Math.ceil(Math.log10(high)) + 1];
    const marks = Array.from(
      { length: to - from + 1 },
      (_none, at) => [1, 2, 5].map((digit) => Number(`${digit}e${from + at}`))
    ).flat();
    const first = Math.max(...marks.filter((mark) => mark <= low));
    const last = Math.min(...marks.filter((mark) => mark >= high && mark > first));
    return axisOf(
      title,
      marks.filter((mark) => mark >= first && mark <= last),
      say,
      true
    );
  }
  function nameAxis(title, names) {
    const ticks = names.map((text, at) => ({ at, text }));
    return { title, low: -0.5, high: names.length - 0.5, ticks, log: false };
  }
  function shareOf({ low, high, log }, value) {
    const at = Math.min(Math.max(value, low), high);
    return log ? Math.log(at / low) / Math.log(high / low) : (at - low) / (high - low);
  }
  function axisOf(title, marks, say, log) {
    const ticks = marks.map((at) => ({ at, text: say(at) }));
    return { title, low: marks[0], high: marks[marks.length - 1], ticks, log };
  }

  // src/format.js
  var WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
  var NONE = "–";
  function whole(value) {
    return value === null || value === void 0 || Number.isNaN(value) ? NONE : WHOLE.format(Math.round(value));
  }
  var BYTE_UNITS = [
    { name: "GiB", size: 2 ** 30 },
    { name: "MiB", size: 2 ** 20 },
    { name: "KiB", size: 2 ** 10 }
  ];
  var BYTE_STEPS = Array.from({ length: 44 }, (_none, at) => 2 ** at);

  // src/chartfacts.js
  var SERIES = {
    latency_ns: "latency",
    latency_between_boundaries_ns: "between boundaries",
    service_time_ns: "service time"
  };
  var ASIDE = [0, 0.14, -0.14];
  var IN_SWEEP = ["p50", "p99", "p99.9"];
  function chartsOf(document2) {
    if ("contrasts" in document2) return document2.contrasts.flatMap(shiftChart);
    if ("rates" in document2) return rateChart(document2);
    if (!("workloads" in document2)) return [];
    return document2.workloads.flatMap(({ workload, figures: figures2 }) => figures2.map((trend) => trendChart(workload, trend)));
  }
  function shiftChart({ first, other, figures: figures2 }) {
    const series = Object.entries(SERIES).map(([path, title], at) => ({
      title,
      aside: ASIDE[at],
      judged: figures2.filter(({ figure, shift }) => shift && figure.startsWith(`${path}.p`))
    }));
    const judged = series.flatMap((of) => of.judged);
    if (judged.length === 0) return [];
    const names = [...new Set(judged.map(percentileOf))].sort((one, two) => Number(one.slice(1)) - Number(two.slice(1)));
    const least = judged[0].least_share;
    const edges = judged.flatMap(({ shift }) => [shift?.estimate, shift?.low, shift?.high]).filter((edge) => edge != null);
    return [
      {
        title: `${other} against ${first}: shift by percentile, with 95% intervals`,
        x: nameAxis("percentile", names),
        y: linearAxis("shift", [...edges, least, -least], signedPercent),
        say: (y) => signedPercent(y, 1),
        lines: series.filter((of) => of.judged.length > 0).map(({ title, aside, judged: of }) => ({
          title,
          points: of.map((each) => shiftPoint(each, title, names.indexOf(percentileOf(each)) + aside)).sort((one, two) => one.x - two.x)
        })),
        zones: [{ along: "y", from: -least, to: least, text: `differences below ${percent(least)} do not matter` }],
        rules: [{ along: "y", at: 0, text: "no shift" }],
        marks: "filled: better or worse; hollow: the same or undecided"
      }
    ];
  }
  function shiftPoint({ figure, verdict, shift }, title, x) {
    const { estimate = 0, low, high } = shift ?? {};
    const name = figure.slice(figure.indexOf(".") + 1);
    const within = low != null && high != null ? ` (${signedPercent(low, 1)} to ${signedPercent(high, 1)})` : "";
    const text = `${title} ${name}: ${signedPercent(estimate, 1)}${within}, ${verdict}`;
    return { x, y: estimate, low, high, name, text, filled: verdict === "better" || verdict === "worse" };
  }
  function percentileOf({ figure }) {
    return figure.slice(figure.indexOf(".") + 1);
  }
  function rateChart({ rates, limit, held, latency_limits_ms: limits }) {
    const lines = IN_SWEEP.map((title) => ({
      title,
      points: rates.flatMap(({ rate, outcome, latency_ms: ms }) => {
        const y = ms[title];
        if (y === null || y === void 0) return [];
        const text = `${title} ${shortNumber(y)} ms at ${whole(rate)}/s: ${outcome}`;
        return [{ x: rate, y, name: whole(rate), text, filled: outcome === "held" }];
      })
    })).filter(({ points }) => points.length > 0);
    if (lines.length === 0) return [];
    const values = [...lines.flatMap(({ points }) => points.map(({ y }) => y)), ...Object.values(limits)];
    const most = Math.max(...lines.flatMap(({ points }) => points.map(({ x }) => x)));
    const best = held && limit ? Number(limit.rate.toPrecision(3)) : held;
    return [
      {
        title: "Latency by offered rate",
        x: linearAxis("offered, messages a second", [0, most], whole),
        y: logAxis("latency, ms", values, shortNumber),
        say: (y) => `${shortNumber(y)} ms`,
        lines,
        zones: limit && held ? [{ along: "x", from: limit.low, to: limit.high, text: "95% interval of the limit" }] : [],
        rules: [
          ...Object.entries(limits).map(([name, ms]) => ({
            along: (
              /** @type {const} */
              "y"
            ),
            at: ms,
            text: `${name} ≤ ${shortNumber(ms)} ms`
          })),
          ...best ? [{ along: (
            /** @type {const} */
            "x"
          ), at: best, text: whole(best) }] : []
        ],
        marks: "filled: held; hollow: broken or void"
      }
    ];
  }
  function trendChart(workload, { title, divisor, values, changes }) {
    const runs = Object.keys(values);
    const points = runs.map((name, x) => {
      const y = values[name] / divisor;
      return { x: x + 1, y, name, text: `${name}: ${shortNumber(y)}`, filled: true };
    });
    const starts = [0, ...changes.map(({ run_id: id }) => runs.indexOf(id)), runs.length];
    const medians = changes.length > 0 ? [changes[0].before, ...changes.map(({ after }) => after)] : [];
    const steps = medians.flatMap(
      (median, at) => [starts[at] + 0.5, starts[at + 1] + 0.5].map((x) => {
        return { x, y: median / divisor, name: "", text: "", filled: true };
      })
    );
    return {
      title: `${workload}: ${title}`,
      x: linearAxis(
        "run, in the order of their starts",
        [1, Math.max(runs.length, 2)],
        (x) => Number.isInteger(x) && x > 0 ? `${x}` : ""
      ),
      y: linearAxis(title, withRoom(points.map(({ y }) => y)), shortNumber),
      say: shortNumber,
      lines: [
        { title: "of the run", points },
        ...steps.length > 0 ? [{ title: "median from change to change", points: steps, quiet: true }] : []
      ],
      zones: [],
      rules: changes.map(({ run_id: id, shift }) => ({
        along: "x",
        at: runs.indexOf(id) + 0.5,
        text: signedPercent(shift, 1)
      })),
      marks: "",
      small: true
    };
  }
  function withRoom(values) {
    const middle = [...values].sort((one, two) => one - two)[Math.floor(values.length / 2)];
    return [...values, middle * 0.9, middle * 1.1];
  }
  function shortNumber(value) {
    return value !== 0 && Math.abs(value) < 1e3 ? `${Number(value.toPrecision(4))}` : whole(value);
  }
  function signedPercent(value, digits) {
    const text = digits === void 0 ? `${Number((100 * value).toFixed(4))}` : (100 * value).toFixed(digits);
    return `${value > 0 && Number(text) > 0 ? "+" : ""}${text.replace("-", "−")}%`;
  }
  function percent(value) {
    return `${Number((100 * value).toFixed(2))}%`;
  }

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
  function show(element, shown) {
    if (element.hidden === shown) element.hidden = !shown;
  }
  function table({ caption, columns, quiet = false }) {
    const units = columns.map(({ unit = "" }) => h("span.unit", {}, unit));
    const head = h(
      "tr",
      {},
      columns.map(({ title, numeric }, at) => h(numeric ? "th.number" : "th", { scope: "col" }, title, " ", units[at]))
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
  var SCRATCH = new Float64Array(SLOTS);
  var NO_INDICES = new Int32Array(0);
  var NO_NUMBERS = new Float64Array(0);

  // src/textfiles.js
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
  function colour(name) {
    const known = colours.get(name);
    if (known !== void 0) return known;
    const found = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    colours.set(name, found);
    return found;
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

  // src/charts/plot.js
  function axisFont(size = 11) {
    return `${size}px ${colour("--font")}`;
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
    showTable(shown) {
      this.tabled = shown;
      show(this.twin, shown);
      show(this.plot, !shown);
      setText(this.toggle, shown ? "chart" : "table");
      setAttribute(this.toggle, "aria-label", `${this.title} as a ${shown ? "chart" : "table"}`);
      if (shown) this.#fill();
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

  // src/charts/pointchart.js
  var LINES = [
    { colour: "--p50", width: 2 },
    { colour: "--p99", width: 2, dash: [7, 3] },
    { colour: "--p999", width: 2, dash: [2, 3] }
  ];
  var QUIET = { colour: "--p99", width: 2, dash: [7, 3] };
  var MARGIN = { left: 58, right: 26, top: 26, bottom: 40 };
  var REACH = 28;
  var LETTER = 6.6;
  var PointChart = class {
    /** @type {Placed[]} what can be pointed at, from left to right */
    #placed = [];
    /** @type {SVGElement | null} */
    #ring = null;
    #at = -1;
    #width = 0;
    /** @param {ChartFacts} facts */
    constructor(facts) {
      this.facts = facts;
      this.figure = new Figure({
        title: facts.title,
        about: [facts.marks, ...facts.zones.map(({ text }) => `band: ${text}`)].filter(Boolean).join(". "),
        columns: [{ title: facts.x.title }, ...facts.lines.map(({ title }) => ({ title }))]
      });
      this.figure.legend.firstElementChild?.remove();
      if (facts.lines.length > 1) {
        for (const [at, { title, quiet }] of facts.lines.entries()) this.figure.addKey({ title, ...styleOf(at, quiet) });
      }
      this.read = h("p.read", { role: "status" });
      this.figure.plot.before(this.read);
      setAttribute(this.figure.plot, "role", "group");
      setAttribute(this.figure.plot, "tabindex", 0);
      this.figure.plot.addEventListener("keydown", (event) => this.#key(event));
      this.figure.plot.addEventListener("pointermove", (event) => this.#pointed(event));
      this.figure.plot.addEventListener("pointerleave", () => this.#show(-1));
      this.figure.plot.addEventListener("blur", () => this.#show(-1));
      this.figure.describe(
        summaryOf(facts),
        () => this.#rows(),
        () => this.#raw()
      );
      this.height = facts.small ? 200 : 380;
      this.figure.plot.style.setProperty("height", `${this.height}px`);
      new ResizeObserver(() => this.#fit()).observe(this.figure.plot);
      this.element = this.figure.element;
      this.#show(-1);
    }
    #fit() {
      const width = Math.floor(this.figure.plot.clientWidth);
      if (width < 40 || width === this.#width) return;
      this.#width = width;
      this.#draw();
    }
    #draw() {
      const { facts, height } = this;
      const [width, right, bottom] = [this.#width, this.#width - MARGIN.right, height - MARGIN.bottom];
      const root = svg("svg.points", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
      const [x, y] = [this.#place("x"), this.#place("y")];
      for (const { along, from, to } of facts.zones) {
        const box = along === "y" ? { x: MARGIN.left, width: right - MARGIN.left, y: y(to), height: y(from) - y(to) } : { x: x(from), width: x(to) - x(from), y: MARGIN.top, height: bottom - MARGIN.top };
        root.append(svg("rect.zone", box));
      }
      for (const { at, text } of facts.y.ticks) {
        root.append(svg("path.rule", { d: `M${MARGIN.left} ${y(at)}H${right}` }));
        root.append(label(text, MARGIN.left - 8, y(at) + 4, "end"));
      }
      for (const { at, text } of apart(facts.x, x)) root.append(label(text, x(at), bottom + 16, "middle"));
      root.append(svg("path.axis", { d: `M${MARGIN.left} ${MARGIN.top}V${bottom}H${right}` }));
      root.append(label(facts.x.title, (MARGIN.left + right) / 2, height - 6, "middle"));
      root.append(label(facts.y.title, 0, 11, "start"));
      for (const { along, at, text } of facts.rules) {
        const d = along === "y" ? `M${MARGIN.left} ${y(at)}H${right}` : `M${x(at)} ${MARGIN.top}V${bottom}`;
        root.append(svg("path.mark", { d }));
        const ends = x(at) - MARGIN.left > text.length * LETTER;
        if (along === "y") root.append(label(text, right - 2, y(at) - 4, "end"));
        else root.append(label(text, x(at) + (ends ? -5 : 5), MARGIN.top + 11, ends ? "end" : "start"));
      }
      this.#placed = facts.lines.flatMap((line, at) => this.#line(root, line, at));
      this.#placed.sort((one, other) => one.left - other.left || one.line - other.line);
      this.#ring = svg("circle.ring", { r: 9, cx: -20, cy: -20 });
      root.append(this.#ring);
      this.figure.plot.replaceChildren(root);
      this.#show(this.#at);
    }
    /**
     * @param {SVGElement} root
     * @param {ChartFacts["lines"][number]} line
     * @param {number} number
     * @returns {Placed[]}
     */
    #line(root, { points, quiet }, number) {
      const [x, y] = [this.#place("x"), this.#place("y")];
      const style = styleOf(number, quiet);
      const group = svg("g");
      group.style.setProperty("color", `var(${style.colour})`);
      const path = points.map((point) => `${x(point.x).toFixed(1)},${y(point.y).toFixed(1)}`).join(" ");
      const dashes = style.dash?.join(" ") ?? null;
      group.append(svg("polyline", { points: path, "stroke-width": style.width, "stroke-dasharray": dashes }));
      root.append(group);
      if (quiet) return [];
      for (const { x: at, low, high } of points) {
        if (low == null || high == null) continue;
        const d = `M${(x(at) - 5).toFixed(1)} ${y(low).toFixed(1)}h10m-5 0V${y(high).toFixed(1)}m-5 0h10`;
        group.append(svg("path.interval", { d }));
      }
      return points.map((point) => {
        const [left, top] = [x(point.x), y(point.y)];
        const d = shape(number, left, top, this.facts.small ? 0.55 : 1);
        group.append(svg(point.filled ? "path.point.filled" : "path.point", { d }));
        return { point, line: number, left, top };
      });
    }
    /** Where a value of an axis is, in pixels. @param {"x" | "y"} along @returns {(value: number) => number} */
    #place(along) {
      const axis = this.facts[along];
      const [from, to] = along === "x" ? [MARGIN.left, this.#width - MARGIN.right] : [this.height - MARGIN.bottom, MARGIN.top];
      return (value) => from + (to - from) * shareOf(axis, value);
    }
    /** @param {KeyboardEvent} event */
    #key(event) {
      const last = this.#placed.length - 1;
      const next = {
        ArrowRight: Math.min(this.#at + 1, last),
        ArrowLeft: this.#at < 0 ? last : Math.max(this.#at - 1, 0),
        Home: 0,
        End: last,
        Escape: -1
      };
      if (!(event.key in next) || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      this.#show(next[event.key]);
    }
    /** The nearest point within reach. @param {PointerEvent} event */
    #pointed({ clientX, clientY }) {
      const { left, top } = this.figure.plot.getBoundingClientRect();
      const away = this.#placed.map((placed) => Math.hypot(placed.left - clientX + left, placed.top - clientY + top));
      const least = Math.min(...away);
      this.#show(least <= REACH ? away.indexOf(least) : -1);
    }
    /** Say the point, and draw a ring around it. @param {number} at -1 for none */
    #show(at) {
      this.#at = at;
      const placed = this.#placed[at];
      const hint = this.facts.small ? "" : "Point at a mark, or focus the chart and use the arrow keys.";
      setText(this.read, placed?.point.text ?? hint);
      this.read.classList.toggle("quiet", !placed);
      setAttribute(this.#ring ?? svg("g"), "cx", placed?.left ?? -20);
      setAttribute(this.#ring ?? svg("g"), "cy", placed?.top ?? -20);
    }
    /** A row for each x, a column for each line. */
    #rows() {
      const { say } = this.facts;
      return this.#found().map(({ name, points }) => [
        name,
        ...points.map((found) => {
          if (!found) return "–";
          const { y, low, high } = found;
          return low == null || high == null ? say(y) : `${say(y)} (${say(low)} to ${say(high)})`;
        })
      ]);
    }
    /** The same in plain numbers, each with the ends of its interval; shifts are shares. */
    #raw() {
      const { x, y, lines } = this.facts;
      const titles = lines.flatMap(({ title }) => [title, `${title}, low`, `${title}, high`]);
      return [
        [x.title, ...titles.map((title) => `${title}, ${y.title}`)],
        ...this.#found().map(({ name, points }) => [
          name,
          ...points.flatMap((found) => [found?.y ?? null, found?.low ?? null, found?.high ?? null])
        ])
      ];
    }
    /** The points of each x by their name, those of a quiet line by what it is there. */
    #found() {
      const { lines } = this.facts;
      const loud = lines.filter(({ quiet }) => !quiet).flatMap(({ points }) => points);
      return [...new Map(loud.map(({ name, x }) => [name, x]))].map(([name, x]) => ({
        name,
        points: lines.map(
          ({ quiet, points }) => quiet ? points.findLast((point) => point.x <= x) : points.find((point) => point.name === name)
        )
      }));
    }
  };
  function styleOf(at, quiet) {
    return quiet ? QUIET : LINES[at % LINES.length];
  }
  function summaryOf({ lines, rules }) {
    const points = lines.filter(({ quiet }) => !quiet).flatMap((line) => line.points);
    const filled2 = points.filter((point) => point.filled && point.text);
    const marked = rules.map(({ text }) => text).join(", ");
    if (points.length === filled2.length) return `${points.length} points${marked && `; marked: ${marked}`}.`;
    return `${filled2.length} of ${points.length} points are filled${marked && `; marked: ${marked}`}.`;
  }
  function shape(number, left, top, size) {
    const at = `M${left.toFixed(1)} ${top.toFixed(1)}`;
    const [radius, side] = [4.5 * size, 8.4 * size];
    if (number % 3 === 0) {
      return `${at}m${-radius} 0a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0z`;
    }
    if (number % 3 === 1) return `${at}m${-side / 2} ${-side / 2}h${side}v${side}h${-side}z`;
    return `${at}m0 ${-5.4 * size}l${5.2 * size} ${9 * size}h${-10.4 * size}z`;
  }
  function label(text, x, y, anchor) {
    return svg("text", { x: x.toFixed(1), y: y.toFixed(1), "text-anchor": anchor }, text);
  }
  function apart({ ticks }, place) {
    const longest = Math.max(...ticks.map(({ text }) => text.length)) * LETTER + 8;
    const room = ticks.length > 1 ? Math.abs(place(ticks[1].at) - place(ticks[0].at)) : longest;
    const every = Math.max(1, Math.ceil(longest / Math.max(1, room)));
    return ticks.filter((_tick, at) => at % every === 0);
  }

  // src/comparison.js
  var PARTS_FIRST = 2;
  var SMALL = ["div.full", "div.half", "div.third"];
  function build({ page, tones, document: given }) {
    const { verdict, headline, parts } = page;
    document.title = verdict ? `${verdict}: ${headline}` : headline;
    const charts = chartsOf(given).map((facts) => ({ facts, element: new PointChart(facts).element }));
    const small = SMALL[Math.min(charts.length, SMALL.length) - 1];
    const drawn = parts.map((part) => partOf(part, tones));
    document.body.append(
      h(
        "header.report-head",
        {},
        h(
          "div.tools",
          {},
          charts.length > 0 && h("button.quiet", { type: "button", on: { click: () => toggleAllTables() } }, "charts / tables"),
          h("button.quiet", { type: "button", on: { click: () => toggleTheme() } }, "light / dark")
        ),
        h("h1", {}, verdict && h("span.verdict", { "data-tone": tones[verdict] ?? "plain" }, verdict), ` ${headline}`)
      ),
      h(
        "main",
        {},
        drawn.slice(0, PARTS_FIRST),
        charts.length > 0 && h(
          "div.grid",
          {},
          charts.map(({ facts, element }) => h(facts.small ? small : "div.full", {}, element))
        ),
        drawn.slice(PARTS_FIRST)
      )
    );
  }
  function partOf(part, tones) {
    if ("sentences" in part) {
      return h(
        "ul.report-list",
        {},
        part.sentences.map((sentence) => h("li", {}, sentence))
      );
    }
    const { title, head, rows, text_columns: texts } = part;
    const made = table({
      caption: title || "Figures",
      columns: head.map((name, at) => ({ title: name, numeric: at >= texts })),
      quiet: !title
    });
    made.setRows(rows);
    for (const cell of made.element.querySelectorAll("tbody th, tbody td")) {
      const tone = tones[cell.textContent];
      if (tone) cell.setAttribute("data-tone", tone);
    }
    return made.element;
  }
  startTheme();
  build(JSON.parse(document.getElementById("report-data")?.textContent ?? ""));
})();

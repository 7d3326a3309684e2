/** Points with intervals, joined by lines, over two axes of any kind; as SVG, so that each point can be named. */

import { Figure } from "./figure.js";
import { shareOf } from "../axes.js";
import { h, setAttribute, setText, svg } from "../dom.js";

/** @import {Axis, ChartFacts, ChartPoint} from "../facts-types.js" */
/** @import {Line} from "../types.js" */

/** @typedef {{point: ChartPoint, line: number, left: number, top: number}} Placed */

// Told apart without colour, too: by dashes and by the shape of the points.
const LINES = [
  { colour: "--p50", width: 2 },
  { colour: "--p99", width: 2, dash: [7, 3] },
  { colour: "--p999", width: 2, dash: [2, 3] },
];
const QUIET = { colour: "--p99", width: 2, dash: [7, 3] };
const MARGIN = { left: 58, right: 26, top: 26, bottom: 40 };
const REACH = 28;
const LETTER = 6.6;

export class PointChart {
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
      columns: [{ title: facts.x.title }, ...facts.lines.map(({ title }) => ({ title }))],
    });
    this.figure.legend.firstElementChild?.remove(); // no time is pointed at here
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
      () => this.#raw(),
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
      const box =
        along === "y"
          ? { x: MARGIN.left, width: right - MARGIN.left, y: y(to), height: y(from) - y(to) }
          : { x: x(from), width: x(to) - x(from), y: MARGIN.top, height: bottom - MARGIN.top };
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
    const [from, to] =
      along === "x" ? [MARGIN.left, this.#width - MARGIN.right] : [this.height - MARGIN.bottom, MARGIN.top];
    return (value) => from + (to - from) * shareOf(axis, value);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const last = this.#placed.length - 1;
    /** @type {Record<string, number>} */
    const next = {
      ArrowRight: Math.min(this.#at + 1, last),
      ArrowLeft: this.#at < 0 ? last : Math.max(this.#at - 1, 0),
      Home: 0,
      End: last,
      Escape: -1,
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
      }),
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
        ...points.flatMap((found) => [found?.y ?? null, found?.low ?? null, found?.high ?? null]),
      ]),
    ];
  }

  /** The points of each x by their name, those of a quiet line by what it is there. */
  #found() {
    const { lines } = this.facts;
    const loud = lines.filter(({ quiet }) => !quiet).flatMap(({ points }) => points);
    return [...new Map(loud.map(({ name, x }) => [name, x]))].map(([name, x]) => ({
      name,
      points: lines.map(({ quiet, points }) =>
        quiet ? points.findLast((point) => point.x <= x) : points.find((point) => point.name === name),
      ),
    }));
  }
}

/** @param {number} at @param {boolean | undefined} quiet @returns {Omit<Line, "title">} */
function styleOf(at, quiet) {
  return quiet ? QUIET : LINES[at % LINES.length];
}

/** @param {ChartFacts} facts */
function summaryOf({ lines, rules }) {
  const points = lines.filter(({ quiet }) => !quiet).flatMap((line) => line.points);
  const filled = points.filter((point) => point.filled && point.text);
  const marked = rules.map(({ text }) => text).join(", ");
  if (points.length === filled.length) return `${points.length} points${marked && `; marked: ${marked}`}.`;
  return `${filled.length} of ${points.length} points are filled${marked && `; marked: ${marked}`}.`;
}

/**
 * A circle, a square or a triangle.
 * @param {number} number
 * @param {number} left
 * @param {number} top
 * @param {number} size
 */
function shape(number, left, top, size) {
  const at = `M${left.toFixed(1)} ${top.toFixed(1)}`;
  const [radius, side] = [4.5 * size, 8.4 * size];
  if (number % 3 === 0) {
    return `${at}m${-radius} 0a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0z`;
  }
  if (number % 3 === 1) return `${at}m${-side / 2} ${-side / 2}h${side}v${side}h${-side}z`;
  return `${at}m0 ${-5.4 * size}l${5.2 * size} ${9 * size}h${-10.4 * size}z`;
}

/** @param {string} text @param {number} x @param {number} y @param {"start" | "middle" | "end"} anchor */
function label(text, x, y, anchor) {
  return svg("text", { x: x.toFixed(1), y: y.toFixed(1), "text-anchor": anchor }, text);
}

/**
 * The ticks whose words do not run into each other: all, or each second one, third one and so on.
 * @param {Axis} axis
 * @param {(value: number) => number} place
 */
function apart({ ticks }, place) {
  const longest = Math.max(...ticks.map(({ text }) => text.length)) * LETTER + 8;
  const room = ticks.length > 1 ? Math.abs(place(ticks[1].at) - place(ticks[0].at)) : longest;
  const every = Math.max(1, Math.ceil(longest / Math.max(1, room)));
  return ticks.filter((_tick, at) => at % every === 0);
}

/** A row of key figures: name, figure, unit, and what stands below it. */

import { h, setText, show } from "../dom.js";

/** @typedef {{value: string, unit?: string, sub?: string, small?: boolean}} KeyFigure */

/**
 * @param {string[]} names
 * @returns {{element: HTMLElement, set: (values: (KeyFigure | null)[]) => void}} set: a figure that is null is not shown
 */
export function keyFigures(names) {
  const parts = names.map((name) => ({
    name: h("dt", {}, name),
    value: h("b"),
    unit: h("span.unit"),
    sub: h("span.sub"),
  }));
  const groups = parts.map(({ name, value, unit, sub }) => h("div", {}, name, h("dd", {}, value, " ", unit, sub)));
  return {
    element: h("dl.figures", {}, groups),
    set: (values) =>
      values.forEach((figure, at) => {
        show(groups[at], figure !== null);
        const { value, unit = "", sub = "", small = false } = figure ?? { value: "" };
        setText(parts[at].value, value);
        setText(parts[at].unit, unit);
        setText(parts[at].sub, sub);
        groups[at].classList.toggle("small", small);
      }),
  };
}

/** A latency apart from its unit, for a key figure. @param {string} text as "12.3 ms" */
export function apart(text) {
  const [value, unit = ""] = text.split(" ");
  return { value, unit };
}

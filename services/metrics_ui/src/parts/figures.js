/** A row of key figures: name, figure, unit, and what stands below it. */

import { signedPercent } from "../chartfacts.js";
import { h, setText, show } from "../dom.js";

/** @typedef {{value: string, unit?: string, sub?: string, small?: boolean, number?: number | null}} KeyFigure
 *   number: the figure, to be compared with the same one of another run; none if it is no figure. */

/**
 * @param {string[]} names
 * @returns {{element: HTMLElement, set: (values: (KeyFigure | null)[], pinned?: (KeyFigure | null)[]) => void}} set: a
 *   figure that is null is not shown; pinned: those of another run, from which the distance is shown
 */
export function keyFigures(names) {
  const parts = names.map((name) => ({
    name: h("dt", {}, name),
    value: h("b"),
    unit: h("span.unit"),
    sub: h("span.sub"),
    delta: h("span.delta"),
  }));
  const groups = parts.map(({ name, value, unit, sub, delta }) =>
    h("div", {}, name, h("dd", {}, value, " ", unit, sub, delta)),
  );
  return {
    element: h("dl.figures", {}, groups),
    set: (values, pinned = []) =>
      values.forEach((figure, at) => {
        show(groups[at], figure !== null);
        const { value, unit = "", sub = "", small = false } = figure ?? { value: "" };
        setText(parts[at].value, value);
        setText(parts[at].unit, unit);
        setText(parts[at].sub, sub);
        setText(parts[at].delta, deltaText(pinned[at]?.number, figure?.number));
        groups[at].classList.toggle("small", small);
      }),
  };
}

/** A latency apart from its unit, for a key figure. @param {string} text as "12.3 ms" */
export function apart(text) {
  const [value, unit = ""] = text.split(" ");
  return { value, unit };
}

/** How far a figure is from the pinned run's; empty where one of them is none. @param {number | null} [pinned] @param {number | null} [number] */
function deltaText(pinned, number) {
  if (pinned == null || number == null || (pinned === 0 && number !== 0)) return "";
  return `${signedPercent(pinned === 0 ? 0 : number / pinned - 1, 1)} vs pinned`;
}

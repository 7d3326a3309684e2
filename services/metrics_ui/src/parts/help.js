/** The help: keys, and what there is to know to read the figures. */

import { h } from "../dom.js";

const KEYS = [
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
  ["Esc", "close it"],
];
const NOTES = [
  "Drag over any chart, or over the strip, to pick a range; double-click for the whole run. Every figure of the page " +
    "is then computed again from the histograms of that range; nothing is averaged.",
  "A percentile is the highest value of its bucket, 0.1% wide at most, and never above the exact maximum. It is shown " +
    "only if at least ten samples lie above it.",
  "An interval's histogram belongs to the range if its middle lies in it; what a counter grew by counts in parts.",
  "Figures are of the measured load: by the receiver's label, or by the time of the phase where there is none. What is " +
    "drawn over time has the warm-up too, shaded.",
];

/** @returns {{element: HTMLDialogElement, open: () => void}} */
export function helpDialog() {
  const close = h("button", { type: "button", on: { click: () => element.close() } }, "close");
  /** @type {HTMLDialogElement} */
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
        KEYS.map(([keys, what]) =>
          h(
            "div",
            {},
            h(
              "dt",
              {},
              keys.split(" ").map((key) => h("kbd", {}, key)),
            ),
            h("dd", {}, what),
          ),
        ),
      ),
      h("h2", {}, "How to read this"),
      h(
        "ul",
        {},
        NOTES.map((text) => h("li", {}, text)),
      ),
      close,
    ),
  );
  return {
    element,
    open: () => {
      if (!element.open) element.showModal();
    },
  };
}

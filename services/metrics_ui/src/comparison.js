/** The page of a command that compares runs: what it says and its tables, and charts of the document that it prints. */

import { chartsOf } from "./chartfacts.js";
import { toggleAllTables } from "./charts/figure.js";
import { PointChart } from "./charts/pointchart.js";
import { h, table } from "./dom.js";
import { startTheme, toggleTheme } from "./theme.js";

/** @import {PageFacts, PagePart} from "./facts-types.js" */

/** After how many parts the charts stand: what was asked comes first, then it is drawn, then the rest. */
const PARTS_FIRST = 2;
/** How wide a small chart is where there are one, two or more charts. */
const SMALL = ["div.full", "div.half", "div.third"];

/** @param {PageFacts} facts */
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
        charts.length > 0 &&
          h("button.quiet", { type: "button", on: { click: () => toggleAllTables() } }, "charts / tables"),
        h("button.quiet", { type: "button", on: { click: () => toggleTheme() } }, "light / dark"),
      ),
      h("h1", {}, verdict && h("span.verdict", { "data-tone": tones[verdict] ?? "plain" }, verdict), ` ${headline}`),
    ),
    h(
      "main",
      {},
      drawn.slice(0, PARTS_FIRST),
      charts.length > 0 &&
        h(
          "div.grid",
          {},
          charts.map(({ facts, element }) => h(facts.small ? small : "div.full", {}, element)),
        ),
      drawn.slice(PARTS_FIRST),
    ),
  );
}

/** @param {PagePart} part @param {Record<string, string>} tones */
function partOf(part, tones) {
  if ("sentences" in part) {
    return h(
      "ul.report-list",
      {},
      part.sentences.map((sentence) => h("li", {}, sentence)),
    );
  }
  const { title, head, rows, text_columns: texts } = part;
  const made = table({
    caption: title || "Figures",
    columns: head.map((name, at) => ({ title: name, numeric: at >= texts })),
    quiet: !title,
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

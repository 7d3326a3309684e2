/** The report of a run: its verdicts, figures, charts and what it was made of, from the data inside the page. */

import { h } from "./dom.js";
import { RunModel } from "./model.js";
import { anomalies, environment, head, marks, verdicts } from "./parts/document.js";
import { fillResultTable } from "./parts/latencies.js";
import { ReportCharts } from "./parts/reportcharts.js";
import { embeddedRun } from "./runfile.js";
import { onTheme, startTheme } from "./theme.js";

/** @import {ReportData, RunData} from "./types.js" */

/** @param {ReportData} facts what the run controller says @param {RunData | null} data what the processes pushed */
function build(facts, data) {
  const model = data && new RunModel({ ...data, notes: [...(data.notes ?? []), ...marks(facts)] });
  const span = model?.span() ?? null;
  document.title = `${facts.result.run_id} – Market Spread`;
  const latencies = h("section");
  fillResultTable(latencies, facts.latencies);
  document.body.append(head(facts), verdicts(facts.result), anomalies(facts), latencies);
  if (model && span) {
    const charts = new ReportCharts(facts, model, span);
    document.body.append(charts.element);
    charts.draw();
    onTheme(() => charts.draw());
  } else {
    document.body.append(h("p.notice", {}, "Nothing was measured: the run ended before anything was pushed."));
  }
  document.body.append(environment(facts));
}

async function start() {
  startTheme();
  build(JSON.parse(document.getElementById("report-data")?.textContent ?? ""), await embeddedRun(document));
}

start();

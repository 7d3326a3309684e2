/** The report of a run: its verdicts, figures, charts and what it was made of, from the data inside the page. */

import { h } from "./dom.js";
import { startKeys } from "./keys.js";
import { RunModel } from "./model.js";
import { anomalies, environment, head, marks, verdicts } from "./parts/document.js";
import { fillResultTable } from "./parts/latencies.js";
import { ReportCharts } from "./parts/reportcharts.js";
import { Why } from "./parts/why.js";
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

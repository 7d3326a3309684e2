// A board's JSON as a Grafana shows it, by Grafana's own packages: scenes, ui and data. `show` is what a test calls.
import "react-grid-layout/css/styles.css";

import { LoadingState, EventBusSrv, ThemeContext } from "@grafana/data";
import { initPluginTranslations } from "@grafana/i18n";
import { config, setAppEvents, setPluginImportUtils, setRunRequest } from "@grafana/runtime";
import {
  EmbeddedScene,
  QueryVariable,
  SceneDataTransformer,
  SceneGridItem,
  SceneGridLayout,
  SceneGridRow,
  SceneQueryRunner,
  SceneTimeRange,
  SceneVariableSet,
  TextBoxVariable,
  VariableValueSelectors,
  VizPanel,
  registerRuntimeDataSource,
  sceneGraph,
} from "@grafana/scenes";
import { GlobalStyles, PortalContainer } from "@grafana/ui";
import React from "react";
import { createRoot } from "react-dom/client";
import { MemoryRouter } from "react-router-dom";
import { from, map, startWith, catchError, of } from "rxjs";

import { pluginImports } from "./panels.jsx";
import { Prometheus } from "./prometheus.js";
import { registerAll } from "./registries.js";

const SOURCE = { type: "prometheus", uid: "of-the-test" };

// What a Grafana does with the answer of a data source: PanelData, which says how far it is.
function runRequest(source, request) {
  const data = { state: LoadingState.Loading, series: [], annotations: [], request, timeRange: request.range };
  return from(source.query(request)).pipe(
    map((answer) => ({ ...data, state: LoadingState.Done, series: answer.data })),
    catchError((error) => of({ ...data, state: LoadingState.Error, errors: [{ message: error.message }] })),
    startWith(data),
  );
}

function sceneOf(board, range, values) {
  return new EmbeddedScene({
    $timeRange: new SceneTimeRange({ from: range.from, to: range.to, timeZone: "utc" }),
    $variables: new SceneVariableSet({ variables: board.templating.list.flatMap((said) => variableOf(said, values)) }),
    controls: [new VariableValueSelectors({})],
    body: new SceneGridLayout({ isLazy: false, children: [...placed(board.panels)] }),
  });
}

function variableOf(said, values) {
  const { name, label } = said;
  if (said.type === "textbox") return [new TextBoxVariable({ name, label, value: said.current.value })];
  if (said.type !== "query") return []; // the data source: there is one
  return [
    new QueryVariable({
      name,
      label,
      datasource: SOURCE,
      query: said.query,
      isMulti: said.multi,
      includeAll: said.includeAll,
      allValue: said.allValue,
      sort: said.sort,
      refresh: said.refresh,
      ...(said.includeAll ? { value: ["$__all"], text: ["All"] } : { value: values[name] ?? "" }),
    }),
  ];
}

// Panels where a Grafana has them, with all rows unfolded: what is in a folded one says its place from the row on.
function* placed(panels) {
  let down = 0;
  for (const [number, panel] of panels.entries()) {
    const { x, y, w, h } = panel.gridPos;
    if (panel.type !== "row") {
      yield new SceneGridItem({ x, y: y + down, width: w, height: h, body: panelOf(panel, `panel-${number}`) });
      continue;
    }
    const children = panel.panels.map((inside, place) => {
      const { x, y, w, h } = inside.gridPos;
      return new SceneGridItem({
        x,
        y: y + down,
        width: w,
        height: h,
        body: panelOf(inside, `panel-${number}-${place}`),
      });
    });
    yield new SceneGridRow({ title: panel.title, y: y + down, isCollapsed: false, children });
    if (panel.panels.length) down += Math.max(...panel.panels.map(({ gridPos }) => gridPos.y + gridPos.h)) - (y + 1);
  }
}

function panelOf(panel, key) {
  return new VizPanel({
    key,
    pluginId: panel.type,
    title: panel.title,
    description: panel.description,
    options: panel.options,
    fieldConfig: panel.fieldConfig,
    $data: dataOf(panel),
  });
}

function dataOf(panel) {
  const queries = new SceneQueryRunner({
    datasource: SOURCE,
    queries: (panel.targets ?? alertsOf(panel)).map((target) => ({ ...target, datasource: SOURCE })),
    maxDataPointsFromWidth: true,
  });
  const { transformations = [] } = panel;
  return transformations.length ? new SceneDataTransformer({ $data: queries, transformations }) : queries;
}

function alertsOf(panel) {
  const filter = panel.options.alertInstanceLabelFilter;
  return [{ refId: "A", expr: `ALERTS${filter}`, instant: true, interval: "5s", legendFormat: "{{alertname}}" }];
}

function Board({ scene }) {
  return (
    <ThemeContext.Provider value={config.theme2}>
      <GlobalStyles />
      <MemoryRouter>
        <scene.Component model={scene} />
      </MemoryRouter>
      <PortalContainer />
    </ThemeContext.Provider>
  );
}

// What became of each panel: what its scene says of it, and what stands on the page.
function outcomes(scene) {
  return sceneGraph
    .findAllObjects(scene, (each) => each instanceof VizPanel)
    .map((panel) => {
      const { key, title, pluginId, _pluginLoadError } = panel.state;
      const { data } = sceneGraph.getData(panel).state;
      const shown = document.querySelector(`[data-viz-panel-key="${key}"]`);
      return {
        title,
        type: pluginId,
        state: data?.state ?? "NotStarted",
        errors: [_pluginLoadError, ...(data?.errors ?? []).map(({ message }) => message)].filter(Boolean),
        ...(shown ? lookOf(shown) : {}),
      };
    });
}

function lookOf(shown) {
  const texts = (selector) => [...shown.querySelectorAll(selector)].map((element) => element.innerText);
  const heat = shown.querySelector("[data-columns]")?.dataset;
  return {
    nothing: texts("[data-no-data]"),
    legend: [...shown.querySelectorAll("tbody tr")].map((row) =>
      [...row.querySelectorAll("td")].map((cell) => cell.innerText.trim()),
    ),
    figures: texts("[data-figure]"),
    alerts: texts("[data-alerts] li"),
    cells: [...shown.querySelectorAll('[role="row"]')].map((row) =>
      [...row.querySelectorAll('[role="columnheader"], [role="gridcell"]')].map((cell) => cell.textContent.trim()),
    ),
    heat: heat && { columns: Number(heat.columns), most: Number(shown.querySelector("[data-most]")?.dataset.most) },
    ink: [...shown.querySelectorAll("canvas")].map(inkOf),
  };
}

// How many pixels of a canvas have a colour, which lines and cells have, and axes and their text have not.
function inkOf(canvas) {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let ink = 0;
  for (let at = 0; at < data.length; at += 4) {
    const [red, green, blue] = data.subarray(at, at + 3);
    if (data[at + 3] && Math.max(red, green, blue) - Math.min(red, green, blue) > 40) ink += 1;
  }
  return ink;
}

let scene;

window.show = async (board, { url, from: begin, to, values }) => {
  await initPluginTranslations("grafana-scenes", []);
  registerAll();
  setAppEvents(new EventBusSrv());
  setRunRequest(runRequest);
  setPluginImportUtils(pluginImports);
  registerRuntimeDataSource({ dataSource: new Prometheus(url, SOURCE.uid) });
  scene = sceneOf(board, { from: begin, to }, values);
  createRoot(document.getElementById("board")).render(<Board scene={scene} />);
};
window.outcomes = () => outcomes(scene);

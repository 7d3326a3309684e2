// Grafana's panels, of the components that Grafana's are made of. What only its own repository has is drawn here: the
// heat map, on Grafana's uPlot, and the list of alerts.
import {
  FieldColorModeId,
  FieldConfigProperty,
  FieldType,
  PanelPlugin,
  cacheFieldDisplayNames,
  getDisplayValueAlignmentFactors,
  getFieldDisplayValues,
  identityOverrideProcessor,
} from "@grafana/data";
import { BigValue, TimeSeries, VizRepeater, useTheme2 } from "@grafana/ui";
import { TableNG } from "@grafana/ui/unstable";
import React from "react";

import { HeatMap } from "./heatmap.jsx";

// Defaults of Grafana's time series, which a dashboard's JSON leaves out.
const LINES = {
  drawStyle: "line",
  lineInterpolation: "linear",
  barAlignment: 0,
  lineWidth: 1,
  fillOpacity: 0,
  gradientMode: "none",
  spanNulls: false,
  showPoints: "auto",
  pointSize: 5,
  stacking: { mode: "none", group: "A" },
  axisPlacement: "auto",
  axisGridShow: true,
  axisColorMode: "text",
  axisBorderShow: false,
  scaleDistribution: { type: "linear" },
  axisCenteredZero: false,
  hideFrom: { tooltip: false, viz: false, legend: false },
  thresholdsStyle: { mode: "off" },
};
const CELLS = { align: "auto", cellOptions: { type: "auto" }, inspect: false, footer: { reducers: [] } };

const nothing = () => null;

function plugin(id, panel, custom = {}, color = FieldColorModeId.Thresholds) {
  const made = new PanelPlugin(panel).useFieldConfig({
    standardOptions: { [FieldConfigProperty.Color]: { defaultValue: { mode: color }, settings: {} } },
    useCustomConfig: (builder) => {
      for (const [path, defaultValue] of Object.entries(custom)) {
        builder.addCustomEditor({
          id: path,
          path,
          name: path,
          defaultValue,
          editor: nothing,
          override: nothing,
          process: identityOverrideProcessor,
          shouldApply: () => true,
        });
      }
    },
  });
  made.meta = {
    id,
    name: id,
    module: id,
    baseUrl: "",
    type: "panel",
    info: { logos: {}, author: {}, links: [], screenshots: [] },
  };
  return made;
}

function NoData({ fieldConfig }) {
  return <div data-no-data>{fieldConfig.defaults.noValue ?? "No data"}</div>;
}

function isEmpty(data) {
  return !data.series.some(
    (frame) => frame.length > 0 && frame.fields.some((field) => field.type === FieldType.number),
  );
}

function Lines({ data, timeRange, timeZone, width, height, options, fieldConfig }) {
  if (isEmpty(data)) return <NoData fieldConfig={fieldConfig} />;
  return (
    <TimeSeries
      frames={data.series}
      structureRev={data.structureRev}
      timeRange={timeRange}
      timeZone={timeZone}
      width={width}
      height={height}
      legend={{ calcs: [], displayMode: "list", placement: "bottom", ...options.legend }}
      options={options}
    />
  );
}

function Figures({ data, timeZone, width, height, options, fieldConfig, replaceVariables, renderCounter }) {
  const theme = useTheme2();
  if (isEmpty(data)) return <NoData fieldConfig={fieldConfig} />;
  const values = () =>
    getFieldDisplayValues({
      fieldConfig,
      reduceOptions: options.reduceOptions,
      replaceVariables,
      theme,
      data: data.series,
      sparkline: options.graphMode !== "none",
      timeZone,
    });
  const figure = ({ value, width, height, count, alignmentFactors }) => (
    <div data-figure>
      <BigValue
        value={value.display}
        sparkline={value.sparkline}
        count={count}
        colorMode={options.colorMode}
        graphMode={options.graphMode}
        justifyMode={options.justifyMode}
        textMode={options.textMode}
        alignmentFactors={alignmentFactors}
        disableWideLayout={!options.wideLayout}
        percentChangeColorMode={options.percentChangeColorMode}
        width={width}
        height={height}
        theme={theme}
      />
    </div>
  );
  return (
    <VizRepeater
      getValues={values}
      getAlignmentFactors={getDisplayValueAlignmentFactors}
      renderValue={figure}
      width={width}
      height={height}
      source={data}
      itemSpacing={3}
      renderCounter={renderCounter}
      autoGrid
      orientation={options.orientation}
    />
  );
}

function Rows({ data, timeRange, width, height, options, fieldConfig }) {
  cacheFieldDisplayNames(data.series);
  const frame = data.series[0];
  if (!frame?.length) return <NoData fieldConfig={fieldConfig} />;
  return (
    <TableNG
      data={frame}
      width={width}
      height={height}
      noHeader={!options.showHeader}
      cellHeight={options.cellHeight}
      sortBy={options.sortBy}
      structureRev={data.structureRev}
      timeRange={timeRange}
      fieldConfig={fieldConfig}
      disableKeyboardEvents
      getActions={() => []}
    />
  );
}

// A Grafana asks its rules for them; here they are what Prometheus recorded of them, at the end of the range.
function Alerts({ data }) {
  const shown = data.series.map((frame) => frame.fields[1].labels);
  if (!shown.length) return <div data-alerts>No alerts matching filters</div>;
  return (
    <ul data-alerts>
      {shown.map((labels) => (
        <li key={JSON.stringify(labels)}>
          {labels.alertname} <small>{labels.alertstate}</small>
        </li>
      ))}
    </ul>
  );
}

const PLUGINS = Object.fromEntries(
  [
    plugin("timeseries", Lines, LINES, FieldColorModeId.PaletteClassic),
    plugin("stat", Figures),
    plugin("table", Rows, CELLS),
    plugin("heatmap", HeatMap),
    plugin("alertlist", Alerts),
  ].map((each) => [each.meta.id, each]),
);

export const pluginImports = {
  getPanelPluginFromCache: (id) => PLUGINS[id],
  importPanelPlugin: (id) =>
    PLUGINS[id] ? Promise.resolve(PLUGINS[id]) : Promise.reject(new Error(`Panel plugin not found: ${id}`)),
};

// A heat map as a board's options say it: a column for each step, a row for each bucket, coloured by its count.
import { FieldType, formattedValueToString, getValueFormat } from "@grafana/data";
import { UPlotChart, UPlotConfigBuilder, useTheme2 } from "@grafana/ui";
import * as schemes from "d3-scale-chromatic";
import React from "react";

const LEGEND_PX = 26;
const EDGES_MAX = 9;

export function HeatMap({ data, timeRange, timeZone, width, height, options }) {
  const theme = useTheme2();
  const frame = data.series[0];
  const chart = React.useMemo(
    () => frame && chartOf(frame, timeRange, timeZone, options, theme),
    [frame, timeRange, timeZone, options, theme],
  );
  if (!chart || !chart.max) return <div data-no-data>No data</div>;
  return (
    <div data-buckets={chart.buckets} data-columns={chart.columns}>
      <UPlotChart width={width} height={height - LEGEND_PX} config={chart.builder} data={chart.data} />
      {options.legend.show && <Legend max={chart.max} colors={chart.colors} />}
    </div>
  );
}

function chartOf(frame, timeRange, timeZone, options, theme) {
  const times = frame.fields[0].values;
  const rows = frame.fields.filter((field) => field.type === FieldType.number);
  const counts = rows.map((row) => row.values.map((count) => (count > options.filterValues.le ? count : null)));
  const stepMs = frame.fields[0].config.interval;
  const max = Math.max(...counts.flat());
  const colors = colorsOf(options.color);
  const format = getValueFormat(options.yAxis.unit);
  const used = rows.map((_, row) => counts[row].some((count) => count !== null));
  const [first, last] = [used.indexOf(true), used.lastIndexOf(true)];
  const builder = new UPlotConfigBuilder(timeZone);
  builder.addScale({ scaleKey: "x", isTime: true, orientation: 0, direction: 1, range: () => rangeOf(timeRange) });
  builder.addScale({ scaleKey: "y", orientation: 1, direction: 1, range: () => [Math.max(0, first - 1), last + 2] });
  builder.addAxis({ scaleKey: "x", isTime: true, placement: "bottom", timeZone, theme });
  builder.addAxis({
    scaleKey: "y",
    placement: "left",
    theme,
    splits: () => edgesOf(first, last),
    formatValue: (edge) => textOf(rows[edge - 1].name, format),
  });
  builder.addSeries({ scaleKey: "y", pathBuilder: () => null, pointsBuilder: () => null, theme, show: true });
  builder.addHook("draw", (plot) => {
    const { ctx } = plot;
    for (const [row, values] of counts.entries()) {
      const top = plot.valToPos(row + 1, "y", true) + options.cellGap;
      const bottom = plot.valToPos(row, "y", true);
      for (const [column, count] of values.entries()) {
        if (count === null) continue;
        const left = plot.valToPos(times[column] - stepMs, "x", true) + options.cellGap;
        const right = plot.valToPos(times[column], "x", true);
        if (right <= plot.bbox.left) continue;
        ctx.fillStyle = colorOf(count, max, colors);
        ctx.fillRect(Math.max(left, plot.bbox.left), top, right - Math.max(left, plot.bbox.left), bottom - top);
      }
    }
  });
  return {
    builder,
    max,
    colors,
    data: [times, times.map(() => null)],
    buckets: last - first + 1,
    columns: times.length,
  };
}

// The upper edges of buckets that fit beside the axis.
function edgesOf(first, last) {
  const every = Math.ceil((last - first + 1) / EDGES_MAX);
  return Array.from({ length: EDGES_MAX }, (_, place) => first + 1 + place * every).filter((edge) => edge <= last + 1);
}

function rangeOf(timeRange) {
  return [timeRange.from.valueOf(), timeRange.to.valueOf()];
}

function textOf(le, format) {
  return le === "+Inf" ? le : formattedValueToString(format(Number(le)));
}

function colorsOf({ scheme, steps }) {
  const scale = schemes[`interpolate${scheme}`];
  return Array.from({ length: steps }, (_, step) => scale(step / (steps - 1)));
}

function colorOf(count, max, colors) {
  return colors[Math.min(colors.length - 1, Math.floor((count / max) * colors.length))];
}

function Legend({ max, colors }) {
  return (
    <div style={{ display: "flex", gap: 8, justifyContent: "center", alignItems: "center", fontSize: 11 }}>
      <span>0</span>
      <div style={{ width: 160, height: 8, background: `linear-gradient(90deg, ${colors.join(",")})` }} />
      <span data-most={max}>{formattedValueToString(getValueFormat("short")(max))}</span>
    </div>
  );
}

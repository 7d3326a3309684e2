/** What several modules share: the data that the aggregator and the run controller send, and what pages are given. */

import type uPlotClass from "uplot";
import type { Feed } from "./feed.js";
import type { RunModel } from "./model.js";
import type { Pin } from "./pin.js";
import type { Choice } from "./range.js";
import type { Route } from "./router.js";
import type { View } from "./view.js";

export type Plot = uPlotClass;
export type PlotAxis = uPlotClass.Axis;
export type PlotCursor = uPlotClass.Cursor;
export type PlotData = uPlotClass.AlignedData;
export type PlotHooks = uPlotClass.Hooks.Arrays;
export type PlotScale = uPlotClass.Scale;

export type Labels = Record<string, string>;
/** A part of a run, Unix milliseconds. */
export interface Part {
  from: number;
  to: number;
}
/** One bin with a figure; null where it is not known. */
export interface ValueBin extends Part {
  value: number | null;
}

// What the aggregator sends: /api/v1/runs, /api/v1/runs/{run_id}/data, and the stream of events. All times are Unix ms.

/** Start, end, and what a counter grew by or a gauge was at the end. */
export type PointRow = [start: number, end: number, value: number];
/** Count, sum, minimum, maximum, overflow, negative, counts; latencies in us. */
export type TotalRow = [number, number, number, number, number, number, string];
/** Start, end, and then as a total. */
export type SlotRow = [start: number, end: number, ...TotalRow];

export interface NumberSeriesData {
  name: string;
  kind: "counter" | "gauge";
  labels: Labels;
  total: number;
  intervals?: PointRow[];
}
export interface HistogramSeriesData {
  name: string;
  kind: "histogram";
  labels: Labels;
  total?: TotalRow | null;
  intervals?: SlotRow[];
}
export type SeriesData = NumberSeriesData | HistogramSeriesData;

/** What is known of a start of a process. */
export interface SourceData {
  source: string;
  epoch_unix_ms: number;
  /** As an older aggregator has it. */
  epoch_unix_ns?: number;
  end_unix_ms: number;
  pushes: number;
  duplicates: number;
  missing: number;
  pushes_dropped: number;
  clock_error_us: number;
  clock_synchronised: boolean;
  host: string;
}

/** What the run controller judges by; what it has not said is not there. */
export interface Limits {
  late_us?: number;
  late_share_max?: number;
  settle_us?: number;
  stall_us?: number;
  /** By the name of the percentile. */
  latency_us_max?: Record<string, number>;
  clusters_min?: number;
  missing_share_max?: number;
}

export interface FailedCheck {
  check: string;
  text: string;
  /** Whose doing it is: "system", "rig", or empty. */
  cause: string;
}

/** What a verdict is made of. */
export interface JudgedData {
  from_unix_ms: number;
  to_unix_ms: number;
  series: { name: string; labels: Labels; total: TotalRow; too_few?: Record<string, number> }[];
  /** Titles of columns, then a row each. */
  rows?: string[][];
}

export interface Note {
  unix_ms: number;
  /** "phase", "result", "verdict", "limits", "plan", "system", "event"; of a report "boundary" and "gc", too. */
  kind: string;
  name: string;
  text: string;
  limits?: Limits;
  /** Of a plan: how long phases are to last, by their names. */
  phases_ms?: Record<string, number>;
  /** Of a verdict, with its cause in words. */
  outcome?: string;
  failed?: FailedCheck[];
  judged?: JudgedData;
}

/** The aggregator about itself, by name; empty in a report. */
export type AggregatorData = Record<string, number>;

export interface RunData {
  format: number;
  run_id: string;
  title?: string;
  live?: boolean;
  phase?: string;
  verdict?: string;
  tick?: number;
  generated_unix_ms: number;
  range?: { from_unix_ms: number; to_unix_ms: number };
  sources?: SourceData[];
  aggregator?: AggregatorData;
  notes?: Note[];
  metrics?: Record<string, { kind: string; meaning: string; labels: string[] }>;
  series?: SeriesData[];
}

/** What is new since the tick before. */
export interface TickData {
  tick: number;
  now_unix_ms: number;
  live?: boolean;
  phase?: string;
  title?: string;
  series?: SeriesData[];
  notes?: Note[];
  sources?: SourceData[];
  aggregator?: AggregatorData;
}

/** A run in the list of runs. */
export interface RunHead {
  run_id: string;
  title: string;
  phase: string;
  verdict: string;
  /** The verdict with its cause in words. */
  outcome: string;
  live: boolean;
  /** Whether it is out of a file. */
  file?: boolean;
  begin_unix_ms?: number;
  end_unix_ms?: number;
  /** What its result says, by paths; null for what is not known. A sparkline is of equal parts of the run. */
  figures?: Record<string, number | (number | null)[] | null>;
}

/** What the run controller left beside a run's log: as far as it is there. */
export interface Documents {
  result?: Facts;
  manifest?: { sections?: Facts };
}

// What the run controller puts into a report.

export interface ResultData {
  run_id: string;
  workload: string;
  started: string;
  mode: string;
  verdict: string;
  verdicts: Record<string, Verdict>;
  reasons: string[];
  settings: Facts;
  manifest_sha256: string | null;
  offered_rate_per_s: number;
  achieved_rate_per_s: number;
  duration_s: number;
  cpu_us_per_message: number | null;
  backlog: { messages_max: number };
  latency_ns: Record<string, number | null>;
  latency_samples: number;
  self_test: { fits: boolean; text: string } | null;
  latency_between_boundaries_ns?: Record<string, number | null>;
  boundaries?: number;
  machine?: { cores?: number | null };
  /** By their begin; not there in results of older versions. */
  planned_faults?: PlannedFaultData[];
  /** Null where no alert was timed; not there in results of older versions. */
  causes?: CausesData | null;
}

/** What became of the output; null is what was not seen to happen. */
export interface PlannedFaultData {
  silence_s: number;
  recovered_s: number | null;
  orders: number;
  late: number;
  lost: number;
  doubled: number;
}

// What the slowest orders of a result met. Where a list is sorted, by weight: most or worst first.

/** Whole stages by name, as in the metric's label. */
export type StageShares = Record<string, number>;
export interface CauseData {
  kind: string;
  text: string;
  orders: number;
  share: number;
  stage_shares: StageShares;
  /** What to try first; may be empty. */
  advice: string;
}
export interface SecondData {
  begin_unix_ms: number;
  max_ns: number;
  orders: number;
  kind: string | null;
  text: string;
}
export interface OrderData {
  order_id: number | string;
  symbol: string | null;
  intended_unix_us: number | null;
  sent_unix_us: number | null;
  ingested_unix_us: number | null;
  emitted_unix_us: number | null;
  received_unix_us: number | null;
}
export interface EventData {
  kind: string;
  begin_unix_ms: number;
  duration_ms: number;
  /** Whether it is only known that it was within that time, not how long it lasted. */
  within?: boolean;
  text: string;
}
export interface CausesData {
  sentence: string;
  tail: { orders: number; least_ns: number; else_p99_ns: number | null };
  found: CauseData[];
  unexplained_share: number;
  seconds: SecondData[];
  orders: OrderData[];
  /** By time. */
  events: EventData[];
  /** Empty if the machine was not saturated; older documents have none. */
  saturation?: string;
}
export interface Verdict {
  holds: boolean | null;
  evidence: { text: string; holds: boolean | null }[];
}
/** What the run was made of, by name. */
export type Facts = Record<string, unknown>;

/** Rows of a second and the mean of each line from it on. */
export interface MachineChart {
  lines: string[];
  width_s: number;
  rows: [second: number, ...values: (number | null)[]][];
}

export interface ReportData {
  result: ResultData;
  /** The verdict with its cause in words. */
  outcome: string;
  manifest: { sections: Record<string, Facts> };
  latencies: string[][];
  faults?: string[][];
  clusters_min: number;
  anomalies?: string[];
  charts: { cpus: MachineChart; pressure: MachineChart };
}

// What elements are made of.

/** The element that a tag names, with classes after dots: "p.note". */
export type ElementOf<Tag extends string> = Tag extends `${infer Name}.${string}`
  ? ElementOf<Name>
  : Tag extends keyof HTMLElementTagNameMap
    ? HTMLElementTagNameMap[Tag]
    : HTMLElement;
export type Listeners = {
  [Name in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[Name]) => unknown;
};
export type AttributeValue = string | number | boolean | null | undefined;
export interface Attributes {
  on?: Listeners;
  [name: string]: AttributeValue | Listeners;
}
/** Null and false are left out. */
export type Child = Node | string | false | null | undefined;
/** Text, with an address or with what stands below it. */
export type Cell = string | { text: string; href?: string; sub?: string };

// What charts, parts and pages are given and give.

export interface Actions {
  brush: (fromMs: number, toMs: number) => void;
  whole: () => void;
  /** A click, where a moment may be picked. */
  pick?: (ms: number) => void;
}
/** How a line is drawn; the colour is the name of one of the style sheet. */
export interface Line {
  title: string;
  colour: string;
  dash?: number[];
  width?: number;
  fill?: string;
}
/** One bin with the value of each line. */
export interface Row extends Part {
  values: (number | null)[];
}
/** What a legend shows while no moment is pointed at. */
export interface Overall {
  label: string;
  values: (number | null)[];
}
/** The page as its parts see it; see app.js. */
export interface App {
  feed: Feed;
  /** The open run; pages of a run are made only when there is one. */
  readonly model: RunModel;
  route: Route;
  view: View | null;
  tables: boolean;
  actions: Actions;
  pin: Pin;
  /** Pin a run to compare others with; none if the id is empty. */
  pinRun: (runId: string) => void;
  href: (page: string, item?: string, run?: string) => string;
  choose: (choice: Choice) => void;
  move: (direction: number) => void;
  goLive: () => void;
  stepBins: (direction: number) => void;
  toggleTables: () => void;
  toggleTheme: () => void;
  help: () => void;
  openFile: (file: File) => Promise<void>;
  /** Tell the reader something, for some seconds. */
  say: (text: string) => void;
}
/** An open run's page; the list of runs is one that needs no view. */
export interface Page {
  title: string;
  element: HTMLElement;
  update: (view: View) => void;
  release: () => void;
  /** A key that the page itself has an action for. */
  press?: (key: string) => void;
}

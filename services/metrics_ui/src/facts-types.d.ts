/** What the commands that compare runs put into their page, and what its charts are drawn from. */

export interface PageFacts {
  page: { verdict: string; headline: string; parts: PagePart[] };
  /** Words that are good or bad news wherever they are a whole cell. */
  tones: Record<string, string>;
  /** What the command prints as JSON. */
  document: ComparisonDocument | SweepDocument | HistoryDocument;
}
export type PagePart =
  { sentences: string[] } | { title: string; head: string[]; rows: string[][]; text_columns: number };

export interface Interval {
  estimate: number;
  low: number | null;
  high: number | null;
}
export interface JudgedFigure {
  /** Its path in the result. */
  figure: string;
  verdict: string;
  least_share: number;
  /** As a share. */
  shift: Interval | null;
}
export interface Contrast {
  first: string;
  other: string;
  figures: JudgedFigure[];
}
export interface ComparisonDocument {
  contrasts: Contrast[];
}

export interface SweepDocument {
  latency_limits_ms: Record<string, number>;
  limit: { rate: number; low: number; high: number } | null;
  held: number | null;
  rates: { rate: number; outcome: string; latency_ms: Record<string, number | null> }[];
}

export interface Trend {
  path: string;
  title: string;
  /** Of values, so that they are in the title's unit. */
  divisor: number;
  values: Record<string, number>;
  changes: { run_id: string; before: number; after: number; shift: number }[];
}
export interface HistoryDocument {
  workloads: { workload: string; figures: Trend[] }[];
}

/** An axis from low to high; with log, of values above 0. */
export interface Axis {
  title: string;
  low: number;
  high: number;
  ticks: { at: number; text: string }[];
  log: boolean;
}
export interface ChartPoint {
  x: number;
  y: number;
  low?: number | null;
  high?: number | null;
  /** What stands for x in the table. */
  name: string;
  /** The point in words. */
  text: string;
  filled: boolean;
}
export interface ChartFacts {
  title: string;
  x: Axis;
  y: Axis;
  /** In words, y as the table has it. */
  say: (y: number) => string;
  /** A quiet line has no marks and is not pointed at. */
  lines: { title: string; points: ChartPoint[]; quiet?: boolean }[];
  /** Between two values of an axis. */
  zones: { along: "x" | "y"; from: number; to: number; text: string }[];
  /** A dashed line at a value of an axis. */
  rules: { along: "x" | "y"; at: number; text: string }[];
  /** What filled and hollow points are; empty if all are filled. */
  marks: string;
  /** Whether several stand side by side. */
  small?: boolean;
}

/** A recorded run: what was asked of the joints, what they did, and what is worked out of it. */

import type { Unit } from "./messages";
import type { EventReport, ResultReport } from "./protocol";

const ARRAYS = ["reference", "feedback", "error"] as const;
export type Kind = (typeof ARRAYS)[number];

/** What a stretch of ticks has in common. */
export interface Phase {
  time: number;
  state: string;
  torque: boolean;
  goal: number;
}

/** Ticks that are missing, after the one at `time`; `until` is the time of the next one. */
export interface Gap {
  time: number;
  until: number;
  ticks: number;
  reason: string;
}

type Timed<Report> = Report & { time: number };

interface About {
  name: string;
  began_utc: string;
  duration_s: number;
  ticks: number;
  is_whole: boolean;
  joints: string[];
  units: Unit[];
  points: number;
  /** How many ticks two points stand for; 1 where each point is one. */
  every: number;
  phases: Phase[];
  gaps: Omit<Gap, "until">[];
  events: Timed<Pick<EventReport, "kind" | "message">>[];
  results: Timed<Pick<ResultReport, "motion" | "code" | "message">>[];
  /** Over all ticks in which a goal was on its way. */
  worst: Record<string, { max: number; rms: number; time: number } | null>;
  more: number;
}

/** Times are in s from the first tick; the arrays are by rows, a column for each joint, NaN where nothing is known. */
export interface Run extends Omit<About, "gaps">, Record<Kind, Float32Array> {
  times: Float32Array;
  gaps: Gap[];
}

/** Read a run: the length of its description, that in JSON, and its arrays. */
export function readRun(data: ArrayBuffer): Run {
  const length = new DataView(data).getUint32(0, true);
  const about = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length))) as About;
  const { points, joints } = about;
  const array = (from: number, size: number) => new Float32Array(data, 4 + length + 4 * from, size);
  const times = array(0, points);
  const [reference, feedback, error] = ARRAYS.map((_, place) => array(points * (1 + place * joints.length), points * joints.length)) as [Float32Array, Float32Array, Float32Array];
  const gaps = about.gaps.map((gap) => ({ ...gap, until: times[rowAt({ times }, Math.fround(gap.time)) + 1] ?? gap.time }));
  return { ...about, gaps, times, reference, feedback, error };
}

export function durationOf({ times }: Pick<Run, "times">): number {
  return times.at(-1) ?? 0;
}

/** The last row at or before a time; the first where it is earlier. */
export function rowAt({ times }: Pick<Run, "times">, time: number): number {
  return Math.max(0, lastOf(times.length, (row) => times[row]! <= time));
}

/** The last place of a row of them that holds up to somewhere; -1 where none does. */
export function lastOf(count: number, holds: (place: number) => boolean): number {
  let low = -1;
  let high = count;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** The gap that a time lies in. */
export function gapAt({ gaps }: Run, time: number): Gap | undefined {
  const gap = gaps[lastOf(gaps.length, (place) => gaps[place]!.time < time)];
  return gap && time < gap.until ? gap : undefined;
}

/** One value at a time, between two rows on the line between them; NaN in a gap, and before and after the run. */
export function valueAt(run: Run, kind: Kind, column: number, time: number): number {
  return isKnown(run, time) ? between(run, kind, column, placeAt(run, time)) : NaN;
}

function isKnown(run: Run, time: number): boolean {
  return time >= run.times[0]! && time <= durationOf(run) && !gapAt(run, time);
}

interface Place {
  row: number;
  /** How far it is to the next row, 0 to 1; 0 in a gap. */
  share: number;
}

function placeAt(run: Run, time: number): Place {
  const row = rowAt(run, time);
  const interval = run.times[row + 1]! - run.times[row]!;
  const share = (time - run.times[row]!) / interval;
  return { row, share: share > 0 && share < 1 && !gapAt(run, time) ? share : 0 };
}

function between(run: Run, kind: Kind, column: number, { row, share }: Place): number {
  const from = run[kind][row * run.joints.length + column]!;
  return share ? from + share * (run[kind][(row + 1) * run.joints.length + column]! - from) : from;
}

/** The posture at a time, in the order of a robot's joints; NaN for those that the run does not have. */
export function postureAt(run: Run, kind: Kind, names: string[], time: number): Float32Array {
  const place = placeAt(run, time);
  return Float32Array.from(names, (name) => {
    const column = run.joints.indexOf(name);
    return column < 0 ? NaN : between(run, kind, column, place);
  });
}

/** A joint's column of an array by rows. */
export function columnOf({ joints, times }: Run, values: Float32Array, column: number): Float32Array {
  return Float32Array.from(times, (_, row) => values[row * joints.length + column]!);
}

/** The first array less the second, number by number. */
export function less(one: Float32Array, other: Float32Array): Float32Array {
  return one.map((value, place) => value - other[place]!);
}

/** The value of a column that is furthest from zero, its time, and the root of the mean of all squares; null where all is NaN. */
export function extent(times: Float32Array, values: Float32Array): { value: number; time: number; rms: number } | null {
  let furthest = -1;
  let sum = 0;
  let count = 0;
  values.forEach((value, row) => {
    if (Number.isNaN(value)) return;
    if (furthest < 0 || Math.abs(value) > Math.abs(values[furthest]!)) furthest = row;
    sum += value * value;
    count++;
  });
  return count ? { value: values[furthest]!, time: times[furthest]!, rms: Math.sqrt(sum / count) } : null;
}

/** When the motion began to play, after the way to its first row, or to follow targets; 0 where none did. */
export function firstRowTime({ phases }: Run): number {
  return phases.find(({ state }) => state === "playing" || state === "following")?.time ?? 0;
}

/**
 * Lay another run on the rows of one, both from their motions' first rows on.
 *
 * What the other one does not have, a joint or a time, is NaN. Of joints that turn without end, whole turns that are
 * between both where they begin are taken away.
 */
export function laidOn(run: Run, other: Run, endless: ReadonlySet<string> = new Set()): Run {
  const shift = firstRowTime(other) - firstRowTime(run);
  const columns = run.joints.map((name) => other.joints.indexOf(name));
  const empty = () => new Float32Array(run.feedback.length).fill(NaN);
  const laid = { reference: empty(), feedback: empty(), error: empty() };
  run.times.forEach((time, row) => {
    if (!isKnown(other, time + shift)) return;
    const place = placeAt(other, time + shift);
    columns.forEach((column, k) => {
      if (column < 0) return;
      for (const kind of ARRAYS) laid[kind][row * columns.length + k] = between(other, kind, column, place);
    });
  });
  run.joints.forEach((name, column) => endless.has(name) && turnBack(run, laid, column));
  return { ...run, ...laid, name: other.name, worst: other.worst };
}

/** Take the whole turns away by which a column is off in the first row of the motion that is known of both. */
function turnBack(run: Run, laid: Record<Kind, Float32Array>, column: number): void {
  const first = rowAt(run, firstRowTime(run));
  const away = columnOf(run, less(laid.feedback, run.feedback), column).find((value, row) => row >= first && !Number.isNaN(value));
  const turns = Math.round((away ?? 0) / (2 * Math.PI));
  for (let place = column; place < laid.feedback.length; place += run.joints.length) {
    for (const kind of ["reference", "feedback"] as const) laid[kind][place]! -= 2 * Math.PI * turns;
  }
}

/** Points to draw of a column: null where nothing is known, and once within each gap, so that a curve has one there. */
export function curve(run: Run, values: Float32Array, factor: number): (number | null)[] {
  const points: (number | null)[] = [];
  rowsAndGaps(run, (row) => points.push(row === null || !Number.isFinite(values[row]!) ? null : factor * values[row]!));
  return points;
}

/** The times of these points. */
export function pointTimes(run: Run): number[] {
  const times: number[] = [];
  rowsAndGaps(run, (_, time) => times.push(time));
  return times;
}

function rowsAndGaps({ times, gaps }: Run, take: (row: number | null, time: number) => void): void {
  let next = 0;
  times.forEach((time, row) => {
    for (; next < gaps.length && gaps[next]!.until <= time; next++) take(null, (gaps[next]!.time + gaps[next]!.until) / 2);
    take(row, time);
  });
}

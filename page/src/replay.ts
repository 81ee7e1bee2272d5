/** A recorded run that is looked at: which, at what time, and between which cursors. */

import { batch, computed, effect, signal, untracked } from "@preact/signals";
import { when } from "./format";
import type { Answer, Quantities } from "./messages";
import { recorded, recordedWay } from "./opened";
import { close } from "./preview";
import { robotName, runNames } from "./route";
import { durationOf, laidOn, postureAt, readRun, rowAt } from "./run";
import type { Run } from "./run";
import { robots } from "./store";
import type { Robot } from "./store";

export interface Opened {
  robot: Robot;
  name: string;
  run: Run;
  /** Another run, laid on the rows of the first. */
  other: { name: string; run: Run } | null;
}

const READ_MS = 100;
const STRIDE = 0.01; // of the run, by Shift and an arrow

export const opened = signal<Opened | null>(null);
/** Why a run cannot be shown. */
export const problem = signal("");
/** The cursor's time, in s from the first tick; and the same, no more often than anybody reads numbers. */
export const at = signal(0);
export const read = signal(0);
export const runs = signal(false);
export const speed = signal(1);
/** Two places that are compared. */
export const places = { A: signal<number | null>(null), B: signal<number | null>(null) };
export const loops = signal(false);
/** What of the run the plots show; null for all. */
export const sight = signal<[number, number] | null>(null);
/** Whether the other run is the ghost, and not the reference. */
export const ghostIsOther = signal(false);

/** From the earlier of the two places to the later one. */
export const range = computed<[number, number] | null>(() => {
  const [a, b] = [places.A.value, places.B.value];
  return a === null || b === null || a === b ? null : [Math.min(a, b), Math.max(a, b)];
});

const duration = computed(() => (opened.value ? durationOf(opened.value.run) : 0));
let asked = 0;
let frame = 0;
let reading = 0;

/** Go to a time. */
export function go(time: number): void {
  at.value = Math.min(duration.peek(), Math.max(0, time));
  reading ||= window.setTimeout(() => {
    reading = 0;
    read.value = at.peek();
  }, READ_MS);
}

/** Hold, and go to a time. */
export function toTime(time: number): void {
  run(false);
  go(time);
}

/** Hold, and go so many rows on. */
export function step(rows: number): void {
  const shown = opened.peek()?.run;
  if (!shown?.points) return;
  const row = Math.min(shown.points - 1, Math.max(0, rowAt(shown, at.peek()) + rows));
  toTime(shown.times[row]!);
}

/** Let the picture run on, or hold it; it runs between the two places where it is to loop. */
export function run(on: boolean): void {
  cancelAnimationFrame(frame);
  runs.value = on;
  if (!on) return;
  const bounds = () => (loops.peek() && range.peek()) || ([0, duration.peek()] as const);
  if (at.peek() >= bounds()[1]) go(bounds()[0]);
  let beforeMs = performance.now();
  const next = (nowMs: number) => {
    const [from, to] = bounds();
    const time = at.peek() + (speed.peek() * (nowMs - beforeMs)) / 1000;
    beforeMs = nowMs;
    if (time < to) go(loops.peek() ? Math.max(from, time) : time);
    else if (loops.peek()) go(from);
    else {
      go(to);
      runs.value = false;
      return;
    }
    frame = requestAnimationFrame(next);
  };
  frame = requestAnimationFrame(next);
}

/** Keys of who looks at a run; whether it was one of them. */
export function onRunKey({ key, shiftKey }: KeyboardEvent): boolean {
  if (!opened.peek()) return false;
  const stride = shiftKey ? Math.max(1, Math.round(STRIDE * opened.peek()!.run.points)) : 1;
  const place = { a: places.A, b: places.B }[key.toLowerCase()];
  if (key === " ") run(!runs.peek());
  else if (key === "ArrowLeft") step(-stride);
  else if (key === "ArrowRight") step(stride);
  else if (key === "Home" || key === "End") toTime(key === "Home" ? 0 : duration.peek());
  else if (place) place.value = at.peek();
  else return false;
  return true;
}

/** What the address names is opened, and closed where it names it no longer. */
effect(() => {
  const robot = robots.value.find((one) => one.name === robotName.value);
  const [name = "", other = ""] = runNames.value;
  untracked(() => void show(robot, name, other));
});

async function show(robot: Robot | undefined, name: string, otherName: string): Promise<void> {
  const ticket = ++asked;
  const before = opened.peek();
  problem.value = "";
  const isOpen = before !== null && before.robot === robot && before.name === name;
  if (!isOpen) leave();
  if (!robot || !name) return;
  const shown = isOpen ? before.run : await fetchRun(robot, name);
  if (ticket !== asked) return;
  if (typeof shown === "string") return void (problem.value = shown);
  if (!isOpen) enter({ robot, name, run: shown, other: null });
  const other = otherName ? await fetchOther(robot, otherName, shown) : null;
  if (ticket !== asked) return;
  if (typeof other === "string") problem.value = other;
  opened.value = { robot, name, run: shown, other: typeof other === "string" ? null : other };
}

function enter(next: Opened): void {
  close();
  batch(() => {
    at.value = read.value = 0;
    places.A.value = places.B.value = sight.value = null;
    loops.value = false;
    opened.value = next;
  });
  scrollTo({ top: 0 }); // on a phone the robot stands above the list
}

function leave(): void {
  run(false);
  opened.value = null;
}

/** Fetch what a recording holds, or why that cannot be shown. */
export async function fetchRun(robot: Robot, name: string): Promise<Run | string> {
  const response = await fetch(robot.path(`recordings/${encodeURIComponent(name)}/run`)).catch(() => null);
  if (!response) return `${name}: the daemon cannot be reached`;
  if (response.ok) return readRun(await response.arrayBuffer());
  const answer = (await response.json().catch(() => null)) as Answer | null;
  return answer?.error ?? `${name}: cannot be shown; the daemon answers ${response.status}`;
}

async function fetchOther(robot: Robot, name: string, on: Run): Promise<Opened["other"] | string> {
  const other = await fetchRun(robot, name);
  if (typeof other === "string") return other;
  const endless = robot.description.peek()?.joints.filter(({ continuous }) => continuous).map(({ name }) => name);
  const laid = laidOn(on, other, new Set(endless));
  await new Promise((done) => setTimeout(done)); // to lay many points and to draw them are two tasks
  return { name, run: laid };
}

/** The picture is that of the cursor's time. */
effect(() => {
  const shown = opened.value;
  if (!shown) return void (recorded.value = null);
  const { run: one, other } = shown;
  const names = shown.robot.jointNames.value;
  const isOther = other !== null && ghostIsOther.value;
  const ghost = isOther ? postureAt(other.run, "feedback", names, at.value) : postureAt(one, "reference", names, at.value);
  const sample = { robot: 0, stampS: at.value, frame: 0, reference: of(ghost), feedback: of(postureAt(one, "feedback", names, at.value)) };
  const title = `Recorded ${when(one.began_utc)}, not the robot as it is now`;
  recorded.value = { sample, title, ghost: isOther ? other.name : "recorded reference" };
});

effect(() => {
  const shown = opened.value;
  const names = shown?.robot.jointNames.value ?? [];
  recordedWay.value = shown && { rows: shown.run.points, postureOf: (row) => postureAt(shown.run, "feedback", names, shown.run.times[row]!) };
});

function of(position: Float32Array): Quantities {
  return { position, velocity: new Float32Array(), effort: new Float32Array() };
}

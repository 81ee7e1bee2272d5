/** What the page knows, as signals: what shows a thing is drawn again when it changes. */

import { batch, computed, effect, signal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { Link } from "./connection";
import { Connection, post } from "./connection";
import { Control } from "./control";
import { clock } from "./format";
import { History, WINDOW_S } from "./history";
import type { Answer, Availability, Daemon, Model, Plan, Telemetry } from "./messages";
import type { DescriptionReport, DiagnosticsReport, EventReport, MotionsReport, QueuedGoal, RecordingReport, Report, ResultReport, StateReport, TeachingReport } from "./protocol";
import { Lesson } from "./lesson";
import { readPlan } from "./messages";
import { PastResults, endedAfter, hasFailed } from "./results";
import type { Ended } from "./results";
import type { Upload } from "./upload";

const MOST_ENTRIES = 500;
const READ_MS = 100;
const SLOW_MS = 3000; // by then a daemon that receives nothing more refuses it

export interface Entry {
  number: number;
  at: Date;
  kind: string;
  grave: boolean;
  message: string;
}

/** All that is known of one robot. */
export class Robot {
  readonly availability = signal<Availability | null>(null);
  readonly state = signal<StateReport | null>(null);
  readonly description = signal<DescriptionReport | null>(null);
  readonly motions = signal<MotionsReport | null>(null);
  /** How often the motions were listed: files may have changed since the last time. */
  readonly listings = signal(0);
  readonly diagnostics = signal<DiagnosticsReport[]>([]);
  readonly telemetry = signal<Telemetry | null>(null);
  /** The same, no more often than anybody reads numbers. */
  readonly numbers = signal<Telemetry | null>(null);
  readonly model = signal<Model | null>(null);
  readonly recording = signal<RecordingReport | null>(null);
  readonly waiting = signal<QueuedGoal[]>([]);
  /** Of the last motion: a posture that was reached since does not replace it. */
  readonly ended = signal<Ended | null>(null);
  /** Of the last goal that had begun, whatever it was. */
  readonly lastResult = signal<ResultReport | null>(null);
  /** The goal by which this page jogs it, until that has ended: '' while that is asked for, null where there is none. */
  readonly jogs = signal<string | null>(null);
  readonly log = signal<Entry[]>([]);
  readonly pending = signal<ReadonlySet<string>>(new Set());
  /** How its motions are played from this page. */
  readonly options = { speed: signal(1), loops: signal("1"), pingPong: signal(false), startAt: signal("") };
  /** What was found in the files that were sent last. */
  readonly uploads = signal<Upload[]>([]);
  readonly isUploading = signal(false);
  /** The joint that is looked at and jogged; '' for the first. */
  readonly chosenJoint = signal("");
  readonly control = new Control((verb, body) => connection.ask(this.name, verb, body), (why) => notify(`${this.name}: ${why}`));
  readonly lesson = new Lesson();
  readonly past = new PastResults((body) => connection.ask(this.name, "history", body));
  history: History | null = null;
  temperatures: { times: number[]; values: (number | null)[][] } = { times: [], values: [] };
  private entries = 0;
  private reads = 0;

  constructor(readonly name: string) {}

  /** What it does, `offline` also where its daemon is gone and cannot report it. */
  readonly shown = computed(() => (this.availability.value?.state === "offline" ? "offline" : (this.state.value?.state ?? "offline")));
  readonly online = computed(() => this.availability.value?.state === "online" && this.state.value?.state !== "offline");
  readonly moving = computed(() =>
    ["approaching", "playing", "pausing", "paused", "stopping", "teaching", "following"].includes(this.shown.value),
  );
  /** Whether it stays where it is until it is reset. */
  readonly halted = computed(() => this.shown.value === "estopped" || this.shown.value === "fault");
  /** Whether it is about a motion, and not on its way to a posture. */
  readonly playsMotion = computed(() => {
    const { motion, duration } = this.state.value ?? {};
    return Boolean(motion) && (Boolean(duration) || Boolean(this.motions.value?.motions.some((one) => one.name === motion)));
  });
  readonly jointNames = computed(() => this.description.value?.joints.map((joint) => joint.name) ?? []);

  add(kind: string, message: string, grave: boolean, at = new Date()): void {
    const entry = { number: ++this.entries, at, kind, grave, message };
    this.log.value = [entry, ...this.log.peek()].slice(0, MOST_ENTRIES);
  }

  take(report: Report): void {
    switch (report.subject) {
      case "availability": this.availability.value = report.data; break;
      case "state": this.takeState(report.data); break;
      case "description": this.takeDescription(report.data); break;
      case "motions": this.takeMotions(report.data); break;
      case "lease": this.control.receive(report.data); break;
      case "teaching": this.takeTeaching(report.data); break;
      case "diagnostics": this.takeDiagnostics(report.data); break;
      case "recording": this.recording.value = report.data; break;
      case "event": this.takeEvent(report.data); break;
      case "result": this.takeResult(report.data);
    }
  }

  takeTelemetry(telemetry: Telemetry): void {
    const joints = telemetry.feedback.position.length;
    if (this.history?.joints !== joints) this.history = new History(joints);
    this.history.add(telemetry);
    this.lesson.take(telemetry);
    this.telemetry.value = telemetry;
    this.reads ||= window.setTimeout(() => {
      this.reads = 0;
      this.numbers.value = this.telemetry.peek();
    }, READ_MS);
  }

  private takeTeaching(report: TeachingReport): void {
    if (report.mode !== null) settle(this.aboutLesson); // whether it held before
    this.lesson.receive(report);
  }

  private get aboutLesson(): string {
    return `${this.name}: teaching`;
  }

  /** Its daemon is another one now, and the one before has not reported how the last goal, or teaching, ended. */
  reportCutOff(): void {
    if (this.lesson.report.peek()?.mode) {
      const message = "teaching was cut off, as the daemon has been restarted; go on holding it unless torque is on; the newest recording with taught in its name has what was moved";
      this.add("cut_off", message, true);
      notify(`${this.name}: ${message}.`, true, this.aboutLesson);
    }
    const { goal_id, motion, time, state } = this.state.peek() ?? {};
    if (!goal_id) return;
    const where = state === "approaching" ? "on its way to the first row" : `at ${clock(time)}`;
    const message = `it was ${where} at the last report, and the daemon has been restarted, which cuts off what plays`;
    this.ended.value = { result: { motion: motion ?? "", code: NO_RESULT, message }, failed: true, dropped: [] };
    this.add("cut_off", `${motion}: no result; ${message}`, true);
    notify(`${this.name}: ${motion}: no result; ${message}.`);
  }

  private takeResult(result: ResultReport): void {
    const { goal_id, code, motion, message, played_s, stamp_utc } = result;
    if (goal_id === this.lastResult.peek()?.goal_id) return; // the daemon sends the last one again to who comes back
    if (played_s !== null) this.lastResult.value = result;
    this.add("result", `${motion || "motion"}: ${code}${message ? `: ${message}` : ""}`, hasFailed(code), new Date(stamp_utc));
    this.ended.value = endedAfter(this.ended.peek(), result, this.has(motion));
    this.past.refreshSoon();
  }

  /** Ask how the last motions ended: who opens the page later has not seen it. */
  async recall(): Promise<void> {
    const results = await this.past.refresh();
    const last = this.lastResult.peek();
    const isNewest = !last || results?.some((one) => one.goal_id === last.goal_id);
    if (!results || !isNewest || this.ended.peek()?.result.code === NO_RESULT) return;
    this.ended.value = results.reduceRight<Ended | null>((ended, one) => endedAfter(ended, one, this.has(one.motion)), null);
  }

  private has(motion: string): boolean {
    return this.motions.peek()?.motions.some((one) => one.name === motion) ?? false;
  }

  private takeState(state: StateReport): void {
    const before = this.state.peek();
    this.state.value = state;
    if (state.queued === 0) this.waiting.value = [];
    else if (state.queued !== before?.queued || state.goal_id !== before?.goal_id) void this.askQueue();
  }

  private takeEvent({ kind, message, details }: EventReport): void {
    const isGrave = GRAVE.has(kind) || (kind === "teaching" && details !== undefined); // a joint or a check is why
    this.add(kind, message, isGrave);
    if (kind === "queue_moved") void this.askQueue();
    if (kind === "teaching") notify(`${this.name}: ${message}.`, isGrave, this.aboutLesson);
  }

  private takeMotions(motions: MotionsReport): void {
    const isFirst = this.motions.peek() === null;
    this.motions.value = motions;
    this.listings.value++;
    if (isFirst && this.past.list.peek()) void this.recall();
  }

  private takeDescription(description: DescriptionReport): void {
    this.description.value = description;
    if (description.model !== null && !fleet.peek()) void this.fetchModel();
    else this.model.value = null;
  }

  private takeDiagnostics(diagnostics: DiagnosticsReport): void {
    this.diagnostics.value = [...this.diagnostics.peek().slice(1 - WINDOW_S), diagnostics];
    const now = this.history?.latestS ?? 0;
    const { times, values } = this.temperatures;
    times.push(now);
    values.push(diagnostics.temperature_c ?? []);
    while (times.length > WINDOW_S + 1) {
      times.shift();
      values.shift();
    }
  }

  private async fetchModel(): Promise<void> {
    const response = await fetch(this.path("model")).catch(() => null);
    this.model.value = response?.ok ? ((await response.json()) as Model) : null;
  }

  async askQueue(): Promise<void> {
    const answer = await connection.ask(this.name, "queue");
    if (answer.status === "ok") this.waiting.value = answer.data["queue"] as QueuedGoal[];
  }

  async fetchPlan(motion: string): Promise<Plan | string> {
    const response = await fetch(this.path(`motions/${encodeURIComponent(motion)}/plan`)).catch(() => null);
    if (!response) return `${motion}: the daemon cannot be reached`;
    if (response.ok) return readPlan(await response.arrayBuffer());
    const answer = (await response.json().catch(() => null)) as Answer | null;
    return answer?.error ?? `${motion}: no plan; the daemon answers ${response.status}`;
  }

  path(rest: string): string {
    return `/api/robots/${encodeURIComponent(this.name)}/${rest}`;
  }
}

const NO_RESULT = "no result";
export const GRAVE = new Set(["fault", "deadline_missed", "stream_lost", "not_parked", "not_sought", "fault_refused", "lease_lost", "lease_taken"]);

export const link = signal<Link>("connecting");
/** When the last message came of a connection that is lost. */
export const lostSince = signal<Date | null>(null);
export const daemonId = signal("");
/** Null until the daemon has reported it. */
export const daemon = signal<Daemon | null>(null);
/** Whether the robots are those of other daemons, which alone have their files. */
export const fleet = signal(false);
/** Whether what is shown is what is: neither the daemon nor, where the robots are beyond it, the broker is lost. */
export const heard = computed(() => link.value === "connected" && !(fleet.value && daemon.value?.broker === "lost"));
export const robots: Signal<Robot[]> = signal([]);
export const notices = signal<{ number: number; text: string; grave: boolean; stays: boolean; about?: string | undefined }[]>([]);
export const locked = stored<boolean>("locked", false);
export const degrees = stored<boolean>("degrees", false);
export const theme = stored<"auto" | "light" | "dark">("theme", "auto");

let noticed = 0;
let instance = "";

/** Show a text for a while, a grave one for longer: above those before, below what stays, and in place of what was said about the same. */
export function notify(text: string, grave = true, about?: string): void {
  const number = ++noticed;
  if (about !== undefined) settle(about);
  const before = notices.peek();
  const newest = before.filter((one) => !one.stays && one.text !== text).slice(0, 3);
  notices.value = [...before.filter((one) => one.stays), { number, text, grave, stays: false, about }, ...newest];
  setTimeout(() => dismiss(number), grave ? 20_000 : 4000);
}

/** The robots that a stop has not reached, as the one notice has them that stays until it is closed. */
let notReached = { number: 0, names: new Set<string>() };

function notifyNotReached({ name }: Robot, why: string): void {
  const others = notices.peek().filter((one) => one.number !== notReached.number);
  const names = others.length < notices.peek().length ? notReached.names.add(name) : new Set([name]);
  notReached = { number: ++noticed, names };
  const text = `The stop did not reach ${[...names].join(", ")}. Use ${names.size > 1 ? "their own switches" : "its own switch"}. ${why}`;
  notices.value = [{ number: noticed, text, grave: true, stays: true }, ...others];
}

/** What was said about it holds no more. */
function settle(about: string): void {
  const others = notices.peek().filter((one) => one.about !== about);
  if (others.length < notices.peek().length) notices.value = others;
}

export function dismiss(number: number): void {
  notices.value = notices.peek().filter((one) => one.number !== number);
}

export const connection = new Connection({
  link(now, sinceMs) {
    if (now === "connected") lostSince.value = null;
    else if (link.peek() === "connected") lostSince.value = new Date(sinceMs);
    link.value = now;
    if (now !== "connected") robots.peek().forEach((robot) => (robot.jogs.value = null)); // how that ends is not reported
  },
  hello(hello) {
    batch(() => {
      fleet.value = hello.fleet ?? false;
      daemonId.value = hello.id;
      // The robots of a fleet are those of other daemons, which play on.
      if (instance !== "" && instance !== hello.instance && !hello.fleet) robots.peek().forEach((robot) => robot.reportCutOff());
      instance = hello.instance;
      const known = new Map(robots.peek().map((robot) => [robot.name, robot]));
      robots.value = hello.robots.map((name) => known.get(name) ?? new Robot(name));
    });
  },
  daemon(report) {
    daemon.value = report;
  },
  report(report) {
    const robot = robots.peek().find((one) => one.name === report.robot);
    if (robot) batch(() => robot.take(report));
  },
  telemetry(telemetry) {
    const robot = robots.peek()[telemetry.robot];
    if (robot) batch(() => robot.takeTelemetry(telemetry));
  },
});

/** Send a request; what is refused is shown. */
export async function command(robot: Robot, verb: string, body: object = {}): Promise<Answer> {
  robot.pending.value = new Set([...robot.pending.peek(), verb]);
  const about = `${robot.name}/${verb}`;
  const slow = setTimeout(() => STOP_VERBS.has(verb) || notify(`${robot.name}: ${verb}: no answer yet`, false, about), SLOW_MS);
  const answer = await (FREE_VERBS.has(verb) ? connection.ask(robot.name, verb, body) : askInControl(robot, verb, body));
  clearTimeout(slow);
  robot.pending.value = new Set([...robot.pending.peek()].filter((one) => one !== verb));
  if (answer.status === "error") {
    const text = answer.error ?? `${verb}: refused`;
    if (STOP_VERBS.has(verb)) notifyNotReached(robot, text);
    else notify(text, true, about);
    robot.add("refused", text, true);
  } else settle(about);
  return answer;
}

/** Send a request of one who is in control; control that was lost unnoticed is acquired once more if no client has it. */
async function askInControl(robot: Robot, verb: string, body: object): Promise<Answer> {
  const answer = await connection.ask(robot.name, verb, { ...body, ...(await robot.control.proof()) });
  if (!robot.control.isFree(answer)) return answer;
  return connection.ask(robot.name, verb, { ...body, ...(await robot.control.proof()) });
}

/** Take control by force; the one who has it loses it. */
export async function takeControl(robot: Robot): Promise<void> {
  const answer = await robot.control.take();
  if (answer.status === "error") notify(answer.error ?? "lease/take: refused");
}

/** Who leaves a robot at rest returns control of it; one that moves does what the loss of a lease leads to. */
addEventListener("pagehide", () => {
  for (const robot of robots.peek()) {
    const lease = robot.control.forget();
    if (lease && !robot.moving.peek()) void post(robot.name, "lease/release", { lease });
  }
});

const STOP_VERBS = new Set(["stop", "estop"]);
/** What anybody may ask for, whoever is in control. */
const FREE_VERBS = new Set([...STOP_VERBS, "record/start", "record/stop"]);

/** A signal that this browser keeps. */
function stored<Value extends string | boolean>(name: string, otherwise: Value): Signal<Value> {
  let first: Value = otherwise;
  try {
    first = JSON.parse(localStorage.getItem(name) ?? "null") ?? otherwise;
  } catch {
    // a browser that keeps nothing
  }
  const kept = signal<Value>(first);
  effect(() => {
    try {
      localStorage.setItem(name, JSON.stringify(kept.value));
    } catch {
      // likewise
    }
  });
  return kept;
}

/** A robot that is taught by hand: what the daemon reports of it, and what is to be made of it. */

import { batch, signal } from "@preact/signals";
import type { Telemetry } from "./messages";
import type { SaveTaughtAnswer, StartTeachingRequest, TeachingReport } from "./protocol";
import { Trail } from "./trail";

const SEEN_MS = 100;
/** What is missing of a movement that counts as seen. */
const SEEN_S = 0.5;

export class Lesson {
  readonly report = signal<TeachingReport | null>(null);
  /** How many samples this page has seen, no more often than anybody looks. */
  readonly seen = signal(0);
  readonly mode = signal<NonNullable<StartTeachingRequest["mode"]>>("released");
  readonly source = signal<"movement" | "poses">("movement");
  /** Where the movement begins and ends, in s; null at its own ends. */
  readonly first = signal<number | null>(null);
  readonly last = signal<number | null>(null);
  readonly trims = signal(true);
  readonly smoothRad = signal(0.005);
  readonly smoothM = signal(0.0005);
  readonly atPoses = signal<"rest" | "through">("rest");
  readonly speed = signal(0.5);
  readonly name = signal("");
  /** What a motion of it would be like, or is like; null as soon as anything is changed. */
  readonly made = signal<SaveTaughtAnswer | null>(null);
  /** The time that is looked at, in s. */
  readonly looked = signal<number | null>(null);
  trail = new Trail();
  private timer = 0;
  private since = "";

  receive(report: TeachingReport): void {
    batch(() => {
      if (report.mode !== null && report.since_utc !== this.since) this.begin(report);
      this.report.value = report;
    });
  }

  private begin({ since_utc, duration_s }: TeachingReport): void {
    this.since = since_utc ?? "";
    this.trail = new Trail(duration_s);
    this.first.value = this.last.value = this.looked.value = this.made.value = null;
    this.source.value = "movement";
    this.seen.value = 0;
  }

  /** Take a sample of a robot that is taught. */
  take(telemetry: Telemetry): void {
    if (!this.report.peek()?.mode) return;
    this.trail.add(telemetry);
    this.timer ||= window.setTimeout(() => {
      this.timer = 0;
      this.seen.value = this.trail.rows.length;
    }, SEEN_MS);
  }

  /** Whether all of a movement was seen here, and not of another one. */
  hasSeen(durationS: number): boolean {
    const { times } = this.trail;
    return times.length > 0 && times[0]! < SEEN_S && Math.abs(durationS - this.trail.durationS) < SEEN_S;
  }

  show(trail: Trail): void {
    this.trail = trail;
    this.seen.value = trail.rows.length;
  }

  /** What is asked for, as `teach/save` wants it. */
  body(dry: boolean, replace = false): object {
    const movement = { first_s: this.first.value, last_s: this.last.value, trim: this.trims.value, smooth_rad: this.smoothRad.value, smooth_m: this.smoothM.value };
    const poses = { at_poses: this.atPoses.value, speed: this.speed.value };
    const from = this.source.value;
    return { name: this.name.value.trim(), from, ...(from === "movement" ? movement : poses), replace, dry };
  }
}

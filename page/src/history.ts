/** The last minute of a robot's telemetry, in memory that is taken once. */

import type { Telemetry } from "./messages";

export const WINDOW_S = 60;
const ROWS = 4096;
/** A gap is as long, and as many times as long as the usual time between samples. */
const GAP_S = 1;
const GAP_SAMPLES = 4;

export type Kind = "referencePosition" | "position" | "velocity" | "referenceEffort" | "effort" | "error";

/** A ring of samples for all joints. */
export class History {
  private readonly stamps = new Float64Array(ROWS);
  private readonly rows: Float32Array;
  private count = 0;

  constructor(readonly joints: number) {
    this.rows = new Float32Array(ROWS * 5 * joints);
  }

  add({ stampS, reference, feedback }: Telemetry): void {
    if (stampS < this.latestS) this.count = 0; // the daemon's machine has been restarted
    const row = this.count++ % ROWS;
    const parts = [reference.position, feedback.position, feedback.velocity, reference.effort, feedback.effort];
    this.stamps[row] = stampS;
    parts.forEach((part, place) => this.rows.set(part, (row * 5 + place) * this.joints));
  }

  get latestS(): number {
    return this.count ? this.stamps[(this.count - 1) % ROWS]! : -Infinity;
  }

  /** Return times in s before the newest sample, and the values of each kind, times a factor; null where there is none. */
  series(joint: number, kinds: Kind[], factor = 1): [number[], ...(number | null)[][]] {
    const latest = this.latestS;
    const times: number[] = [];
    const values: (number | null)[][] = kinds.map(() => []);
    for (let place = Math.max(0, this.count - ROWS); place < this.count; place++) {
      const row = place % ROWS;
      const time = this.stamps[row]! - latest;
      if (time < -WINDOW_S) continue;
      times.push(time);
      kinds.forEach((kind, k) => {
        const value = this.value(row, joint, kind);
        values[k]!.push(Number.isFinite(value) ? factor * value : null);
      });
    }
    return withGaps(times, values);
  }

  private value(row: number, joint: number, kind: Kind): number {
    const at = (place: number) => this.rows[(row * 5 + place) * this.joints + joint]!;
    if (kind === "error") return at(0) - at(1);
    return at({ referencePosition: 0, position: 1, velocity: 2, referenceEffort: 3, effort: 4 }[kind]);
  }
}

/** Put a null where nothing is known for a while, so that a curve has a gap there. */
export function withGaps(times: number[], values: (number | null)[][]): [number[], ...(number | null)[][]] {
  const spacedTimes: number[] = [];
  const spaced: (number | null)[][] = values.map(() => []);
  let usual = Infinity;
  times.forEach((time, row) => {
    const interval = row ? time - times[row - 1]! : 0;
    if (interval > Math.max(GAP_S, GAP_SAMPLES * usual)) {
      spacedTimes.push(time - interval / 2);
      spaced.forEach((one) => one.push(null));
    } else if (row) usual = interval;
    spacedTimes.push(time);
    spaced.forEach((one, k) => one.push(values[k]![row] ?? null));
  });
  return [spacedTimes, ...spaced];
}

/** What was moved by hand, as this page has seen it: postures over time, in bounded memory. */

import type { Telemetry } from "./messages";
import { lastOf } from "./run";

const MOST_ROWS = 4096;
const FIRST_INTERVAL_S = 0.03;

export class Trail {
  readonly times: number[] = [];
  readonly rows: Float32Array[] = [];
  private intervalS = FIRST_INTERVAL_S;
  private originS: number | null = null;

  /** `aheadS`: how long it had lasted when this page learned of it. */
  constructor(private readonly aheadS = 0) {}

  get durationS(): number {
    return this.times.at(-1) ?? 0;
  }

  /** Take a sample, if it is due; once there are too many, every second one is kept. */
  add({ stampS, feedback }: Telemetry): void {
    this.originS ??= stampS - this.aheadS;
    this.put(stampS - this.originS, feedback.position);
  }

  /** Take a posture, as `add` does. */
  put(time: number, posture: Float32Array): void {
    if (this.times.length && time - this.durationS < this.intervalS) return;
    if (this.times.length === MOST_ROWS) this.thin();
    this.times.push(time);
    this.rows.push(Float32Array.from(posture));
  }

  private thin(): void {
    for (const list of [this.times, this.rows] as unknown[][]) list.splice(0, MOST_ROWS, ...list.filter((_, k) => k % 2 === 0));
    this.intervalS *= 2;
  }

  /** The posture at a time, as the nearest sample has it; null where there is none. */
  at(timeS: number): Float32Array | null {
    const before = lastOf(this.times.length, (row) => this.times[row]! < timeS);
    const [from, to] = [this.times[before] ?? -Infinity, this.times[before + 1] ?? Infinity];
    return this.rows[timeS - from < to - timeS ? before : before + 1] ?? null;
  }

  /** Each joint's curve over a span of time as points of an SVG, 0 to 1000 by 0 to 100, as high as it has moved. */
  curves(durationS: number): string[] {
    const joints = this.rows[0]?.length ?? 0;
    return Array.from({ length: joints }, (_, joint) => {
      let least = Infinity;
      let most = -Infinity;
      for (const row of this.rows) {
        if (Number.isNaN(row[joint]!)) continue;
        least = Math.min(least, row[joint]!);
        most = Math.max(most, row[joint]!);
      }
      const middle = (least + most) / 2;
      const height = Math.max(most - least, SMALLEST);
      const step = Math.ceil(this.rows.length / 500);
      const points = this.rows.flatMap((row, k) => {
        if (k % step || Number.isNaN(row[joint]!)) return [];
        return `${((1000 * this.times[k]!) / Math.max(durationS, 1e-3)).toFixed(1)},${(50 - (90 * (row[joint]! - middle)) / height).toFixed(1)}`;
      });
      return points.join(" ");
    });
  }
}

/** In rad or m: what moves less looks as if it stood still. */
const SMALLEST = 0.05;

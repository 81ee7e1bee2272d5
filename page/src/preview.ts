/** A planned motion that is looked at before anything moves. */

import { effect, signal } from "@preact/signals";
import type { Plan } from "./messages";
import type { NearestLinks } from "./protocol";
import { notify, robots } from "./store";
import type { Robot } from "./store";

export interface Preview {
  robot: Robot;
  plan: Plan;
  /** The listing of the robot's motions that the plan belongs to. */
  listing: number;
}

export const preview = signal<Preview | null>(null);
/** Where a motion that cannot be played brings links too near to each other, once somebody asks for it. */
export const sight = signal<{ robot: Robot; motion: string; nearest: NearestLinks } | null>(null);
/** The place on its timeline, in s. */
export const scrubbed = signal(0);
export const runs = signal(false);
/** The motion whose plan is under way. */
export const fetching = signal("");

let frame = 0;

/** Fetch a motion's plan and show its beginning. */
export async function open(robot: Robot, motion: string): Promise<void> {
  fetching.value = motion;
  const listing = robot.listings.peek();
  const plan = await robot.fetchPlan(motion);
  if (fetching.peek() === motion) fetching.value = "";
  if (typeof plan === "string") return notify(plan);
  close();
  scrubbed.value = 0;
  sight.value = null;
  preview.value = { robot, plan, listing };
  scrollTo({ top: 0 }); // on a phone the robot stands above the motions
}

/** What is looked at is what would be played: where files were read again it is fetched again. */
effect(() => {
  const shown = preview.value;
  if (shown && !robots.value.includes(shown.robot)) close();
  else if (shown && shown.listing !== shown.robot.listings.value) void renew(shown);
});

/** What was found of a motion holds as long as its file is what it was. */
effect(() => {
  const seen = sight.value;
  if (seen && !seen.robot.motions.value?.motions.some(({ nearest }) => nearest === seen.nearest)) sight.value = null;
});

/** Show where a motion brings links too near to each other, or no longer. */
export function see(robot: Robot, motion: string, nearest: NearestLinks): void {
  const isShown = sight.peek()?.nearest === nearest;
  close();
  sight.value = isShown ? null : { robot, motion, nearest };
  if (!isShown) scrollTo({ top: 0 });
}

async function renew(shown: Preview): Promise<void> {
  const { robot } = shown;
  const listing = robot.listings.peek();
  const plan = await robot.fetchPlan(shown.plan.motion);
  if (preview.peek() !== shown) return;
  if (typeof plan === "string") {
    close();
    return notify(plan);
  }
  scrubbed.value = Math.min(scrubbed.peek(), plan.duration);
  preview.value = { robot, plan, listing };
}

export function close(): void {
  run(false);
  preview.value = null;
}

/** Let the ghost play the motion, or hold it. */
export function run(on: boolean): void {
  cancelAnimationFrame(frame);
  runs.value = on;
  if (!on) return;
  let beforeMs = performance.now();
  const step = (nowMs: number) => {
    const duration = preview.peek()?.plan.duration ?? 0;
    scrubbed.value = Math.min(duration, scrubbed.peek() + (nowMs - beforeMs) / 1000);
    beforeMs = nowMs;
    if (scrubbed.peek() >= duration) runs.value = false;
    else frame = requestAnimationFrame(step);
  };
  if (scrubbed.peek() >= (preview.peek()?.plan.duration ?? 0)) scrubbed.value = 0;
  frame = requestAnimationFrame(step);
}

/** The posture at a time of a plan, in the order of the robot's joints; joints that it leaves stay as they are. */
export function postureAt(plan: Plan, timeS: number, names: string[], current: ArrayLike<number>): Float64Array {
  const at = Math.min(plan.rows - 1, Math.max(0, timeS * plan.rate_hz));
  const row = Math.min(Math.max(0, plan.rows - 2), Math.floor(at));
  const share = plan.rows > 1 ? at - row : 0;
  const columns = plan.joints.length;
  const posture = Float64Array.from(names, (_, place) => current[place] ?? 0);
  plan.joints.forEach((name, column) => {
    const place = names.indexOf(name);
    const from = plan.positions[row * columns + column];
    if (place < 0 || from === undefined) return;
    const to = plan.positions[(row + 1) * columns + column] ?? from;
    posture[place] = from + share * (to - from);
  });
  return posture;
}

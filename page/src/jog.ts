/** Jogging: a robot moves as long as somebody holds a pad, a key or a gamepad's button, and not any longer. */

import { effect, signal } from "@preact/signals";
import { post } from "./connection";
import { TWIST, VELOCITIES, targetFrame } from "./follow";
import type { Unit } from "./messages";
import { refusal } from "./permission";
import type { StartFollowAnswer, StartFollowRequest } from "./protocol";
import { command, connection } from "./store";
import type { Robot } from "./store";

const PERIOD_MS = 33;
/** So long after the last target the robot stops by itself. */
const TIMEOUT_S = 0.2;
/** How fast a joint without a velocity limit is jogged at most, per s. */
const WITHOUT_LIMIT: Record<Unit, number> = { rad: 0.5, m: 0.1 };

/** How fast a frame is jogged at most: 0.25 m/s is what ISO 10218 allows beside people. */
export const FRAME_MPS = 0.25;
export const FRAME_RADPS = 1;
export const DIRECTIONS = ["x", "y", "z", "rx", "ry", "rz"] as const;

/** What is jogged: each joint, or a frame along the axes of the base or of itself, turns as they come where they are free. */
export type Way = { mode: "velocity" } | { mode: "twist"; frame: string; reference: "base" | "tool"; turnsFree: boolean };

/** By joint or direction: a share of how fast it may be jogged, -1 to 1. */
export type Shares = ReadonlyMap<string, number>;

type Goal = StartFollowAnswer & { way: Way };

export class Jog {
  /** Jogging is switched on by hand: a touch that scrolls moves no robot. */
  readonly armed = signal(false);
  readonly way = signal<Way>({ mode: "velocity" });
  /** A share of the velocity limits. */
  readonly speed = signal(0.2);
  readonly active = signal(false);
  /** Why the robot was stopped though something was held. */
  readonly ended = signal("");
  private readonly held = new Map<string, Shares>();
  /** What was held when the robot was stopped moves nothing until it has been released. */
  private readonly spent = new Set<string>();
  private goal: Goal | null = null;
  private timer = 0;

  constructor(private readonly robot: Robot) {}

  /** Begin to hold something: a pad, a key. */
  press(by: string, shares: Shares): void {
    this.spent.delete(by);
    this.hold(by, shares);
  }

  /** Go on holding it, or begin where it was released before. */
  hold(by: string, shares: Shares): void {
    if (this.spent.has(by)) return;
    if (!this.held.has(by)) this.ended.value = "";
    this.held.set(by, shares);
    this.active.value = true;
    if (this.timer) return;
    this.timer = window.setInterval(() => this.turn(), PERIOD_MS);
    this.turn();
  }

  release(by: string): void {
    this.spent.delete(by);
    if (this.held.delete(by) && !this.held.size) this.rest();
  }

  /** Let something move nothing until it has been released. */
  spend(by: string): void {
    this.release(by);
    this.spent.add(by);
  }

  /** Stop, whatever is held. */
  stop(why: string): void {
    if (!this.held.size) return;
    for (const by of this.held.keys()) this.spent.add(by);
    this.held.clear();
    this.ended.value = why;
    this.rest();
  }

  choose(way: Way): void {
    this.stop("Something else is jogged now");
    this.way.value = way;
  }

  /** Stop whenever nobody may be there who sees the robot, until the returned function is called. */
  watch(): () => void {
    const leave = () => {
      this.stop("The page was left");
      this.armed.value = false;
    };
    const hide = () => document.hidden && leave();
    const blur = () => this.stop("The window is not in front");
    const close = () => {
      const goal = this.goal;
      leave();
      if (goal) void post(this.robot.name, "follow/stop", { goal_id: goal.goal_id, ...this.robot.control.ownProof() });
    };
    addEventListener("blur", blur);
    addEventListener("hashchange", leave);
    addEventListener("pagehide", close, { capture: true }); // before control is returned
    document.addEventListener("visibilitychange", hide);
    const ends = [effect(() => this.obey(refusal(this.robot, "jog"))), effect(() => this.takeResult())];
    return () => {
      leave();
      removeEventListener("blur", blur);
      removeEventListener("hashchange", leave);
      removeEventListener("pagehide", close, { capture: true });
      document.removeEventListener("visibilitychange", hide);
      ends.forEach((end) => end());
    };
  }

  private obey(why: string): void {
    if (why) this.stop(why);
  }

  private takeResult(): void {
    const result = this.robot.lastResult.value;
    if (!result || result.goal_id !== this.robot.jogs.peek()) return;
    const moved = this.goal !== null;
    this.goal = null;
    this.robot.jogs.value = null;
    if (moved) this.stop(result.message);
  }

  private turn(): void {
    if (!this.held.size) return;
    const why = refusal(this.robot, "jog");
    if (why) this.stop(why);
    else if (this.goal) this.send(this.values(this.goal));
    else if (this.robot.jogs.peek() === null && this.robot.state.peek()?.state === "idle") void this.begin();
  }

  private async begin(): Promise<void> {
    this.robot.jogs.value = "";
    const way = this.way.peek();
    const answer = await command(this.robot, "follow/start", { timeout_s: TIMEOUT_S, ...bodyOf(way) });
    if (answer.status === "error") {
      this.robot.jogs.value = null;
      return this.stop(answer.error ?? "The robot does not follow");
    }
    this.goal = { ...(answer.data as unknown as StartFollowAnswer), way };
    this.robot.jogs.value = this.goal.goal_id;
    this.takeResult(); // it may have ended already
    if (way !== this.way.peek()) this.stop("Something else is jogged now");
    if (this.held.size) this.turn();
    else this.rest();
  }

  private rest(): void {
    clearInterval(this.timer);
    this.timer = 0;
    this.active.value = false;
    const goal = this.goal;
    if (!goal) return;
    this.send(this.values(goal)); // nothing is held: all of them are 0
    this.goal = null;
    void connection.ask(this.robot.name, "follow/stop", { goal_id: goal.goal_id, ...this.robot.control.ownProof() });
  }

  private send(values: number[]): void {
    const { goal_id, way } = this.goal!;
    const kind = way.mode === "twist" ? TWIST : VELOCITIES;
    if (!connection.send(targetFrame(kind, goal_id, connection.timeS(), values))) this.stop("The network is too slow");
  }

  private values({ way, joints }: Goal): number[] {
    const names = way.mode === "twist" ? DIRECTIONS : joints;
    return names.map((name) => this.shareOf(name) * this.speed.peek() * this.fastest(name, way));
  }

  private shareOf(name: string): number {
    const share = [...this.held.values()].reduce((sum, shares) => sum + (shares.get(name) ?? 0), 0);
    return Math.max(-1, Math.min(1, share));
  }

  private fastest(name: string, { mode }: Way): number {
    if (mode === "twist") return name.startsWith("r") ? FRAME_RADPS : FRAME_MPS;
    const joint = this.robot.description.peek()?.joints.find((one) => one.name === name);
    return joint ? (joint.velocity ?? WITHOUT_LIMIT[joint.unit]) : 0;
  }
}

function bodyOf(way: Way): StartFollowRequest {
  if (way.mode === "velocity") return way;
  const { mode, frame, reference, turnsFree } = way;
  return { mode, frame, reference, free: turnsFree ? ["wx", "wy", "wz"] : [] };
}

/** Positions and speeds in the unit that this browser shows: angles in rad, or in degrees by choice. */

import type { Unit } from "./messages";
import type { DescribedJoint } from "./protocol";
import { degrees } from "./store";

/** How many of the shown unit there are in one rad or m. */
export function factorOf(unit: Unit): number {
  return unit === "rad" && degrees.value ? 180 / Math.PI : 1;
}

export function nameOf(unit: Unit): string {
  return unit === "rad" && degrees.value ? "°" : unit;
}

/** As many digits as have the same meaning in the shown unit. */
export function digitsOf(unit: Unit, digits: number): number {
  return unit === "rad" && degrees.value ? Math.max(0, digits - 2) : digits;
}

type Turning = Pick<DescribedJoint, "continuous" | "lower" | "upper">;

/** From where to where a joint is shown: its limits, or a turn about 0 where it turns without end; null where it has no such end. */
export function rangeOf(joint: Turning): [number | null, number | null] {
  return joint.continuous ? [-Math.PI, Math.PI] : [joint.lower, joint.upper];
}

/** A position on the turn about 0, of a joint that turns without end; of another as it is. */
export function onTurn(joint: Turning, position: number): number {
  return joint.continuous ? position - 2 * Math.PI * Math.round(position / (2 * Math.PI)) : position;
}

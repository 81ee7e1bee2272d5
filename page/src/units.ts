/** Positions and speeds in the unit that this browser shows: angles in rad, or in degrees by choice. */

import type { Unit } from "./messages";
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

import type { Description } from "./protocol";

/** Where no tolerance is told. */
export const COMMON_ERROR = 0.1;

/** An error that is coloured as much as any can be, in rad or m: the tolerance on the path, else the goal's. */
export function errorScale(description: Description | null): number {
  const { path, goal } = description?.tolerances ?? { path: null, goal: null };
  return path || goal || COMMON_ERROR;
}

/** The units in which the joints of a robot have errors. */
export function errorUnit(description: Description | null): string {
  return [...new Set(description?.joints.map((joint) => joint.unit))].join(" or ");
}

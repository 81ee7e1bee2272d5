import type { Unit } from "./messages";
import { factorOf, nameOf } from "./units";
import type { DescribedJoint, DescriptionReport } from "./protocol";

/** Where no tolerance is known. */
export const COMMON_ERROR: Record<Unit, number> = { rad: 0.1, m: 0.005 };

/** An error of a joint that is coloured as much as any can be: its tolerance on the path, else its goal's. */
export function errorScale(description: DescriptionReport | null, joint: DescribedJoint): number {
  const { path, goal } = description?.tolerances ?? { path: {}, goal: {} };
  return path[joint.name] || goal[joint.name] || COMMON_ERROR[joint.unit];
}

/** The errors of all joints of a robot that are coloured as much as any can be, in the order of telemetry. */
export function errorScales(description: DescriptionReport | null): number[] {
  return description?.joints.map((joint) => errorScale(description, joint)) ?? [];
}

/** The largest of them for each unit, as a legend has them. */
export function errorLegend(description: DescriptionReport | null): string {
  const largest = new Map<Unit, number>();
  for (const joint of description?.joints ?? []) {
    largest.set(joint.unit, Math.max(largest.get(joint.unit) ?? 0, errorScale(description, joint)));
  }
  return [...largest].map(([unit, scale]) => `${Number((factorOf(unit) * scale).toPrecision(3))} ${nameOf(unit)}`).join(" or ");
}

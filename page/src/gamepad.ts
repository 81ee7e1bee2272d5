/** A gamepad's axes and buttons as what is jogged: the Gamepad API's numbers, shaped by a mapping. */

import type { Shares } from "./jog";
import type { GamepadAxis, GamepadButtons, GamepadMapping } from "./protocol";

export type Input = GamepadAxis | GamepadButtons;

/** As much of the browser's Gamepad as is read. */
export interface Pad {
  axes: readonly number[];
  buttons: readonly { pressed: boolean; value: number }[];
}

/** The first gamepad that is connected; browsers show none before a button on it is pressed. */
export function padInUse(): (Pad & { id: string }) | null {
  return navigator.getGamepads().find((pad) => pad?.connected) ?? null;
}

/** What a gamepad asks for; null while its dead-man button is not held. */
export function sharesOf(pad: Pad, mapping: GamepadMapping, inputs: Record<string, Input>): Shares | null {
  if (!pad.buttons[mapping.dead_man]?.pressed) return null;
  const entries = Object.entries(inputs).map(([name, input]) => [name, input.scale * shaped(valueOf(pad, input), mapping)] as const);
  return new Map(entries.filter(([, share]) => share !== 0));
}

function valueOf(pad: Pad, input: Input): number {
  if ("axis" in input) return pad.axes[input.axis] ?? 0;
  return (pad.buttons[input.plus]?.value ?? 0) - (pad.buttons[input.minus]?.value ?? 0);
}

/** Nothing within the dead zone, 1 at the end, and by the curve between. */
export function shaped(value: number, { dead_zone, curve }: Pick<GamepadMapping, "dead_zone" | "curve">): number {
  const beyond = (Math.abs(value) - dead_zone) / (1 - dead_zone);
  return beyond > 0 ? Math.sign(value) * Math.min(1, beyond) ** curve : 0; // NaN is not beyond either
}

/** The sticks, then the triggers and the cross, of a pad with the standard layout. */
const USUAL: Input[] = [
  { axis: 0, scale: 1 }, { axis: 1, scale: -1 }, { axis: 3, scale: -1 }, { axis: 2, scale: 1 },
  { minus: 6, plus: 7, scale: 1 }, { minus: 14, plus: 15, scale: 1 }, { minus: 13, plus: 12, scale: 1 },
];

/** The same of a frame: forward and to the left is away from who stands behind the robot. */
const USUAL_DIRECTIONS: Record<string, Input> = {
  x: { axis: 1, scale: -1 }, y: { axis: 0, scale: -1 }, z: { minus: 6, plus: 7, scale: 1 },
  rx: { minus: 14, plus: 15, scale: 1 }, ry: { axis: 3, scale: -1 }, rz: { axis: 2, scale: -1 },
};

/** The mapping of a robot for which none was kept. */
export function usualMapping(joints: string[]): GamepadMapping {
  const pairs = joints.flatMap((name, place) => (USUAL[place] ? [[name, USUAL[place]] as const] : []));
  return { dead_man: 4, dead_zone: 0.12, curve: 2, joints: Object.fromEntries(pairs), directions: USUAL_DIRECTIONS };
}

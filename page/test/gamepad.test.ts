/** What a gamepad's axes and buttons ask for: nothing without its dead-man button. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { GamepadMapping } from "../src/protocol";
import { shaped, sharesOf, usualMapping } from "../src/gamepad";

const MAPPING: GamepadMapping = {
  ...usualMapping([]),
  dead_man: 1,
  joints: { base: { axis: 0, scale: 1 }, elbow: { axis: 1, scale: -0.5 }, wrist: { minus: 2, plus: 3, scale: 1 }, gone: { axis: 9, scale: 1 } },
};

function pad(axes: number[], ...held: number[]) {
  return { axes, buttons: [0, 1, 2, 3].map((number) => ({ pressed: held.includes(number), value: held.includes(number) ? 1 : 0 })) };
}

function shares(axes: number[], ...held: number[]): unknown {
  const found = sharesOf(pad(axes, ...held), MAPPING, MAPPING.joints);
  return found && Object.fromEntries(found);
}

test("nothing is asked for while the dead-man button is not held, whatever else is", () => {
  assert.equal(shares([1, 1], 0, 2, 3), null);
  assert.deepEqual(shares([0, 0], 1), {});
});

test("axes and buttons move what they are mapped to, by their scale", () => {
  assert.deepEqual(shares([-1, 1], 1, 3), { base: -1, elbow: -0.5, wrist: 1 });
  assert.deepEqual(shares([0, 0], 1, 2), { wrist: -1 });
  assert.deepEqual(shares([0, 0], 1, 2, 3), {}); // both at once
});

const SHAPED: [number, number, number, number][] = [
  [0, 0.2, 2, 0],
  [0.2, 0.2, 2, 0],
  [-0.19, 0.2, 1, 0],
  [0.6, 0.2, 1, 0.5],
  [0.6, 0.2, 2, 0.25],
  [-0.6, 0.2, 2, -0.25],
  [1, 0.2, 3, 1],
  [-1.3, 0.2, 3, -1],
  [NaN, 0.2, 2, 0],
];
for (const [value, dead_zone, curve, share] of SHAPED) {
  test(`an axis at ${value}, of a dead zone of ${dead_zone} and a curve of ${curve}, means ${share}`, () => {
    assert.ok(Math.abs(shaped(value, { dead_zone, curve }) - share) < 1e-9);
  });
}

test("a robot for which nothing was kept has its first joints on the sticks, triggers and the cross", () => {
  const { joints } = usualMapping(["a", "b", "c", "d", "e", "f", "g", "h"]);
  assert.deepEqual(Object.keys(joints), ["a", "b", "c", "d", "e", "f", "g"]);
  const held = [15, 12, 7].map((number) => number);
  const buttons = Array.from({ length: 17 }, (_, number) => ({ pressed: number === 4, value: held.includes(number) ? 1 : 0 }));
  assert.deepEqual([...sharesOf({ axes: [1, -1, 1, -1], buttons }, usualMapping(Object.keys(joints)), joints)!.values()], [1, 1, 1, 1, 1, 1, 1]);
});

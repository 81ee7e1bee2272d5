/** What the robot touches, and where it comes nearest to something. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { DoubleSide, FrontSide } from "three";
import { Arrows, Gap, Surroundings, gapColour, onRobot } from "../src/around";
import { readTelemetry } from "../src/messages";
import type { Contact } from "../src/messages";
import type { NearestLinks } from "../src/protocol";

const LINKS = new Set(["elbow", "hand"]);
const PALETTE = { near: "#e3a92f", over: "#ff5a4d", contact: "#ff8ad8" } as any;

function contact(one: string, other: string, force: [number, number, number]): Contact {
  return { bodies: [one, other], position: [0.4, 0, 0.1], force };
}

function frame(joints: number, text: string): ArrayBuffer {
  const told = new TextEncoder().encode(text);
  const data = new ArrayBuffer(24 + 24 * joints + told.length);
  const view = new DataView(data);
  view.setUint8(0, 1);
  view.setUint16(4, joints, true);
  new Uint8Array(data, 24 + 24 * joints).set(told);
  return data;
}

test("telemetry has what touches where the daemon knows it", () => {
  const touching = [contact("floor", "hand", [0, 0, 9.5])];
  assert.deepEqual(readTelemetry(frame(2, `${JSON.stringify(touching)}   `))?.contacts, touching);
  assert.deepEqual(readTelemetry(frame(2, "[]  "))?.contacts, []);
  const without = readTelemetry(frame(2, ""));
  assert.ok(without && !("contacts" in without));
  assert.equal(without.feedback.effort.length, 2);
});

test("telemetry that is cut off is none", () => {
  assert.equal(readTelemetry(frame(2, "").slice(0, 60)), null);
});

test("an arrow is the force on the robot, whichever of the two is named first", () => {
  assert.deepEqual(onRobot(contact("floor", "hand", [0, 1, 9]), LINKS), [0, 1, 9]);
  assert.deepEqual(onRobot(contact("hand", "table", [1, 2, -9]), LINKS), [-1, -2, 9]);
  assert.deepEqual(onRobot(contact("elbow", "hand", [1, 2, 3]), LINKS), [1, 2, 3]);
});

test("a forbidden plane is seen from where the robot may be, and is no veil from behind; a box is seen from all sides", () => {
  const pose = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
  const plane = { name: "wall", role: "forbidden", kind: "plane", pose, size: [0, 0], colour: null, mesh: null, format: null, scale: [1, 1, 1] };
  const all = [plane, { ...plane, name: "press", kind: "box", size: [1, 1, 1] }] as any;
  const { group } = new Surroundings(all, { over: "#ff5a4d" } as any, {} as any, 1, () => undefined);
  assert.deepEqual(group.children.map((one: any) => one.material.side), [FrontSide, DoubleSide]);
});

test("arrows stand where bodies touch, longer with the force, and go with the contact", () => {
  const arrows = new Arrows();
  assert.equal(arrows.show([], LINKS, 1), false);
  assert.equal(arrows.show([contact("floor", "hand", [0, 0, 4]), contact("floor", "elbow", [0, 0, 64])], LINKS, 1), true);
  const [weak, strong] = arrows.group.children;
  assert.deepEqual(weak!.position.toArray(), [0.4, 0, 0.1]);
  assert.ok(weak!.scale.x < 0.6 * strong!.scale.x);
  arrows.show([contact("floor", "hand", [0, 0, 1e6])], LINKS, 1);
  assert.ok(weak!.scale.x <= 0.4 + 1e-9, "no longer than a part of the robot");
  assert.deepEqual(arrows.group.children.map(({ visible }) => visible), [true, false]);
  assert.equal(arrows.show([], LINKS, 1), true, "that nothing touches any more is another picture");
  assert.equal(arrows.show([], LINKS, 1), false);
});

test("the nearest pair is a line between its two points, red where they are nearer than allowed", () => {
  const nearest: NearestLinks = { links: ["elbow", "hand"], distance_m: 0.012, margin_m: 0.005, time: 1.2, points: [[0, 0, 0.1], [0, 0, 0.112]] };
  const gap = new Gap();
  assert.equal(gap.group.visible, false);
  gap.show(nearest, PALETTE, 1);
  assert.equal(gap.group.visible, true);
  assert.deepEqual(gap.group.children.slice(1).map(({ position }) => position.z), [0.1, 0.112]);
  assert.equal(gapColour(nearest, PALETTE), PALETTE.near);
  assert.equal(gapColour({ ...nearest, distance_m: 0.004 }, PALETTE), PALETTE.over);
  gap.show(null, PALETTE, 1);
  assert.equal(gap.group.visible, false);
});

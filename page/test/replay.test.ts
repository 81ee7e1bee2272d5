/** A recorded run that is looked at: its cursor, its keys, and the stretch that it loops in. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { endBrowser, pass, startBrowser } from "./browser";

startBrowser();
const FRAME_MS = 20;
Object.assign(globalThis, {
  requestAnimationFrame: (draw: (nowMs: number) => void) => setTimeout(() => draw(Date.now()), FRAME_MS),
  cancelAnimationFrame: (frame: number) => clearTimeout(frame),
  performance: { now: () => Date.now() },
});
const { Robot } = await import("../src/store");
const { at, ghostIsOther, go, loops, onRunKey, opened, places, range, run, runs, speed, step } = await import("../src/replay");
const { recorded } = await import("../src/opened");
endBrowser();

const ROWS = 101;
const times = Float32Array.from({ length: ROWS }, (_, row) => 0.1 * row);
const at10s = { name: "run", joints: ["elbow"], units: ["rad"], points: ROWS, began_utc: "2026-01-02T03:04:05Z", phases: [], gaps: [], events: [], results: [], times };

function runOf(feedback: number): any {
  const filled = (value: number) => new Float32Array(ROWS).fill(value);
  return { ...at10s, reference: filled(1), feedback: filled(feedback), error: filled(1 - feedback) };
}

function press(key: string, shiftKey = false): boolean {
  return onRunKey({ key, shiftKey } as KeyboardEvent);
}

function near(time: number): void {
  assert.ok(Math.abs(at.value - time) < 1e-6, `${at.value} is not ${time}`);
}

beforeEach(() => {
  startBrowser();
  const robot = new Robot("arm");
  robot.take({ robot: "arm", subject: "description", data: { joints: [{ name: "base" }, { name: "elbow" }], model: null } as any });
  opened.value = { robot, name: "run", run: runOf(0.5), other: { name: "other", run: runOf(0.25) } };
  places.A.value = places.B.value = null;
  loops.value = ghostIsOther.value = false;
  speed.value = 1;
  go(0);
});

afterEach(() => {
  run(false);
  endBrowser();
});

test("the picture is that of the cursor's time, in the order of the robot's joints", () => {
  assert.deepEqual([...recorded.value!.sample.feedback.position], [NaN, 0.5]);
  assert.deepEqual([...recorded.value!.sample.reference.position], [NaN, 1]);
  assert.equal(recorded.value!.ghost, "recorded reference");
  ghostIsOther.value = true;
  assert.deepEqual([...recorded.value!.sample.reference.position], [NaN, 0.25]);
  assert.equal(recorded.value!.ghost, "other");
});

test("arrows go from row to row, and no further than the run", () => {
  press("ArrowRight");
  near(times[1]!);
  press("ArrowRight", true);
  near(times[2]!);
  press("ArrowLeft");
  press("ArrowLeft");
  press("ArrowLeft");
  near(0);
  step(1000);
  near(times[ROWS - 1]!);
  go(55);
  near(times[ROWS - 1]!);
  press("Home");
  near(0);
  press("End");
  near(times[ROWS - 1]!);
});

test("keys of a run are none where no run is opened", () => {
  assert.deepEqual(["x", " ", " "].map((key) => press(key)), [false, true, true]);
  opened.value = null;
  assert.deepEqual([" ", "ArrowLeft", "a"].map((key) => press(key)), [false, false, false]);
});

test("the picture runs at its speed and holds at the end", async () => {
  speed.value = 2;
  press(" ");
  await pass(1000, FRAME_MS);
  near(2);
  press(" ");
  await pass(500, FRAME_MS);
  near(2);
  press(" ");
  await pass(5000, FRAME_MS);
  near(times[ROWS - 1]!);
  assert.equal(runs.value, false);
  press(" ");
  await pass(100, FRAME_MS);
  near(0.2);
});

test("it loops between the two places, whichever is the earlier", async () => {
  go(4);
  press("a");
  go(3);
  press("B");
  assert.deepEqual(range.value, [3, 4]);
  loops.value = true;
  press(" ");
  for (let lap = 0; lap < 5; lap++) {
    await pass(300, FRAME_MS);
    assert.ok(at.value >= 3 && at.value <= 4, String(at.value));
  }
  assert.equal(runs.value, true);
});

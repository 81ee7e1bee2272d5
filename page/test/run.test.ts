/** Recorded runs: what is read of one, and what is worked out of it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { columnOf, curve, extent, firstRowTime, gapAt, laidOn, less, pointTimes, postureAt, readRun, rowAt, valueAt } from "../src/run";
import type { Run } from "../src/run";

const ABOUT = { name: "arm", joints: ["base", "elbow"], units: ["rad", "rad"], phases: [], events: [], results: [], gaps: [], worst: {} };

/** A run of a joint `base`, and one `elbow` that is at 10 times as much; feedback is 0.5 behind. */
function run(times: number[], base: number[], about: object = {}): Run {
  const reference = Float32Array.from(base.flatMap((value) => [value, 10 * value]));
  const arrays = { reference, feedback: reference.map((value) => value - 0.5), error: reference.map(() => 0.5) };
  return { ...ABOUT, ...about, times: Float32Array.from(times), ...arrays } as unknown as Run;
}

function written(about: object, ...arrays: number[][]): ArrayBuffer {
  let text = JSON.stringify(about);
  text += " ".repeat(-text.length & 3);
  const numbers = Float32Array.from(arrays.flat());
  const data = new ArrayBuffer(4 + text.length + numbers.byteLength);
  new DataView(data).setUint32(0, text.length, true);
  new Uint8Array(data).set(new TextEncoder().encode(text), 4);
  new Uint8Array(data).set(new Uint8Array(numbers.buffer), 4 + text.length);
  return data;
}

test("a run is read by its times, references, feedback and errors", () => {
  const about = { ...ABOUT, points: 3, gaps: [{ time: 0.1, ticks: 3, reason: "lost" }] };
  const read = readRun(written(about, [0, 0.1, 1], [1, 2, 3, 4, 5, 6], [1.5, 2.5, 3.5, 4.5, NaN, 6.5], [9, 8, 7, 6, 5, 4]));
  assert.deepEqual([...read.times], [0, Math.fround(0.1), 1]);
  assert.deepEqual([...columnOf(read, read.reference, 0)], [1, 3, 5]);
  assert.deepEqual([...columnOf(read, read.feedback, 0)], [1.5, 3.5, NaN]);
  assert.deepEqual([...columnOf(read, read.feedback, 1)], [2.5, 4.5, 6.5]);
  assert.deepEqual([...columnOf(read, read.error, 1)], [8, 6, 4]);
  assert.deepEqual(read.gaps.map(({ until }) => until), [1]);
});

test("a run without a row is read", () => {
  const read = readRun(written({ ...ABOUT, points: 0 }));
  assert.deepEqual([read.times.length, read.reference.length, pointTimes(read)], [0, 0, []]);
});

test("a cursor finds the row at or before it, and values between two rows", () => {
  const one = run([0, 1, 2, 4], [0, 1, 2, 4]);
  assert.deepEqual([-1, 0, 0.99, 1, 3.9, 4, 9].map((time) => rowAt(one, time)), [0, 0, 0, 1, 2, 3, 3]);
  assert.deepEqual([0, 0.25, 3, 4].map((time) => valueAt(one, "reference", 0, time)), [0, 0.25, 3, 4]);
  assert.deepEqual([-0.1, 4.1].map((time) => valueAt(one, "reference", 0, time)), [NaN, NaN]);
});

test("in a gap there is no value, and the robot is drawn where it was before", () => {
  const one = run([0, 1, 4, 5], [0, 1, 4, 5], { gaps: [{ time: 1, until: 4, ticks: 2, reason: "lost" }] });
  assert.equal(gapAt(one, 2)?.reason, "lost");
  assert.deepEqual([1, 2, 4].map((time) => gapAt(one, time) !== undefined), [false, true, false]);
  assert.deepEqual([1, 2, 4].map((time) => valueAt(one, "reference", 0, time)), [1, NaN, 4]);
  assert.deepEqual([...postureAt(one, "reference", ["base"], 2)], [1]);
});

test("a posture is in the order of the robot's joints, and NaN where the run has none", () => {
  assert.deepEqual([...postureAt(run([0, 1], [0, 1]), "feedback", ["elbow", "wrist", "base"], 0.5)], [4.5, NaN, 0]);
});

test("a curve has a gap where ticks are missing, and where nothing was known", () => {
  const one = run([0, 1, 4, 5], [1, NaN, 2, 3], { gaps: [{ time: 1, until: 4, ticks: 2, reason: "lost" }] });
  assert.deepEqual(pointTimes(one), [0, 1, 2.5, 4, 5]);
  assert.deepEqual(curve(one, columnOf(one, one.reference, 0), 2), [2, null, null, 4, 6]);
});

test("the largest error is the one furthest from zero, with its sign and its time", () => {
  const errors = less(Float32Array.of(1, 2, 3, 4), Float32Array.of(0, 2, 7, NaN));
  assert.deepEqual([...errors], [1, 0, -4, NaN]);
  assert.deepEqual(extent(Float32Array.of(0, 1, 2, 3), errors), { value: -4, time: 2, rms: Math.sqrt(17 / 3) });
  assert.equal(extent(Float32Array.of(0, 1), Float32Array.of(NaN, NaN)), null);
});

test("another run is laid on one where their motions began to play, whatever led there", () => {
  const began = (time: number) => ({ phases: [{ time: 0, state: "approaching" }, { time, state: "playing" }] });
  const one = run([0, 1, 2, 3, 4], [9, 0, 1, 2, 3], began(1));
  const other = { ...run([0, 2, 4, 5], [9, 9, 0, 1], { ...began(4), name: "other" }), joints: ["elbow", "base"] };
  const laid = laidOn(one, other);
  assert.equal(firstRowTime(one), 1);
  assert.deepEqual([...columnOf(laid, laid.reference, 1)], [4.5, 0, 1, NaN, NaN]);
  assert.deepEqual([...columnOf(laid, laid.reference, 0)], [45, 0, 10, NaN, NaN]);
  assert.deepEqual([...columnOf(laid, laid.error, 0)], [0.5, 0.5, 0.5, NaN, NaN]);
  assert.deepEqual([...less(one.feedback, laid.feedback).subarray(2, 6)], [0, 0, -9, 9]);
});

test("whole turns between two runs where they begin are taken away from joints that turn without end", () => {
  const turn = 2 * Math.PI;
  const began = { phases: [{ time: 0, state: "approaching" }, { time: 1, state: "playing" }] };
  const one = run([0, 1, 2, 3], [3, 0, 1, 2], began);
  const later = run([0, 1, 2, 3], [0, turn, 1 + turn, 2 + 2 * turn], began);
  const turnsOff = (endless: string, kind: "reference" | "feedback") => {
    const laid = laidOn(one, later, new Set([endless]));
    return [...columnOf(one, less(laid[kind], one[kind]), 0)].slice(1).map((away) => Math.round((1000 * away) / turn) / 1000);
  };
  assert.deepEqual(turnsOff("elbow", "feedback"), [1, 1, 2]);
  assert.deepEqual(turnsOff("base", "feedback"), [0, 0, 1]);
  assert.deepEqual(turnsOff("base", "reference"), [0, 0, 1]);
});

test("where nothing is known of a joint that turns without end, nothing is taken away", () => {
  const laid = laidOn(run([0, 1], [0, 1]), run([5, 6], [9, 9]), new Set(["base", "wrist"]));
  assert.deepEqual([...columnOf(laid, laid.feedback, 0)], [NaN, NaN]);
});

test("a run that followed targets begins with them", () => {
  const phases = [{ state: "idle", time: 0 }, { state: "following", time: 1 }];
  assert.equal(firstRowTime(run([0, 1, 2], [0, 0, 1], { phases })), 1);
});

test("a run in which nothing played is laid on from its beginning", () => {
  const laid = laidOn(run([0, 1], [0, 1]), run([0, 2], [0, 2], { name: "other" }));
  assert.deepEqual([...columnOf(laid, laid.reference, 0)], [0, 1]);
  assert.equal(laid.name, "other");
});

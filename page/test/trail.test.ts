/** What the page keeps of a movement by hand, and what it asks to be made of it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { endBrowser, startBrowser } from "./browser";

startBrowser();
const { Lesson } = await import("../src/lesson");
const { Trail } = await import("../src/trail");

function sample(stampS: number, ...position: number[]): any {
  return { stampS, feedback: { position: Float32Array.from(position) } };
}

const TAUGHT = { mode: "released", since_utc: "2026-01-01T00:00:00Z", duration_s: 0, poses: [], draft: null, message: "", holds: null } as const;

test("time begins with the movement, also where the page came later", () => {
  const trail = new Trail();
  const later = new Trail(5);
  for (const stampS of [100, 100.5, 101]) {
    trail.add(sample(stampS, stampS));
    later.add(sample(stampS, stampS));
  }
  assert.deepEqual([trail.times, later.times], [[0, 0.5, 1], [5, 5.5, 6]]);
});

test("the posture at a time is that of the nearest sample", () => {
  const trail = new Trail();
  for (const value of [0, 1, 2, 3]) trail.add(sample(value, value));
  assert.deepEqual([-1, 0.4, 0.6, 2.5, 9].map((time) => trail.at(time)![0]), [0, 0, 1, 3, 3]);
  assert.equal(new Trail().at(0), null);
});

test("an hour of samples takes no more memory than two minutes, and keeps its beginning and its end", () => {
  const trail = new Trail();
  for (let k = 0; k < 100_000; k++) trail.add(sample(0.036 * k, k));
  assert.ok(trail.rows.length <= 4096 && trail.rows.length > 2000);
  assert.ok(trail.rows[0]![0] === 0 && 3600 - trail.durationS < 2);
});

test("curves go over the whole plot, and a joint that stands still is a line in its middle", () => {
  const trail = new Trail();
  for (const value of [0, 1, 2]) trail.add(sample(value, value, 0.5));
  assert.deepEqual(trail.curves(2), ["0.0,95.0 500.0,50.0 1000.0,5.0", "0.0,50.0 500.0,50.0 1000.0,50.0"]);
});

test("what was seen of the last movement is forgotten when the next one begins", () => {
  const lesson = new Lesson();
  lesson.take(sample(1, 0));
  assert.equal(lesson.trail.rows.length, 0);
  lesson.receive(TAUGHT);
  lesson.take(sample(2, 0));
  lesson.first.value = 0.5;
  lesson.receive({ ...TAUGHT, duration_s: 3 });
  assert.deepEqual([lesson.trail.rows.length, lesson.first.value], [1, 0.5]);
  lesson.receive({ ...TAUGHT, mode: null, draft: { duration_s: 3, rows: 300, poses: 0 } });
  lesson.take(sample(9, 0));
  assert.equal(lesson.trail.rows.length, 1);
  lesson.receive({ ...TAUGHT, since_utc: "2026-01-01T00:01:00Z" });
  assert.deepEqual([lesson.trail.rows.length, lesson.first.value], [0, null]);
});

test("a motion is asked for of the movement or of the poses, with what belongs to it", () => {
  const lesson = new Lesson();
  lesson.name.value = " wave ";
  lesson.first.value = 0.5;
  assert.deepEqual(lesson.body(true), { name: "wave", from: "movement", first_s: 0.5, last_s: null, trim: true, smooth_rad: 0.005, smooth_m: 0.0005, replace: false, dry: true });
  lesson.source.value = "poses";
  assert.deepEqual(lesson.body(false, true), { name: "wave", from: "poses", at_poses: "rest", speed: 0.5, replace: true, dry: false });
});

test("a movement counts as seen where all of it was", () => {
  const lesson = new Lesson();
  assert.equal(lesson.hasSeen(0), false);
  lesson.receive(TAUGHT);
  for (const stampS of [10, 12]) lesson.take(sample(stampS, 0));
  assert.deepEqual([1, 1.9, 2.2, 9].map((durationS) => lesson.hasSeen(durationS)), [false, true, true, false]);
  lesson.receive({ ...TAUGHT, since_utc: "2026-01-01T00:01:00Z", duration_s: 4 });
  for (const stampS of [20, 22]) lesson.take(sample(stampS, 0));
  assert.equal(lesson.hasSeen(6), false);
});

test.after(endBrowser);

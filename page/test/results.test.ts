/** What the page makes of the results that the daemon keeps. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeSocket, endBrowser, pass, settle, startBrowser } from "./browser";

startBrowser();
const { folded } = await import("../src/results");
const { Robot, connection } = await import("../src/store");
connection.connect();
FakeSocket.last.greet();

const MOTIONS = { motions: ["wave", "nod"].map((name) => ({ name, ok: true })) };
const FAILED = { goal_id: "g1", motion: "wave", code: "HARDWARE_FAULT", message: "joint 'elbow' is stuck", played_s: 1 };
const DROPPED = { goal_id: "g2", motion: "nod", code: "CANCELED", message: "wave, before it, failed", played_s: null };
const POSTURE = { goal_id: "g3", motion: "goto", code: "SUCCESSFUL", message: "held", played_s: 0.5 };
const PLAYED = { goal_id: "g4", motion: "nod", code: "SUCCESSFUL", message: "held", played_s: 1 };

function arm(): InstanceType<typeof Robot> {
  const robot = new Robot("arm");
  robot.take({ robot: "arm", subject: "motions", data: MOTIONS as any });
  return robot;
}

/** Answer the newest request with results, the newest first. */
async function answer(results: object[], keys: object = {}): Promise<void> {
  const { id } = FakeSocket.last.requests.at(-1)!;
  const data = { results: results.map((one, k) => ({ id: results.length - k, ...one })), more: false, problem: null, ...keys };
  FakeSocket.last.receive({ id, answer: { status: "ok", data } });
  await settle();
}

function shown(robot: InstanceType<typeof Robot>): unknown {
  const ended = robot.ended.value;
  return ended && [ended.result.motion, ended.result.code, ended.failed, ended.dropped];
}

test("who opens the page later sees why the last motion failed, and what was not played", async () => {
  const robot = arm();
  void robot.recall();
  await answer([POSTURE, DROPPED, FAILED]);
  assert.deepEqual(shown(robot), ["wave", "HARDWARE_FAULT", true, ["nod"]]);
  assert.deepEqual(robot.past.list.value?.map((one) => one.goal_id), ["g3", "g2", "g1"]);
});

test("a motion that was played since takes the place of one that failed", async () => {
  const robot = arm();
  void robot.recall();
  await answer([PLAYED, FAILED]);
  assert.deepEqual(shown(robot), ["nod", "SUCCESSFUL", false, []]);
});

test("which results are those of motions is known only once the motions are", async () => {
  const robot = new Robot("arm");
  void robot.recall();
  await answer([PLAYED, FAILED]);
  robot.take({ robot: "arm", subject: "motions", data: MOTIONS as any });
  await answer([PLAYED, FAILED]);
  assert.deepEqual(shown(robot), ["nod", "SUCCESSFUL", false, []]);
});

test("an answer that is older than a result that was reported changes nothing", async () => {
  const robot = arm();
  void robot.recall();
  robot.take({ robot: "arm", subject: "result", data: { ...FAILED, goal_id: "g9", stamp_utc: "2026-01-01T00:00:00Z" } as any });
  await answer([PLAYED]);
  assert.deepEqual(shown(robot), ["wave", "HARDWARE_FAULT", true, []]);
});

test("a daemon that keeps no history refuses, and nothing is shown of it", async () => {
  const robot = arm();
  void robot.recall();
  const { id } = FakeSocket.last.requests.at(-1)!;
  FakeSocket.last.receive({ id, answer: { status: "error", code: "UNKNOWN_VERB", error: "no verb 'history'", data: {} } });
  await settle();
  assert.deepEqual([shown(robot), robot.past.list.value], [null, null]);
});

test("older results are added below, and new ones are asked for once for all that end together", async () => {
  const robot = arm();
  void robot.recall();
  await answer([{ ...PLAYED, id: 8 }], { more: true });
  void robot.past.older();
  assert.deepEqual(FakeSocket.last.requests.at(-1)!["body"].before, 8);
  await answer([FAILED]);
  assert.deepEqual([robot.past.list.value?.map((one) => one.goal_id), robot.past.more.value], [["g4", "g1"], false]);
  const before = FakeSocket.last.requests.length;
  for (const goal_id of ["g5", "g6", "g7"]) robot.take({ robot: "arm", subject: "result", data: { ...PLAYED, goal_id, stamp_utc: "2026-01-01T00:00:00Z" } as any });
  await pass(1000);
  assert.equal(FakeSocket.last.requests.length, before + 1);
});

test.after(endBrowser);

test("what one person has followed in a row, each ending well, is one line", () => {
  const follow = { motion: "follow", code: "SUCCESSFUL", asked_by: "ana" };
  const ended = [follow, follow, { ...follow, asked_by: "bob" }, { ...follow, code: "CANCELED" }, { ...follow, code: "CANCELED" }, follow, { ...follow, motion: "nod" }, { ...follow, motion: "nod" }, follow];
  const lines = folded(ended.map((one, place) => ({ id: 20 - place, ...one }) as any));
  assert.deepEqual(lines.map(({ result, times }) => [result.id, times]), [[20, 2], [18, 1], [17, 1], [16, 1], [15, 1], [14, 1], [13, 1], [12, 1]]);
  assert.deepEqual(folded([]), []);
});

/** What the page keeps of a robot's results. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { endBrowser, startBrowser } from "./browser";

startBrowser();
const { Robot } = await import("../src/store");
endBrowser();

const MOTIONS = { motions: ["wave", "nod"].map((name) => ({ name, ok: true })) };

function arm(): InstanceType<typeof Robot> {
  const robot = new Robot("arm");
  robot.take({ robot: "arm", subject: "motions", data: MOTIONS as any });
  return robot;
}

function end(robot: InstanceType<typeof Robot>, motion: string, code: string, message = "", played_s: number | null = 1): void {
  robot.take({ robot: "arm", subject: "result", data: { motion, code, message, played_s } as any });
}

function shown(robot: InstanceType<typeof Robot>): unknown {
  const ended = robot.ended.value;
  return ended && [ended.result.motion, ended.result.code, ended.result.message, ended.failed, ended.dropped];
}

test("a failed motion stays, with what waited and is not played", () => {
  const robot = arm();
  end(robot, "wave", "HARDWARE_FAULT", "joint 'elbow' is stuck");
  end(robot, "nod", "CANCELED", "wave, before it, ended with HARDWARE_FAULT", null);
  end(robot, "wave", "CANCELED", "wave, before it, ended with HARDWARE_FAULT", null);
  assert.deepEqual(shown(robot), ["wave", "HARDWARE_FAULT", "joint 'elbow' is stuck", true, ["nod", "wave"]]);
});

test("a posture that is reached after a failed motion does not hide it", () => {
  const robot = arm();
  end(robot, "wave", "DEADLINE_MISSED", "late");
  end(robot, "goto", "SUCCESSFUL");
  assert.deepEqual(shown(robot), ["wave", "DEADLINE_MISSED", "late", true, []]);
  end(robot, "goto", "COMM_LOST", "the bus is lost");
  assert.deepEqual(shown(robot), ["goto", "COMM_LOST", "the bus is lost", true, []]);
});

test("the next motion replaces a failed one", () => {
  const robot = arm();
  end(robot, "wave", "COMM_LOST", "the bus is lost");
  end(robot, "nod", "SUCCESSFUL", "the last row is out and held");
  assert.deepEqual(shown(robot), ["nod", "SUCCESSFUL", "the last row is out and held", false, []]);
});

test("a queue that is cleared is no failure", () => {
  const robot = arm();
  end(robot, "wave", "SUCCESSFUL");
  end(robot, "nod", "CANCELED", "the queue was cleared", null);
  assert.deepEqual(shown(robot), ["wave", "SUCCESSFUL", "", false, []]);
});

/** What the page keeps of a robot's results. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { asked, endBrowser, settle, startBrowser } from "./browser";

startBrowser();
const { Robot, command, connection, notices, notify } = await import("../src/store");
after(endBrowser);

const MOTIONS = { motions: ["wave", "nod"].map((name) => ({ name, ok: true })) };

let goals = 0;

function arm(): InstanceType<typeof Robot> {
  const robot = new Robot("arm");
  robot.take({ robot: "arm", subject: "motions", data: MOTIONS as any });
  return robot;
}

function end(robot: InstanceType<typeof Robot>, motion: string, code: string, message = "", played_s: number | null = 1): void {
  const data = { goal_id: `${++goals}`, motion, code, message, played_s, stamp_utc: "2026-01-01T00:00:00Z" };
  robot.take({ robot: "arm", subject: "result", data: data as any });
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

test("a result that comes again, to a page that comes back, is no news", () => {
  const robot = arm();
  end(robot, "wave", "COMM_LOST", "the bus is lost");
  end(robot, "nod", "CANCELED", "wave, before it, ended with COMM_LOST", null);
  goals -= 2;
  end(robot, "wave", "COMM_LOST", "the bus is lost");
  goals++;
  assert.deepEqual(shown(robot), ["wave", "COMM_LOST", "the bus is lost", true, ["nod"]]);
  assert.equal(robot.log.value.length, 2);
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

test("robots that a stop does not reach are named in one notice, above later ones, of which each stands there once", async () => {
  for (const name of ["left", "right"]) {
    void command(new Robot(name), "stop");
    asked.at(-1)!.answer(500, { status: "error", error: "stop: the daemon cannot be reached" });
    await settle();
  }
  for (const text of ["0", "1", "2", "2", "3", "4", "4"]) notify(text);
  assert.deepEqual(notices.value.map(({ text }) => text), ["The stop did not reach left, right. Use their own switches. stop: the daemon cannot be reached", "4", "3", "2", "1"]);
});

test("a refusal stands until the same is asked again and answered otherwise", async ({ mock }) => {
  const [left, right] = [new Robot("left"), new Robot("right")];
  notices.value = [];
  const ask = async (robot: typeof left, verb: string, error: string | null): Promise<void> => {
    mock.method(connection, "ask", async () => (error === null ? { status: "ok", data: {} } : { status: "error", error }));
    await command(robot, verb);
  };
  const texts = () => notices.value.map(({ text }) => text);
  await ask(left, "teach/save", "left: no name");
  await ask(right, "teach/save", "right: no name");
  await ask(left, "teach/pose", "left: no pose");
  await ask(left, "teach/save", "left: nothing was moved");
  assert.deepEqual(texts(), ["left: nothing was moved", "left: no pose", "right: no name"]);
  await ask(left, "teach/save", null);
  assert.deepEqual(texts(), ["left: no pose", "right: no name"]);
});

test("whether a robot holds after a lesson is said until it is taught again, or its daemon is another one", () => {
  notices.value = [];
  const robot = arm();
  const report = (mode: string | null) => robot.take({ robot: "arm", subject: "teaching", data: { mode, since_utc: mode, duration_s: 0, poses: [], draft: null, message: "", holds: true } as any });
  const end = (message: string) => robot.take({ robot: "arm", subject: "event", data: { kind: "teaching", message, details: {} } as any });
  const texts = () => notices.value.map(({ text }) => text);
  report("released");
  end("stopped; the robot holds");
  report(null);
  assert.deepEqual(texts(), ["arm: stopped; the robot holds."]);
  report("released");
  assert.deepEqual(texts(), []);
  robot.reportCutOff();
  assert.equal(texts().length, 1);
  assert.match(texts()[0]!, /^arm: teaching was cut off, .* go on holding it unless torque is on; /);
  report(null);
  robot.reportCutOff();
  assert.equal(texts().length, 1);
});

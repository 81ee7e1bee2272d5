/** Who may command what: one place decides, and says why not. */

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { endBrowser, startBrowser } from "./browser";

startBrowser();
const { Robot, link, locked } = await import("../src/store");
const { gate, refusal } = await import("../src/permission");
endBrowser();

type Arm = InstanceType<typeof Robot>;
const ACTS = ["command", "play", "playNow", "pause", "resume", "goto", "jog", "torque", "reset", "takeControl", "record"] as const;

function arm(state: string): Arm {
  const robot = new Robot("arm");
  robot.take({ robot: "arm", subject: "state", data: { state, queued: 0 } as any });
  robot.take({ robot: "arm", subject: "availability", data: { state: state === "offline" ? "offline" : "online" } as any });
  return robot;
}

function possible(robot: Arm): string[] {
  return ACTS.filter((act) => refusal(robot, act) === "");
}

beforeEach(() => {
  link.value = "connected";
  locked.value = false;
});

const STATES: [string, string[]][] = [
  ["idle", ["command", "play", "playNow", "goto", "jog", "torque", "reset", "takeControl", "record"]],
  ["playing", ["command", "play", "pause", "reset", "takeControl", "record"]],
  ["paused", ["command", "play", "resume", "goto", "reset", "takeControl", "record"]],
  ["approaching", ["command", "play", "goto", "reset", "takeControl", "record"]],
  ["following", ["command", "play", "reset", "takeControl", "record"]],
  ["estopped", ["command", "torque", "reset", "takeControl", "record"]],
  ["fault", ["command", "torque", "reset", "takeControl", "record"]],
  ["offline", ["reset", "takeControl"]],
];
for (const [state, acts] of STATES) {
  test(`what is possible while a robot is ${state}`, () => assert.deepEqual(possible(arm(state)), acts));
}

test("nothing is possible without a connection or while the controls are locked", () => {
  link.value = "lost";
  assert.deepEqual(possible(arm("idle")), []);
  assert.equal(refusal(arm("idle"), "play"), "The connection is lost");
  link.value = "connected";
  locked.value = true;
  assert.deepEqual(possible(arm("idle")), []);
  assert.equal(refusal(arm("idle"), "play"), "The controls are locked on this device");
});

test("while another client is in control, it can be recorded, and control be taken", () => {
  const robot = arm("idle");
  robot.take({ robot: "arm", subject: "lease", data: { required: true, holder: "Ada", epoch: 1, takeover: true } as any });
  assert.deepEqual(possible(robot), ["takeControl", "record"]);
  assert.deepEqual(gate(robot, "play", "Play it"), { disabled: true, title: "Ada is in control" });
});

test("servos are restarted also while the robot is offline, but not past who is in control", () => {
  const robot = arm("offline");
  assert.equal(refusal(robot, "servos"), "");
  robot.take({ robot: "arm", subject: "lease", data: { required: true, holder: "Ada", epoch: 1, takeover: true } as any });
  assert.equal(refusal(robot, "servos"), "Ada is in control");
});

test("a control says why it is off, and else what it does", () => {
  assert.deepEqual(gate(arm("estopped"), "play", "Play it"), { disabled: true, title: "An emergency stop holds the robot; reset it first" });
  assert.deepEqual(gate(arm("idle"), "play", "Play it"), { disabled: false, title: "Play it" });
});

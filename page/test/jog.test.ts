/** Jogging: the robot moves while something is held, and whatever ends that stops it at once. */

import assert from "node:assert/strict";
import { after, afterEach, beforeEach, test } from "node:test";
import { FakeSocket, asked, endBrowser, pass, settle, startBrowser } from "./browser";

startBrowser();
const { Robot, connection, link, locked, robots } = await import("../src/store");
const { Jog } = await import("../src/jog");
const { refusal } = await import("../src/permission");
connection.connect();
after(endBrowser);

const GOAL = "00112233445566778899aabbccddeeff";
const JOINTS = [
  { name: "base", unit: "rad", velocity: 2 },
  { name: "lift", unit: "m", velocity: null },
  { name: "grip", unit: "rad", velocity: 4 },
];
let robot: InstanceType<typeof Robot>;
let jog: InstanceType<typeof Jog>;
let unwatch: () => void;

beforeEach(() => {
  asked.length = FakeSocket.last.sent.length = FakeSocket.last.frames.length = 0;
  FakeSocket.last.greet();
  robot = robots.value[0]!;
  robot.jogs.value = robot.lastResult.value = null;
  report("availability", { state: "online" });
  report("description", { joints: JOINTS, model: null });
  reportState("idle", null);
  locked.value = false;
  jog = new Jog(robot);
  jog.armed.value = true;
  jog.speed.value = 0.5;
  unwatch = jog.watch();
});
afterEach(() => unwatch());

function report(subject: string, data: object): void {
  FakeSocket.last.receive({ robot: "arm", subject, data });
}

function reportState(state: string, goal_id: string | null): void {
  report("state", { state, goal_id, queued: 0, motion: goal_id && "follow" });
}

function reportEnd(code: string, message: string): void {
  report("result", { goal_id: GOAL, code, motion: "follow", message, played_s: 1, stamp_utc: "2026-01-01T00:00:00Z" });
  reportState("idle", null);
}

const verbs = () => FakeSocket.last.requests.map(({ verb }) => verb);
const frames = () => FakeSocket.last.frames;

function values(frame: DataView): number[] {
  return Array.from({ length: (frame.byteLength - 25) / 8 }, (_, place) => frame.getFloat64(25 + 8 * place, true));
}

/** Hold the base, and let the daemon begin to follow. */
async function begin(by = "pad", share = 1): Promise<void> {
  jog.press(by, new Map([["base", share]]));
  await settle();
  FakeSocket.last.answer({ goal_id: GOAL, joints: ["grip", "base", "lift"], rate_hz: 200 });
  await settle();
  reportState("following", GOAL);
}

/** All that shall be on its way once nothing is held: rest, and the end of it; and nothing afterwards. */
async function assertStopped(): Promise<void> {
  await settle();
  assert.deepEqual(verbs(), ["follow/start", "follow/stop"]);
  assert.equal(FakeSocket.last.requests.at(-1)!["body"].goal_id, GOAL);
  assert.deepEqual(values(frames().at(-1)!), [0, 0, 0]);
  const sent = frames().length;
  await pass(1000);
  assert.equal(frames().length, sent);
}

test("a joint moves at its share of the speed while it is held, thirty times a second, and rests afterwards", async () => {
  await begin();
  assert.deepEqual(FakeSocket.last.requests[0]!["body"].mode, "velocity");
  assert.equal(FakeSocket.last.requests[0]!["body"].timeout_s, 0.2);
  await pass(990, 33);
  assert.ok(frames().length >= 30 && frames().length <= 32, `${frames().length}`);
  const [first] = frames();
  assert.equal(first!.getUint8(0), 2);
  assert.equal(Buffer.from(first!.buffer, 1, 16).toString("hex"), GOAL);
  assert.deepEqual(values(first!), [0, 1, 0]); // in the order of the answer: half of 2 rad/s
  jog.release("pad");
  await assertStopped();
});

test("each frame says when it was sent, by the daemon's clock, and never less than the one before", async () => {
  FakeSocket.last.beat(7200);
  await begin();
  const sentAt = () => frames().at(-1)!.getFloat64(17, true);
  assert.ok(Math.abs(sentAt() - Date.now() / 1000 - 7200) < 0.01);
  const before = sentAt();
  FakeSocket.last.beat(-7200);
  await pass(100, 33);
  assert.equal(sentAt(), before);
});

test("several may be held at once: shares add up, to no more than the whole speed", async () => {
  await begin("pad", 0.75);
  jog.press("key", new Map([["base", 0.75], ["lift", -1]]));
  await pass(50);
  assert.deepEqual(values(frames().at(-1)!), [0, 1, -0.05]); // a joint without a limit has a speed all the same
  jog.release("pad");
  await pass(50);
  assert.deepEqual(values(frames().at(-1)!), [0, 0.75, -0.05]);
  assert.deepEqual(verbs(), ["follow/start"]);
  jog.release("key");
  await assertStopped();
});

test("a frame moves along an axis and about one, at shares of 0.25 m/s and 1 rad/s", async () => {
  jog.choose({ mode: "twist", frame: "tool", reference: "tool", turnsFree: false });
  jog.press("pad", new Map([["y", -1]]));
  jog.press("lever", new Map([["rz", 0.5]]));
  await settle();
  const { mode, frame, reference, free } = FakeSocket.last.requests[0]!["body"];
  assert.deepEqual({ mode, frame, reference, free }, { mode: "twist", frame: "tool", reference: "tool", free: [] });
  FakeSocket.last.answer({ goal_id: GOAL, joints: ["grip", "base", "lift"], rate_hz: 200 });
  await settle();
  assert.equal(frames()[0]!.getUint8(0), 3);
  assert.deepEqual(values(frames()[0]!), [0, -0.125, 0, 0, 0, 0.25]);
  jog.release("pad");
  jog.release("lever");
  await settle();
  assert.deepEqual(values(frames().at(-1)!), [0, 0, 0, 0, 0, 0]);
  assert.deepEqual(verbs(), ["follow/start", "follow/stop"]);
});

test("what is held stops when something else is chosen to be jogged", async () => {
  await begin();
  jog.choose({ mode: "twist", frame: "tool", reference: "base", turnsFree: true });
  await assertStopped();
  assert.equal(jog.ended.value, "Something else is jogged now");
});

test("a tap that ends before the robot follows stops it once it does", async () => {
  jog.press("pad", new Map([["base", 1]]));
  jog.release("pad");
  await settle();
  FakeSocket.last.answer({ goal_id: GOAL, joints: ["grip", "base", "lift"], rate_hz: 200 });
  await assertStopped();
});

test("who presses again waits until the robot rests", async () => {
  await begin();
  jog.release("pad");
  jog.press("pad", new Map([["base", 1]]));
  await pass(200);
  assert.deepEqual(verbs(), ["follow/start", "follow/stop"]);
  reportEnd("SUCCESSFUL", "");
  await pass(50);
  assert.deepEqual(verbs(), ["follow/start", "follow/stop", "follow/start"]);
});

const DEAD: [string, () => void, string][] = [
  ["the window goes to the back", () => dispatchEvent(new Event("blur")), "The window is not in front"],
  ["the tab is hidden", () => { (document as any).hidden = true; dispatchEvent(new Event("visibilitychange")); }, "The page was left"],
  ["another view is opened", () => dispatchEvent(new Event("hashchange")), "The page was left"],
  ["the controls are locked", () => void (locked.value = true), "The controls are locked on this device"],
  ["somebody else takes control", () => report("lease", { required: true, holder: "Ada", epoch: 2, takeover: true }), "Ada is in control"],
  ["the robot goes offline", () => report("availability", { state: "offline" }), "The robot is offline"],
  ["the network does not take what is sent", () => { FakeSocket.last.bufferedAmount = 5000; }, "The network is too slow"],
];
for (const [what, happen, why] of DEAD) {
  test(`the robot is stopped when ${what}, and moves again only once it is pressed again`, async () => {
    await begin();
    happen();
    await pass(50);
    const sent = frames().length;
    assert.equal(jog.ended.value, why);
    assert.equal(jog.active.value, false);
    assert.deepEqual(verbs(), ["follow/start", "follow/stop"]);
    FakeSocket.last.bufferedAmount = 0;
    jog.hold("pad", new Map([["base", 1]])); // it is held on
    await pass(500);
    assert.equal(frames().length, sent);
    jog.release("pad");
    report("lease", { required: false, holder: null, epoch: null, takeover: true });
    (document as any).hidden = false;
  });
}

test("a page that is closed stops by a request that outlives it, too", async () => {
  await begin();
  dispatchEvent(new Event("pagehide"));
  assert.deepEqual(asked.map(({ url }) => url), ["/api/robots/arm/follow/stop"]);
  await assertStopped();
});

test("without a connection nothing is held any more, and nothing is sent when it is back", async () => {
  await begin();
  FakeSocket.last.lose();
  assert.equal(link.value, "lost");
  assert.equal(jog.ended.value, "The connection is lost");
  await pass(300);
  FakeSocket.last.greet();
  reportState("idle", null);
  jog.hold("pad", new Map([["base", 1]]));
  await pass(500);
  assert.deepEqual([verbs(), frames()], [[], []]);
});

test("a robot that has stopped by itself says why, and does not go on while the pad is held on", async () => {
  await begin();
  reportEnd("CANCELED", "no target came for 0.2 s");
  assert.equal(jog.ended.value, "no target came for 0.2 s");
  jog.hold("pad", new Map([["base", 1]]));
  await pass(300);
  assert.deepEqual(verbs(), ["follow/start"]);
  jog.release("pad");
  jog.press("pad", new Map([["base", 1]]));
  await settle();
  assert.deepEqual(verbs(), ["follow/start", "follow/start"]);
  assert.equal(jog.ended.value, "");
});

test("a robot that follows another program is not jogged", () => {
  reportState("following", "ffeeddccbbaa99887766554433221100");
  assert.equal(refusal(robot, "jog"), "Another program moves the robot");
});

/** What was taught, of its recording, for a page that has not seen it. */

import type { DraftReport, ListedRecording } from "./protocol";
import { fetchRun } from "./replay";
import { connection } from "./store";
import type { Robot } from "./store";
import { Trail } from "./trail";

/** A recording ends a moment later than what it is of. */
const LONGER_S = 3;
const LOOKS = 5;
const LOOK_MS = 1000;

/** Fetch the movement that a robot was taught last, unless this page has seen it from its beginning. */
export async function recall(robot: Robot, draft: DraftReport): Promise<void> {
  const { lesson } = robot;
  if (lesson.hasSeen(draft.duration_s)) return;
  const found = await recordingOf(robot, draft);
  if (found === null) return;
  const run = await fetchRun(robot, found);
  if (typeof run === "string") return;
  const { times, phases, feedback, joints } = run;
  const began = phases.find(({ state }) => state === "teaching")?.time ?? 0;
  const trail = new Trail();
  times.forEach((stampS, row) => {
    const time = stampS - began;
    if (time >= 0 && time <= draft.duration_s) trail.put(time, feedback.subarray(row * joints.length, (row + 1) * joints.length));
  });
  if (robot.lesson.report.peek()?.draft?.rows === draft.rows) lesson.show(trail);
}

/** The name of the newest recording that is about as long; it is finished a moment after the robot is caught. */
async function recordingOf(robot: Robot, draft: DraftReport): Promise<string | null> {
  for (let look = 0; look < LOOKS; look++) {
    const answer = await connection.ask(robot.name, "recordings");
    if (answer.status !== "ok") return null;
    const newest = (answer.data["recordings"] as ListedRecording[]).find(({ why }) => why === "teaching");
    if (!newest) return null;
    const longerS = (newest.duration_s ?? 0) - draft.duration_s;
    if (!newest.is_written) return longerS >= -1 && longerS < LONGER_S ? newest.name : null;
    await new Promise((done) => setTimeout(done, LOOK_MS));
  }
  return null;
}

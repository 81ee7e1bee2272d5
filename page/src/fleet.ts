/** What the page knows of robots that many daemons have: groups, machines, clocks, and who is not there. */

import { computed } from "@preact/signals";
import { dated } from "./format";
import type { Answer } from "./messages";
import { command, connection, fleet, notify, robots } from "./store";
import type { Robot } from "./store";

export interface Group {
  name: string;
  members: Robot[];
  /** What every member can play, by its name. */
  motions: string[];
}

const PLAY_MS = 35_000;

export const groups = computed<Group[]>(() => {
  const found = new Map<string, Robot[]>();
  for (const robot of robots.value) {
    for (const group of robot.description.value?.groups ?? []) found.set(group, [...(found.get(group) ?? []), robot]);
  }
  return [...found].sort(([one], [other]) => one.localeCompare(other)).map(([name, members]) => ({ name, members, motions: common(members) }));
});

function common(members: Robot[]): string[] {
  const [first, ...others] = members.map((robot) => (robot.motions.value?.motions ?? []).filter((motion) => motion.ok).map((motion) => motion.name));
  const sets = others.map((names) => new Set(names));
  return (first ?? []).filter((name) => sets.every((names) => names.has(name))).sort();
}

/** Send it to each at once, by the connection that is open: a stop waits for no other robot. */
export function stopAll(members: Robot[], verb: "stop" | "estop"): void {
  for (const robot of members) void command(robot, verb);
}

/** Ask for something of a whole group; what is refused is shown. */
export async function askGroup(group: string, verb: "play" | "pause" | "resume", body: object = {}): Promise<Answer> {
  const answer = await postGroup(group, verb, body);
  if (answer.status === "error") notify(answer.error ?? `${group}/${verb}: refused`);
  return answer;
}

async function postGroup(group: string, verb: string, body: object): Promise<Answer> {
  try {
    const response = await fetch(`/api/fleet/${encodeURIComponent(group)}/${verb}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...body, ...connection.expiry() }),
      signal: AbortSignal.timeout(PLAY_MS),
    });
    return (await response.json()) as Answer;
  } catch {
    return { status: "error", code: "OFFLINE", error: `${group}/${verb}: no answer; look at what the robots do`, data: {} };
  }
}

/** How good a robot's clock is, in words; whether that is bad. Null where it is not reported. */
export function clockOf(robot: Robot): { text: string; bad: boolean } | null {
  const clock = robot.diagnostics.value.at(-1)?.clock;
  if (!clock) return null;
  if (!clock.synchronised) return { text: "Clock not synchronised", bad: true };
  const error = clock.estimated_error_s;
  return { text: error === null ? "Clock synchronised" : `Clock within ${(1e3 * error).toPrecision(2)} ms`, bad: false };
}

/** Why a robot is not there and since when, as far as that is known. */
export function absenceOf(robot: Robot): string {
  const availability = robot.availability.value;
  if (!fleet.value || !availability || availability.state === "online") return "";
  const since = availability.since_utc ? new Date(availability.since_utc) : null;
  const when = since && !Number.isNaN(since.getTime()) ? `Offline since ${dated(since)}` : "Offline";
  return availability.absence ? `${when}: ${availability.absence}` : when;
}

/** Which daemon a robot has, on which machine. */
export function placeOf(robot: Robot): string {
  const availability = robot.availability.value;
  if (!fleet.value || !availability?.bridge) return "";
  return availability.host ? `${availability.bridge} on ${availability.host}` : availability.bridge;
}

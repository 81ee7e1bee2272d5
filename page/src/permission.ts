/** What may be asked of a robot from this page now, and why not. */

import { heard, locked } from "./store";
import type { Robot } from "./store";

export type Act = "command" | "play" | "playNow" | "pause" | "resume" | "goto" | "jog" | "torque" | "reset" | "servos" | "takeControl" | "record" | "teach" | "taught";

/** Why something is not possible now, for whoever points at its control; '' where it is. Stops ask nothing. */
export function refusal(robot: Robot, act: Act): string {
  if (!heard.value) return "The connection is lost";
  if (locked.value) return "The controls are locked on this device";
  if (act === "takeControl") return "";
  if (act !== "record" && robot.control.who.value === "other") return `${robot.control.lease.value?.holder} is in control`;
  if (act === "reset" || act === "servos") return "";
  if (!robot.online.value) return "The robot is offline";
  return ofState(robot, act);
}

function ofState(robot: Robot, act: Act): string {
  const state = robot.state.value?.state;
  if (act === "command" || act === "record") return "";
  if (act === "taught") return state === "teaching" ? "" : "It is not moved by hand";
  if (state === "teaching") return "The robot is moved by hand; end that first";
  if (act === "jog" && isJogged(robot)) return "";
  if (state === "following" && (act === "jog" || act === "goto")) return "Another program moves the robot";
  if (act === "pause") return state === "playing" ? "" : "It can be paused once it plays";
  if (act === "resume") return state === "paused" ? "" : "It can be resumed once it is paused";
  if (act === "torque") return robot.moving.value ? "The robot moves" : "";
  if (state === "estopped") return "An emergency stop holds the robot; reset it first";
  if (state === "fault") return "The robot is in a fault; reset it first";
  if (act === "playNow" || act === "teach" || act === "jog") return robot.moving.value ? "The robot moves" : "";
  if (act === "goto") return state === "playing" || state === "pausing" ? "A motion plays" : "";
  return "";
}

/** Whether what moves it is this page's own jogging, or is about to be; or has just ended. */
export function isJogged(robot: Robot): boolean {
  const goal = robot.state.value?.goal_id ?? null;
  return robot.jogs.value === "" || (goal !== null && (goal === robot.jogs.value || goal === robot.lastResult.value?.goal_id));
}

/** What a control of an act has: whether it is off, and what it says to who points at it. */
export function gate(robot: Robot, act: Act, title?: string): { disabled: boolean; title?: string } {
  const why = refusal(robot, act);
  return why || title ? { disabled: why !== "", title: why || title! } : { disabled: false };
}

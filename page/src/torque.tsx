/** The switch of a robot's torque. */

import { useSignal } from "@preact/signals";
import { gate } from "./permission";
import { command } from "./store";
import type { Robot } from "./store";

/** Says whether actuators hold: none, some or all of them. */
export function torqueText(state: Robot["state"]["value"]): string {
  return `Torque ${!state?.torque ? "off" : state.loose.length ? "partly on" : "on"}`;
}

/**
 * Shows whether torque is on, and switches it; off only after a question, as the robot may fall.
 *
 * Where only some actuators hold, as they were left, the question is also whether all are to hold.
 */
export function TorqueSwitch({ robot }: { robot: Robot }) {
  const asks = useSignal(false);
  const state = robot.state.value;
  const on = state?.torque ?? false;
  const loose = state?.loose ?? [];
  if (asks.value && on) {
    return (
      <span class="asks" role="group" aria-label="Switch torque off?">
        {loose.length > 0 && (
          <button {...gate(robot, "torque", `Hold ${loose.join(", ")} as well`)} onClick={() => { asks.value = false; void command(robot, "enable"); }}>Hold all</button>
        )}
        <button class="danger" {...gate(robot, "torque", "The robot may fall")} onClick={() => { asks.value = false; void command(robot, "disable"); }}>Switch off</button>
        <button class="quiet" autofocus onClick={() => (asks.value = false)}>Keep</button>
      </span>
    );
  }
  return (
    <button class={on ? "quiet torque on" : "quiet torque"} {...gate(robot, "torque", loose.length ? `No torque in ${loose.join(", ")}` : `Switch torque ${on ? "off" : "on"}`)} onClick={() => (on ? void (asks.value = true) : void command(robot, "enable"))}>
      {torqueText(state)}
    </button>
  );
}

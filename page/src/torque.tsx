/** The switch of a robot's torque. */

import { useSignal } from "@preact/signals";
import { gate } from "./permission";
import { command } from "./store";
import type { Robot } from "./store";

/** Shows whether torque is on, and switches it; off only after a question, as the robot may fall. */
export function TorqueSwitch({ robot }: { robot: Robot }) {
  const asks = useSignal(false);
  const on = robot.state.value?.torque ?? false;
  if (asks.value && on) {
    return (
      <span class="asks" role="group" aria-label="Switch torque off?">
        <button class="danger" {...gate(robot, "torque", "The robot may fall")} onClick={() => { asks.value = false; void command(robot, "disable"); }}>Switch off</button>
        <button class="quiet" autofocus onClick={() => (asks.value = false)}>Keep</button>
      </span>
    );
  }
  return (
    <button class={on ? "quiet torque on" : "quiet torque"} {...gate(robot, "torque", `Switch torque ${on ? "off" : "on"}`)} onClick={() => (on ? void (asks.value = true) : void command(robot, "enable"))}>
      Torque {on ? "on" : "off"}
    </button>
  );
}

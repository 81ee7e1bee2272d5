/** The servos: what has gone wrong with each, and the ways back from an error that one keeps. */

import { gate } from "./permission";
import { command } from "./store";
import type { Robot } from "./store";

const KINDS = ["missed", "damaged", "reported", "restarts"] as const;

/** Those that have had errors, and those that the robot is in fault or offline for. */
export function Servos({ robot }: { robot: Robot }) {
  const errors = robot.diagnostics.value.at(-1)?.errors;
  const failed = robot.shown.value === "fault" || robot.shown.value === "offline" ? (robot.state.value?.failed ?? []) : [];
  const rows = robot.jointNames.value
    .map((joint, column) => ({ joint, counts: KINDS.map((kind) => errors?.[kind][column]) }))
    .filter(({ joint, counts }) => failed.includes(joint) || counts.some(Boolean));
  if (!rows.length) return null;
  return (
    <>
      <div class="panel-head"><h2>Servo errors</h2><span class="unit">since the daemon started</span></div>
      <div class="scroll-x" tabIndex={0} role="region" aria-label="Servo errors">
        <table>
          <thead>
            <tr><th scope="col">joint</th>{failed.length > 0 && <td />}<th scope="col" title="Answers that did not come in time">missed</th><th scope="col" title="Missed answers with a wrong checksum or length">damaged</th><th scope="col" title="Errors that the servo has reported">reported</th><th scope="col" title="Restarts by itself">restarts</th></tr>
          </thead>
          <tbody>
            {rows.map(({ joint, counts }) => (
              <tr key={joint}>
                <th scope="row">{joint}</th>
                {failed.length > 0 && <td class="ways">{failed.includes(joint) && <><Way robot={robot} joint={joint} verb="servo/clear" name="Clear" /> <Way robot={robot} joint={joint} verb="servo/reboot" name="Restart" /></>}</td>}
                {counts.map((count) => <td class={count ? "num near" : "num"}>{count ?? ""}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Way({ robot, joint, verb, name }: { robot: Robot; joint: string; verb: "servo/clear" | "servo/reboot"; name: string }) {
  const { disabled, title } = gate(robot, "servos", verb === "servo/clear" ? `Clear the errors of ${joint}` : `Restart the servo of ${joint}; its torque goes off`);
  return <button class="quiet" aria-label={`${name} ${joint}`} title={title} disabled={disabled || robot.pending.value.has(verb)} onClick={() => void command(robot, verb, { servos: [joint] })}>{name}</button>;
}

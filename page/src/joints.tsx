/** The joints: what each does now, and its last minute. */

import { useSignal } from "@preact/signals";
import { errorScale } from "./scale";
import { fixed } from "./format";
import { Plots } from "./plots";
import type { DescribedJoint } from "./protocol";
import { degrees } from "./store";
import type { Robot } from "./store";
import { digitsOf, factorOf, nameOf, onTurn, rangeOf } from "./units";

export function Joints({ robot }: { robot: Robot }) {
  const frozen = useSignal(false);
  const joints = robot.description.value?.joints ?? [];
  const column = Math.max(0, joints.findIndex((joint) => joint.name === robot.chosenJoint.value));
  const joint = joints[column];
  return (
    <section class="joints panel" aria-label="Joints">
      <div class="panel-head">
        <h2>Joints</h2>
        <span class="space" />
        {joints.some(({ unit }) => unit === "rad") && <button class="quiet" aria-pressed={degrees.value} title="Show angles in degrees, or in rad" onClick={() => (degrees.value = !degrees.value)}>{degrees.value ? "degrees" : "rad"}</button>}
      </div>
      <div class="scroll-x" tabIndex={0} role="region" aria-label="Table of joints">
        <table>
          <thead>
            <tr><th scope="col">joint</th><th scope="col">position</th><th scope="col" class="range">within limits</th><th scope="col">error</th><th scope="col">velocity</th><th scope="col">effort</th><th scope="col">°C</th></tr>
          </thead>
          <tbody>
            {joints.map((one, place) => <Row key={one.name} robot={robot} joint={one} column={place} isChosen={place === column} />)}
          </tbody>
        </table>
      </div>
      {joint && (
        <>
          <div class="panel-head">
            <h3>{joint.name}, the last minute</h3>
            <span class="space" />
            <button class="quiet" aria-pressed={frozen.value} onClick={() => (frozen.value = !frozen.value)}>{frozen.value ? "Run on" : "Freeze"}</button>
          </div>
          <Plots key={joint.name} robot={robot} joint={joint} column={column} frozen={frozen} />
        </>
      )}
    </section>
  );
}

function Row({ robot, joint, column, isChosen }: { robot: Robot; joint: DescribedJoint; column: number; isChosen: boolean }) {
  const factor = factorOf(joint.unit);
  const shown = (value: number | undefined, digits: number) => fixed(value === undefined ? value : factor * value, digitsOf(joint.unit, digits));
  const telemetry = robot.numbers.value;
  const position = telemetry?.feedback.position[column];
  const reference = telemetry?.reference.position[column];
  const error = position !== undefined && reference !== undefined ? reference - position : undefined;
  const share = Math.abs(error ?? 0) / errorScale(robot.description.value, joint);
  const effort = telemetry?.feedback.effort[column];
  const temperature = robot.diagnostics.value.at(-1)?.temperature_c?.[column];
  const strong = joint.effort !== null && Math.abs(effort ?? 0) > 0.9 * joint.effort;
  return (
    <tr class={isChosen ? "chosen" : ""}>
      <th scope="row"><button class="link" aria-pressed={isChosen} onClick={() => (robot.chosenJoint.value = joint.name)}>{joint.name}</button></th>
      <td class="num">{shown(position, 3)} <span class="unit">{nameOf(joint.unit)}</span></td>
      <td class="range"><Range joint={joint} position={position} reference={reference} /></td>
      <td class={`num ${share > 0.5 ? "over" : share > 0.1 ? "near" : ""}`}>{shown(error, 4)}</td>
      <td class="num">{shown(telemetry?.feedback.velocity[column], 3)}</td>
      <td class={strong ? "num over" : "num"}>{fixed(effort, 2)}</td>
      <td class="num">{fixed(temperature, 0)}</td>
    </tr>
  );
}

/** Where between its limits a joint stands; where on its turn, if that has no end. */
function Range({ joint, position, reference }: { joint: DescribedJoint; position: number | undefined; reference: number | undefined }) {
  const [lower, upper] = rangeOf(joint);
  if (lower === null || upper === null || position === undefined || upper <= lower) return <span class="unit">no limits</span>;
  const left = (value: number) => `${100 * Math.min(1, Math.max(0, (onTurn(joint, value) - lower) / (upper - lower)))}%`;
  return (
    <div class="bar" title={`${short(lower, joint)} to ${short(upper, joint)} ${nameOf(joint.unit)}${joint.continuous ? ", turning without end" : ""}`}>
      {reference !== undefined && !Number.isNaN(reference) && <i class="ref" style={{ left: left(reference) }} />}
      <i class="pos" style={{ left: left(position) }} />
    </div>
  );
}

function short(value: number, joint: DescribedJoint): string {
  return String(Number((factorOf(joint.unit) * value).toPrecision(6)));
}

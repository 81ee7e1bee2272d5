/** The joints: what each does now, its last minute, and jogging. */

import { signal, useSignal } from "@preact/signals";
import { errorScale } from "./scale";
import { fixed } from "./format";
import { canCommand } from "./motions";
import { Plots, frozen } from "./plots";
import type { DescribedJoint } from "./protocol";
import { command } from "./store";
import type { Robot } from "./store";

const STEPS = { rad: [0.01, 0.05, 0.1, 0.5], m: [0.001, 0.005, 0.01, 0.05] };

const chosen = signal("");
/** Jogging is switched on by hand, and off again whenever one leaves: a touch that scrolls moves no robot. */
const jogs = signal(false);
addEventListener("hashchange", () => (jogs.value = false));
document.addEventListener("visibilitychange", () => (jogs.value = false));

export function Joints({ robot }: { robot: Robot }) {
  const joints = robot.description.value?.joints ?? [];
  const column = Math.max(0, joints.findIndex((joint) => joint.name === chosen.value));
  const joint = joints[column];
  return (
    <section class="joints panel" aria-label="Joints">
      <div class="panel-head">
        <h2>Joints</h2>
        <span class="space" />
        <label class="check"><input type="checkbox" checked={jogs.value} disabled={!canCommand(robot)} onChange={(event) => (jogs.value = event.currentTarget.checked)} /> Jog</label>
      </div>
      <div class="scroll-x" tabIndex={0} role="region" aria-label="Table of joints">
        <table>
          <thead>
            <tr><th scope="col">joint</th><th scope="col">position</th><th scope="col" class="range">within limits</th><th scope="col">error</th><th scope="col">velocity</th><th scope="col">effort</th><th scope="col">°C</th></tr>
          </thead>
          <tbody>
            {joints.map((one, place) => <Row key={one.name} robot={robot} joint={one} column={place} />)}
          </tbody>
        </table>
      </div>
      {jogs.value && <Poses robot={robot} />}
      {jogs.value && joint && <Jog key={joint.name} robot={robot} joint={joint} column={column} />}
      {joint && (
        <>
          <div class="panel-head">
            <h3>{joint.name}, the last minute</h3>
            <span class="space" />
            <button class="quiet" aria-pressed={frozen.value} onClick={() => (frozen.value = !frozen.value)}>{frozen.value ? "Run on" : "Freeze"}</button>
          </div>
          <Plots key={joint.name} robot={robot} joint={joint} column={column} />
        </>
      )}
    </section>
  );
}

function Row({ robot, joint, column }: { robot: Robot; joint: DescribedJoint; column: number }) {
  const telemetry = robot.numbers.value;
  const position = telemetry?.feedback.position[column];
  const reference = telemetry?.reference.position[column];
  const error = position !== undefined && reference !== undefined ? reference - position : undefined;
  const share = Math.abs(error ?? 0) / errorScale(robot.description.value, joint);
  const effort = telemetry?.feedback.effort[column];
  const temperature = robot.diagnostics.value.at(-1)?.temperature_c?.[column];
  const strong = joint.effort !== null && Math.abs(effort ?? 0) > 0.9 * joint.effort;
  const isChosen = chosen.value === joint.name || (chosen.value === "" && column === 0);
  return (
    <tr class={isChosen ? "chosen" : ""}>
      <th scope="row"><button class="link" aria-pressed={isChosen} onClick={() => (chosen.value = joint.name)}>{joint.name}</button></th>
      <td class="num">{fixed(position)} <span class="unit">{joint.unit}</span></td>
      <td class="range"><Range joint={joint} position={position} reference={reference} /></td>
      <td class={`num ${share > 0.5 ? "over" : share > 0.1 ? "near" : ""}`}>{fixed(error, 4)}</td>
      <td class="num">{fixed(telemetry?.feedback.velocity[column])}</td>
      <td class={strong ? "num over" : "num"}>{fixed(effort, 2)}</td>
      <td class="num">{fixed(temperature, 0)}</td>
    </tr>
  );
}

/** Where between its limits a joint stands. */
function Range({ joint, position, reference }: { joint: DescribedJoint; position: number | undefined; reference: number | undefined }) {
  const { lower, upper } = joint;
  if (lower === null || upper === null || position === undefined || upper <= lower) return <span class="unit">no limits</span>;
  const left = (value: number) => `${100 * Math.min(1, Math.max(0, (value - lower) / (upper - lower)))}%`;
  return (
    <div class="bar" title={`${lower} to ${upper} ${joint.unit}`}>
      {reference !== undefined && !Number.isNaN(reference) && <i class="ref" style={{ left: left(reference) }} />}
      <i class="pos" style={{ left: left(position) }} />
    </div>
  );
}

function Poses({ robot }: { robot: Robot }) {
  const names = Object.keys(robot.description.value?.poses ?? {});
  if (!names.length) return null;
  return (
    <div class="poses" role="group" aria-label="Poses">
      <span>Go to</span>
      {names.map((name) => <button key={name} disabled={!canJog(robot)} onClick={() => void command(robot, "goto", { pose: name, on_busy: "replace" })}>{name}</button>)}
    </div>
  );
}

function canJog(robot: Robot): boolean {
  return canCommand(robot) && !["playing", "pausing", "estopped", "fault"].includes(robot.state.value?.state ?? "");
}

function Jog({ robot, joint, column }: { robot: Robot; joint: DescribedJoint; column: number }) {
  const step = useSignal(STEPS[joint.unit][1]!);
  const target = useSignal<number | null>(null);
  const able = canJog(robot);
  const now = robot.numbers.value?.feedback.position[column] ?? 0;
  const from = robot.moving.value && target.value !== null ? target.value : now;
  const bounded = (value: number) => Math.min(joint.upper ?? Infinity, Math.max(joint.lower ?? -Infinity, value));
  const go = (value: number) => {
    target.value = bounded(value);
    void command(robot, "goto", { joints: { [joint.name]: target.value }, on_busy: "replace" });
  };
  const shown = target.value !== null && robot.moving.value ? target.value : now;
  return (
    <div class="jog" role="group" aria-label={`Jog ${joint.name}`}>
      <strong class="name">{joint.name}</strong>
      <button class="step" disabled={!able} aria-label={`${joint.name} back by ${step.value} ${joint.unit}`} onClick={() => go(from - step.value)}>−</button>
      <select aria-label="Step" value={String(step.value)} onChange={(event) => (step.value = Number(event.currentTarget.value))}>
        {STEPS[joint.unit].map((one) => <option value={String(one)}>{one} {joint.unit}</option>)}
      </select>
      <button class="step" disabled={!able} aria-label={`${joint.name} on by ${step.value} ${joint.unit}`} onClick={() => go(from + step.value)}>+</button>
      {joint.lower !== null && joint.upper !== null && (
        <input
          type="range" aria-label={`Position of ${joint.name}; it goes there when released`} min={joint.lower} max={joint.upper} step={0.001} value={shown} disabled={!able}
          onInput={(event) => (target.value = Number(event.currentTarget.value))} onChange={(event) => go(Number(event.currentTarget.value))}
        />
      )}
      <span class="num">{fixed(target.value ?? now)} {joint.unit}</span>
    </div>
  );
}

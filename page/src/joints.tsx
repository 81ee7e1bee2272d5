/** The joints: what each does now, its last minute, and jogging. */

import type { Signal } from "@preact/signals";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Check } from "./controls";
import { errorScale } from "./scale";
import { fixed } from "./format";
import { gate, refusal } from "./permission";
import { Plots } from "./plots";
import type { DescribedJoint } from "./protocol";
import { command, degrees } from "./store";
import type { Robot } from "./store";
import { digitsOf, factorOf, nameOf, onTurn, rangeOf } from "./units";

/** In the unit that is shown. */
const STEPS: Record<string, number[]> = { rad: [0.01, 0.05, 0.1, 0.5], "°": [0.5, 2, 5, 30], m: [0.001, 0.005, 0.01, 0.05] };

/** Jogging is switched on by hand, and off again whenever one leaves: a touch that scrolls moves no robot. */
function useJogs(): Signal<boolean> {
  const jogs = useSignal(false);
  useEffect(() => {
    const leave = () => void (jogs.value = false);
    addEventListener("hashchange", leave);
    document.addEventListener("visibilitychange", leave);
    return () => {
      removeEventListener("hashchange", leave);
      document.removeEventListener("visibilitychange", leave);
    };
  }, []);
  return jogs;
}

export function Joints({ robot }: { robot: Robot }) {
  const jogs = useJogs();
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
        <Check of={jogs} allowed={gate(robot, "command")}>Jog</Check>
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
      {jogs.value && <Poses robot={robot} />}
      {jogs.value && joint && <Jog key={`${joint.name} ${nameOf(joint.unit)}`} robot={robot} joint={joint} column={column} />}
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

function Poses({ robot }: { robot: Robot }) {
  const names = Object.keys(robot.description.value?.poses ?? {});
  if (!names.length) return null;
  return (
    <div class="poses" role="group" aria-label="Poses">
      <span>Go to</span>
      {names.map((name) => <button key={name} {...gate(robot, "jog")} onClick={() => void command(robot, "goto", { pose: name, on_busy: "replace" })}>{name}</button>)}
    </div>
  );
}

/** Moves one joint; numbers are in the unit that is shown. */
function Jog({ robot, joint, column }: { robot: Robot; joint: DescribedJoint; column: number }) {
  const unit = nameOf(joint.unit);
  const factor = factorOf(joint.unit);
  const step = useSignal(STEPS[unit]![1]!);
  /** Where it was sent last, as long as it moves; and where the slider is held. */
  const target = useSignal<number | null>(null);
  const dragged = useSignal<number | null>(null);
  const allowed = gate(robot, "jog");
  const held = allowed.disabled ? null : dragged.value;
  const now = factor * (robot.numbers.value?.feedback.position[column] ?? 0);
  const heading = robot.moving.value ? (target.value ?? now) : now;
  const lower = factor * (joint.lower ?? -Infinity);
  const upper = factor * (joint.upper ?? Infinity);
  const go = (value: number) => {
    dragged.value = null;
    if (refusal(robot, "jog")) return; // a slider that is let go says so, though it was switched off meanwhile
    target.value = Math.min(upper, Math.max(lower, value));
    void command(robot, "goto", { joints: { [joint.name]: target.value / factor }, on_busy: "replace" });
  };
  return (
    <div class="jog" role="group" aria-label={`Jog ${joint.name}`}>
      <strong class="name">{joint.name}</strong>
      <button class="step" {...allowed} aria-label={`${joint.name} back by ${step.value} ${unit}`} onClick={() => go(heading - step.value)}>−</button>
      <select aria-label="Step" value={String(step.value)} onChange={(event) => (step.value = Number(event.currentTarget.value))}>
        {STEPS[unit]!.map((one) => <option value={String(one)}>{one} {unit}</option>)}
      </select>
      <button class="step" {...allowed} aria-label={`${joint.name} on by ${step.value} ${unit}`} onClick={() => go(heading + step.value)}>+</button>
      {joint.lower !== null && joint.upper !== null && (
        <input
          type="range" aria-label={`Position of ${joint.name}; it goes there when released`} min={lower} max={upper} step="any" value={held ?? heading} {...allowed}
          onInput={(event) => (dragged.value = Number(event.currentTarget.value))} onChange={(event) => go(Number(event.currentTarget.value))}
        />
      )}
      <span class="num">{fixed(held ?? now, digitsOf(joint.unit, 3))} {unit}</span>
    </div>
  );
}

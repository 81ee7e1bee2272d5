/** Jogging: whoever holds a pad or a key moves a joint, at a speed that they choose. */

import { useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { small } from "./appearance";
import { Check } from "./controls";
import { fixed } from "./format";
import { GamepadPart } from "./gamepad_view";
import { helpOpen } from "./header";
import { Jog } from "./jog";
import { gate, refusal } from "./permission";
import { FollowFacts } from "./player";
import type { DescribedJoint } from "./protocol";
import { command, degrees, fleet } from "./store";
import type { Robot } from "./store";
import { digitsOf, factorOf, nameOf } from "./units";

export function JogPanel({ robot }: { robot: Robot }) {
  const jog = useMemo(() => new Jog(robot), [robot]);
  const joints = robot.description.value?.joints ?? [];
  useEffect(() => jog.watch(), [jog]);
  useEffect(() => void (helpOpen.value && jog.stop("A dialog was opened")), [helpOpen.value]);
  if (fleet.value) return <p class="empty">A robot is jogged on the page of its own daemon, beside it.</p>;
  return (
    <section class="jog panel" aria-label="Jog">
      <div class="panel-head">
        <h2>Jog</h2>
        <span class="space" />
        {joints.some(({ unit }) => unit === "rad") && <button class="quiet" aria-pressed={degrees.value} title="Show angles in degrees, or in rad" onClick={() => (degrees.value = !degrees.value)}>{degrees.value ? "degrees" : "rad"}</button>}
        <Check of={jog.armed} allowed={gate(robot, "command")}>Switched on</Check>
      </div>
      {jog.armed.value ? <Armed robot={robot} jog={jog} joints={joints} /> : <p class="empty">{refusal(robot, "command") || "Switched on, a joint moves as long as somebody holds its pad or a key. Let go of it, and the robot stops."}</p>}
    </section>
  );
}

function Armed({ robot, jog, joints }: { robot: Robot; jog: Jog; joints: DescribedJoint[] }) {
  const chosen = robot.chosenJoint.value || joints[0]?.name || "";
  useKeys(jog, joints.map(({ name }) => name), robot.chosenJoint);
  const why = refusal(robot, "jog");
  return (
    <>
      <Poses robot={robot} />
      <label class="pace">
        Speed
        <input type="range" min={1} max={100} step={1} value={100 * jog.speed.value} aria-valuetext={`${Math.round(100 * jog.speed.value)} % of the velocity limits`} onInput={(event) => (jog.speed.value = Number(event.currentTarget.value) / 100)} />
        <span class="num">{Math.round(100 * jog.speed.value)} % <span class="unit">of the limits</span></span>
      </label>
      <p class={jog.ended.value ? "ended bad" : "hint"} role="status">{jog.ended.value || why || (jog.active.value ? "It moves while this is held." : "← and → move the chosen joint, ↑ and ↓ choose.")}</p>
      {small.value && <FollowFacts robot={robot} />}
      <ul class="pads">
        {joints.map((joint, column) => <Pads key={joint.name} robot={robot} jog={jog} joint={joint} column={column} isChosen={joint.name === chosen} why={why} />)}
      </ul>
      <GamepadPart robot={robot} jog={jog} />
    </>
  );
}

function Poses({ robot }: { robot: Robot }) {
  const names = Object.keys(robot.description.value?.poses ?? {});
  if (!names.length) return null;
  return (
    <div class="poses" role="group" aria-label="Poses">
      <span>Go to</span>
      {names.map((name) => <button key={name} {...gate(robot, "goto")} onClick={() => void command(robot, "goto", { pose: name, on_busy: "replace" })}>{name}</button>)}
    </div>
  );
}

const STEERING: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1 };

/** The arrow keys, wherever nothing else takes them. */
function useKeys(jog: Jog, names: string[], choice: Signal<string>): void {
  useEffect(() => {
    const down = (event: KeyboardEvent) => {
      const isElsewhere = (event.target as HTMLElement).closest("input, select, textarea, dialog, [role=slider]");
      if (event.ctrlKey || event.altKey || event.metaKey) jog.stop("A key for the browser was pressed");
      else if (!isElsewhere && act(event)) event.preventDefault();
    };
    const act = ({ key, repeat }: KeyboardEvent) => {
      const place = Math.max(0, names.indexOf(choice.peek()));
      const share = STEERING[key];
      if (share && !repeat) jog.press(key, new Map([[names[place]!, share]]));
      else if (key === "ArrowUp" || key === "ArrowDown") choice.value = names[Math.min(names.length - 1, Math.max(0, place + (key === "ArrowUp" ? -1 : 1)))]!;
      return share !== undefined || key === "ArrowUp" || key === "ArrowDown";
    };
    const up = ({ key }: KeyboardEvent) => STEERING[key] && jog.release(key);
    addEventListener("keydown", down);
    addEventListener("keyup", up);
    return () => {
      removeEventListener("keydown", down);
      removeEventListener("keyup", up);
      for (const key of Object.keys(STEERING)) jog.release(key);
    };
  }, [jog, names.join()]);
}

interface PadsProps {
  robot: Robot;
  jog: Jog;
  joint: DescribedJoint;
  column: number;
  isChosen: boolean;
  /** Why it cannot be jogged now; '' where it can. */
  why: string;
}

/** One joint: back, a lever that springs back to its middle, on. */
function Pads({ robot, jog, joint, column, isChosen, why }: PadsProps) {
  const allowed = why ? { disabled: true, title: why } : { disabled: false };
  const position = robot.numbers.value?.feedback.position[column];
  return (
    <li class={isChosen ? "chosen" : undefined}>
      <button class="link name" aria-pressed={isChosen} onClick={() => (robot.chosenJoint.value = joint.name)}>
        {joint.name} <span class="num unit">{fixed(position === undefined ? position : factorOf(joint.unit) * position, digitsOf(joint.unit, 3))} {nameOf(joint.unit)}</span>
      </button>
      <Hold jog={jog} name={joint.name} share={-1} allowed={allowed} />
      <Lever jog={jog} name={joint.name} disabled={allowed.disabled} />
      <Hold jog={jog} name={joint.name} share={1} allowed={allowed} />
    </li>
  );
}

function Hold({ jog, name, share, allowed }: { jog: Jog; name: string; share: 1 | -1; allowed: { disabled: boolean; title?: string } }) {
  const by = `${name} ${share}`;
  const press = () => jog.press(by, new Map([[name, share]]));
  const release = () => jog.release(by);
  const isHold = ({ key }: KeyboardEvent) => key === " " || key === "Enter";
  useEffect(() => release, []);
  return (
    <button
      class="step" {...allowed} aria-label={`${name} ${share > 0 ? "on" : "back"}, while it is held`}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.releasePointerCapture(event.pointerId); // a finger that leaves it lets go of it
        press();
      }}
      onPointerUp={release} onPointerLeave={release} onPointerCancel={release} onBlur={release} onContextMenu={(event) => event.preventDefault()}
      onKeyDown={(event) => {
        if (!isHold(event)) return;
        event.preventDefault();
        if (!event.repeat) press();
      }}
      onKeyUp={(event) => isHold(event) && release()}
    >
      {share > 0 ? "+" : "−"}
    </button>
  );
}

/** As fast as it is pulled; for pointers alone, as keys and the pads beside it do the same. */
function Lever({ jog, name, disabled }: { jog: Jog; name: string; disabled: boolean }) {
  const by = `${name} lever`;
  const pulled = useSignal(0);
  const shares = (event: PointerEvent & { currentTarget: HTMLElement }) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    pulled.value = Math.max(-1, Math.min(1, (2 * (event.clientX - left)) / width - 1));
    return new Map([[name, pulled.value]]);
  };
  const release = () => {
    pulled.value = 0;
    jog.release(by);
  };
  useEffect(() => release, []);
  return (
    <div
      class={disabled ? "lever off" : "lever"} aria-hidden="true"
      onPointerDown={(event) => {
        if (event.button !== 0 || disabled) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        jog.press(by, shares(event));
      }}
      onPointerMove={(event) => event.currentTarget.hasPointerCapture(event.pointerId) && jog.hold(by, shares(event))}
      onPointerUp={release} onPointerCancel={release} onLostPointerCapture={release} onContextMenu={(event) => event.preventDefault()}
    >
      <i style={{ left: `${50 + 50 * pulled.value}%` }} />
    </div>
  );
}

/** Jogging: whoever holds a pad or a key moves a joint or a frame, at a speed that they choose. */

import { useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { small } from "./appearance";
import { Check } from "./controls";
import { fixed } from "./format";
import { GamepadPart } from "./gamepad_view";
import { helpOpen } from "./header";
import { DIRECTIONS, FRAME_MPS, FRAME_RADPS, Jog } from "./jog";
import { framesOf } from "./kinematics";
import { gate, refusal } from "./permission";
import { FollowFacts, tooNear } from "./player";
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

/** What has pads of its own: a joint, or a direction of a frame. */
interface Row {
  name: string;
  label: string;
  /** Where it is, in words. */
  place: string;
  /** What goes to a position by its number. */
  joint?: DescribedJoint;
}

function Armed({ robot, jog, joints }: { robot: Robot; jog: Jog; joints: DescribedJoint[] }) {
  const way = jog.way.value;
  const direction = useSignal<string>("x");
  const chosen = way.mode === "twist" ? direction : robot.chosenJoint;
  const rows = way.mode === "twist" ? directionsOf(way.turnsFree) : joints.map((joint, column) => rowOf(robot, joint, column));
  useKeys(jog, rows.map(({ name }) => name), chosen);
  const why = refusal(robot, "jog");
  const percent = Math.round(100 * jog.speed.value);
  const most = way.mode === "twist" ? `${fixed(jog.speed.value * FRAME_MPS, 3)} m/s, ${fixed(jog.speed.value * FRAME_RADPS, 2)} rad/s` : "of the limits";
  const first = rows.some(({ name }) => name === chosen.value) ? chosen.value : rows[0]?.name;
  return (
    <>
      <Poses robot={robot} />
      <WayChoice robot={robot} jog={jog} joints={joints.length} />
      <label class="pace">
        Speed
        <input type="range" min={1} max={100} step={1} value={percent} aria-valuetext={`${percent} %, ${most}`} onInput={(event) => (jog.speed.value = Number(event.currentTarget.value) / 100)} />
        <span class="num">{percent} % <span class="unit">{most}</span></span>
      </label>
      <p class={jog.ended.value ? "ended bad" : "hint"} role="status">{jog.ended.value || why || (jog.active.value ? heldUp(robot) || "It moves while this is held." : "← and → move what is chosen, ↑ and ↓ choose.")}</p>
      <ul class="pads">
        {rows.map((row) => <Pads key={row.name} robot={robot} jog={jog} row={row} chosen={chosen} isChosen={row.name === first} why={why} />)}
      </ul>
      {small.value && <FollowFacts robot={robot} />}
      <GamepadPart robot={robot} jog={jog} />
    </>
  );
}

/** What slows what is jogged, or keeps it standing; '' where nothing does. */
function heldUp(robot: Robot): string {
  const follow = robot.state.value?.follow;
  if (follow?.held_by) return `${tooNear(follow.held_by)}: jog another way.`;
  const by = follow?.slowed_by;
  if (!by) return "";
  return by === "singularity" ? "It is at a singularity, where joints cannot keep up: jog another way, or move a joint." : `The limits of ${by} hold it up: jog another way.`;
}

function rowOf(robot: Robot, joint: DescribedJoint, column: number): Row {
  const { name, unit } = joint;
  const position = robot.numbers.value?.feedback.position[column];
  return { name, label: name, place: `${fixed(position === undefined ? position : factorOf(unit) * position, digitsOf(unit, 3))} ${nameOf(unit)}`, joint };
}

function directionsOf(turnsFree: boolean): Row[] {
  const names = turnsFree ? DIRECTIONS.slice(0, 3) : DIRECTIONS;
  return names.map((name) => ({ name, label: name.length > 1 ? `turn about ${name[1]}` : `along ${name}`, place: "" }));
}

/** Joints, or a frame of the description, where there is one. */
function WayChoice({ robot, jog, joints }: { robot: Robot; jog: Jog; joints: number }) {
  const way = jog.way.value;
  const model = robot.model.value;
  const frames = model ? framesOf(model) : [];
  if (!frames.length) return null;
  const tool = model!.frames.find(({ kind }) => kind === "end_effector") ?? model!.links.at(-1)!;
  const frame = { mode: "twist", frame: tool.name, reference: "base", turnsFree: joints < 6 } as const;
  return (
    <div class="way">
      <div class="choice" role="radiogroup" aria-label="What is jogged">
        <label><input type="radio" name="way" checked={way.mode === "velocity"} onChange={() => jog.choose({ mode: "velocity" })} /> Joints</label>
        <label><input type="radio" name="way" checked={way.mode === "twist"} onChange={() => jog.choose(frame)} /> A frame</label>
      </div>
      {way.mode === "twist" && (
        <div class="line">
          <select aria-label="Frame" value={way.frame} onChange={(event) => jog.choose({ ...way, frame: event.currentTarget.value })}>
            {frames.map((name) => <option key={name}>{name}</option>)}
          </select>
          <select aria-label="Along whose axes" value={way.reference} onChange={(event) => jog.choose({ ...way, reference: event.currentTarget.value as "base" | "tool" })}>
            <option value="base">along the base's axes</option>
            <option value="tool">along its own axes</option>
          </select>
          <label class="check"><input type="checkbox" checked={way.turnsFree} onChange={(event) => jog.choose({ ...way, turnsFree: event.currentTarget.checked })} /> it may turn as it goes</label>
        </div>
      )}
    </div>
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
  row: Row;
  chosen: Signal<string>;
  isChosen: boolean;
  /** Why it cannot be jogged now; '' where it can. */
  why: string;
}

/** Back, a lever that springs back to its middle, on. */
function Pads({ robot, jog, row: { name, label, place, joint }, chosen, isChosen, why }: PadsProps) {
  const allowed = why ? { disabled: true, title: why } : { disabled: false };
  return (
    <li class={isChosen ? "chosen" : undefined} onPointerDown={() => (chosen.value = name)}>
      <button class="link name" aria-pressed={isChosen} onClick={() => (chosen.value = name)}>{label} <span class="num unit">{place}</span></button>
      {joint && <GoTo robot={robot} joint={joint} />}
      <Hold jog={jog} name={name} label={label} share={-1} allowed={allowed} />
      <Lever jog={jog} name={name} disabled={allowed.disabled} />
      <Hold jog={jog} name={name} label={label} share={1} allowed={allowed} />
    </li>
  );
}

/** A number in the shown unit and Enter go there; it keeps the focus as the robot moves, so that no key jogs instead. */
function GoTo({ robot, joint: { name, unit, lower, upper } }: { robot: Robot; joint: DescribedJoint }) {
  const shown = (limit: number | null) => (limit === null ? undefined : factorOf(unit) * limit);
  const why = refusal(robot, "playNow");
  const go = (typed: number) => {
    if (refusal(robot, "playNow") || !Number.isFinite(typed)) return;
    const position = Math.min(upper ?? Infinity, Math.max(lower ?? -Infinity, typed / factorOf(unit)));
    void command(robot, "goto", { joints: { [name]: position } });
  };
  return (
    <form onSubmit={(event) => { event.preventDefault(); go((event.currentTarget.elements[0] as HTMLInputElement).valueAsNumber); }}>
      <input type="number" step="any" required min={shown(lower)} max={shown(upper)} readOnly={why !== ""} placeholder={nameOf(unit)} aria-label={`Go to a position of ${name}, in ${nameOf(unit)}`} title={why || "Go there: a number and Enter"} />
    </form>
  );
}

function Hold({ jog, name, label, share, allowed }: { jog: Jog; name: string; label: string; share: 1 | -1; allowed: { disabled: boolean; title?: string } }) {
  const by = `${name} ${share}`;
  const press = () => jog.press(by, new Map([[name, share]]));
  const release = () => jog.release(by);
  /** Where it was when it was pressed: what comes and goes around it may move it, which is no leaving. */
  const box = useRef<DOMRect | null>(null);
  const isHold = ({ key }: KeyboardEvent) => key === " " || key === "Enter";
  useEffect(() => release, []);
  return (
    <button
      class="step" {...allowed} aria-label={`${label} ${share > 0 ? "on" : "back"}, while it is held`}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        box.current = event.currentTarget.getBoundingClientRect();
        press();
      }}
      onPointerMove={(event) => isOutside(event, box.current) && release()}
      onPointerUp={release} onPointerCancel={release} onLostPointerCapture={release} onBlur={release} onContextMenu={(event) => event.preventDefault()}
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

function isOutside({ clientX, clientY }: PointerEvent, box: DOMRect | null): boolean {
  return box !== null && (clientX < box.left || clientX > box.right || clientY < box.top || clientY > box.bottom);
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

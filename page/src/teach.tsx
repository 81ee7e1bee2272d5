/** Teaching: from the warning that the arm may drop to a motion that can be played. */

import { useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { small } from "./appearance";
import { Check } from "./controls";
import { clock, count, fixed } from "./format";
import type { Lesson } from "./lesson";
import { play } from "./motions";
import { gate } from "./permission";
import { open } from "./preview";
import type { DescribedJoint, SaveTaughtAnswer } from "./protocol";
import { view } from "./route";
import { command, fleet, heard } from "./store";
import type { Robot } from "./store";
import { recall } from "./taught";
import { TrailPlot } from "./teach_plot";
import { digitsOf, factorOf, nameOf } from "./units";

export function Teach({ robot }: { robot: Robot }) {
  const report = robot.lesson.report.value;
  const isTaught = report?.mode != null;
  return (
    <section class="teach panel" aria-label="Teach">
      {isTaught ? <Taught robot={robot} /> : report?.draft ? <Draft robot={robot} /> : null}
      {!isTaught && <Begin robot={robot} again={report?.draft != null} />}
    </section>
  );
}

// -- before -------------------------------------------------------------------------------------------------

const MODES = [
  { mode: "released", name: "Released", about: "torque off; you carry the arm", risk: "Torque goes off, and the arm may drop.", ready: "I hold the arm", go: "Switch torque off" },
  { mode: "gravity", name: "Gravity", about: "the actuators carry the arm's weight, where they can", risk: "The arm gives way, and sinks under what it carries besides itself.", ready: "I am at the arm", go: "Let it give way" },
] as const;

function Begin({ robot, again }: { robot: Robot; again: boolean }) {
  const { lesson } = robot;
  const asks = useSignal(false);
  const isReady = useSignal(false);
  const chosen = MODES.find(({ mode }) => mode === lesson.mode.value)!;
  const begin = () => {
    asks.value = false;
    void command(robot, "teach/start", { mode: chosen.mode });
  };
  if (fleet.value) return <p class="empty">A robot is taught on the page of its own daemon, beside it.</p>;
  return (
    <>
      <div class="panel-head"><h2>{again ? "Teach again" : "Teach by hand"}</h2></div>
      <div class="step-of">
        <p class="hint">{again ? "This forgets what was taught before, unless it is saved." : "Move the arm by hand. What it does becomes a motion; so do the poses that you keep on the way."}</p>
        {!again && !takesMotions(robot) && <NoFolder />}
        <div class="choice" role="radiogroup" aria-label="How it is moved">
          {MODES.map(({ mode, name, about }) => (
            <label key={mode}><input type="radio" name="mode" checked={lesson.mode.value === mode} onChange={() => { lesson.mode.value = mode; asks.value = false; }} /> <strong>{name}</strong> <span class="unit">{about}</span></label>
          ))}
        </div>
        {asks.value ? (
          <div class="risk" role="alertdialog" aria-label="Before it begins">
            <p><strong>{chosen.risk}</strong> Keep your fingers out of its joints: once it ends, the arm is caught where it is.</p>
            <Check of={isReady}>{chosen.ready}</Check>
            <p class="line">
              <button class="danger" {...ready(robot, isReady.value, chosen.ready)} onClick={begin}>{chosen.go}</button>
              <button class="quiet" autofocus onClick={() => (asks.value = false)}>Cancel</button>
            </p>
          </div>
        ) : (
          <button class={again ? "" : "main"} {...gate(robot, "teach")} onClick={() => { isReady.value = false; asks.value = true; }}>Begin…</button>
        )}
      </div>
    </>
  );
}

function ready(robot: Robot, isReady: boolean, words: string): { disabled: boolean; title?: string } {
  const allowed = gate(robot, "teach");
  return allowed.disabled || isReady ? allowed : { disabled: true, title: `Tick "${words}" first` };
}

// -- meanwhile ----------------------------------------------------------------------------------------------

function Taught({ robot }: { robot: Robot }) {
  const { lesson } = robot;
  const { mode, poses } = lesson.report.value!;
  const name = useSignal("");
  const keep = async (event: Event) => {
    event.preventDefault();
    const answer = await command(robot, "teach/pose", name.peek().trim() ? { name: name.peek().trim() } : {});
    if (answer.status === "ok") name.value = "";
  };
  return (
    <>
      <div class="panel-head"><h2>Move the arm by hand</h2><span class="tag">{mode}</span></div>
      <div class="step-of">
        <p class="moved num" role="timer">{clock(lasted(lesson))}</p>
        <form class="line" onSubmit={(event) => void keep(event)}>
          <input aria-label="Name of the pose" placeholder={`pose_${poses.length + 1}`} maxLength={60} value={name.value} onInput={(event) => (name.value = event.currentTarget.value)} />
          <button {...gate(robot, "taught")} aria-busy={robot.pending.value.has("teach/pose")}>Keep pose</button>
        </form>
        <Poses robot={robot} />
        {!small.value && <EndButton robot={robot} />}
        <p class="hint">It holds then where it is. <strong>Stop</strong> ends it as well, and so does a joint that is moved too fast or beyond its limit.</p>
      </div>
    </>
  );
}

/** How long it is moved by now, in s: samples come more often than the daemon reports it. */
function lasted(lesson: Lesson): number {
  return Math.max(lesson.report.value?.duration_s ?? 0, lesson.seen.value ? lesson.trail.durationS : 0);
}

function EndButton({ robot }: { robot: Robot }) {
  return <button class="main end" {...gate(robot, "taught")} aria-busy={robot.pending.value.has("teach/stop")} onClick={() => void command(robot, "teach/stop")}>End, and hold</button>;
}

function Poses({ robot }: { robot: Robot }) {
  const poses = robot.lesson.report.value?.poses ?? [];
  if (!poses.length) return null;
  return <ol class="poses" aria-label="Poses">{poses.map(({ name }) => <li key={name} class="tag">{name}</li>)}</ol>;
}

/** In the player's place, whatever else is looked at; on a phone, also where one teaches. */
export function TeachBar({ robot }: { robot: Robot }) {
  const { lesson } = robot;
  return (
    <section class="player" aria-label="Player">
      {!heard.value && <p class="ended bad" role="alert">Nothing is known of the arm: go on holding it.</p>}
      <div class="line">
        <EndButton robot={robot} />
        <strong class="name">Moved by hand</strong>
        <span class="num time">{clock(lasted(lesson))}</span>
        <span>{count(lesson.report.value?.poses.length ?? 0, "pose")}</span>
        {view.value !== "teach" && <><span class="space" /><button {...gate(robot, "taught")} aria-busy={robot.pending.value.has("teach/pose")} onClick={() => void command(robot, "teach/pose")}>Keep pose</button></>}
      </div>
    </section>
  );
}

// -- afterwards ---------------------------------------------------------------------------------------------

function Draft({ robot }: { robot: Robot }) {
  const { lesson } = robot;
  const { draft, message } = lesson.report.value!;
  useEffect(() => void (draft && recall(robot, draft)), [draft?.rows]);
  if (!draft) return null;
  return (
    <>
      <div class="panel-head"><h2>What was taught</h2><span class="unit num">{clock(draft.duration_s)}, {count(draft.poses, "pose")}</span></div>
      <div class="step-of">
        {message && <p class="ended" role="status">{message[0]!.toUpperCase()}{message.slice(1)}.</p>}
        <div class="choice" role="radiogroup" aria-label="What the motion is made of">
          <Source lesson={lesson} source="movement" able={draft.duration_s > 0}>Movement</Source>
          <Source lesson={lesson} source="poses" able={draft.poses > 0}>Poses</Source>
        </div>
        {lesson.source.value === "movement" ? <Movement robot={robot} durationS={draft.duration_s} /> : <FromPoses robot={robot} />}
        <Save robot={robot} />
      </div>
    </>
  );
}

function Source({ lesson, source, able, children }: { lesson: Lesson; source: "movement" | "poses"; able: boolean; children: ComponentChildren }) {
  return <label><input type="radio" name="source" disabled={!able} checked={lesson.source.value === source} onChange={() => change(lesson, () => (lesson.source.value = source))} /> {children}</label>;
}

/** Change what is asked for: what is known of the motion is not so any more. */
function change(lesson: Lesson, act: () => void): void {
  act();
  lesson.made.value = null;
}

function Movement({ robot, durationS }: { robot: Robot; durationS: number }) {
  const { lesson } = robot;
  const units = new Set(robot.description.value?.joints.map(({ unit }) => unit));
  return (
    <>
      {durationS > 0 && <TrailPlot lesson={lesson} durationS={durationS} />}
      <label class="check"><input type="checkbox" checked={lesson.trims.value} onChange={(event) => change(lesson, () => (lesson.trims.value = event.currentTarget.checked))} /> without what stands still at both ends</label>
      <div class="fields">
        {units.has("rad") && <label>Smoothed within <Amount lesson={lesson} of={lesson.smoothRad} bounds={[1e-6, 1]} factor={factorOf("rad")} aria-label="Smoothed within, of joints that turn" /> {nameOf("rad")}</label>}
        {units.has("m") && <label>Smoothed within <Amount lesson={lesson} of={lesson.smoothM} bounds={[1e-7, 1]} aria-label="Smoothed within, of joints that slide" /> m</label>}
      </div>
    </>
  );
}

function FromPoses({ robot }: { robot: Robot }) {
  const { lesson } = robot;
  return (
    <>
      <Poses robot={robot} />
      <div class="fields">
        <label>At each
          <select value={lesson.atPoses.value} onChange={(event) => change(lesson, () => (lesson.atPoses.value = event.currentTarget.value as "rest" | "through"))}>
            <option value="rest">come to rest</option>
            <option value="through">go through</option>
          </select>
        </label>
        <label>Speed <Amount lesson={lesson} of={lesson.speed} bounds={[0.01, 1]} factor={100} /> % of the limits</label>
      </div>
    </>
  );
}

/** A number within bounds, shown times a factor; what is typed and is none changes nothing. */
function Amount({ lesson, of, bounds: [least, most], factor = 1, ...attributes }: { lesson: Lesson; of: Signal<number>; bounds: [number, number]; factor?: number; "aria-label"?: string }) {
  const take = (event: { currentTarget: HTMLInputElement }) => {
    const typed = event.currentTarget.valueAsNumber / factor;
    if (Number.isFinite(typed)) change(lesson, () => (of.value = Math.min(most, Math.max(least, typed))));
    event.currentTarget.value = short(factor * of.peek());
  };
  return <input type="number" {...attributes} min={short(factor * least)} max={short(factor * most)} step="any" value={short(factor * of.value)} onChange={take} />;
}

function short(value: number): string {
  return String(Number(value.toPrecision(4)));
}

function Save({ robot }: { robot: Robot }) {
  const { lesson } = robot;
  const name = lesson.name.value.trim();
  const made = lesson.made.value;
  const isThere = robot.motions.value?.motions.some((motion) => motion.name === name) ?? false;
  const replaces = isThere && !(made?.saved && made.motion === name);
  const ask = async (dry: boolean) => {
    const asked = JSON.stringify(lesson.body(true));
    const answer = await command(robot, "teach/save", lesson.body(dry, isThere));
    const isSo = JSON.stringify(lesson.body(true)) === asked; // nothing was changed meanwhile
    if (answer.status === "ok" && isSo) lesson.made.value = answer.data as unknown as SaveTaughtAnswer;
  };
  const busy = robot.pending.value.has("teach/save");
  const isNamed = name !== "";
  const allowed = (title: string) => (isNamed ? gate(robot, "command") : { disabled: true, title });
  if (!takesMotions(robot)) return <NoFolder />;
  return (
    <form class="save" onSubmit={(event) => { event.preventDefault(); if (isNamed && !busy) void ask(false); }}>
      <p class="line">
        <input aria-label="Name of the motion" placeholder="Name of the motion" maxLength={90} value={lesson.name.value} onInput={(event) => change(lesson, () => (lesson.name.value = event.currentTarget.value))} />
        <button type="button" {...allowed("It needs a name")} aria-busy={busy} onClick={() => busy || void ask(true)}>Check</button>
        <button class="main" {...allowed("It needs a name")} aria-busy={busy}>{replaces ? "Replace" : "Save"}</button>
      </p>
      {replaces && <p class="unit">There is a motion of this name; it is replaced if it was saved here.</p>}
      {made && <Made robot={robot} made={made} />}
    </form>
  );
}

function takesMotions({ description }: Robot): boolean {
  return description.value?.upload ?? true;
}

function NoFolder() {
  return <p class="hint">No folder takes motions of clients, so nothing can be saved: the configuration's <code>motions</code> names none with <code>upload: true</code>.</p>;
}

/** What the motion is like, and how it is looked at and played. */
function Made({ robot, made }: { robot: Robot; made: SaveTaughtAnswer }) {
  const joints = new Map(robot.description.value?.joints.map((joint) => [joint.name, joint]));
  return (
    <div class="made" role="status">
      <p class="line">
        <strong class={made.saved ? "good" : undefined}>{made.saved ? `${made.motion} is saved` : "Checked; not saved"}</strong>
        <span class="num">{clock(made.duration_s)}, {made.rows} rows</span>
        {made.saved && <><span class="space" /><button type="button" onClick={() => void open(robot, made.motion)}>Preview</button><button type="button" class="main" {...gate(robot, "play")} onClick={() => void play(robot, made.motion)}>Play</button></>}
      </p>
      {made.problems.length > 0 && <ul class="problems" aria-label="Problems">{made.problems.map((problem) => <li key={problem}>{problem}</li>)}</ul>}
      <div class="scroll-x">
        <table>
          <thead><tr><th scope="col">joint</th><th scope="col">differs by</th><th scope="col">from</th><th scope="col">to</th><th scope="col">velocity</th><th scope="col">accelera&shy;tion</th></tr></thead>
          <tbody>
            {made.peaks.map((peak) => {
              const joint = joints.get(peak.joint);
              const shown = (value: number | undefined, digits: number) => fixed(value === undefined ? value : factorOf(peak.unit) * value, digitsOf(peak.unit, digits));
              return (
                <tr key={peak.joint}>
                  <th scope="row">{peak.joint}</th>
                  <td class="num">{shown(made.deviation[peak.joint], 4)} <span class="unit">{nameOf(peak.unit)}</span></td>
                  <td class="num">{shown(peak.lowest, 2)}</td>
                  <td class="num">{shown(peak.highest, 2)}</td>
                  <td class={nearness(peak.velocity, joint, "velocity")}>{shown(peak.velocity, 2)}</td>
                  <td class={nearness(peak.acceleration, joint, "acceleration")}>{shown(peak.acceleration, 1)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function nearness(value: number, joint: DescribedJoint | undefined, limit: "velocity" | "acceleration"): string {
  const most = joint?.[limit] ?? Infinity;
  return value > most ? "num over" : value > 0.9 * most ? "num near" : "num";
}

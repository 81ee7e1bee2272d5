/** What plays, or is looked at in advance, on a timeline. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { useWidth } from "./controls";
import { namesThatFit } from "./markers";
import { clock, count, fixed, span, timeOfDay } from "./format";
import { now } from "./header";
import type { Marker, Near } from "./messages";
import type { FollowHeldBy, JointEffort, NearestLinks, PlayingGoal, StateReport } from "./protocol";
import { close, preview, run, runs, scrubbed } from "./preview";
import { play } from "./motions";
import { gate, isJogged, refusal } from "./permission";
import { RecordingLink } from "./recordings";
import { command } from "./store";
import { TeachBar } from "./teach";
import type { Robot } from "./store";

const SPEEDS = [0.1, 0.25, 0.5, 0.75, 1, 1.5, 2];

export function Player({ robot }: { robot: Robot }) {
  const plays = robot.moving.value && robot.playsMotion.value;
  const looksAhead = preview.value?.robot === robot;
  if (robot.shown.value === "teaching") return <TeachBar robot={robot} />;
  return (
    <>
      {looksAhead && <PreviewBar robot={robot} />}
      {plays ? <PlayBar robot={robot} /> : !looksAhead && <RestBar robot={robot} />}
      <Goals robot={robot} />
    </>
  );
}

/** All that plays, where that is more than one motion alone, each with a pause and a stop of its own. */
function Goals({ robot }: { robot: Robot }) {
  const goals = robot.state.value?.goals ?? [];
  if (!goals.some((goal) => goal.beside)) return null;
  return (
    <ul class="goals" aria-label="Goals">
      {goals.map((goal) => (
        <li key={goal.goal_id}>
          <strong>{goal.motion}</strong> <span class="tag">{goal.state}</span> {(goal.speed ?? 1) !== 1 && <span class="tag">{goal.speed}×</span>} {goal.additive && <span class="tag">added, {Math.round(100 * (goal.weight ?? 1))} %</span>} <span>{goal.joints.length === robot.jointNames.value.length ? "all joints" : goal.joints.join(", ")}</span>{" "}
          <span class="acts">
            <GoalPause robot={robot} goal={goal} />
            <button title="Stop it softly; what plays beside it plays on" onClick={() => void command(robot, "stop", { goal_id: goal.goal_id })}>Stop {goal.motion}</button>
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Pauses one goal, or lets it go on; what plays beside it plays on. */
function GoalPause({ robot, goal }: { robot: Robot; goal: PlayingGoal }) {
  const verb = goal.state === "paused" || goal.state === "pausing" ? "resume" : "pause";
  const { disabled, title } = gate(robot, "command", "What plays beside it plays on");
  const name = verb === "resume" ? "Resume" : "Pause";
  return <button disabled={disabled || goal.state === "stopping"} title={title} onClick={() => void command(robot, verb, { goal_id: goal.goal_id })}>{name} {goal.motion}</button>;
}

/** What a robot does that plays no motion, or plays one beside nothing. */
function doing(robot: Robot): ComponentChildren {
  const { motion, goals } = robot.state.value ?? {};
  if (robot.shown.value === "following") return isJogged(robot) ? "Jogged from this page" : "Moved by targets as they come";
  if (!robot.moving.value) return "No motion plays";
  if (!motion && goals?.length) return <>Plays on some joints: <strong>{goals.map((goal) => goal.motion).join(", ")}</strong></>;
  return <>Moving to a posture{motion && <>: <strong>{motion}</strong></>}</>;
}

/** Nothing plays: how the last motion ended, and why. */
function RestBar({ robot }: { robot: Robot }) {
  const ended = robot.ended.value;
  return (
    <section class="player rest" aria-label="Player">
      <p>{doing(robot)}</p>
      <FollowFacts robot={robot} />
      {ended && (
        <p class={ended.failed ? "ended bad" : "ended"} role={ended.failed ? "alert" : undefined}>
          <strong>{ended.result.motion}: {ended.result.code}</strong>{ended.result.message && `: ${ended.result.message}`} <RecordingLink robot={robot} file={ended.result.recording} />
          {ended.dropped.length > 0 && <span class="dropped">{notPlayed(ended.dropped)}</span>}
        </p>
      )}
    </section>
  );
}

/** What keeps the robot from going on to its targets. */
export function tooNear({ links, distance_m }: FollowHeldBy): string {
  return `${links.join(" and ")} are ${fixed(1000 * distance_m, 1)} mm apart`;
}

/** How fast targets reach the actuators, and how far the robot is behind the newest; renewed once a second. */
export function FollowFacts({ robot }: { robot: Robot }) {
  const follow = robot.state.value?.follow;
  if (!follow?.latency_s) return null;
  const { latency_s, lag, clipped, dropped, refused, slowed_by, held_by } = follow;
  const lost = clipped + dropped + refused;
  return (
    <p class="facts" aria-label="Targets">
      <span>Latency <span class="num">{span(latency_s.p50)}</span>, 99 % within <span class="num">{span(latency_s.p99)}</span></span>
      {lag && <span>Lag <span class="num">{fixed(Math.abs(lag.value), 3)} {lag.unit}</span> ({lag.joint})</span>}
      {slowed_by && <span class="bad">Slowed down by {slowed_by === 'singularity' ? 'a singularity' : `the limits of ${slowed_by}`}</span>}
      {held_by && <span class="bad">{tooNear(held_by)}</span>}
      {lost > 0 && <span>{clipped} clipped, {dropped + refused} not taken</span>}
    </p>
  );
}

function notPlayed(motions: string[]): string {
  return `${count(motions.length, "motion")} that waited ${motions.length === 1 ? "is" : "are"} not played: ${motions.join(", ")}`;
}

/** Where on its motion the robot is now, 0 to 1; telemetry is newer than the state. */
function progressOf(robot: Robot): number {
  const state = robot.state.value;
  const motion = robot.motions.value?.motions.find((one) => one.name === state?.motion);
  const frame = robot.numbers.value?.frame;
  if (state?.state === "approaching") return state.progress ?? 0;
  if (motion?.frames && motion.frames > 1 && frame !== undefined) return Math.min(1, Math.max(0, frame / (motion.frames - 1)));
  return state?.progress ?? 0;
}

function PlayBar({ robot }: { robot: Robot }) {
  const state = robot.state.value!;
  const motion = robot.motions.value?.motions.find((one) => one.name === state.motion);
  const duration = state.duration ?? motion?.duration ?? 0;
  const progress = progressOf(robot);
  const able = refusal(robot, "command") === "";
  const markers = useMemo(() => scaled(motion?.markers ?? [], motion?.duration, duration), [motion, duration]);
  const loops = state.loops === null ? "∞" : state.loops;
  return (
    <section class="player" aria-label="Player">
      <div class="line">
        {state.state === "paused" || state.state === "pausing" ? (
          <button class="main" {...gate(robot, "resume")} onClick={() => void command(robot, "resume")}>Resume</button>
        ) : (
          <button class="main" {...gate(robot, "pause")} onClick={() => void command(robot, "pause")}>Pause</button>
        )}
        <strong class="name">{state.motion}</strong>
        <span class="num time">{clock(progress * duration)} / {clock(duration)}</span>
        <Appointed state={state} />
        {loops !== 1 && loops !== undefined && <span class="num">pass {state.loop} of {loops}</span>}
        <label class="speed">
          Speed
          <select aria-label="Speed" value={String(state.speed ?? 1)} {...gate(robot, "command")} onChange={(event) => void command(robot, "speed", { speed: Number(event.currentTarget.value) })}>
            {speedsUpTo(motion?.max_speed, state.speed ?? 1).map((speed) => <option value={String(speed)}>{speed}×</option>)}
          </select>
        </label>
      </div>
      <Timeline
        progress={progress} duration={duration} markers={markers} able={able}
        seek={(share) => void command(robot, "seek", { time: share * duration })}
        seekMarker={(marker) => void command(robot, "seek", { marker })}
      />
    </section>
  );
}

/** The speeds that are offered, of which none would exceed a limit, and the present one. */
function speedsUpTo(most: number | undefined, now: number): number[] {
  return [...new Set([...SPEEDS.filter((speed) => speed <= (most ?? Infinity)), now])].sort((a, b) => a - b);
}

/** For when its start is appointed, to whoever looks on. */
export function Appointed({ state }: { state: StateReport }) {
  const at = state.start_at ?? 0;
  if (state.state !== "approaching" || 1000 * at <= now.value) return null;
  return <span class="tag appointed">starts at {timeOfDay(at)}</span>;
}

/** Where a motion is slowed down to its limits, so are the times of its markers. */
function scaled(markers: Marker[], from: number | undefined, to: number): Marker[] {
  return from ? markers.map(({ name, time }) => ({ name, time: (time * to) / from })) : markers;
}

interface TimelineProps {
  progress: number;
  duration: number;
  markers: Marker[];
  able: boolean;
  seek(share: number): void;
  seekMarker(name: string): void;
}

/** A click goes there; with the keyboard, arrows choose a place and Enter goes there. */
function Timeline({ progress, duration, markers, able, seek, seekMarker }: TimelineProps) {
  const chosen = useSignal<number | null>(null);
  const shareAt = (event: MouseEvent & { currentTarget: HTMLElement }) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - left) / width));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -0.01, ArrowRight: 0.01, PageDown: -0.1, PageUp: 0.1 }[event.key];
    if (step) chosen.value = Math.min(1, Math.max(0, (chosen.value ?? progress) + step));
    else if (event.key === "Enter" && chosen.value !== null && able) {
      seek(chosen.value);
      chosen.value = null;
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const named = useMemo(() => <Markers markers={markers} duration={duration} able={able} go={({ name }) => seekMarker(name)} />, [markers, duration, able]);
  return (
    <div class="timeline">
      <div
        class={able ? "track live" : "track"} role="slider" tabIndex={0} aria-label="Place on the motion" aria-valuemin={0}
        aria-valuemax={Number(duration.toFixed(2))} aria-valuenow={Number(((chosen.value ?? progress) * duration).toFixed(2))}
        aria-valuetext={clock((chosen.value ?? progress) * duration)} aria-disabled={!able} onKeyDown={onKeyDown}
        onClick={(event) => able && seek(shareAt(event))} onMouseMove={(event) => (chosen.value = shareAt(event))}
        onMouseLeave={() => (chosen.value = null)} onBlur={() => (chosen.value = null)}
      >
        <div class="done" style={{ width: `${100 * progress}%` }} />
        {chosen.value !== null && (
          <div class="cursor" style={{ left: `${100 * chosen.value}%` }}><span class="num">{clock(chosen.value * duration)}</span></div>
        )}
      </div>
      {named}
    </div>
  );
}

/** Drawn anew only where they change, not with each place of the robot: there may be a thousand. Each marker has a tick; its name stands there where it does not run into the next one's, and else where one points. */
function Markers({ markers, duration, able, go }: { markers: Marker[]; duration: number; able: boolean; go(marker: Marker): void }) {
  const [bar, width] = useWidth(markers.length > 0 && duration > 0);
  if (!markers.length || !duration) return null;
  const named = namesThatFit(markers, width.value / duration);
  return (
    <div class="markers" ref={bar}>
      {markers.map((marker) => (
        <button class="marker" disabled={!able} style={{ left: `${(100 * marker.time) / duration}%` }} aria-label={marker.name} title={`Go to ${marker.name}, ${clock(marker.time)}`} onClick={() => go(marker)}>
          {named.has(marker) ? marker.name : ""}
        </button>
      ))}
    </div>
  );
}

function PreviewBar({ robot }: { robot: Robot }) {
  const { plan } = preview.value!;
  const named = useMemo(() => <Markers markers={plan.markers} duration={plan.duration} able go={(marker) => { run(false); scrubbed.value = marker.time; }} />, [plan]);
  return (
    <section class="player preview" aria-label="Preview">
      <div class="line">
        <button class="main" onClick={() => run(!runs.value)}>{runs.value ? "Hold" : "Run ghost"}</button>
        <strong class="name">{plan.motion}</strong>
        <span class="tag">{robot.moving.value ? "a preview; the robot moves on" : "nothing moves"}</span>
        <span class="num time">{clock(scrubbed.value)} / {clock(plan.duration)}</span>
        <span class="space" />
        <button {...gate(robot, "playNow")} onClick={() => { close(); void play(robot, plan.motion); }}>Play it now</button>
        <button class="quiet" onClick={close}>Close</button>
      </div>
      <div class="timeline">
        <input
          type="range" class="scrub" aria-label="Place in the preview" min={0} max={plan.duration} step={0.001} value={scrubbed.value}
          aria-valuetext={clock(scrubbed.value)} onInput={(event) => { run(false); scrubbed.value = Number(event.currentTarget.value); }}
        />
        {plan.near.map((near) => <div class="near" style={{ left: `${(100 * near.time) / plan.duration}%` }} />)}
        {named}
      </div>
      {plan.nearest && <NearestPair nearest={plan.nearest} />}
      {plan.near.length > 0 && <Nears near={plan.near} />}
      {plan.effort && <Efforts joints={plan.effort.joints} />}
    </section>
  );
}

/** The two that come nearest to each other, where the ghost goes at a click. */
function NearestPair({ nearest: { links, distance_m, time, margin_m } }: { nearest: NearestLinks }) {
  const apart = distance_m < 0 ? `overlap by ${fixed(-1000 * distance_m, 1)} mm` : `come within ${fixed(1000 * distance_m, 1)} mm`;
  return (
    <p class={distance_m < margin_m ? "nearest bad" : "nearest"}>
      <button class="link" onClick={() => { run(false); scrubbed.value = time; }}>
        <span class="num">{clock(time)}</span> {links.join(" and ")} {apart}
      </button>
    </p>
  );
}

/** What the motion takes of actuators, by the masses of the robot; a click lets the ghost go to a peak. */
function Efforts({ joints }: { joints: JointEffort[] }) {
  const shareOf = (value: number, limit: number | null) => (limit ? value / limit : 0);
  const of = (value: number, limit: number | null, unit: string) => (
    <td class={`num ${shareOf(value, limit) > 1 ? "over" : shareOf(value, limit) > 0.9 ? "near" : ""}`}>
      {fixed(value, 2)} {limit !== null && `of ${Number(limit.toPrecision(4))} `}<span class="unit">{unit}</span>
    </td>
  );
  return (
    <details class="efforts">
      <summary>Efforts</summary>
      <div class="scroll-x" tabIndex={0} role="region" aria-label="Efforts of the motion">
        <table>
          <thead><tr><th scope="col">joint</th><th scope="col">peak</th><th scope="col">at</th><th scope="col">RMS</th></tr></thead>
          <tbody>
            {joints.map(({ joint, unit, peak, time, limit, rms, continuous }) => (
              <tr key={joint}>
                <th scope="row">{joint}</th>
                {of(peak, limit, unit)}
                <td class="num"><button class="link" onClick={() => { run(false); scrubbed.value = time; }}>{clock(time)}</button></td>
                {of(rms, continuous, unit)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function Nears({ near }: { near: Near[] }) {
  return (
    <ul class="nears" aria-label="Limits that it comes near to">
      {near.map((one) => (
        <li>
          <button class="link" onClick={() => { run(false); scrubbed.value = one.time; }}>
            <span class="num">{clock(one.time)}</span> {one.joint}: {fixed(100 * one.share, 0)} % of its {one.limit} limit
          </button>
        </li>
      ))}
    </ul>
  );
}

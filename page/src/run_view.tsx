/** A recorded run, opened: its time axis below the picture, and beside it its curves, its errors and what happened. */

import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { Check, useWidth } from "./controls";
import { count, fixed, when } from "./format";
import { namesThatFit } from "./markers";
import { listOf, useRecordings } from "./recordings";
import { at, ghostIsOther, go, loops, onRunKey, opened, places, problem, range, read, run, runs, sight, speed, toTime } from "./replay";
import type { Opened } from "./replay";
import { href, runNames } from "./route";
import { columnOf, durationOf, extent, gapAt, less, valueAt } from "./run";
import type { Run } from "./run";
import { RunPlots } from "./run_plots";
import { errorScale } from "./scale";
import { hasFailed } from "./results";
import { GRAVE, degrees } from "./store";
import type { Robot } from "./store";
import { digitsOf, factorOf, nameOf } from "./units";

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 5, 10];
const MOST_PLOTTED = 4;

const inS = (time: number | null) => `${fixed(time, 3)} s`;

/** The time axis, and what runs along it. */
export function RunBar({ robot }: { robot: Robot }) {
  const shown = opened.value;
  if (shown?.robot !== robot) return null;
  return (
    <section class="player replay" aria-label="Recorded run">
      <div class="line">
        <button class="main" onClick={() => run(!runs.value)}>{runs.value ? "Hold" : "Run here"}</button>
        <span class="tag">nothing moves</span>
        <Clock run={shown.run} />
        <label class="speed">
          Speed
          <select aria-label="Speed of the picture" value={String(speed.value)} onChange={(event) => (speed.value = Number(event.currentTarget.value))}>
            {SPEEDS.map((one) => <option value={String(one)}>{one}×</option>)}
          </select>
        </label>
      </div>
      <Axis run={shown.run} />
      <Places />
    </section>
  );
}

function Clock({ run: { times, ...rest } }: { run: Run }) {
  const gap = gapAt({ times, ...rest }, read.value);
  return <span class="num time">{fixed(read.value, 3)} / {inS(durationOf({ times }))}{gap && <span class="bad"> a gap: {gap.reason}</span>}</span>;
}

/** A press or a drag goes there, and so do arrows; what happened stands below. */
function Axis({ run: shown }: { run: Run }) {
  const duration = durationOf(shown) || 1;
  const to = (event: PointerEvent & { currentTarget: HTMLElement }) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    go(((event.clientX - left) / width) * duration);
  };
  const still = useMemo(() => <Stretches run={shown} duration={duration} />, [shown]);
  const below = useMemo(() => <Marks run={shown} duration={duration} />, [shown]);
  return (
    <div class="timeline">
      <div
        class="track live" role="slider" tabIndex={0} aria-label="Time of the run" aria-valuemin={0} aria-valuemax={Number(duration.toFixed(3))}
        aria-valuenow={Number(read.value.toFixed(3))} aria-valuetext={inS(read.value)}
        onPointerDown={(event) => { run(false); event.currentTarget.setPointerCapture(event.pointerId); to(event); }}
        onPointerMove={(event) => event.currentTarget.hasPointerCapture(event.pointerId) && to(event)}
      >
        {still}
        {range.value && <div class="between" style={{ left: `${(100 * range.value[0]) / duration}%`, width: `${(100 * (range.value[1] - range.value[0])) / duration}%` }} />}
        <Here time={at} duration={duration} name="" />
        <Here time={places.A} duration={duration} name="A" />
        <Here time={places.B} duration={duration} name="B" />
      </div>
      {below}
    </div>
  );
}

/** One time on the axis, moved alone. */
function Here({ time, duration, name }: { time: Signal<number | null>; duration: number; name: string }) {
  const line = useRef<HTMLDivElement>(null);
  useSignalEffect(() => {
    const now = time.value;
    line.current!.hidden = now === null;
    if (now !== null) line.current!.style.left = `${(100 * now) / duration}%`;
  });
  return <div ref={line} class={name ? "cursor place" : "cursor"} hidden>{name && <span>{name}</span>}</div>;
}

/** The way to the first row, what played or followed, and gaps. */
function Stretches({ run: { phases, gaps }, duration }: { run: Run; duration: number }) {
  const share = (time: number) => (100 * Math.min(duration, time)) / duration;
  const played = phases.map((phase, place) => ({ ...phase, until: phases[place + 1]?.time ?? duration })).filter(({ state }) => ["playing", "approaching", "following"].includes(state));
  return (
    <>
      {played.map(({ state, time, until }) => <div class={`stretch ${state}`} title={state} style={{ left: `${share(time)}%`, width: `${share(until) - share(time)}%` }} />)}
      {gaps.map(({ time, until, ticks, reason }) => <div class="gap" title={`${count(ticks, "tick")} missing: ${reason}`} style={{ left: `${share(time)}%`, width: `${share(until) - share(time)}%` }} />)}
    </>
  );
}

interface Mark {
  name: string;
  time: number;
  kind: string;
  text: string;
  grave: boolean;
}

function marksOf({ events, results }: Run): Mark[] {
  const of = results.map(({ time, code, motion, message }) => ({ name: code, time, kind: "result", text: `${motion}: ${code}${message && `: ${message}`}`, grave: hasFailed(code) }));
  const told = events.map(({ time, kind, message }) => ({ name: kind === "marker" ? message : kind.replaceAll("_", " "), time, kind: kind.replaceAll("_", " "), text: message, grave: GRAVE.has(kind) }));
  return [...told, ...of].sort((one, other) => one.time - other.time);
}

/** Markers, events and results; a name stands where it does not run into the one before. */
function Marks({ run: shown, duration }: { run: Run; duration: number }) {
  const [bar, width] = useWidth();
  const marks = useMemo(() => marksOf(shown), [shown]);
  if (!marks.length) return null;
  const named = namesThatFit(marks, width.value / duration, width.value);
  return (
    <div class="markers" ref={bar}>
      {marks.map((mark) => (
        <button class={mark.grave ? "marker bad" : "marker"} style={{ left: `${Math.min(100, (100 * mark.time) / duration)}%` }} aria-label={`${mark.kind}: ${mark.text}`} title={`${inS(mark.time)}: ${mark.text}`} onClick={() => toTime(mark.time)}>
          {named.has(mark) ? mark.name : ""}
        </button>
      ))}
    </div>
  );
}

/** Two places that are compared, and between which the picture loops. */
function Places() {
  const { A, B } = places;
  const both = range.value;
  const clear = () => { A.value = B.value = sight.value = null; loops.value = false; };
  return (
    <div class="line places">
      <button title="Put A where the cursor is (A)" onClick={() => (A.value = at.value)}>A here</button>
      <button title="Put B where the cursor is (B)" onClick={() => (B.value = at.value)}>B here</button>
      {A.value !== null && <button class="link" title="Go to A" onClick={() => toTime(A.value!)}><span class="num">A {inS(A.value)}</span></button>}
      {B.value !== null && <button class="link" title="Go to B" onClick={() => toTime(B.value!)}><span class="num">B {inS(B.value)}</span></button>}
      {both && <span class="num">B − A {inS(B.value! - A.value!)}</span>}
      <span class="space" />
      {both && <Check of={loops}>Loop A–B</Check>}
      {both && <button class="quiet" title="Show this stretch alone in the plots" onClick={() => (sight.value = both)}>Show A–B</button>}
      {sight.value && <button class="quiet" title="Show all of the run in the plots" onClick={() => (sight.value = null)}>Whole run</button>}
      {(A.value !== null || B.value !== null) && <button class="quiet" onClick={clear}>Clear</button>}
    </div>
  );
}

/** What stands beside the picture. */
export function RunPanel({ robot }: { robot: Robot }) {
  const shown = opened.value?.robot === robot ? opened.value : null;
  return (
    <section class="run panel" aria-label="Recorded run">
      <div class="panel-head">
        <a href={href(robot.name, "recordings")}>‹ Recordings</a>
        <h2>{runNames.value[0]}</h2>
        <span class="space" />
        {shown?.run.units.includes("rad") && <button class="quiet" aria-pressed={degrees.value} title="Show angles in degrees, or in rad" onClick={() => (degrees.value = !degrees.value)}>{degrees.value ? "degrees" : "rad"}</button>}
      </div>
      {problem.value && <p class="empty bad" role="alert">{problem.value}</p>}
      {!shown && !problem.value && <p class="empty" role="status">The recording is being read.</p>}
      {shown && <Shown key={shown.name} shown={shown} />}
    </section>
  );
}

function Shown({ shown }: { shown: Opened }) {
  const { run: one, robot } = shown;
  const plotted = useSignal<number[]>([worstOf(one)]);
  const toggle = (column: number) => {
    const without = plotted.value.filter((other) => other !== column);
    plotted.value = without.length < plotted.value.length ? without : [...without, column].slice(-MOST_PLOTTED);
  };
  return (
    <>
      <p class="facts">
        <span>{when(one.began_utc)}</span>
        <span class="num">{inS(one.duration_s)}</span>
        <span>{count(one.ticks, "tick")}</span>
        {one.results.map(({ motion, code }) => hasFailed(code) ? <strong class="bad">{motion}: {code}</strong> : <span>{motion}: {code}</span>)}
        {one.gaps.length > 0 && <span class="bad">{count(one.gaps.length, "gap")}</span>}
        {!one.is_whole && <span class="bad">its end is missing</span>}
        {one.every > 1 && <span title="For each joint the lowest and the highest value of as many ticks">two points for {one.every} ticks</span>}
      </p>
      <Beside shown={shown} />
      {one.points === 0 && <p class="empty">It has no tick.</p>}
      {one.points > 0 && (
        <>
          {plotted.value.map((column) => <RunPlots key={column} shown={shown} column={column} />)}
          <Errors shown={shown} robot={robot} plotted={plotted.value} toggle={toggle} />
        </>
      )}
      <Happened run={one} />
    </>
  );
}

/** The joint whose error is the largest, rad and m alike, as a run has mostly one of them. */
function worstOf({ joints, worst }: Run): number {
  const of = (name: string) => worst[name]?.max ?? -1;
  return joints.reduce((most, name, column) => (of(name) > of(joints[most]!) ? column : most), 0);
}

/** Which other run is laid on this one. */
function Beside({ shown: { robot, name, other } }: { shown: Opened }) {
  useRecordings(robot);
  const others = (listOf(robot).value?.recordings ?? []).filter((one) => one.name !== name && !one.is_written);
  const lay = (chosen: string) => { location.hash = href(robot.name, "recordings", name, ...(chosen ? [chosen] : [])); };
  return (
    <div class="line beside">
      <label>Laid on it <select value={other?.name ?? ""} onChange={(event) => lay(event.currentTarget.value)}>
        <option value="">no other run</option>
        {other && !others.some((one) => one.name === other.name) && <option value={other.name}>{other.name}</option>}
        {others.map((one) => <option value={one.name}>{one.motions.join(", ") || one.name}, {when(one.began_utc)}</option>)}
      </select></label>
      {other && <Check of={ghostIsOther}>as the ghost</Check>}
    </div>
  );
}

interface ErrorsProps {
  shown: Opened;
  robot: Robot;
  plotted: number[];
  toggle(column: number): void;
}

/** A row for each joint: its largest error, and its values at the cursor. */
function Errors({ shown: { run: one, other }, robot, plotted, toggle }: ErrorsProps) {
  const differences = useMemo(() => {
    const all = other && less(one.feedback, other.run.feedback);
    return all && one.joints.map((_, column) => extent(one.times, columnOf(one, all, column)));
  }, [one, other]);
  const joints = useComputed(() => new Map(robot.description.value?.joints.map((joint) => [joint.name, joint])));
  const both = places.A.value !== null && places.B.value !== null;
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label="Table of errors">
      <table>
        <thead>
          <tr>
            <th scope="col">joint</th><th scope="col">largest error</th><th scope="col">at</th><th scope="col">RMS</th>
            {other && <><th scope="col">largest difference</th><th scope="col">at</th><th scope="col">RMS</th></>}
            <th scope="col">reference</th><th scope="col">feedback</th><th scope="col">error</th>
            {both && <th scope="col">B − A</th>}
          </tr>
        </thead>
        <tbody>
          {one.joints.map((name, column) => {
            const joint = joints.value.get(name);
            const worst = one.worst[name];
            const unit = one.units[column]!;
            const shownAs = (value: number | undefined, digits: number) => fixed(value === undefined ? value : factorOf(unit) * value, digitsOf(unit, digits));
            const now = (kind: "reference" | "feedback" | "error", time = read.value) => valueAt(one, kind, column, time);
            const share = joint && worst ? worst.max / errorScale(robot.description.value, joint) : 0;
            const isPlotted = plotted.includes(column);
            const difference = differences?.[column];
            return (
              <tr key={name} class={isPlotted ? "chosen" : ""}>
                <th scope="row"><button class="link" aria-pressed={isPlotted} title={isPlotted ? "Take its curves away" : "Show its curves"} onClick={() => toggle(column)}>{name}</button></th>
                <td class={`num ${share > 0.5 ? "over" : share > 0.1 ? "near" : ""}`}>{shownAs(worst?.max, 4)} <span class="unit">{nameOf(unit)}</span></td>
                <td class="num">{worst && <button class="link" title="Go there" aria-label={`Go to the largest error of ${name}, ${inS(worst.time)}`} onClick={() => toTime(worst.time)}>{inS(worst.time)}</button>}</td>
                <td class="num">{shownAs(worst?.rms, 4)}</td>
                {other && <>
                  <td class="num">{shownAs(difference ? Math.abs(difference.value) : undefined, 4)}</td>
                  <td class="num">{difference && <button class="link" title="Go there" aria-label={`Go to the largest difference of ${name}, ${inS(difference.time)}`} onClick={() => toTime(difference.time)}>{inS(difference.time)}</button>}</td>
                  <td class="num">{shownAs(difference?.rms, 4)}</td>
                </>}
                <td class="num">{shownAs(now("reference"), 3)}</td>
                <td class="num">{shownAs(now("feedback"), 3)}</td>
                <td class="num">{shownAs(now("error"), 4)}</td>
                {both && <td class="num">{shownAs(now("feedback", places.B.value!) - now("feedback", places.A.value!), 4)}</td>}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** What happened in it, with its results and gaps. */
function Happened({ run: one }: { run: Run }) {
  const rows = useMemo(() => {
    const gaps = one.gaps.map(({ time, ticks, reason }) => ({ name: "", time, kind: "gap", text: `${count(ticks, "tick")} missing: ${reason}`, grave: true }));
    return [...marksOf(one), ...gaps].sort((first, second) => first.time - second.time);
  }, [one]);
  return (
    <>
      <div class="panel-head"><h2>What happened</h2></div>
      <ol class="log" aria-label="What happened in the run">
        {rows.map((row) => (
          <li class={row.grave ? "grave" : ""}>
            <button class="link" onClick={() => toTime(row.time)}><time class="num">{inS(row.time)}</time></button> <span class="kind">{row.kind}</span> <span class="message">{row.text}</span>
          </li>
        ))}
      </ol>
      {!rows.length && <p class="empty">Nothing but ticks.</p>}
      {one.more > 0 && <p class="empty">{one.more} more are in the file.</p>}
    </>
  );
}

export { onRunKey };

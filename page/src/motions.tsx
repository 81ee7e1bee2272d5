/** The motions: what there is, why one is refused, and how to play, look at, queue, add and delete them. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Check } from "./controls";
import { clock, fixed, timeOfDay } from "./format";
import { now } from "./header";
import { fetching, open, see, sight } from "./preview";
import type { ListedMotion } from "./protocol";
import { gate } from "./permission";
import { command, fleet, link, notify } from "./store";
import type { Robot } from "./store";
import { Upload } from "./upload";

/** So many motions are drawn at first, and more when one gets there: a thousand would keep the page busy. */
export const ROWS = 40;

function playBody({ options }: Robot, motion: string): object {
  const loop = options.loops.value === "forever" ? "forever" : Math.max(1, Math.round(Number(options.loops.value) || 1));
  const body = { motion, speed: options.speed.value, loop, ping_pong: options.pingPong.value };
  if (!options.startAt.value) return body;
  return { ...body, start_at: startTime(options.startAt.value).getTime() / 1000 };
}

/** When the clock next shows a time of the day. */
function startTime(time: string): Date {
  const [hours = 0, minutes = 0, seconds = 0] = time.split(":").map(Number);
  const at = new Date();
  at.setHours(hours, minutes, seconds, 0);
  if (at.getTime() < Date.now()) at.setDate(at.getDate() + 1);
  return at;
}

/** The motions that are asked for, until the daemon has answered. */
const asked = new Set<string>();

/** Play a motion, or let it wait for what plays. A second press meanwhile does nothing; a button that is disabled instead loses the focus. */
export async function play(robot: Robot, motion: string, more: object = {}): Promise<void> {
  const which = `${robot.name}/${motion}`;
  if (asked.has(which)) return;
  asked.add(which);
  const time = robot.options.startAt.peek();
  const body = { ...playBody(robot, motion), ...more };
  const busy = robot.moving.peek() || robot.pending.peek().has("play");
  const answer = await command(robot, "play", busy ? { ...body, on_busy: "queue" } : body);
  asked.delete(which);
  if (time && answer.status === "ok") notify(`${motion} starts at ${timeOfDay(startTime(time).getTime() / 1000)}.`, false);
}

function isTomorrow(time: string): boolean {
  return startTime(time).getDate() !== new Date().getDate();
}

export function Motions({ robot }: { robot: Robot }) {
  const search = useSignal("");
  const most = useSignal(ROWS);
  const report = robot.motions.value;
  const wanted = search.value.trim().toLowerCase();
  const shown = report?.motions.filter((motion) => motion.name.toLowerCase().includes(wanted)) ?? [];
  return (
    <section class="motions panel" aria-label="Motions">
      <div class="panel-head">
        <h2 id="motions" tabIndex={-1}>Motions</h2>
        <input id="search" type="search" placeholder="Search (/)" aria-label="Search motions" value={search.value} onInput={(event) => (search.value = event.currentTarget.value)} />
        <button class="quiet" {...gate(robot, "command", "Read the motions' files again")} aria-busy={robot.pending.value.has("motions/reload")} onClick={() => robot.pending.peek().has("motions/reload") || void command(robot, "motions/reload")}>Reload</button>
      </div>
      <Upload robot={robot} />
      <PlayOptions robot={robot} />
      <Queue robot={robot} />
      {report?.problems && <div class="motion unread" role="status">{report.problems.map((problem) => <Reason key={problem} text={problem} />)}</div>}
      <ul class="list">
        {shown.slice(0, most.value).map((motion) => <Motion key={motion.name} robot={robot} motion={motion} />)}
        {shown.length > most.value && <More key={most.value} more={() => (most.value += ROWS)} />}
      </ul>
      {report && shown.length === 0 && <p class="empty">{report.motions.length ? "No motion has this in its name." : "There are no motions. The configuration's `motions` names files and folders."}</p>}
      {!report && <p class="empty">The motions are being read.</p>}
      {report?.more && <p class="empty">{report.more} more are not listed; they can be played by name with motiond play.</p>}
    </section>
  );
}

/** The end of the rows that are drawn; where it comes in sight, more are. */
export function More({ more }: { more(): void }) {
  const end = useRef<HTMLLIElement>(null);
  useEffect(() => {
    const observer = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && more(), { rootMargin: "300px" });
    observer.observe(end.current!);
    return () => observer.disconnect();
  }, []);
  return <li ref={end} class="empty">…</li>;
}

function PlayOptions({ robot }: { robot: Robot }) {
  const { speed, loops, pingPong, startAt } = robot.options;
  const changed = speed.value !== 1 || loops.value !== "1" || pingPong.value || startAt.value !== "";
  const late = startAt.value !== "" && now.value > 0 && isTomorrow(startAt.value);
  return (
    <details class="options">
      <summary>How to play{changed && <span class="tag">{late ? "starts tomorrow" : "changed"}</span>}</summary>
      <div class="fields">
        <label>Speed <input type="number" min={0.1} max={10} step={0.05} value={speed.value} onChange={(event) => (speed.value = Math.min(10, Math.max(0.1, Number(event.currentTarget.value) || 1)))} /></label>
        <label>Passes
          <select value={loops.value} onChange={(event) => (loops.value = event.currentTarget.value)}>
            {["1", "2", "3", "5", "10", "100"].map((count) => <option>{count}</option>)}
            <option value="forever">for ever</option>
          </select>
        </label>
        <label>Start at <input type="time" step={1} value={startAt.value} onChange={(event) => (startAt.value = event.currentTarget.value)} /></label>
        <Check of={pingPong}>every second pass backwards</Check>
      </div>
    </details>
  );
}

function Motion({ robot, motion }: { robot: Robot; motion: ListedMotion }) {
  const plays = robot.moving.value && robot.state.value?.motion === motion.name;
  const busy = robot.moving.value;
  const tooFast = !!motion.max_speed && robot.options.speed.value > motion.max_speed;
  const playing = tooFast ? { disabled: true, title: `At ${robot.options.speed.value}× it would exceed a limit; ${fixed(motion.max_speed, 2)}× is the fastest` } : gate(robot, "play", busy ? "Play it after what plays now" : "Play it");
  const all = robot.jointNames.value.length;
  return (
    <li class={`motion${plays ? " plays" : ""}${motion.ok ? "" : " refused"}`}>
      <div class="line">
        {motion.ok && !fleet.value && <img class="thumbnail" src={robot.path(`motions/${encodeURIComponent(motion.name)}/thumbnail?${robot.listings.value}`)} alt="" width={60} height={20} loading="lazy" />}
        <strong class="name">{motion.name}</strong>
        {motion.ok ? (
          <span class="facts">
            <span class="num">{clock(motion.duration)}</span>
            <span>{motion.joints?.length === all ? "all joints" : `${motion.joints?.length ?? 0} of ${all} joints`}</span>
            {!!motion.markers?.length && <span>{motion.markers.length} {motion.markers.length === 1 ? "marker" : "markers"}</span>}
            {!!motion.max_speed && motion.max_speed < 10 && <span class="num" title="The fastest that the limits allow">≤ {fixed(motion.max_speed, 1)}×</span>}
          </span>
        ) : <span class="facts bad">cannot be played</span>}
        <span class="space" />
        {!motion.ok && motion.nearest && !fleet.value && <button class="quiet" aria-pressed={sight.value?.nearest === motion.nearest} aria-label={`Where ${motion.name} collides`} title="Show on the ghost where links come too near" onClick={() => see(robot, motion.name, motion.nearest!)}>Where</button>}
        {motion.ok && !fleet.value && <button class="quiet" disabled={link.value !== "connected"} aria-busy={fetching.value === motion.name} aria-label={`Preview ${motion.name}`} title="Look at it before anything moves" onClick={() => fetching.peek() === motion.name || void open(robot, motion.name)}>Preview</button>}
        {motion.ok && (
          <button class={busy ? "play" : "play main"} {...playing} aria-busy={robot.pending.value.has("play")} aria-label={`${busy ? "Queue" : "Play"} ${motion.name}`} onClick={() => void play(robot, motion.name)}>
            {busy ? "Queue" : "Play"}
          </button>
        )}
        {motion.uploaded && !fleet.value && <Delete robot={robot} motion={motion.name} />}
      </div>
      {motion.reason && <Reason text={motion.reason} />}
      {!!motion.warnings?.length && (
        <details class="warnings">
          <summary>{motion.warnings.length} {motion.warnings.length === 1 ? "warning" : "warnings"}</summary>
          <pre>{motion.warnings.join("\n")}</pre>
        </details>
      )}
    </li>
  );
}

/** Why a motion cannot be played, or a folder not be read: its first line without folders, and the whole where that is asked for. */
function Reason({ text }: { text: string }) {
  return (
    <details class="error">
      <summary>{text.split("\n", 1)[0]!.replace(/^\S*\//, "")}</summary>
      <pre>{text}</pre>
    </details>
  );
}

function Delete({ robot, motion }: { robot: Robot; motion: string }) {
  const asks = useSignal(false);
  if (!asks.value) {
    return <button class="quiet" {...gate(robot, "command", "Delete its file")} aria-label={`Delete ${motion}`} onClick={() => (asks.value = true)}>Delete</button>;
  }
  return (
    <span class="asks" role="group" aria-label={`Delete ${motion}?`}>
      <button class="danger" onClick={() => { asks.value = false; document.getElementById("motions")?.focus(); void command(robot, "motions/delete", { motion }); }}>Delete the file</button>
      <button class="quiet" autofocus onClick={() => (asks.value = false)}>Keep</button>
    </span>
  );
}

function Queue({ robot }: { robot: Robot }) {
  const waiting = robot.waiting.value;
  if (!waiting.length) return null;
  const change = async (verb: "move" | "remove", body: object) => {
    await command(robot, `queue/${verb}`, body);
    await robot.askQueue();
  };
  return (
    <section class="queue" aria-label="Queue">
      <div class="panel-head">
        <h3>Queue</h3>
        <button class="quiet" {...gate(robot, "command")} onClick={() => void command(robot, "queue/clear")}>Clear</button>
      </div>
      <ol>
        {waiting.map((goal, index) => (
          <li key={goal.goal_id}>
            <div class="line">
              <span class="name">{goal.motion}</span>
              <span class="space" />
              {index > 0 && <button class="quiet" {...gate(robot, "command", "One place earlier")} aria-label={`${goal.motion} earlier`} onClick={() => void change("move", { goal_id: goal.goal_id, place: index })}>↑</button>}
              <button class="quiet" {...gate(robot, "command", "Take it out")} aria-label={`Take ${goal.motion} out of the queue`} onClick={() => void change("remove", { goal_id: goal.goal_id })}>✕</button>
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}

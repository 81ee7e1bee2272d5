/** The recordings of a robot: whether it is recorded now, and what has been. */

import { signal, useComputed, useSignal, useSignalEffect } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { clock, count, size, when } from "./format";
import { now } from "./header";
import { More, ROWS, play } from "./motions";
import { gate } from "./permission";
import type { ListedRecording, RecordingsAnswer } from "./protocol";
import { hasFailed } from "./results";
import { href } from "./route";
import { command, connection, fleet } from "./store";
import type { Robot } from "./store";

const WHY: Record<string, string> = { request: "by request", motion: "with a motion", always: "always on", teaching: "with teaching" };

const lists = new WeakMap<Robot, Signal<RecordingsAnswer | null>>();
/** Why a list cannot be had. */
const refused = signal("");

export function listOf(robot: Robot): Signal<RecordingsAnswer | null> {
  if (!lists.has(robot)) lists.set(robot, signal(null));
  return lists.get(robot)!;
}

async function askRecordings(robot: Robot): Promise<void> {
  const answer = await connection.ask(robot.name, "recordings");
  refused.value = answer.status === "ok" ? "" : (answer.error ?? "recordings: refused");
  if (answer.status === "ok") listOf(robot).value = answer.data as unknown as RecordingsAnswer;
}

/** Ask for the list as long as it is looked at: at first, and whenever a file begins or ends. */
export function useRecordings(robot: Robot): void {
  const file = useComputed(() => {
    const { recording, file, problem } = robot.recording.value ?? {};
    return JSON.stringify([recording, file, problem, robot.online.value]);
  });
  useSignalEffect(() => {
    void file.value;
    void askRecordings(robot);
  });
}

/** Leads to what was recorded of a motion, where that is known. */
export function RecordingLink({ robot, file }: { robot: Robot; file: unknown }) {
  if (typeof file !== "string" || fleet.value) return null;
  return <a href={href(robot.name, "recordings", file.replace(/\.mcap$/, ""))}>Its recording</a>;
}

/** Whether it is recorded, beside its player. */
export function RecordBar({ robot }: { robot: Robot }) {
  const report = robot.recording.value;
  if (!report) return null;
  const { recording, why, since_utc, bytes, gaps, problem } = report;
  const seconds = since_utc && now.value ? (now.value - new Date(since_utc).getTime()) / 1000 : 0;
  const verb = recording ? "record/stop" : "record/start";
  const able = recording && why === "teaching" ? { disabled: true, title: "It keeps what is taught from being lost, and ends with the teaching" } : gate(robot, "record", recording ? "End this recording" : "Record each tick to a file");
  return (
    <div class="record" role="group" aria-label="Recording">
      <button class={recording ? "recording on" : "recording"} {...able} aria-busy={robot.pending.value.has(verb)} onClick={() => robot.pending.peek().has(verb) || void command(robot, verb)}>
        {recording ? "End recording" : "Record"}
      </button>
      {recording && (
        <p class="facts" role="status">
          <span>Recording {WHY[why ?? ""]} since <span class="num">{when(since_utc)}</span></span>
          <span class="num">{clock(seconds)}</span>
          <span class="num">{size(bytes)}</span>
          {!!gaps && <span class="bad">{count(gaps, "gap")}</span>}
        </p>
      )}
      {!recording && !problem && <p class="facts">Not recording</p>}
      {problem && <p class="bad" role="alert">{problem}</p>}
    </div>
  );
}

export function Recordings({ robot }: { robot: Robot }) {
  const most = useSignal(ROWS);
  useRecordings(robot);
  const list = listOf(robot).value;
  return (
    <section class="recordings panel" aria-label="Recordings">
      <div class="panel-head">
        <h2 id="recordings" tabIndex={-1}>Recordings</h2>
        <span class="space" />
        {list && <span class="unit">{list.count > list.recordings.length ? `the newest ${list.recordings.length} of ${list.count} files` : count(list.count, "file")}, {size(list.bytes)} of {size(list.keep_bytes)}</span>}
      </div>
      {refused.value && <p class="empty bad" role="alert">{refused.value}</p>}
      <ul class="list">
        {list?.recordings.slice(0, most.value).map((one) => <Recording key={one.file} robot={robot} one={one} />)}
        {list && list.recordings.length > most.value && <More key={most.value} more={() => (most.value += ROWS)} />}
      </ul>
      {list?.recordings.length === 0 && <p class="empty">Nothing is recorded yet. <strong>Record</strong> begins; the configuration's `recording` says what is recorded by itself.</p>}
      {!list && !refused.value && <p class="empty" role="status">The recordings are being read.</p>}
    </section>
  );
}

function Recording({ robot, one }: { robot: Robot; one: ListedRecording }) {
  const more = useSignal(false);
  const failed = one.codes.filter(hasFailed);
  const title = one.motions.join(", ") || one.name;
  return (
    <li class={`motion recording${one.is_written ? " plays" : ""}`}>
      <div class="line">
        <strong class="name">{title}</strong>
        {failed.length > 0 && <strong class="bad">{[...new Set(failed)].join(", ")}</strong>}
        {one.kept && <span class="tag kept">kept</span>}
        <span class="space" />
        <span class="facts">
          <span class="num">{when(one.began_utc)}</span>
          {one.is_written ? <span class="good">being recorded</span> : <span class="num">{clock(one.duration_s)}</span>}
          {!one.is_written && <span class="num">{size(one.bytes)}</span>}
          {!!one.gaps && <span class="bad">{count(one.gaps, "gap")}</span>}
          <span>{WHY[one.why ?? ""]}</span>
          {failed.length === 0 && one.codes.length > 0 && <span>{[...new Set(one.codes)].join(", ")}</span>}
        </span>
        {!one.is_written && !fleet.value && <a class="button" href={href(robot.name, "recordings", one.name)} aria-label={`Open ${one.name}`}>Open</a>}
        {!one.is_written && <button class="quiet" aria-expanded={more.value} aria-label={`${more.value ? "Less" : "More"} of ${one.name}`} onClick={() => (more.value = !more.value)}>{more.value ? "Less" : "More"}</button>}
      </div>
      {more.value && <Acts robot={robot} one={one} />}
    </li>
  );
}

function Acts({ robot, one }: { robot: Robot; one: ListedRecording }) {
  const busy = robot.moving.value;
  const again = (source: "reference" | "feedback", title: string) => (
    <button {...gate(robot, "play", title)} onClick={() => void play(robot, one.name, { source })}>{busy ? "Queue" : "Play"} {source}</button>
  );
  const keep = async () => {
    await command(robot, "recordings/keep", { name: one.name, keep: !one.kept });
    await askRecordings(robot);
  };
  return (
    <div class="line acts">
      {again("reference", "Let the robot do again what was asked of it")}
      {again("feedback", "Let the robot do what it did")}
      <button class="quiet" {...gate(robot, "command", one.kept ? "Let it be removed when the quota is reached" : "Never remove it by itself")} aria-pressed={one.kept} onClick={() => void keep()}>{one.kept ? "Kept" : "Keep"}</button>
      {!fleet.value && <a class="button quiet" href={robot.path(`recordings/${encodeURIComponent(one.name)}`)} download={one.file}>Download</a>}
      <Delete robot={robot} name={one.name} isKept={one.kept} />
      <span class="unit">{one.file}</span>
    </div>
  );
}

function Delete({ robot, name, isKept }: { robot: Robot; name: string; isKept: boolean }) {
  const asks = useSignal(false);
  const allowed = isKept ? { disabled: true, title: "It is kept; let it go first" } : gate(robot, "command", "Delete its file");
  if (!asks.value || isKept) return <button class="quiet" {...allowed} aria-label={`Delete ${name}`} onClick={() => (asks.value = true)}>Delete</button>;
  const remove = async () => {
    asks.value = false;
    document.getElementById("recordings")?.focus();
    await command(robot, "recordings/delete", { name });
    await askRecordings(robot);
  };
  return (
    <span class="asks" role="group" aria-label={`Delete ${name}?`}>
      <button class="danger" onClick={() => void remove()}>Delete the file</button>
      <button class="quiet" autofocus onClick={() => (asks.value = false)}>Keep it</button>
    </span>
  );
}

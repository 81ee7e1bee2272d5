/** The groups of robots: what each plays together, and how it is stopped. */

import { useSignal } from "@preact/signals";
import { askGroup, groups, stopAll } from "./fleet";
import type { Group } from "./fleet";
import { count } from "./format";
import { heard, locked, notify } from "./store";

export function Groups() {
  if (!groups.value.length) return null;
  return (
    <section class="groups" aria-label="Groups">
      {groups.value.map((group) => <GroupBar key={group.name} group={group} />)}
    </section>
  );
}

function GroupBar({ group }: { group: Group }) {
  const chosen = useSignal("");
  const busy = useSignal(false);
  const away = group.members.filter((robot) => !robot.online.value).length;
  const moving = group.members.filter((robot) => robot.moving.value).length;
  const paused = group.members.some((robot) => robot.state.value?.state === "paused");
  const motion = group.motions.includes(chosen.value) ? chosen.value : (group.motions[0] ?? "");
  const able = heard.value && !locked.value && !busy.value;
  const play = async () => {
    busy.value = true;
    const answer = await askGroup(group.name, "play", { motion });
    busy.value = false;
    if (answer.status === "ok") notify(`${group.name}: ${motion} begins at ${new Date(1e3 * Number(answer.data["start_at"])).toLocaleTimeString()}`, false);
  };
  return (
    <article class="group" data-group={group.name}>
      <h2>{group.name}</h2>
      <p class="facts">
        <span>{count(group.members.length, "robot")}</span>
        {away > 0 && <span class="bad">{away} offline</span>}
        {moving > 0 && <span>{moving} moving</span>}
      </p>
      <span class="space" />
      {group.motions.length > 0 ? (
        <select aria-label={`Motion for ${group.name}`} value={motion} onChange={(event) => (chosen.value = event.currentTarget.value)}>
          {group.motions.map((name) => <option key={name}>{name}</option>)}
        </select>
      ) : <span class="facts">no motion that all have</span>}
      <button class="main" disabled={!able || !motion} aria-label={`Play together: ${group.name}`} title="Prepare all, then start all at one time, or none" onClick={() => void play()}>
        {busy.value ? "Being prepared…" : "Play together"}
      </button>
      {moving > 0 && <button disabled={!able} aria-label={`${paused ? "Resume" : "Pause"} ${group.name}`} onClick={() => void askGroup(group.name, paused ? "resume" : "pause")}>{paused ? "Resume" : "Pause"}</button>}
      <button class="stop" aria-label={`Stop ${group.name}`} title="Stop all of the group softly, on their paths" onClick={() => stopAll(group.members, "stop")}>Stop</button>
      <button class="estop" aria-label={`Emergency stop of ${group.name}`} title="Halt all of the group at once and stay so; not a safety-rated stop" onClick={() => stopAll(group.members, "estop")}>Emergency stop</button>
    </article>
  );
}

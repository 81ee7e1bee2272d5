/** All robots of the daemon, or of all daemons at a broker, a tile each. */

import { useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { Reset, StateBadge, StopButton } from "./header";
import { absenceOf, clockOf, groups, placeOf } from "./fleet";
import { clock, count } from "./format";
import { Groups } from "./groups";
import { Appointed } from "./player";
import { href, robotName } from "./route";
import { fleet, heard, robots } from "./store";
import { torqueText } from "./torque";
import type { Robot } from "./store";

export function Overview() {
  const wanted = useSignal("");
  const shown = robots.value.filter((robot) => fits(robot, wanted.value));
  const many = robots.value.length > MANY;
  return (
    <main class={`all${many ? " many" : ""}${heard.value ? "" : " stale"}`}>
      {heard.value && robotName.value !== "" && <p class="unknown" role="alert">No robot here is called {robotName.value}. {robots.value.length > 0 && "These are:"}</p>}
      <Groups />
      {(fleet.value || many) && <Filter wanted={wanted} shown={shown.length} />}
      <div class="overview">{shown.map((robot) => <Tile key={robot.name} robot={robot} />)}</div>
      {fleet.value && robots.value.length === 0 && <p class="empty">The broker knows no robot. A daemon that is configured for it brings its own.</p>}
    </main>
  );
}

/** From more tiles on, each is smaller. */
const MANY = 12;
const TROUBLE = "in trouble";

function fits(robot: Robot, wanted: string): boolean {
  if (wanted === "") return true;
  if (wanted === TROUBLE) return ["offline", "fault", "estopped"].includes(robot.shown.value);
  return robot.description.value?.groups?.includes(wanted.slice(1)) ?? false;
}

/** Which robots are shown: all, those of a group, or those that somebody has to look after. */
function Filter({ wanted, shown }: { wanted: Signal<string>; shown: number }) {
  return (
    <p class="filter facts">
      <label>
        Show{" "}
        <select value={wanted.value} onChange={(event) => (wanted.value = event.currentTarget.value)}>
          <option value="">all robots</option>
          <option value={TROUBLE}>those in trouble</option>
          {groups.value.map((group) => <option key={group.name} value={`=${group.name}`}>{group.name}</option>)}
        </select>
      </label>
      <span>{shown === robots.value.length ? count(shown, "robot") : `${shown} of ${count(robots.value.length, "robot")}`}</span>
    </p>
  );
}

function Tile({ robot }: { robot: Robot }) {
  const state = robot.state.value;
  const progress = state?.progress ?? 0;
  const absence = absenceOf(robot);
  const time = clockOf(robot);
  return (
    <article class={absence ? "tile away" : "tile"} data-robot={robot.name}>
      <h2><a href={href(robot.name)}>{robot.name}</a></h2>
      <StateBadge robot={robot} />
      <p class="facts">
        {absence ? <span class="bad">{absence}</span> : state?.motion ? <><strong>{state.motion}</strong> {state.duration !== undefined && <span class="num">{clock(progress * state.duration)} / {clock(state.duration)}</span>} <Appointed state={state} /></> : <span>{count(robot.jointNames.value.length, "joint")}</span>}
        {!absence && !state?.motion && robot.ended.value?.failed && <span class="bad">{robot.ended.value.result.motion}: {robot.ended.value.result.code}</span>}
        {!absence && !!state?.queued && <span>{state.queued} waiting</span>}
        {!absence && <span>{torqueText(state)}</span>}
        {robot.control.who.value === "me" && <span>You are in control</span>}
        {robot.control.who.value === "other" && <span>{robot.control.lease.value?.holder} is in control</span>}
      </p>
      {fleet.value && (
        <p class="facts place">
          {(robot.description.value?.groups ?? []).map((group) => <span key={group} class="tag">{group}</span>)}
          {placeOf(robot) && <span>{placeOf(robot)}</span>}
          {!absence && time && <span class={time.bad ? "bad" : undefined}>{time.text}</span>}
        </p>
      )}
      <div class="track"><div class="done" style={{ width: `${!absence && state?.motion ? 100 * progress : 0}%` }} /></div>
      <div class="stops"><Reset robot={robot} /><StopButton robot={robot} /></div>
    </article>
  );
}

/** All robots of the daemon, a tile each. */

import { StateBadge, StopButton } from "./header";
import { clock, count } from "./format";
import { href } from "./route";
import { robots } from "./store";
import type { Robot } from "./store";

export function Overview() {
  return (
    <main class="overview">
      {robots.value.map((robot) => <Tile key={robot.name} robot={robot} />)}
    </main>
  );
}

function Tile({ robot }: { robot: Robot }) {
  const state = robot.state.value;
  const progress = state?.progress ?? 0;
  return (
    <article class="tile">
      <h2><a href={href(robot.name)}>{robot.name}</a></h2>
      <StateBadge robot={robot} />
      <p class="facts">
        {state?.motion ? <><strong>{state.motion}</strong> <span class="num">{clock(progress * (state.duration ?? 0))} / {clock(state.duration)}</span></> : <span>{count(robot.jointNames.value.length, "joint")}</span>}
        {!!state?.queued && <span>{state.queued} waiting</span>}
        <span>Torque {state?.torque ? "on" : "off"}</span>
        {robot.control.who.value === "me" && <span>You are in control</span>}
        {robot.control.who.value === "other" && <span>{robot.control.told.value?.holder} is in control</span>}
      </p>
      <div class="track"><div class="done" style={{ width: `${state?.motion ? 100 * progress : 0}%` }} /></div>
      <StopButton robot={robot} />
    </article>
  );
}

/** What stands at the top: which robot, what it does, whether it is connected, and how to stop it. */

import { signal, useComputed } from "@preact/signals";
import { STATE_WORDS, clock } from "./format";
import { small } from "./appearance";
import { gate, refusal } from "./permission";
import { command, daemon, daemonId, fleet, heard, link, locked, lostSince, robots, takeControl, theme } from "./store";
import { TorqueSwitch } from "./torque";
import type { Daemon } from "./messages";
import type { Robot } from "./store";

export const now = signal(Date.now());
setInterval(() => (now.value = Date.now()), 500);

/** From so many letters on, all of a name is more than its size: robots often differ at its end. */
const LONG_NAME = 16;

export const helpOpen = signal(false);

export function Header({ robot }: { robot: Robot | null }) {
  const name = robot?.name ?? (daemonId.value || "motiond");
  return (
    <header class="top">
      <div class="who">
        {(robots.value.length > 1 || fleet.value) && robot && <a class="back" href="#/" aria-label="All robots" title="All robots">‹</a>}
        <h1 class={name.length > LONG_NAME ? "long" : undefined} title={name}>{name}</h1>
        {robot && <StateBadge robot={robot} />}
      </div>
      <div class="about">
        <ConnectionState robot={robot} />
        {robot && link.value === "connected" && <ControlState robot={robot} />}
        <div class="tools">
          <button class="quiet" aria-pressed={locked.value} title="Lock all controls on this device, except the stops" onClick={() => (locked.value = !locked.value)}>
            {locked.value ? "Locked" : "Lock"}
          </button>
          <ThemeButton />
          <button class="quiet key" title="Keyboard (?)" aria-label="Keyboard" onClick={() => (helpOpen.value = true)}>?</button>
        </div>
      </div>
      {!robot && robots.value.length > 0 && <StopAll />}
      {robot && (
        <div class="stops">
          <Reset robot={robot} />
          {!small.value && <StopButton robot={robot} />}
          <EstopButton robot={robot} />
        </div>
      )}
    </header>
  );
}

export function StateBadge({ robot }: { robot: Robot }) {
  const state = robot.state.value;
  const name = heard.value ? robot.shown.value : "unknown";
  const words = name === "unknown" ? "Not known" : STATE_WORDS[name];
  return (
    <p class={`state ${name}`} role="status" data-state={name}>
      <span class="lamp" aria-hidden="true" />
      <strong>{words}</strong>
      {name !== "unknown" && name === state?.state && state.message && <span class="why">{state.message}</span>}
    </p>
  );
}

function ConnectionState({ robot }: { robot: Robot | null }) {
  const lost = useComputed(() => (lostSince.value ? clock((now.value - lostSince.value.getTime()) / 1000) : ""));
  if (link.value !== "connected") {
    return (
      <p class="connection lost">
        <span role="alert">{link.value === "connecting" ? "Connecting…" : "Connection lost; trying again"}</span>
        {link.value === "lost" && lost.value && <span class="num"> What is shown is {lost} old</span>}
      </p>
    );
  }
  return (
    <p class="connection">
      <span title={daemon.value ? `Connected from ${daemon.value.clients.join(", ")}` : undefined}>
        Connected to {daemonId}{daemon.value && othersOf(daemon.value)}
      </span>
      {daemon.value?.broker === "lost" && <span class="bad">Broker lost</span>}
      {robot?.online.value && <TorqueSwitch robot={robot} />}
    </p>
  );
}

/** How many other pages and programs look on. */
function othersOf({ clients }: Daemon): string {
  const others = clients.length - 1;
  return others < 1 ? ", alone" : `, with ${others} ${others === 1 ? "other" : "others"}`;
}

/** Who commands the robot, where it is one at a time; whoever has no control may take it, and stops by that. */
function ControlState({ robot }: { robot: Robot }) {
  const who = robot.control.who.value;
  const lease = robot.control.lease.value;
  if (who === "all" || !lease) return null;
  const words = { me: "You are in control", nobody: "No one is in control", other: `${lease.holder} is in control` }[who];
  return (
    <p class={`control ${who}`} role="status">
      <span title={words}>{words}</span>
      {who === "me" && <button class="quiet" title="Let others take control; what plays plays on" onClick={() => void robot.control.release()}>Release</button>}
      {who === "other" && lease.takeover && (
        <button {...gate(robot, "takeControl", `Take it from ${lease.holder}, who is notified; what plays may stop softly`)} onClick={() => void takeControl(robot)}>Take control</button>
      )}
    </p>
  );
}

/** Always live: neither a lock nor a lost connection nor a request that is under way takes it away. */
export function StopButton({ robot }: { robot: Robot }) {
  return (
    <button class="stop" title="Stop softly, on the path (Esc)" onClick={() => void command(robot, "stop")}>
      Stop
    </button>
  );
}

/** Where no robot is chosen, whoever is in a hurry does not look for one. */
function StopAll() {
  const all = (verb: string) => robots.peek().forEach((robot) => void command(robot, verb));
  const halted = robots.value.filter((robot) => robot.halted.value && refusal(robot, "reset") === "");
  return (
    <div class="stops">
      {halted.length > 0 && <button class="reset" title={`Take back the emergency stop or the fault of ${halted.map(({ name }) => name).join(", ")}`} onClick={() => halted.forEach((robot) => void command(robot, "reset"))}>Reset all</button>}
      <button class="stop" title="Stop all robots softly, on their paths (Esc)" onClick={() => all("stop")}>Stop all</button>
      <button class="estop" title="Halt all at once and stay so; not a safety-rated stop" onClick={() => all("estop")}>Emergency stop, all</button>
    </div>
  );
}

function EstopButton({ robot }: { robot: Robot }) {
  return (
    <button class="estop" title="Halt at once and stay so; not a safety-rated stop" onClick={() => void command(robot, "estop")}>
      Emergency stop
    </button>
  );
}

export function Reset({ robot }: { robot: Robot }) {
  if (!robot.halted.value) return null;
  return (
    <button class="reset" {...gate(robot, "reset", "Take back the emergency stop or the fault")} onClick={() => void command(robot, "reset")}>
      Reset
    </button>
  );
}

function ThemeButton() {
  const next = { auto: "light", light: "dark", dark: "auto" } as const;
  const words = { auto: "Auto", light: "Light", dark: "Dark" };
  return (
    <button class="quiet" title="Light, dark, or as the system has it" onClick={() => (theme.value = next[theme.value])}>
      {words[theme.value]}
    </button>
  );
}

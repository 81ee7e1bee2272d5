/** Health: how punctual the daemon is, what its driver reports, what has happened, and torque. */

import { useSignal } from "@preact/signals";
import { fixed, span } from "./format";
import type { DiagnosticsReport, Spread } from "./protocol";
import { Results } from "./results_list";
import { Servos } from "./servos";
import { daemon } from "./store";
import { TorqueSwitch } from "./torque";
import type { Robot } from "./store";

export function Health({ robot }: { robot: Robot }) {
  return (
    <section class="health panel" aria-label="Health">
      <Torque robot={robot} />
      <Servos robot={robot} />
      <Processes robot={robot} />
      <Timing robot={robot} />
      <Results robot={robot} />
      <Log robot={robot} />
    </section>
  );
}

function Torque({ robot }: { robot: Robot }) {
  return (
    <>
      <div class="panel-head">
        <h2>Actuators</h2>
        <span class="unit">{robot.description.value?.driver}, motiond {robot.description.value?.version}</span>
        <span class="space" />
        <TorqueSwitch robot={robot} />
      </div>
      <Voltages robot={robot} />
    </>
  );
}

/** What the robot depends on: the process that streams its setpoints, and the broker. */
function Processes({ robot }: { robot: Robot }) {
  const runs = robot.online.value;
  const lost = daemon.value?.broker === "lost";
  return (
    <dl class="figures">
      <Figure name="stream process" value={runs ? "runs" : "does not run"} bad={!runs} />
      <Figure name="broker" value={lost ? "lost" : "connected"} bad={lost} />
    </dl>
  );
}

function Voltages({ robot }: { robot: Robot }) {
  const volts = (robot.diagnostics.value.at(-1)?.voltage_v ?? []).filter((one) => one !== null);
  if (!volts.length) return null;
  return <p class="facts num">{fixed(Math.min(...volts), 1)} to {fixed(Math.max(...volts), 1)} V</p>;
}

function Timing({ robot }: { robot: Robot }) {
  const all = robot.diagnostics.value;
  const last = all.at(-1);
  if (!last) return <p class="empty">No diagnostics have come yet.</p>;
  const missed = last.missed_deadlines_total ?? 0;
  return (
    <>
      <div class="panel-head"><h2>Timing</h2><span class="unit">ticks of the last {all.length} s</span></div>
      <dl class="figures">
        <Figure name="tick rate" value={`${fixed(last.tick_rate_hz, 1)} Hz`} />
        <Figure name="missed deadlines" value={String(missed)} bad={missed > 0} />
        <Figure name="driver errors" value={String(last.driver_errors ?? 0)} bad={(last.driver_errors ?? 0) > 0} />
        <Figure name="records lost" value={String(last.records_lost ?? 0)} bad={(last.records_lost ?? 0) > 0} />
      </dl>
      <Histogram all={all} />
      <table>
        <thead><tr><th scope="col">last second</th><th scope="col">median</th><th scope="col">99 %</th><th scope="col">most</th></tr></thead>
        <tbody>
          <SpreadRow name="lateness" spread={last.lateness_s} />
          <SpreadRow name="jitter" spread={last.jitter_s} />
          <SpreadRow name="write" spread={last.write_s} />
          <SpreadRow name="read" spread={last.read_s} />
        </tbody>
      </table>
    </>
  );
}

function Figure({ name, value, bad = false }: { name: string; value: string; bad?: boolean }) {
  return <div class={bad ? "bad" : ""}><dt>{name}</dt><dd class="num">{value}</dd></div>;
}

function SpreadRow({ name, spread }: { name: string; spread: Spread | null }) {
  return (
    <tr><th scope="row">{name}</th><td class="num">{span(spread?.p50)}</td><td class="num">{span(spread?.p99)}</td><td class="num">{span(spread?.max)}</td></tr>
  );
}

/** How late the ticks were: bars by powers of ten, as high as the logarithm of their counts. */
function Histogram({ all }: { all: DiagnosticsReport[] }) {
  const bounds = all.at(-1)?.lateness_histogram?.up_to_s;
  if (!bounds) return null;
  const counts = Array.from({ length: bounds.length + 1 }, (_, k) =>
    all.reduce((sum, one) => sum + (one.lateness_histogram?.counts[k] ?? 0), 0),
  );
  const most = Math.log10(Math.max(10, ...counts) + 1);
  const name = (k: number) => (k < bounds.length ? `up to ${span(bounds[k])}` : `beyond ${span(bounds.at(-1))}`);
  return (
    <figure class="histogram">
      <figcaption>Lateness <span class="unit">ticks, logarithmic</span></figcaption>
      <ol>
        {counts.map((count, k) => (
          <li title={`${name(k)}: ${count}`} class={k >= 8 ? "late" : ""}>
            <i style={{ height: `${count ? Math.max(3, (100 * Math.log10(count + 1)) / most) : 0}%` }} />
            <span class="num">{k % 3 === 0 && k < bounds.length - 1 ? span(bounds[k]).replace(".0", "") : k === bounds.length ? "more" : ""}</span>
          </li>
        ))}
      </ol>
    </figure>
  );
}

function Log({ robot }: { robot: Robot }) {
  const hidden = useSignal<ReadonlySet<string>>(new Set());
  const log = robot.log.value;
  const kinds = [...new Set(log.map((entry) => entry.kind))].sort();
  const toggle = (kind: string) => {
    const next = new Set(hidden.value);
    if (!next.delete(kind)) next.add(kind);
    hidden.value = next;
  };
  return (
    <>
      <div class="panel-head"><h2>Events</h2><span class="unit">since this page was opened</span></div>
      {kinds.length > 1 && (
        <div class="filters" role="group" aria-label="Kinds of events">
          {kinds.map((kind) => <button class="chip" aria-pressed={!hidden.value.has(kind)} onClick={() => toggle(kind)}>{kind.replaceAll("_", " ")}</button>)}
        </div>
      )}
      <ol class="log" aria-label="Events">
        {log.filter((entry) => !hidden.value.has(entry.kind)).map((entry) => (
          <li key={entry.number} class={entry.grave ? "grave" : ""}>
            <time class="num">{entry.at.toTimeString().slice(0, 8)}</time> <span class="kind">{entry.kind.replaceAll("_", " ")}</span> <span class="message">{entry.message}</span>
          </li>
        ))}
      </ol>
      {!log.length && <p class="empty">Nothing has happened.</p>}
    </>
  );
}

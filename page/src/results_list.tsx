/** The last motions of a robot: when each ended, how, and why. */

import { useSignal } from "@preact/signals";
import { dated, fixed } from "./format";
import type { PastResult, WorstError } from "./protocol";
import { RecordingLink } from "./recordings";
import { folded, hasFailed } from "./results";
import type { Robot } from "./store";
import { digitsOf, factorOf, nameOf } from "./units";

export function Results({ robot }: { robot: Robot }) {
  const { list, more, problem } = robot.past;
  const asks = useSignal(false);
  if (list.value === null) return null;
  const older = async () => {
    asks.value = true;
    await robot.past.older();
    asks.value = false;
  };
  return (
    <>
      <div class="panel-head"><h2>Results</h2><span class="unit">the last ones, as the daemon keeps them</span></div>
      {problem.value && <p class="empty">{problem.value}</p>}
      <ol class="results" aria-label="Results">
        {folded(list.value).map(({ result, times }) => <Past key={result.id} robot={robot} result={result} times={times} />)}
      </ol>
      {more.value && <p class="empty"><button aria-busy={asks.value} onClick={() => asks.peek() || void older()}>Show older ones</button></p>}
      {!list.value.length && <p class="empty">No motion has ended yet.</p>}
    </>
  );
}

function Past({ robot, result, times }: { robot: Robot; result: PastResult; times: number }) {
  const failed = hasFailed(result.code);
  return (
    <li class={failed ? "failed" : undefined}>
      <p class="line">
        <time class="num" dateTime={result.ended_utc}>{dated(new Date(result.ended_utc))}</time>
        <strong class="name">{result.motion}{times > 1 && `, ${times} times`}</strong>
        <span class={failed ? "bad" : result.code === "SUCCESSFUL" ? "good" : "unit"}>{result.code}</span>
      </p>
      {result.code !== "SUCCESSFUL" && result.message && <p class="message">{result.message}</p>}
      <p class="facts">
        {result.asked_by && <span>{result.asked_by}</span>}
        {result.worst_error && <span>worst error <Furthest error={result.worst_error} /></span>}
        {!!result.missed_deadlines && <span>{result.missed_deadlines} deadlines missed</span>}
        <RecordingLink robot={robot} file={result.recording} />
      </p>
    </li>
  );
}

function Furthest({ error: { joint, value, unit } }: { error: WorstError }) {
  return <span class="num">{joint} {fixed(factorOf(unit) * value, digitsOf(unit, 4))} {nameOf(unit)}</span>;
}

/** The page of one daemon. */

import "uplot/dist/uPlot.min.css";
import "./page.css";
import { useEffect, useRef } from "preact/hooks";
import { render } from "preact";
import { small, wide } from "./appearance";
import { Header, StopButton, helpOpen } from "./header";
import { Health } from "./health";
import { Joints } from "./joints";
import { JogPanel } from "./jog_view";
import { Login } from "./login";
import { Motions } from "./motions";
import { refusal } from "./permission";
import { recorded, showing } from "./opened";
import { Overview } from "./overview";
import { Player } from "./player";
import { close, preview } from "./preview";
import { Teach } from "./teach";
import { drop, dropsOver, takesFiles } from "./upload";
import { RecordBar, Recordings } from "./recordings";
import { VIEWS, href, robotName, runNames, view } from "./route";
import { SceneView } from "./scene";
import { command, connection, daemonId, dismiss, fleet, heard, link, notices, notify, robots } from "./store";
import type { Robot } from "./store";

function current(): Robot | null {
  const all = robots.value;
  if (robotName.value === "") return all.length === 1 && !fleet.value ? all[0]! : null;
  return all.find((robot) => robot.name === robotName.value) ?? null;
}

function Page() {
  const robot = current();
  useEffect(() => connection.look(robot?.name ?? ""), [robot]);
  useEffect(() => {
    document.title = robot ? `${robot.name} – motiond` : `${daemonId.value || "motiond"}`;
  }, [robot, daemonId.value]);
  if (link.value === "login") return <><Login /><Notices /></>;
  return (
    <>
      <Header robot={robot} />
      {!robot && <Notices />}
      {robot ? <RobotPage key={robot.name} robot={robot} /> : <Overview />}
      {robot && small.value && <footer class="bottom"><Notices /><Player robot={robot} /><StopButton robot={robot} /></footer>}
      <Help />
    </>
  );
}

function RobotPage({ robot }: { robot: Robot }) {
  const shown = wide.value && view.value === "motions" ? "joints" : view.value;
  const stale = !heard.value;
  useEffect(() => void (heard.value && robot.recall()), [robot, heard.value]);
  const isRun = runNames.value.length > 0;
  const run = isRun ? showing.value : null;
  const three = wide.value && !isRun;
  return (
    <main class={`robot${three ? " wide" : ""}${isRun ? " beside-run" : ""}${stale ? " stale" : ""}${dropsOver.value ? " over" : ""}`}>
      {three && <aside class="side"><Motions robot={robot} /></aside>}
      <div class="stage">
        <SceneView robot={robot} />
        {run && <run.RunBar robot={robot} />}
        <RecordBar robot={robot} />
        {!small.value && <><Notices /><Player robot={robot} /></>}
      </div>
      <div class="side">
        <nav class="views" aria-label="Views">
          {VIEWS.filter((one) => !wide.value || one !== "motions").map((one) => (
            <a href={href(robot.name, one)} aria-current={one === shown ? "page" : undefined}>{one[0]!.toUpperCase() + one.slice(1)}</a>
          ))}
        </nav>
        {shown === "motions" && <Motions robot={robot} />}
        {shown === "joints" && <Joints robot={robot} />}
        {shown === "health" && <Health robot={robot} />}
        {shown === "recordings" && !isRun && <Recordings robot={robot} />}
        {run && <run.RunPanel robot={robot} />}
        {shown === "teach" && <Teach key={robot.name} robot={robot} />}
        {shown === "jog" && <JogPanel robot={robot} />}
      </div>
    </main>
  );
}

function Notices() {
  return (
    <div class="notices" role="log" aria-live="polite" aria-label="Notices">
      {notices.value.map((notice) => (
        <div key={notice.number} class={notice.grave ? "notice grave" : "notice"}>
          <p>{notice.text}</p>
          <button class="quiet" aria-label="Close this notice" onClick={() => dismiss(notice.number)}>×</button>
        </div>
      ))}
    </div>
  );
}

const KEYS: [string, string][] = [
  ["Esc", "stop softly; where all robots are shown, all of them"],
  ["Space", "pause, and resume; of an opened recording, run the picture and hold it"],
  ["/", "search the motions"],
  ["1 to 6", "motions, joints, health, recordings, teach, jog"],
  ["← → ↑ ↓", "where jogging is switched on: move the chosen joint while held, choose another"],
  ["← → Enter", "on the timeline: choose a place, go there"],
  ["← → A B", "of an opened recording: a point back, a point on (with Shift 1 %), mark A, mark B"],
  ["?", "this list"],
];

function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (helpOpen.value) dialog.current?.show(); // a modal one would take the stops from who has no Esc
    else dialog.current?.close();
  }, [helpOpen.value]);
  return (
    <dialog ref={dialog} aria-label="Keyboard" onClose={() => (helpOpen.value = false)}>
      <h2>Keyboard</h2>
      <dl>{KEYS.map(([key, does]) => <div><dt><kbd>{key}</kbd></dt><dd>{does}</dd></div>)}</dl>
      <button onClick={() => (helpOpen.value = false)}>Close</button>
      <p><a href="/licences.txt">Licences of the libraries in this page</a></p>
    </dialog>
  );
}

function stop(all: Robot[]): void {
  for (const robot of all) void command(robot, "stop");
}

/** Stops by keyboard too, wherever the focus is; the other keys only where nothing else takes them. */
function onKey(event: KeyboardEvent): void {
  const robot = current();
  if (event.key === "Escape") {
    helpOpen.value = false;
    return stop(robot ? [robot] : robots.peek());
  }
  if (!robot) return;
  const target = event.target as HTMLElement;
  if (target.closest("input, select, textarea, dialog") || event.ctrlKey || event.altKey || event.metaKey) return;
  const place = ["1", "2", "3", "4", "5", "6"].indexOf(event.key);
  if (place >= 0) location.hash = href(robot.name, VIEWS[place]!);
  else if (event.key === "?") helpOpen.value = true;
  else if (event.key === "/") document.getElementById("search")?.focus();
  else if (recorded.peek() && showing.peek()) {
    // Nothing of a robot is asked by a key that is meant for its picture.
    if ((event.key === " " && target.closest("button, a, summary")) || !showing.peek()!.onRunKey(event)) return;
  } else if (event.key === " " && !target.closest("button, a, summary")) {
    const act = (["pause", "resume"] as const).find((one) => refusal(robot, one) === "");
    if (act) void command(robot, act);
  } else return;
  event.preventDefault();
}

/** A browser would open what is dropped, a file or a link, instead of the page and its stops. */
function onDrag(event: DragEvent): void {
  const data = event.dataTransfer;
  const hasFiles = data?.types.includes("Files") ?? false;
  if (!hasFiles && (event.target as HTMLElement).closest("input")) return; // a text
  event.preventDefault();
  const robot = current();
  const takes = hasFiles && robot !== null && takesFiles(robot);
  dropsOver.value = takes && event.type === "dragover";
  if (event.type === "dragover" && !takes && data) data.dropEffect = "none";
  if (event.type !== "drop" || !hasFiles) return;
  if (takes) drop(data!.files, robot);
  else notify("No robot here takes files; nothing was sent.");
}

addEventListener("dragover", onDrag);
addEventListener("drop", onDrag);
addEventListener("dragleave", (event) => event.relatedTarget || (dropsOver.value = false));
addEventListener("keydown", onKey);
addEventListener("hashchange", () => preview.value && preview.value.robot !== current() && close());
render(<Page />, document.getElementById("page")!);
connection.connect();

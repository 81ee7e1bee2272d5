/** The place of the 3D view on the page, with its few controls. */

import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { palette } from "./appearance";
import { count, fixed } from "./format";
import { framesOf } from "./kinematics";
import { recorded, recordedWay } from "./opened";
import { postureAt, preview, scrubbed, sight } from "./preview";
import { errorLegend, errorScales } from "./scale";
import { view as route } from "./route";
import { fleet } from "./store";
import type { Robot } from "./store";
import type { Side, View3D } from "./view3d";

/** What draws in 3D is most of the page; the controls do not wait for it. */
const drawing = import("./view3d");

const SIDES: [Side, string][] = [["home", "Whole"], ["front", "Front"], ["side", "Side"], ["top", "Top"]];

export function SceneView({ robot }: { robot: Robot }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<View3D | null>(null);
  const ready = useSignal(false);
  const failed = useSignal("");
  const frame = useSignal("");
  const unseen = useSignal<string[]>([]);
  const place = useSignal<[number, number, number] | null>(null);
  useEffect(() => {
    let gone = false;
    const start = ({ View3D }: Awaited<typeof drawing>) => {
      if (gone) return;
      view.current = new View3D(canvas.current!, {
        robot: robot.name,
        palette: palette.peek(),
        meshUrl: (number) => robot.path(`meshes/${number}`),
        onFrame: (position) => (place.value = position),
        onError: (error) => (unseen.value = [...new Set([...unseen.peek(), error])]),
      });
      (canvas.current as HTMLCanvasElement & { view?: View3D }).view = view.current;
      ready.value = true;
    };
    const without = (why: string) => () => {
      failed.value = `${why} Everything else works.`;
    };
    drawing
      .then((module) => () => start(module), () => without("What draws in 3D did not arrive; load the page again."))
      .then((show) => show())
      .catch(without("This browser draws no 3D (WebGL is missing)."));
    return () => {
      gone = true;
      view.current?.dispose();
    };
  }, []);
  useSignalEffect(() => {
    const colours = palette.value;
    if (ready.value) view.current?.setPalette(colours);
  });
  useSignalEffect(() => {
    const model = robot.model.value;
    unseen.value = [];
    if (ready.value) view.current?.setModel(model);
  });
  useSignalEffect(() => {
    const scales = errorScales(robot.description.value);
    if (ready.value && view.current) view.current.errorScales = scales;
  });
  useSignalEffect(() => {
    const sample = recorded.value?.sample;
    if (!ready.value) return;
    if (sample) return view.current?.show(sample);
    const telemetry = robot.telemetry.value;
    if (telemetry) view.current?.take(telemetry);
  });
  useSignalEffect(() => {
    const shown = preview.value?.robot === robot ? preview.value : null;
    const current = robot.telemetry.peek()?.feedback.position ?? [];
    const looked = route.value === "teach" ? robot.lesson.looked.value : null;
    const seen = sight.value?.robot === robot ? sight.value.nearest.posture : null;
    if (ready.value) view.current?.setPreview(seen ?? (shown ? postureAt(shown.plan, scrubbed.value, robot.jointNames.value, current) : looked === null ? null : robot.lesson.trail.at(looked)));
  });
  useSignalEffect(() => {
    const nearest = preview.value?.robot === robot ? preview.value.plan.nearest : null;
    const seen = sight.value?.robot === robot ? sight.value.nearest : null;
    if (ready.value) view.current?.setNearest(seen ?? nearest ?? null);
  });
  useSignalEffect(() => {
    const shows = robot.shown.value === "teaching" || route.value === "teach";
    void robot.lesson.seen.value;
    const { trail, report } = robot.lesson;
    const poses = (report.value?.poses ?? []).map(({ joints }) => robot.jointNames.value.map((name) => joints[name] ?? 0));
    if (ready.value) view.current?.setTrail(shows ? { rows: trail.rows, stills: [...trail.rows.slice(0, 1), ...poses] } : null);
  });
  useSignalEffect(() => {
    const shown = preview.value?.robot === robot ? preview.value.plan : null;
    const name = frame.value;
    const way = recordedWay.value;
    if (!ready.value) return;
    const names = robot.jointNames.peek();
    const current = robot.telemetry.peek()?.feedback.position ?? [];
    view.current?.setFrame(name);
    if (way && name) view.current?.showPlan(way.rows, way.postureOf);
    else if (shown && name) view.current?.showPlan(shown.rows, (row) => postureAt(shown, row / shown.rate_hz, names, current));
  });
  const model = robot.model.value;
  const absent = fleet.value ? "Its own daemon's page draws this robot." : "This robot has joints, and no description to draw.";
  const words = failed.value || (!model && robot.description.value ? absent : "");
  return (
    <section class="scene" aria-label="Robot in 3D">
      <canvas ref={canvas} aria-label={`${robot.name} in 3D`} role="img" />
      {words && <p class="words">{words}</p>}
      {recorded.value && <p class="recorded">{recorded.value.title}</p>}
      <Unseen meshes={unseen.value} />
      {!recorded.value && <Touches robot={robot} />}
      {model && (
        <>
          <div class="looks">
            {SIDES.map(([side, name]) => <button class="quiet" onClick={() => view.current?.look(side)}>{name}</button>)}
          </div>
          <div class="follow">
            <label>Path of <select value={frame.value} onChange={(event) => (frame.value = event.currentTarget.value)}>
              <option value="">no frame</option>
              {framesOf(model).map((name) => <option>{name}</option>)}
            </select></label>
            {place.value && <output class="num" aria-label="Place of the frame">{place.value.map((one) => fixed(one)).join("  ")} m</output>}
          </div>
          <p class="legend"><span class="ghost">{recorded.value?.ghost ?? (sight.value?.robot === robot ? sight.value.motion : preview.value ? "preview" : "reference")}</span><span class="scale" /><span class="num">error 0 to {errorLegend(robot.description.value)}</span>{model.derived && <span>shapes derived from the kinematics</span>}</p>
        </>
      )}
    </section>
  );
}

/** What the robot touches, with how much force, beside the arrows. */
function Touches({ robot }: { robot: Robot }) {
  const contacts = robot.numbers.value?.contacts ?? [];
  if (!contacts.length) return null;
  return (
    <ul class="touches" aria-label="Contacts">
      {contacts.map(({ bodies, force }) => <li key={bodies.join()}>{bodies.join(" – ")} <span class="num">{fixed(Math.hypot(...force), 1)} N</span></li>)}
    </ul>
  );
}

/** The meshes that are missing in the picture, as long as it is looked at. */
function Unseen({ meshes }: { meshes: string[] }) {
  return (
    <div class="unseen" role="status">
      {meshes.length > 0 && (
        <details>
          <summary>{count(meshes.length, "mesh", "meshes")} cannot be drawn</summary>
          <ul>{meshes.map((why) => <li key={why}>{why}</li>)}</ul>
        </details>
      )}
    </div>
  );
}

/** Plots of the last minute of one joint. */

import type { Signal } from "@preact/signals";
import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { dark, ink } from "./appearance";
import { effortUnit, fixed } from "./format";
import type { Kind } from "./history";
import { WINDOW_S, withGaps } from "./history";
import type { DescribedJoint } from "./protocol";
import { digitsOf, factorOf, nameOf } from "./units";
import type { Robot } from "./store";

export const HEIGHT = 116;

export interface Curve {
  label: string;
  kind?: Kind;
  colour: "reference" | "feedback" | "heat" | "other";
}

export interface PlotSpec {
  title: string;
  unit: string;
  /** What values are multiplied by, to be in this unit. */
  factor: number;
  curves: Curve[];
  limits: (number | null)[];
  digits: number;
}

/** What goes across a plot: the times in sight, in s, and how each is written. Plots of one key have one pointer. */
export interface Across {
  key: string;
  range(): [number, number];
  name(tick: number): string;
}

const LAST_MINUTE: Across = { key: "joint", range: () => [-WINDOW_S, 0], name: (tick) => (tick === 0 ? "now" : `${tick} s`) };

function specs(joint: DescribedJoint, hottestC: number | null): PlotSpec[] {
  const effort = joint.effort === null ? [] : [-joint.effort, joint.effort];
  const angle = { unit: nameOf(joint.unit), factor: factorOf(joint.unit) };
  const limits = [joint.lower, joint.upper].map((limit) => (limit === null ? null : angle.factor * limit));
  return [
    { title: "Position", ...angle, digits: digitsOf(joint.unit, 4), limits, curves: [
      { label: "reference", kind: "referencePosition", colour: "reference" }, { label: "feedback", kind: "position", colour: "feedback" } ] },
    { title: "Error", ...angle, digits: digitsOf(joint.unit, 5), limits: [], curves: [{ label: "reference − feedback", kind: "error", colour: "heat" }] },
    { title: "Effort", unit: effortUnit(joint.unit), factor: 1, digits: 2, limits: effort, curves: [
      { label: "reference", kind: "referenceEffort", colour: "reference" }, { label: "feedback", kind: "effort", colour: "feedback" } ] },
    { title: "Temperature", unit: "°C", factor: 1, digits: 1, limits: [hottestC], curves: [{ label: "actuator", colour: "heat" }] },
  ];
}

/** `frozen`: whether they hold still, to be looked at. */
export function Plots({ robot, joint, column, frozen }: { robot: Robot; joint: DescribedJoint; column: number; frozen: Signal<boolean> }) {
  return (
    <div class="plots">
      {specs(joint, robot.description.value?.hottest_c ?? null).map((spec) => <Plot key={`${joint.name} ${spec.title} ${spec.unit} ${dark.value}`} robot={robot} spec={spec} column={column} frozen={frozen} />)}
    </div>
  );
}

function dataOf(robot: Robot, spec: PlotSpec, column: number): uPlot.AlignedData {
  const kinds = spec.curves.flatMap(({ kind }) => (kind ? [kind] : []));
  if (kinds.length) return robot.history?.series(column, kinds, spec.factor) ?? [[], ...kinds.map(() => [])];
  const { times, values } = robot.temperatures;
  const latest = robot.history?.latestS ?? times.at(-1) ?? 0;
  return withGaps(times.map((time) => time - latest), [values.map((row) => row[column] ?? null)]);
}

function Plot({ robot, spec, column, frozen }: { robot: Robot; spec: PlotSpec; column: number; frozen: Signal<boolean> }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  useEffect(() => {
    const parent = place.current!;
    const made = new uPlot(optionsOf(spec, parent.clientWidth), dataOf(robot, spec, column), parent);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: parent.clientWidth, height: HEIGHT }));
    observer.observe(parent);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, []);
  useSignalEffect(() => {
    void robot.numbers.value;
    if (frozen.value) return;
    plot.current?.setData(dataOf(robot, spec, column));
  });
  return (
    <figure class="plot">
      <PlotCaption spec={spec} />
      <div ref={place} />
    </figure>
  );
}

export function PlotCaption({ spec }: { spec: PlotSpec }) {
  return (
    <figcaption>
      {spec.title} <span class="unit">{spec.unit}</span>
      <span class="legend">{spec.curves.map(({ label, colour }) => <span class={colour}>{label}</span>)}{spec.limits.some((one) => one !== null) && <span class="limit">limit</span>}</span>
    </figcaption>
  );
}

export function optionsOf(spec: PlotSpec, width: number, across = LAST_MINUTE): uPlot.Options {
  const colours = ink.value;
  const font = "11px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
  const axis = { stroke: colours.text, font, grid: { stroke: colours.line, width: 1 }, ticks: { show: false } };
  return {
    width, height: HEIGHT, padding: [6, 16, 0, 0],
    cursor: { sync: { key: across.key }, drag: { x: false, y: false }, points: { size: 5 } },
    legend: { show: false },
    scales: { x: { time: false, range: () => across.range() }, y: { range: (_, least, most) => roomy(least, most, spec.digits) } },
    axes: [
      { ...axis, size: 20, values: (_, ticks) => ticks.map((tick) => across.name(tick)), space: 70 },
      { ...axis, size: 58, space: 22, values: (_, ticks) => ticks.map((tick) => String(Number(tick.toPrecision(4)))) },
    ],
    series: [{}, ...spec.curves.map(({ label, colour }) => ({ label, stroke: colours[colour], width: colour === "reference" ? 1 : 1.5, points: { show: false } }))],
    plugins: [limitLines(spec.limits, colours.limit), readout(spec)],
  };
}

/** The range of the values, no narrower than what the digits can show. */
function roomy(least: number | null, most: number | null, digits: number): [number, number] {
  if (least === null || most === null || !Number.isFinite(least + most)) return [-1, 1];
  const margin = Math.max(0.1 * (most - least), 20 * 10 ** -digits);
  return [least - margin, most + margin];
}

function limitLines(limits: (number | null)[], colour: string): uPlot.Plugin {
  const draw = (plot: uPlot) => {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = colour;
    ctx.setLineDash([6, 4]);
    for (const limit of limits) {
      const { min, max } = plot.scales["y"]!;
      if (limit === null || limit < min! || limit > max!) continue;
      const y = Math.round(plot.valToPos(limit, "y", true)) + 0.5;
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
    }
    ctx.restore();
  };
  return { hooks: { draw } };
}

/** The values at the cursor, in a corner of the plot. */
function readout(spec: PlotSpec): uPlot.Plugin {
  const box = document.createElement("div");
  box.className = "readout num";
  const setCursor = (plot: uPlot) => {
    const place = plot.cursor.idx;
    box.hidden = place === null || place === undefined;
    if (place === null || place === undefined) return;
    const values = spec.curves.map((_, k) => fixed(plot.data[k + 1]?.[place], spec.digits)).join("  ");
    box.textContent = `${fixed(plot.data[0][place], 2)} s   ${values} ${spec.unit}`;
  };
  return { hooks: { ready: (plot: uPlot) => { box.hidden = true; plot.over.appendChild(box); }, setCursor } };
}

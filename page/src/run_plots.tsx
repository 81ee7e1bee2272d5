/** Curves of one joint of a recorded run: where it was asked to be and was, its error, and what differs from another run. */

import { useSignal, useSignalEffect } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";
import { dark, ink } from "./appearance";
import type { Curve, PlotSpec } from "./plots";
import { HEIGHT, PlotCaption, optionsOf } from "./plots";
import { at, go, places, sight } from "./replay";
import type { Opened } from "./replay";
import { columnOf, curve, durationOf, less, pointTimes } from "./run";
import { hasFailed } from "./results";
import type { Run } from "./run";
import { digitsOf, factorOf, nameOf } from "./units";

interface Drawn {
  spec: PlotSpec;
  data: uPlot.AlignedData;
}

export function RunPlots({ shown, column }: { shown: Opened; column: number }) {
  const { run, other } = shown;
  const unit = run.units[column]!;
  const drawn = useMemo(() => drawnOf(shown, column), [run, other, column, nameOf(unit)]);
  return (
    <div class="plots">
      {drawn.map(({ spec, data }) => <RunPlot key={`${spec.title} ${spec.unit} ${dark.value} ${other?.name}`} run={run} spec={spec} data={data} />)}
    </div>
  );
}

function drawnOf({ run, other }: Opened, column: number): Drawn[] {
  const unit = run.units[column]!;
  const factor = factorOf(unit);
  const times = pointTimes(run);
  const points = (values: Float32Array) => curve(run, columnOf(run, values, column), factor);
  const plot = (title: string, digits: number, ...curves: [Curve, Float32Array][]): Drawn => ({
    spec: { title: `${run.joints[column]} ${title}`, unit: nameOf(unit), factor, digits: digitsOf(unit, digits), limits: [], curves: curves.map(([one]) => one) },
    data: [times, ...curves.map(([, values]) => points(values))] as uPlot.AlignedData,
  });
  const reference: [Curve, Float32Array] = [{ label: "reference", colour: "reference" }, run.reference];
  const feedback: [Curve, Float32Array] = [{ label: "feedback", colour: "feedback" }, run.feedback];
  const error: [Curve, Float32Array] = [{ label: "reference − feedback", colour: "heat" }, run.error];
  if (!other) return [plot("position", 4, reference, feedback), plot("error", 5, error)];
  return [
    plot("position", 4, reference, feedback, [{ label: "feedback of the other", colour: "other" }, other.run.feedback]),
    plot("error", 5, error, [{ label: "of the other", colour: "other" }, other.run.error]),
    plot("difference", 5, [{ label: "feedback − feedback of the other", colour: "heat" }, less(run.feedback, other.run.feedback)]),
  ];
}

function RunPlot({ run, spec, data }: { run: Run } & Drawn) {
  const place = useRef<HTMLDivElement>(null);
  /** Another one with each time that it is drawn. */
  const drawn = useSignal<{ plot: uPlot } | null>(null);
  useEffect(() => {
    const parent = place.current!;
    const whole = (): [number, number] => sight.peek() ?? [0, durationOf(run) || 1];
    const across = { key: "run", range: whole, name: (tick: number) => `${Number(tick.toPrecision(6))} s` };
    const options = optionsOf(spec, parent.clientWidth, across);
    options.cursor!.drag = { x: true, y: false, setScale: false };
    options.plugins!.push(marks(run), pointer(), { hooks: { draw: (plot) => void (drawn.value = { plot }) } });
    let made: uPlot | null = null;
    const observer = new ResizeObserver(() => made?.setSize({ width: parent.clientWidth, height: HEIGHT }));
    // Each one on its own: a dozen at once would hold up the page.
    const timer = setTimeout(() => {
      made = new uPlot(options, data, parent);
      observer.observe(parent);
    });
    return () => {
      clearTimeout(timer);
      observer.disconnect();
      drawn.value = null;
      made?.destroy();
    };
  }, [data]);
  useSignalEffect(() => {
    const [min, max] = sight.value ?? [0, durationOf(run) || 1];
    drawn.peek()?.plot.setScale("x", { min, max });
  });
  return (
    <figure class="plot">
      <PlotCaption spec={spec} />
      <div class="run-plot" ref={place} role="img" aria-label={`${spec.title} over time`}>
        <Line time={at} drawn={drawn} name="" />
        <Line time={places.A} drawn={drawn} name="A" />
        <Line time={places.B} drawn={drawn} name="B" />
      </div>
    </figure>
  );
}

/** A time across a plot: moved alone, as the curves stay. */
function Line({ time, drawn, name }: { time: Signal<number | null>; drawn: Signal<{ plot: uPlot } | null>; name: string }) {
  const line = useRef<HTMLElement>(null);
  useSignalEffect(() => {
    const now = time.value;
    const plot = drawn.value?.plot;
    if (!line.current || !plot) return;
    const { min, max } = plot.scales["x"]!;
    line.current.hidden = now === null || now < min! || now > max!;
    if (now !== null) line.current.style.transform = `translateX(${plot.over.offsetLeft + plot.valToPos(now, "x")}px)`;
  });
  return <i ref={line} class={name ? "at place" : "at"} hidden>{name}</i>;
}

/** Where ticks are missing, and where a motion ended. */
function marks({ gaps, results }: Run): uPlot.Plugin {
  const drawClear = (plot: uPlot) => {
    const { ctx, bbox } = plot;
    const { line, limit } = ink.peek();
    const x = (time: number) => Math.round(plot.valToPos(time, "x", true));
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.fillStyle = line;
    for (const { time, until } of gaps) ctx.fillRect(x(time), bbox.top, Math.max(2, x(until) - x(time)), bbox.height);
    for (const { time, code } of results) {
      ctx.fillStyle = hasFailed(code) ? limit : line;
      ctx.fillRect(x(time), bbox.top, 2, bbox.height);
    }
    ctx.restore();
  };
  return { hooks: { drawClear } };
}

/** A click goes to a time; who drags sees the stretch alone, and with two clicks all again. */
function pointer(): uPlot.Plugin {
  let dragged = false;
  const setSelect = (plot: uPlot) => {
    const { left, width } = plot.select;
    if (width < 4) return;
    dragged = true;
    const [from, to] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    sight.value = [from, to];
  };
  const ready = (plot: uPlot) => {
    plot.over.addEventListener("click", (event) => {
      if (!dragged) go(plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x"));
      dragged = false;
    });
    plot.over.addEventListener("dblclick", () => (sight.value = null));
  };
  return { hooks: { ready, setSelect } };
}

/** The movement that was taught, on a small plot with a handle at each end. */

import type { Signal } from "@preact/signals";
import { clock } from "./format";
import type { Lesson } from "./lesson";

/** Nearer to each other than so, in s, the handles do not come. */
const SHORTEST_S = 0.1;

export function TrailPlot({ lesson, durationS }: { lesson: Lesson; durationS: number }) {
  const curves = lesson.seen.value ? lesson.trail.curves(durationS) : [];
  const first = lesson.first.value ?? 0;
  const last = lesson.last.value ?? durationS;
  const share = (time: number) => `${(100 * time) / durationS}%`;
  return (
    <figure class="trail">
      <div class="cut">
        {curves.length > 0 ? <Curves curves={curves} /> : <p class="unit">This page has not seen the movement.</p>}
        <i class="off" style={{ left: 0, width: share(first) }} />
        <i class="off" style={{ left: share(last), right: 0 }} />
        <Handle lesson={lesson} name="Beginning" at={lesson.first} otherwise={0} max={durationS} within={(time) => Math.min(time, last - SHORTEST_S)} />
        <Handle lesson={lesson} name="End" at={lesson.last} otherwise={durationS} max={durationS} within={(time) => Math.max(time, first + SHORTEST_S)} />
      </div>
      <figcaption class="num"><span>{clock(first)}</span><span>{clock(last - first)} of {clock(durationS)}</span><span>{clock(last)}</span></figcaption>
    </figure>
  );
}

function Curves({ curves }: { curves: string[] }) {
  return (
    <svg viewBox="0 0 1000 100" preserveAspectRatio="none" aria-hidden="true">
      {curves.map((points, joint) => <polyline key={joint} class={`joint${joint % 6}`} points={points} />)}
    </svg>
  );
}

interface HandleProps {
  lesson: Lesson;
  name: string;
  at: Signal<number | null>;
  otherwise: number;
  max: number;
  within(time: number): number;
}

/** A slider over all of the plot, of which only the handle takes the pointer; what it is at is seen in 3D. */
function Handle({ lesson, name, at, otherwise, max, within }: HandleProps) {
  const move = (event: { currentTarget: HTMLInputElement }) => {
    const time = Math.max(0, Math.min(max, within(Number(event.currentTarget.value))));
    event.currentTarget.value = String(time);
    at.value = time === otherwise ? null : time;
    lesson.looked.value = time;
    lesson.made.value = null;
  };
  return (
    <input
      type="range" class="handle" aria-label={`${name} of the motion`} aria-valuetext={clock(at.value ?? otherwise)} min={0} max={Number(max.toFixed(2))} step={0.01} value={at.value ?? otherwise}
      onInput={move} onBlur={() => (lesson.looked.value = null)}
    />
  );
}

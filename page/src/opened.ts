/** What the rest of the page has of a recorded run that is opened; all that shows one is fetched with the first. */

import { effect, signal } from "@preact/signals";
import type { Telemetry } from "./messages";
import { runNames } from "./route";
import { notify } from "./store";

/** What the picture shows of a run: the robot as it was at the cursor, and its way. */
export interface Recorded {
  sample: Telemetry;
  title: string;
  /** What stands there as a ghost. */
  ghost: string;
}

export const recorded = signal<Recorded | null>(null);
/** The postures of all of a run, for the path of a frame. */
export const recordedWay = signal<{ rows: number; postureOf(row: number): ArrayLike<number> } | null>(null);

/** What shows a run, once it has been fetched. */
export const showing = signal<typeof import("./run_view") | null>(null);

effect(() => {
  if (runNames.value.length === 0 || showing.value) return;
  import("./run_view").then(
    (module) => (showing.value = module),
    () => notify("What shows a recording did not arrive; load the page again."),
  );
});

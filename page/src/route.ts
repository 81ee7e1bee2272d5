/** Where one is on the page: `#/robot/view`, so that a link names both; `#/robot/recordings/run/other` names two runs. */

import { computed, signal } from "@preact/signals";

export const VIEWS = ["motions", "joints", "health", "recordings", "teach", "jog"] as const;
export type View = (typeof VIEWS)[number];

const hash = signal(location.hash);
addEventListener("hashchange", () => (hash.value = location.hash));

const parts = computed(() =>
  hash.value.replace(/^#\/?/, "").split("/").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  }),
);

/** The robot that the address names; empty for the overview. */
export const robotName = computed(() => parts.value[0] ?? "");
export const view = computed<View>(() => VIEWS.find((one) => one === parts.value[1]) ?? "motions");

/** The recorded run that is looked at, and the one that is laid on it. */
export const runNames = computed(() => (view.value === "recordings" ? parts.value.slice(2).filter(Boolean) : []));

export function href(robot: string, to: View = "motions", ...below: string[]): string {
  return `#/${[robot, to, ...below].map(encodeURIComponent).join("/")}`;
}

/** Where one is on the page: `#/robot/view`, so that a link names both. */

import { computed, signal } from "@preact/signals";

export const VIEWS = ["motions", "joints", "health"] as const;
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

export function href(robot: string, to: View = "motions"): string {
  return `#/${encodeURIComponent(robot)}/${to}`;
}

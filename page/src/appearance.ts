/** Light and dark: the system's choice, or this browser's own. */

import { computed, effect, signal } from "@preact/signals";
import type { Palette } from "./figure";
import { theme } from "./store";

function media(query: string) {
  const list = matchMedia(query);
  const matches = signal(list.matches);
  list.addEventListener("change", () => (matches.value = list.matches));
  return matches;
}

const prefersDark = media("(prefers-color-scheme: dark)");
/** Whether the motions have a column of their own. */
export const wide = media("(min-width: 1240px) and (min-height: 501px)");
/** A phone, upright or not: what is needed at once stands at the bottom. */
export const small = media("(max-width: 760px), (max-height: 500px)");

export const dark = computed(() => (theme.value === "auto" ? prefersDark.value : theme.value === "dark"));
effect(() => {
  document.documentElement.dataset["theme"] = dark.value ? "dark" : "light";
});

const DARK: Palette = {
  ground: "#12171b", grid: "#1d252b", gridStrong: "#34414a", body: "#c3ccd3", bodyDark: "#6d7a85", ghost: "#4fc3d7",
  near: "#e3a92f", over: "#ff5a4d", path: "#4fc3d7", allowed: "#4cba7a", contact: "#ff8ad8",
};
const LIGHT: Palette = {
  ground: "#e9edee", grid: "#d6dcdf", gridStrong: "#aab5bb", body: "#ccd4d9", bodyDark: "#84919c", ghost: "#007c92",
  near: "#d18a00", over: "#d42a1f", path: "#007c92", allowed: "#1f7a45", contact: "#b0108a",
};
export const palette = computed(() => (dark.value ? DARK : LIGHT));

/** Colours of plots. */
export const ink = computed(() =>
  dark.value
    ? { text: "#94a1ab", line: "#263038", reference: "#4fc3d7", feedback: "#e6eaee", limit: "#ff7a6e", heat: "#e3a92f", other: "#d3a4f2" }
    : { text: "#55626c", line: "#d3dadd", reference: "#007c92", feedback: "#1b2329", limit: "#c4281d", heat: "#8a5a00", other: "#7a3fa8" },
);

/** Numbers and times as the page writes them. */

import type { Unit } from "./messages";
import type { State } from "./protocol";

/** Minutes, seconds and tenths: `1:04.2`. */
export function clock(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  const tenths = Math.round(10 * Math.max(0, seconds));
  const rest = ((tenths % 600) / 10).toFixed(1).padStart(4, "0");
  return `${Math.floor(tenths / 600)}:${rest}`;
}

/** The time of the day that a clock on the wall shows at a Unix time in s, and whether that is tomorrow's. */
export function timeOfDay(unixS: number): string {
  const at = new Date(1000 * unixS);
  return `${at.toTimeString().slice(0, 8)}${at.getDate() === new Date().getDate() ? "" : " tomorrow"}`;
}

/** A moment by the clock on the wall, with its date unless that is today's. */
export function dated(at: Date): string {
  const today = new Date().toDateString() === at.toDateString();
  return today ? at.toLocaleTimeString() : at.toLocaleString();
}

/** A number with fixed digits, or a dash where there is none. */
export function fixed(value: number | null | undefined, digits = 3): string {
  return value === null || value === undefined || !Number.isFinite(value) ? "–" : value.toFixed(digits).replace(/^-(?=[0.]+$)/, "");
}

/** A time in s in the unit that suits it. */
export function span(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  if (Math.abs(seconds) < 1e-3) return `${(1e6 * seconds).toFixed(0)} µs`;
  return Math.abs(seconds) < 1 ? `${(1e3 * seconds).toFixed(1)} ms` : `${seconds.toFixed(2)} s`;
}

export function effortUnit(unit: Unit): string {
  return unit === "m" ? "N" : "N·m";
}

export const STATE_WORDS: Record<State, string> = {
  offline: "Offline",
  idle: "Idle",
  approaching: "Approaching",
  playing: "Playing",
  pausing: "Pausing",
  paused: "Paused",
  stopping: "Stopping",
  estopped: "Emergency stop",
  fault: "Fault",
  teaching: "Teaching",
  following: "Following",
};

/** A number of things, in words. */
export function count(number: number, thing: string, things = `${thing}s`): string {
  return `${number} ${number === 1 ? thing : things}`;
}

/** So many bytes: `4.2 MB`. */
export function size(bytes: number): string {
  const place = bytes < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(bytes) / 3));
  return `${place ? Number((bytes / 1000 ** place).toPrecision(3)) : bytes} ${["bytes", "kB", "MB", "GB", "TB"][place]}`;
}

/** The same of a time in ISO 8601; a dash where there is none. */
export function when(utc: string | null): string {
  return utc ? dated(new Date(utc)) : "–";
}

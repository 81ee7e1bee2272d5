/** Names of markers on a timeline. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { namesThatFit } from "../src/markers";

const named = (count: number, everyS: number) => Array.from({ length: count }, (_, k) => ({ name: `m${k}`, time: k * everyS }));

test("a few markers all have their names", () => {
  assert.equal(namesThatFit(named(5, 1), 100).size, 5);
});

test("of a hundred markers those have their names that do not run into the one before", () => {
  const markers = named(100, 0.1);
  const fit = [...namesThatFit(markers, 60)];
  assert.ok(fit.length > 10 && fit.length < 40, String(fit.length));
  assert.equal(fit[0], markers[0]);
  const begins = fit.map(({ time }) => 60 * time);
  assert.ok(begins.every((px, k) => k === 0 || px - begins[k - 1]! >= 20));
});

test("a name that would run over the end of the bar is left out", () => {
  assert.deepEqual([...namesThatFit([{ name: "a", time: 1 }, { name: "a long name", time: 9.5 }], 10, 100)].map(({ name }) => name), ["a"]);
});

test("markers at one place have one name, of the first, and the rest by pointing", () => {
  assert.deepEqual([...namesThatFit([{ name: "b", time: 1 }, { name: "a", time: 1 }], 100)].map(({ name }) => name), ["b"]);
});

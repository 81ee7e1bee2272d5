/** Where joints are shown that turn without end. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { endBrowser, startBrowser } from "./browser";

startBrowser();
const { onTurn, rangeOf } = await import("../src/units");
endBrowser();

const table = { continuous: true, lower: null, upper: null };
const elbow = { continuous: false, lower: -1, upper: 2 };

test("a joint that turns without end is shown on a turn about 0, whichever it is on", () => {
  assert.deepEqual(rangeOf(table), [-Math.PI, Math.PI]);
  for (const turns of [-300, -1, 0, 2]) assert.ok(Math.abs(onTurn(table, 0.5 + turns * 2 * Math.PI) - 0.5) < 1e-9);
});

test("another joint is shown between its limits, as it is", () => {
  assert.deepEqual(rangeOf(elbow), [-1, 2]);
  assert.equal(onTurn(elbow, 7), 7);
});

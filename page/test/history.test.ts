/** Curves of the last minute. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { History, withGaps } from "../src/history";

test("a curve has a gap where no samples came, whatever their usual rate", () => {
  assert.deepEqual(withGaps([0, 0.05, 0.1, 5, 5.05], [[1, 2, 3, 4, 5]]), [[0, 0.05, 0.1, 2.55, 5, 5.05], [1, 2, 3, null, 4, 5]]);
  assert.deepEqual(withGaps([0, 10, 20, 80], [[1, 2, 3, 4]]), [[0, 10, 20, 50, 80], [1, 2, 3, null, 4]]);
  assert.deepEqual(withGaps([0, 10, 20, 30], [[1, 2, null, 4]]), [[0, 10, 20, 30], [1, 2, null, 4]]);
});

test("values come in the unit that is shown, and errors as reference less feedback", () => {
  const history = new History(1);
  const quantities = (value: number) => ({ position: Float32Array.of(value), velocity: Float32Array.of(0), effort: Float32Array.of(NaN) });
  history.add({ robot: 0, stampS: 7, frame: 0, reference: quantities(0.75), feedback: quantities(0.5) });
  assert.deepEqual(history.series(0, ["position", "error", "effort"], 2), [[0], [1], [0.5], [null]]);
});

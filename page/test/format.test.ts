/** Numbers as the page writes them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { size } from "../src/format";

test("a size has three digits and the unit that suits it", () => {
  assert.deepEqual([0, 999, 1000, 4_234_567, 10e9, 2.5e15].map(size), ["0 bytes", "999 bytes", "1 kB", "4.23 MB", "10 GB", "2500 TB"]);
});

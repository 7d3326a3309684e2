import assert from "node:assert/strict";
import { test } from "node:test";
import { faultText } from "../src/faults.js";

test("what a fault came to has its numbers as everywhere", () => {
  const figures = { silence_s: 6.1, recovered_s: null, orders: 1_240_000, lost: 12_345, late: 311_000, doubled: 1000 };

  assert.equal(
    faultText(figures),
    "silent for 6.10 s, not seen to recover; of 1,240,000 orders that it met 12,345 lost, 311,000 late, 1,000 answered twice",
  );
});

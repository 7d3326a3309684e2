import assert from "node:assert/strict";
import { test } from "node:test";
import { readRoute, routeText } from "../src/router.js";

test("no address is the overview of the newest run, as it was judged", () => {
  assert.deepEqual(readRoute(""), {
    page: "overview",
    item: "",
    run: "",
    choice: { kind: "judged" },
    widthMs: 0,
    pin: "",
    refused: "",
  });
});

test("an address names page, item, run, range, bins and the pinned run", () => {
  assert.deepEqual(readRoute("#/workers/sender-0?run=r%201&range=last-60&bins=5&pin=a%2Fb"), {
    page: "workers",
    item: "sender-0",
    run: "r 1",
    choice: { kind: "last", ms: 60_000 },
    widthMs: 5000,
    pin: "a/b",
    refused: "",
  });
});

test("an address comes back as it was", () => {
  for (const fragment of [
    "#/overview",
    "#/runs?run=a%2Fb",
    "#/workers/a%20b/c?range=whole&bins=60&pin=c",
    "#/aggregator",
  ]) {
    assert.equal(routeText(readRoute(fragment)), fragment);
  }
});

test("what no page is called, or cannot be decoded, is the overview", () => {
  for (const fragment of ["#/nothing/item", "#/%E0%A4%A", "#//", "#/Overview"]) {
    assert.deepEqual([readRoute(fragment).page, readRoute(fragment).item], ["overview", ""]);
  }
});

test("a width of bins that is none is as fits", () => {
  assert.deepEqual(
    ["-1", "1.5", "x", "123456", ""].map((bins) => readRoute(`#/overview?bins=${bins}`).widthMs),
    [0, 0, 0, 0, 0],
  );
});

test("a range that cannot be read is told, and what was judged is shown instead", () => {
  for (const range of ["yesterday", "9-1", "last-0", "1-2-3"]) {
    const { choice, refused } = readRoute(`#/overview?range=${range}`);
    assert.deepEqual([choice, refused], [{ kind: "judged" }, range]);
  }
  for (const range of ["whole", "last-5", "1-9"]) assert.equal(readRoute(`#/overview?range=${range}`).refused, "");
});

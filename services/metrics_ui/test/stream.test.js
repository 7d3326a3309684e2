import assert from "node:assert/strict";
import { test } from "node:test";
import { eventReader } from "../src/stream.js";

/** All events of these pieces. */
function events(...pieces) {
  const read = eventReader();
  return pieces.flatMap((piece) => read(piece));
}

test("an event has its id, name and data", () => {
  assert.deepEqual(events("id: 7\nevent: data\ndata: {}\n\n"), [{ id: "7", event: "data", data: "{}" }]);
});

test("pieces may end anywhere, between the two characters of a line's end, too", () => {
  const whole = "event: data\r\ndata: a\r\ndata: b\r\n\r\n";

  for (let at = 0; at <= whole.length; at += 1) {
    assert.deepEqual(events(whole.slice(0, at), whole.slice(at)), [{ id: "", event: "data", data: "a\nb" }]);
  }
});

test("a line may end with a carriage return alone", () => {
  assert.deepEqual(events("data: a\rdata: b\r\rdata: c"), [{ id: "", event: "message", data: "a\nb" }]);
});

test("comments, unknown fields and events without data are left out", () => {
  assert.deepEqual(events(": ping\n\nretry: 5\nevent: data\n\ndata:x\n\n"), [{ id: "", event: "message", data: "x" }]);
});

test("an id holds for the events after it, a name does not", () => {
  assert.deepEqual(events("id: 1\nevent: reset\ndata: a\n\ndata: b\n\n"), [
    { id: "1", event: "reset", data: "a" },
    { id: "1", event: "message", data: "b" },
  ]);
});

test("only one space after the colon is left out", () => {
  assert.deepEqual(events("data:  x \ndata\n\n"), [{ id: "", event: "message", data: " x \n" }]);
});

test("what is not complete is kept back", () => {
  assert.deepEqual(events("data: a\n"), []);
});

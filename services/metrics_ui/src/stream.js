/** Server-sent events out of pieces of text, by the rules of the HTML standard. */

/** @typedef {{id: string, event: string, data: string}} StreamEvent */
/** @typedef {{id: string, event: string, data: string[]}} Fields */

const LINE_MAX = 64 * 1024 * 1024;

/**
 * A reader that keeps what is incomplete for the next piece.
 * @returns {(piece: string) => StreamEvent[]}
 */
export function eventReader() {
  let rest = "";
  /** @type {Fields} */
  let fields = { id: "", event: "", data: [] };
  return (piece) => {
    const lines = (rest + piece).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    if (rest.length > LINE_MAX) throw new RangeError("an event of the stream is longer than 64 MiB");
    /** @type {StreamEvent[]} */
    const events = [];
    for (const line of lines) {
      if (line === "") {
        if (fields.data.length > 0) {
          events.push({ id: fields.id, event: fields.event || "message", data: fields.data.join("\n") });
        }
        fields = { id: fields.id, event: "", data: [] };
      } else if (!line.startsWith(":")) {
        take(line, fields);
      }
    }
    return events;
  };
}

/** @param {string} line @param {Fields} fields */
function take(line, fields) {
  const colon = line.indexOf(":");
  const name = colon < 0 ? line : line.slice(0, colon);
  const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
  if (name === "data") fields.data.push(value);
  else if (name === "event" || name === "id") fields[name] = value;
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { embeddedRun, runInText } from "../src/runfile.js";

const DATA = { format: 1, run_id: "ünïcode </script>", series: [] };
const PACKED = gzipSync(JSON.stringify(DATA)).toString("base64");

test("a run is read out of an exported page, whatever stands around it", async () => {
  const page = `<html><script>alert(1)</script><script type="application/gzip" id="run-data">\n${PACKED}\n</script></html>`;

  assert.deepEqual(await runInText(page), DATA);
});

test("a run is read out of a file of its data", async () => {
  assert.deepEqual(await runInText(`\n ${JSON.stringify(DATA)}`), DATA);
});

test("a file without a run is refused in a sentence", async () => {
  const error = new Error("The file holds no run. Drop an HTML file that was exported here.");

  await assert.rejects(runInText("<html></html>"), error);
  await assert.rejects(runInText('{"format": 1}'), error);
  await assert.rejects(runInText(""), error);
  await assert.rejects(runInText("{not JSON"), SyntaxError);
});

test("a page has the run of its element, or none", async () => {
  /** @returns {any} what of a document is asked for */
  const page = (element) => ({ getElementById: (id) => (id === "run-data" ? element : null) });

  assert.deepEqual(await embeddedRun(page({ textContent: PACKED })), DATA);
  assert.equal(await embeddedRun(page(null)), null);
});

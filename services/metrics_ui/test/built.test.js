import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { dirname, posix } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { ENTRIES, built } from "../build.js";

const files = await built();

test("there is a script for the page, the report and the comparison", () => {
  assert.deepEqual(files.map(({ name }) => name).sort(), ["app.js", "comparison.js", "report.js"]);
});

for (const { path, name, contents } of files) {
  test(`the committed ${name} is what its sources give; else: make ui`, async () => {
    assert.ok((await readFile(path)).equals(contents));
  });

  test(`${name} can stand inside an element of a page`, () => {
    assert.doesNotMatch(Buffer.from(contents).toString(), /<\/(?:script|style)|<!--|\r/);
  });
}

test("building twice gives the same bytes", async () => {
  assert.deepEqual(await built(), files);
});

test("no modules import each other in a circle", async () => {
  const root = dirname(dirname(fileURLToPath(import.meta.url)));
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ENTRIES,
    bundle: true,
    metafile: true,
    outdir: posix.join(root, "unused"),
    write: false,
  });
  const done = new Set();
  const visit = (module, above) => {
    assert.ok(!above.includes(module), [...above, module].join(" -> "));
    if (done.has(module)) return;
    for (const { path } of metafile.inputs[module].imports) visit(path, [...above, module]);
    done.add(module);
  };
  for (const entry of ENTRIES) visit(entry, []);

  assert.equal(done.size, Object.keys(metafile.inputs).length);
});

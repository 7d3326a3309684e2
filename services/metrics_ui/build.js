/**
 * Builds what the aggregator serves: a classic script for the page, the report and the comparison, because a page that is a
 * file cannot load modules. They are not minified, so that a fault in the browser can be read.
 */

import { writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const ROOT = fileURLToPath(new URL(".", import.meta.url));
/** A script each. */
export const ENTRIES = ["src/app.js", "src/report.js", "src/comparison.js"];
const STATIC = fileURLToPath(
  new URL("../metrics_aggregator/src/market_spread/metrics_aggregator/static", import.meta.url),
);

/**
 * The built files, as they are to be in the folder of static files.
 * @returns {Promise<{path: string, name: string, contents: Uint8Array}[]>}
 */
export async function built() {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: ENTRIES,
    outdir: STATIC,
    banner: { js: "// Built by `make ui` from services/metrics_ui/src; change it there." },
    bundle: true,
    charset: "utf8",
    format: "iife",
    legalComments: "none",
    target: "es2022",
    write: false,
  });
  return outputFiles.map(({ path, contents }) => ({ path, name: basename(path), contents }));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { path, contents } of await built()) await writeFile(path, contents);
}

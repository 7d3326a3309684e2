// Bundles src/ into the folder that is named, for a browser.
import { build } from "esbuild";

await build({
  entryPoints: ["src/main.jsx"],
  outdir: process.argv[2],
  bundle: true,
  minify: true,
  format: "esm",
  splitting: false,
  loader: { ".woff": "dataurl", ".woff2": "dataurl", ".svg": "dataurl", ".ttf": "empty" },
  define: { "process.env.NODE_ENV": '"production"', global: "window" },
  logLevel: "error",
});

/** Runs that are not fetched: the one inside this page, and those in files that are dropped on it. */

/** @import {RunData} from "./types.js" */

const ELEMENT_ID = "run-data";
const MARKED = /<script type="application\/gzip" id="run-data">([A-Za-z0-9+/=\s]*)<\/script>/;

/** The data inside this page, if it is an exported one. @param {Document} page @returns {Promise<RunData | null>} */
export async function embeddedRun(page) {
  const element = page.getElementById(ELEMENT_ID);
  return element ? unpacked(element.textContent) : null;
}

/**
 * The data of an exported page, or of a file of run data. The page's text is searched, never run.
 * @param {string} text
 * @returns {Promise<RunData>}
 * @throws {Error} with a sentence, if there is no run in it
 */
export async function runInText(text) {
  const found = MARKED.exec(text);
  if (found) return unpacked(found[1]);
  if (text.trimStart().startsWith("{")) {
    /** @type {RunData} */
    const data = JSON.parse(text);
    if (data.format && data.series) return data;
  }
  throw new Error("The file holds no run. Drop an HTML file that was exported here.");
}

/** @param {string} base64 @returns {Promise<RunData>} */
async function unpacked(base64) {
  const packed = Uint8Array.from(atob(base64.replace(/\s/g, "")), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

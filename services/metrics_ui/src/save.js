/** Files that the page makes, given to the reader to keep. */

import { h } from "./dom.js";

/** @param {string} name @param {Blob} blob */
export function save(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** @param {string} name @param {string} text @param {string} [type] */
export function saveText(name, text, type = "text/plain") {
  save(name, new Blob([text], { type: `${type};charset=utf-8` }));
}

/** A title as the name of a file. @param {string} title @param {string} extension */
export function fileName(title, extension) {
  return `${title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")}.${extension}`;
}

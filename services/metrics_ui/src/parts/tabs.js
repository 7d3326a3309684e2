/** Links to the siblings of a page, the one that is shown marked. */

import { h } from "../dom.js";

/**
 * @param {string} label
 * @param {{title: string, href: string, current: boolean}[]} links
 * @returns {HTMLElement}
 */
export function tabs(label, links) {
  return h(
    "nav.tabs",
    { "aria-label": label },
    links.map(({ title, href, current }) => h("a", { href, "aria-current": current ? "page" : null }, title)),
  );
}

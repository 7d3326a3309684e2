/** What the address says: page, item, run, range, the pinned run. It is all in the fragment, so that it works in a file, too. */

import { choiceOf, choiceText } from "./range.js";

/** @typedef {{page: string, item: string, run: string, choice: import("./range.js").Choice,
 *             widthMs: number, pin?: string, refused: string}} Route  widthMs: of the bins; 0 as fits. pin: the run to
 *             compare with; none if empty. refused: a range that is none. */

const PAGES = ["overview", "pipeline", "workers", "computations", "runs", "compare", "aggregator"];

/** @param {string} fragment as in `location.hash` @returns {Route} the overview for an unknown page */
export function readRoute(fragment) {
  const [path, query = ""] = fragment.replace(/^#\/?/, "").split("?");
  const [page, ...rest] = path.split("/").map(decoded);
  const params = new URLSearchParams(query);
  const range = params.get("range") ?? "";
  const choice = choiceOf(range);
  return {
    page: PAGES.includes(page) ? page : "overview",
    item: PAGES.includes(page) ? rest.join("/") : "",
    run: params.get("run") ?? "",
    choice,
    pin: params.get("pin") ?? "",
    refused: choiceText(choice) ? "" : range,
    widthMs: /^\d{1,5}$/.test(params.get("bins") ?? "") ? Number(params.get("bins")) * 1000 : 0,
  };
}

/** The fragment of a route. @param {Omit<Route, "refused">} route @returns {string} */
export function routeText({ page, item, run, choice, widthMs, pin }) {
  const params = new URLSearchParams();
  if (run) params.set("run", run);
  if (choiceText(choice)) params.set("range", choiceText(choice));
  if (widthMs) params.set("bins", String(widthMs / 1000));
  if (pin) params.set("pin", pin);
  const query = params.toString();
  const path = [page, ...(item ? item.split("/") : [])].map(encodeURIComponent).join("/");
  return `#/${path}${query ? `?${query}` : ""}`;
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

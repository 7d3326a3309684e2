/** Light or dark: as the system says, or as the reader chose; and the colours that canvases draw with. */

/** @typedef {"light" | "dark"} Theme */

const KEY = "market-spread-theme";
const dark = window.matchMedia("(prefers-color-scheme: dark)");
/** @type {Set<() => void>} */
const listeners = new Set();
/** @type {Map<string, string>} */
let colours = new Map();

/** Apply what was chosen, and follow the system where nothing was. */
export function startTheme() {
  apply(stored());
  dark.addEventListener("change", () => apply(stored()));
}

/** The theme that is shown. @returns {Theme} */
export function theme() {
  return stored() ?? (dark.matches ? "dark" : "light");
}

/** Go over to the other theme, and remember it; where that is what the system says, follow the system again. */
export function toggleTheme() {
  const other = theme() === "dark" ? "light" : "dark";
  remember(other === (dark.matches ? "dark" : "light") ? null : other);
  apply(stored());
}

/** Call back when colours have changed. @param {() => void} listener @returns {() => void} ends it */
export function onTheme(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The value of a colour of the style sheet. @param {string} name as in "--ink" @returns {string} */
export function colour(name) {
  const known = colours.get(name);
  if (known !== undefined) return known;
  const found = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  colours.set(name, found);
  return found;
}

/** A colour as [red, green, blue], 0 to 255. @param {string} name */
export function channels(name) {
  const hex = colour(name).replace("#", "");
  return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

/** @param {Theme | null} chosen */
function apply(chosen) {
  if (chosen) document.documentElement.dataset.theme = chosen;
  else delete document.documentElement.dataset.theme;
  colours = new Map();
  for (const listener of listeners) listener();
}

// A file's page may have no storage: then the choice lasts as long as the page.
/** @type {Theme | null} */
let unstored = null;

/** @returns {Theme | null} */
function stored() {
  try {
    return /** @type {Theme | null} */ (localStorage.getItem(KEY));
  } catch {
    return unstored;
  }
}

/** @param {Theme | null} value */
function remember(value) {
  unstored = value;
  try {
    if (value === null) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, value);
  } catch {
    // nothing to do: `unstored` has it
  }
}

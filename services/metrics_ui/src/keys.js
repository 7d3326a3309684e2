/**
 * Keys of the page: single ones, and those after a `g`. Never while something is typed or a dialog is open, nor with Ctrl,
 * Alt or Meta.
 */

const SEQUENCE_MS = 1200;

/**
 * @param {Document} page
 * @param {Record<string, () => void>} actions by key, those after a g as "g o"
 */
export function startKeys(page, actions) {
  let prefixUntil = 0;
  page.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || typed(event.target)) return;
    if (page.querySelector("dialog[open]")) return;
    const after = event.timeStamp < prefixUntil;
    prefixUntil = 0;
    if (event.key === "g" && !after) {
      prefixUntil = event.timeStamp + SEQUENCE_MS;
      return;
    }
    const action = actions[after ? `g ${event.key}` : event.key];
    if (action) {
      event.preventDefault();
      action();
    }
  });
}

/** @param {EventTarget | null} target */
function typed(target) {
  return (
    target instanceof Element &&
    target.matches("input:not([type=checkbox], [type=file]), textarea, select, [contenteditable]")
  );
}

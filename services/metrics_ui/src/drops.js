/** Files that are dropped anywhere on the page. */

/** @param {(file: File) => void} open called with a file that was dropped */
export function takeDrops(open) {
  /** @param {boolean} over */
  const mark = (over) => document.body.classList.toggle("dropping", over);
  addEventListener("dragover", (event) => {
    event.preventDefault();
    mark(true);
  });
  addEventListener("dragleave", (event) => mark(event.relatedTarget !== null));
  addEventListener("drop", (event) => {
    event.preventDefault();
    mark(false);
    const file = event.dataTransfer?.files[0];
    if (file) open(file);
  });
}

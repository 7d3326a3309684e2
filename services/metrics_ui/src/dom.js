/** Elements by hand: text only ever as text, attributes as attributes, no markup out of strings. */

const SVG = "http://www.w3.org/2000/svg";

/** @import {AttributeValue, Attributes, Cell, Child, ElementOf} from "./types.js" */
/** @typedef {{title: string, unit?: string, numeric?: boolean, wide?: boolean}} TableColumn */
/**
 * @typedef {object} Table
 * @property {HTMLElement} element
 * @property {(rows: Cell[][]) => void} setRows
 * @property {(units: string[]) => void} setUnits
 */

/**
 * An element. `on` are its listeners; null and false children are left out.
 * @template {string} Tag
 * @param {Tag} tag with classes after dots: "p.note"
 * @param {Attributes} [attributes]
 * @param {(Child | Child[])[]} children
 * @returns {ElementOf<Tag>}
 */
export function h(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = /** @type {ElementOf<Tag>} */ (document.createElement(name));
  return filled(element, classes, attributes, children);
}

/**
 * An SVG element, as `h`.
 * @param {string} tag
 * @param {Attributes} [attributes]
 * @param {(Child | Child[])[]} children
 */
export function svg(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  return filled(document.createElementNS(SVG, name), classes, attributes, children);
}

/**
 * @template {HTMLElement | SVGElement} E
 * @param {E} element
 * @param {string[]} classes
 * @param {Attributes} attributes
 * @param {(Child | Child[])[]} children
 */
function filled(element, classes, { on = {}, ...attributes }, children) {
  if (classes.length > 0) element.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  for (const [name, listener] of Object.entries(on)) {
    // The type of `on` has the event that goes with each name.
    element.addEventListener(name, /** @type {(event: Event) => unknown} */ (listener));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== false && child !== undefined));
  return element;
}

/**
 * Set an element's text, if it is another one: what does not change is not announced or painted again.
 * @param {Element} element
 * @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Set an attribute, if it is another one; null takes it away.
 * @param {Element} element
 * @param {string} name
 * @param {AttributeValue} value
 */
export function setAttribute(element, name, value) {
  if (value === null || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
}

/** Show or hide. @param {HTMLElement} element @param {boolean} shown */
export function show(element, shown) {
  if (element.hidden === shown) element.hidden = !shown;
}

/**
 * A table that is filled again and again. A cell is text, or {text, href}, or {text, sub}.
 * @param {{caption: string, columns: TableColumn[], quiet?: boolean}} given
 * @returns {Table}
 */
export function table({ caption, columns, quiet = false }) {
  const units = columns.map(({ unit = "" }) => h("span.unit", {}, unit));
  const head = h(
    "tr",
    {},
    columns.map(({ title, numeric }, at) => h(numeric ? "th.number" : "th", { scope: "col" }, title, " ", units[at])),
  );
  const body = h("tbody");
  const element = h(
    "div.table",
    { tabindex: 0, role: "region", "aria-label": caption },
    h("table", {}, h(quiet ? "caption.hidden" : "caption", {}, caption), h("thead", {}, head), body),
  );
  return {
    element,
    setUnits: (texts) => texts.forEach((text, at) => setText(units[at], text)),
    setRows: (rows) => {
      while (body.rows.length > rows.length) body.deleteRow(-1);
      rows.forEach((cells, at) => fillRow(body.rows[at] ?? body.insertRow(), cells, columns));
    },
  };
}

/**
 * @param {HTMLTableRowElement} row
 * @param {Cell[]} cells
 * @param {TableColumn[]} columns
 */
function fillRow(row, cells, columns) {
  cells.forEach((given, at) => {
    /** @type {HTMLElement} */
    let cell = row.cells[at];
    if (!cell) {
      cell = at === 0 ? h("th", { scope: "row" }) : h("td");
      if (columns[at].numeric) cell.classList.add("number");
      row.append(cell);
    }
    const { text, href, sub } = typeof given === "object" && given !== null ? given : { text: given };
    if (href) fillLink(cell, String(text), href);
    else setText(cell, String(text));
    if (sub && !href) cell.append(h("span.sub", {}, sub));
  });
}

/** @param {HTMLElement} cell @param {string} text @param {string} href */
function fillLink(cell, text, href) {
  let link = cell.firstElementChild;
  if (link?.tagName !== "A") {
    cell.textContent = "";
    link = cell.appendChild(h("a"));
  }
  setText(link, text);
  setAttribute(link, "href", href);
}

/** Begin at the top of another page, with the focus there if what had it has gone. @param {HTMLElement} main */
export function beginAt(main) {
  if (document.activeElement === document.body) main.focus();
  window.scrollTo(0, 0);
}

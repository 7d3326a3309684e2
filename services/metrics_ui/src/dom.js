/** Elements by hand: text only ever as text, attributes as attributes, no markup out of strings. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element. `on` are its listeners; null and false children are left out.
 * @param {string} tag with classes after dots: "p.note"
 * @param {Object} [attributes]
 * @param {...any} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  return filled(document.createElement(name), classes, attributes, children);
}

/** An SVG element, as `h`. @returns {SVGElement} */
export function svg(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  return filled(document.createElementNS(SVG, name), classes, attributes, children);
}

function filled(element, classes, { on = {}, ...attributes }, children) {
  if (classes.length > 0) element.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  for (const [name, listener] of Object.entries(on)) element.addEventListener(name, listener);
  element.append(...children.flat().filter((child) => child !== null && child !== false && child !== undefined));
  return element;
}

/** Set an element's text, if it is another one: what does not change is not announced or painted again. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Set an attribute, if it is another one; null takes it away. */
export function setAttribute(element, name, value) {
  if (value === null || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
}

/** Show or hide. */
export function show(element, shown) {
  if (element.hidden === shown) element.hidden = !shown;
}

/**
 * A table that is filled again and again. A cell is text, or {text, href}, or {text, sub}.
 * @param {{caption: string, columns: {title: string, unit?: string, numeric?: boolean, wide?: boolean}[], quiet?: boolean}} given
 * @returns {{element: HTMLElement, setRows: (rows: any[][]) => void, setUnits: (units: string[]) => void}}
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

function fillRow(row, cells, columns) {
  cells.forEach((given, at) => {
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

function fillLink(cell, text, href) {
  let link = cell.firstElementChild;
  if (link?.tagName !== "A") {
    cell.textContent = "";
    link = cell.appendChild(h("a"));
  }
  setText(link, text);
  setAttribute(link, "href", href);
}

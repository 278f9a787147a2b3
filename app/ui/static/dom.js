// Elements from data. Text is only ever inserted as text nodes.

export const byId = (id) => document.getElementById(id);

// el("td", {class: "number", title: "x"}, "text", child): an element
export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  set(made, attributes);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  set(made, attributes);
  made.append(...children);
  return made;
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
}

export function fill(parent, ...children) {
  parent.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
}

// A table; cells are texts or elements. columns: [title, class]
export function table(columns, rows, empty) {
  if (rows.length === 0) return el("p", { class: "muted empty" }, empty);
  const head = columns.map(([title, kind]) => el("th", { scope: "col", class: kind }, title));
  const body = rows.map((cells) =>
    el("tr", {}, ...cells.map((cell, at) => el("td", { class: columns[at][1] }, cell ?? "–"))));
  return el("table", {}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...body));
}

// Replace the options of a menu, and keep its value where it is still one. options: [value, text]
export function options(menu, wanted) {
  const before = menu.value;
  const same = menu.options.length === wanted.length &&
    wanted.every(([value, text], at) => menu.options[at].value === value && menu.options[at].text === text);
  if (same) return;
  fill(menu, ...wanted.map(([value, text]) => el("option", { value }, text)));
  if (wanted.some(([value]) => value === before)) menu.value = before;
}

export const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

// White space and control characters made visible.
export function visible(text) {
  return text.replace(/[\u0000-\u0020\u007f]/g, (c) =>
    ({ " ": "␣", "\n": "↵", "\t": "⇥", "\r": "␍" })[c] ?? String.fromCharCode(0x2400 + (c === "\u007f" ? 0x21 : c.charCodeAt(0))));
}

export function later(wait, work) {
  let timer = 0;
  return () => { clearTimeout(timer); timer = setTimeout(work, wait); };
}

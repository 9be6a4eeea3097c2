/** Elements and texts. Text never becomes HTML. */

export const find = (selector, root = document) => root.querySelector(selector);
export const findAll = (selector, root = document) => Array.from(root.querySelectorAll(selector));

/** Makes an element. A property with a dash in its name, or `role`, becomes an attribute. Skips children that are null. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export const button = (label, onclick, properties = {}, ...more) => make("button", { type: "button", onclick, ...properties }, label, ...more);

// Characters that could mislead a reader are escaped, as in reports and on a terminal.
const STEERING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\p{Surrogate}/gu;

export const printable = (value) =>
  String(value).replace(/\r\n?/g, "\n").replace(STEERING, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Makes a paragraph, or another element, with text from outside the page. */
export const makeText = (value, className = "", tag = "p") => make(tag, { className, dir: "auto" }, printable(value));

/** Turns words into a sentence. Keeps the case of file names. */
const toSentence = (words) => `${/^[a-z]+[\s,’']/.test(words) ? words.charAt(0).toUpperCase() + words.slice(1) : words}${/[.!?…)]$/.test(words) ? "" : "."}`;

/** Makes the elements of an error: what happened, what to do next, and where. */
export const makeError = ({ message, what = `this page has a fault: ${message}`, where, hint }) =>
  [makeText(toSentence(what), "what"), ...(hint ? [makeText(toSentence(hint), "hint")] : []), ...(where ? [make("details", { className: "where" }, make("summary", {}, "Details"), makeText(where))] : [])];

export const formatSeconds = (value) =>
  value < 9.95 ? `${value.toFixed(1)} s` : value < 59.5 ? `${Math.round(value)} s` : `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;

export function uuid() { // crypto.randomUUID needs https or this machine
  const digits = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4}).(.{3}).(.{3})/, "$1-$2-4$3-8$4-");
}

const parts = new WeakMap();

/** Fills `parent` with parts, each [key, signature, build], in this order. A part with an unchanged signature keeps its
    element, and thus its open details and selection. An element with an id keeps the focus. */
export function updateChildren(parent, wanted) {
  const focused = document.activeElement.id;
  const before = parts.get(parent) ?? new Map();
  const after = new Map();
  for (const [key, signature, build] of wanted) {
    const signed = JSON.stringify(signature);
    const old = before.get(key);
    after.set(key, old?.signed === signed ? old : { signed, element: build() });
  }
  parts.set(parent, after);
  const elements = Array.from(after.values(), (part) => part.element);
  for (const child of Array.from(parent.children)) if (!elements.includes(child)) child.remove();
  elements.forEach((element, place) => {
    if (parent.children[place] !== element) parent.insertBefore(element, parent.children[place] ?? null);
  });
  if (focused && document.activeElement === document.body) document.getElementById(focused)?.focus({ preventScroll: true });
}

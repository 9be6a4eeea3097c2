/** Elements and texts. Text never becomes HTML. */

export const find = (selector, root = document) => root.querySelector(selector);
export const findAll = (selector, root = document) => Array.from(root.querySelectorAll(selector));

/** Makes an element. A property with a dash in its name, or `role`, becomes an attribute. Skips children that are null,
    false, 0 or "". */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.flat().filter(Boolean));
  return element;
}

export const makeButton = (label, onclick, properties = {}, ...children) =>
  make("button", { type: "button", onclick, ...properties }, label, ...children);

// Characters that could mislead a reader are escaped, as in reports and on a terminal.
const CONTROL = /(?![\t\n])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;
const escapeCharacter = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

export const printable = (value) => String(value).replace(/\r\n?/g, "\n").replace(CONTROL, escapeCharacter);

/** Makes a paragraph, or another element, with text from outside the page. */
export const makeText = (value, className = "", tag = "p") => make(tag, { className, dir: "auto" }, printable(value));

/** Makes a sentence of an error's text. Keeps the case of file names. */
function toSentence(text) {
  const start = /^[a-z]+[\s,’']/.test(text) ? text.charAt(0).toUpperCase() : text.charAt(0);
  return `${start}${text.slice(1)}${/[.!?…)]$/.test(text) ? "" : "."}`;
}

/** Makes the elements of an error: what happened, what to do next, and where. */
export function makeError({ message, what = `this page has a fault: ${message}`, where, hint }) {
  const details = where && make("details", { className: "where" }, make("summary", {}, "Details"), makeText(where));
  return [makeText(toSentence(what), "what"), hint && makeText(toSentence(hint), "hint"), details].filter(Boolean);
}

export function formatSeconds(seconds) {
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 59.5) return `${Math.round(seconds)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

const formatSince = (startedAt) => formatSeconds((performance.now() - startedAt) / 1000);

/** Makes a running timer. */
export const makeTimer = (startedAt) =>
  make("span", { className: "duration", "data-started-at": String(startedAt) }, formatSince(startedAt));

export function updateTimers() {
  for (const timer of findAll("[data-started-at]")) timer.textContent = formatSince(timer.dataset.startedAt);
}

export function uuid() { // crypto.randomUUID needs https or this machine
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4}).(.{3}).(.{3})/, "$1-$2-4$3-8$4-");
}

const drawnParts = new WeakMap();

/** Fills `parent` with parts, each [key, signature, build], in this order. A part with an unchanged signature keeps its
    element, and thus its open details and selection. An element with an id keeps the focus. */
export function updateChildren(parent, parts) {
  const focusedId = document.activeElement.id;
  const before = drawnParts.get(parent) ?? new Map();
  const after = new Map();
  for (const [key, value, build] of parts) {
    const signature = JSON.stringify(value);
    const old = before.get(key);
    after.set(key, old?.signature === signature ? old : { signature, element: build() });
  }
  drawnParts.set(parent, after);
  const elements = Array.from(after.values(), ({ element }) => element);
  for (const child of Array.from(parent.children)) if (!elements.includes(child)) child.remove();
  elements.forEach((element, index) => {
    if (parent.children[index] !== element) parent.insertBefore(element, parent.children[index] ?? null);
  });
  if (focusedId && document.activeElement === document.body) {
    document.getElementById(focusedId)?.focus({ preventScroll: true });
  }
}

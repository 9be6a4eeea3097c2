/** An agent's output as readable fields. Items of lists link to the turns and frames that they cite. */

import { make, makeText, printable } from "./dom.js";

const EMOTIONS = new Set(["emotion", "final_emotion"]);
const CHIPS = new Set([
  ...EMOTIONS, "consistency", "goal", "stance", "tactic", "tone", "chosen_strategy", "secondary_strategy",
  "cause_category",
]);

const isEmpty = (value) => value === null || value === undefined || value.length === 0;
const isScalar = (value) => typeof value !== "object" || value === null;

function toText(value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Makes the fields. cite(kind, number): makes a link to turn or frame `number`. */
export function makeFields(output, cite) {
  if (isScalar(output)) return makeText(toText(output), "quote");
  const fields = Object.entries(output).filter(([, value]) => !isEmpty(value));
  return make("dl", { className: "fields" }, fields.map(([name, value]) => makeField(name, value, cite)));
}

function makeField(name, value, cite) {
  const [kind, description] = describeField(name, value, cite);
  return make("div", { className: `field ${kind}` }, make("dt", {}, printable(name.replaceAll("_", " "))), description);
}

/** Returns the kind of a field, as a class, and the element of its value. */
function describeField(name, value, cite) {
  if (Array.isArray(value)) {
    const items = value.map((item) => makeItem(item, cite));
    return ["list", make("dd", {}, make("ul", { className: "items" }, items))];
  }
  if (CHIPS.has(name)) {
    let className = "chip";
    if (EMOTIONS.has(name)) className += " emotion";
    else if (value === "conflict") className += " conflict";
    return ["chips", make("dd", {}, makeText(toText(value), className, "span"))];
  }
  if (name === "response") return ["list", makeText(toText(value), "quote", "dd")];
  return [name.startsWith("reasoning") ? "quiet" : "value", makeText(toText(value), "", "dd")];
}

function makeItem(item, cite) {
  if (isScalar(item)) return make("li", {}, makeText(toText(item), "", "span"));
  const cited = ["frame", "turn"].filter((kind) => Number.isInteger(item[kind]));
  const rest = Object.entries(item).filter(([name, value]) => !cited.includes(name) && !isEmpty(value));
  const texts = rest.map(([name, value]) => (rest.length === 1 ? toText(value) : `${name}: ${toText(value)}`));
  return make("li", {}, cited.map((kind) => cite(kind, item[kind])), makeText(texts.join(" · "), "", "span"));
}

/** An agent's output as readable fields. Items of lists link to the turns and frames that they cite. */

import { make, makeText, printable } from "./dom.js";

const CHIPS = new Set(["emotion", "final_emotion", "consistency", "goal", "stance", "tactic", "tone", "chosen_strategy", "secondary_strategy", "cause_category"]);
const LABELS = new Set(["emotion", "final_emotion"]);

const empty = (value) => value === null || value === undefined || value === "" || (Array.isArray(value) && !value.length);
const toText = (value) => (typeof value === "boolean" ? (value ? "yes" : "no") : typeof value === "string" ? value : JSON.stringify(value));

/** Makes the fields. cite(kind, number): makes a link to turn or frame `number`. */
export function makeFields(output, cite) {
  if (typeof output !== "object" || output === null) return makeText(toText(output), "quote");
  return make("dl", { className: "fields" },
    Object.entries(output).filter(([, value]) => !empty(value)).map(([name, value]) => field(name, value, cite)));
}

function field(name, value, cite) {
  const label = make("dt", {}, printable(name.replaceAll("_", " ")));
  if (Array.isArray(value)) {
    return make("div", { className: "field many" }, label, make("dd", {}, make("ul", { className: "lines" }, value.map((item) => line(item, cite)))));
  }
  if (CHIPS.has(name)) {
    const kind = LABELS.has(name) ? " emotion" : value === "conflict" ? " conflict" : "";
    return make("div", { className: "field chips" }, label, make("dd", {}, makeText(toText(value), `chip${kind}`, "span")));
  }
  if (name === "response") return make("div", { className: "field many" }, label, makeText(toText(value), "quote", "dd"));
  return make("div", { className: name.startsWith("reasoning") ? "field quiet" : "field" }, label, makeText(toText(value), "", "dd"));
}

function line(item, cite) {
  if (typeof item !== "object" || item === null) return make("li", {}, makeText(toText(item), "", "span"));
  const cites = ["frame", "turn"].filter((kind) => Number.isInteger(item[kind]));
  const rest = Object.entries(item).filter(([name, value]) => !cites.includes(name) && !empty(value));
  const words = rest.map(([name, value]) => (rest.length === 1 ? toText(value) : `${name}: ${toText(value)}`)).join(" · ");
  return make("li", {}, cites.map((kind) => cite(kind, item[kind])), makeText(words, "", "span"));
}

/** The routes of the API and the fields of their bodies, from openapi.json. */

import { find, make, makeError, printable } from "./dom.js";

function describeType({ type, anyOf, items, $ref, const: fixed, enum: values }) {
  if (fixed !== undefined) return JSON.stringify(fixed);
  if (values) return values.map((value) => JSON.stringify(value)).join(" or ");
  if (anyOf) return anyOf.filter((option) => option.type !== "null").map(describeType).join(" or ");
  if (type === "array") return `list of ${describeType(items ?? {})}`;
  return $ref?.split("/").at(-1) ?? type ?? "any";
}

function makeField(name, schema, isRequired) {
  const term = make("dt", {}, make("code", {}, printable(name)), isRequired && " (required)");
  return make("div", {}, term, make("dd", {}, printable(describeType(schema))));
}

const makeSchema = ({ properties = {}, required = [] }) =>
  make("dl", { className: "schema" },
    Object.entries(properties).map(([name, schema]) => makeField(name, schema, required.includes(name))));

function makeRoute(path, method, { summary, requestBody }) {
  const schema = requestBody?.content["application/json"]?.schema;
  const definitions = Object.entries(schema?.$defs ?? {});
  return make("section", {},
    make("h2", {}, make("code", {}, `${method.toUpperCase()} ${printable(path)}`)),
    make("p", { className: "note" }, printable(summary ?? "")),
    schema && makeSchema(schema),
    definitions.map(([name, definition]) => make("div", {}, make("h3", {}, printable(name)), makeSchema(definition))));
}

try {
  const response = await fetch("openapi.json");
  const { paths } = await response.json();
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, route] of Object.entries(methods)) find("#routes").append(makeRoute(path, method, route));
  }
} catch (error) {
  find("#routes").append(...makeError(error));
}

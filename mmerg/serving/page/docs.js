/** The routes of the API and the fields of their bodies, from openapi.json. */

import { find, make, makeError, printable } from "./dom.js";

const describeType = ({ type, anyOf, items, $ref, const: fixed, enum: values }) =>
  fixed !== undefined ? JSON.stringify(fixed)
    : values ? values.map((value) => JSON.stringify(value)).join(" or ")
      : anyOf ? anyOf.filter(({ type: option }) => option !== "null").map(describeType).join(" or ")
        : type === "array" ? `list of ${describeType(items ?? {})}` : $ref ? $ref.split("/").at(-1) : type ?? "any";

const makeRows = ({ properties = {}, required = [] }) => make("dl", { className: "schema" }, Object.entries(properties).map(([name, about]) =>
  make("div", {}, make("dt", {}, make("code", {}, printable(name)), required.includes(name) ? " (required)" : ""), make("dd", {}, printable(describeType(about))))));

function makeRoute(path, method, { summary, requestBody }) {
  const schema = requestBody?.content["application/json"]?.schema;
  return make("section", {}, make("h2", {}, make("code", {}, `${method.toUpperCase()} ${printable(path)}`)), make("p", { className: "note" }, printable(summary ?? "")),
    ...(schema ? [makeRows(schema), ...Object.entries(schema.$defs ?? {}).map(([name, about]) => make("div", {}, make("h3", {}, printable(name)), makeRows(about)))] : []));
}

try {
  const response = await fetch("openapi.json");
  const { paths } = await response.json();
  find("#routes").append(...Object.entries(paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, about]) => makeRoute(path, method, about))));
} catch (error) {
  find("#routes").append(...makeError(error));
}

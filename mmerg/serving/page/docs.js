/** The routes of the API and the fields of their bodies, from openapi.json. */

import { find, make, makeError, printable } from "./dom.js";

const kind = ({ type, anyOf, items, $ref, const: fixed, enum: some }) =>
  fixed !== undefined ? JSON.stringify(fixed)
    : some ? some.map((value) => JSON.stringify(value)).join(" or ")
      : anyOf ? anyOf.filter(({ type: of }) => of !== "null").map(kind).join(" or ")
        : type === "array" ? `list of ${kind(items ?? {})}` : $ref ? $ref.split("/").at(-1) : type ?? "any";

const rows = ({ properties = {}, required = [] }) => make("dl", { className: "schema" }, Object.entries(properties).map(([name, about]) =>
  make("div", {}, make("dt", {}, make("code", {}, printable(name)), required.includes(name) ? " (required)" : ""), make("dd", {}, printable(kind(about))))));

function route(path, method, { summary, requestBody }) {
  const schema = requestBody?.content["application/json"]?.schema;
  return make("section", {}, make("h2", {}, make("code", {}, `${method.toUpperCase()} ${printable(path)}`)), make("p", { className: "note" }, printable(summary ?? "")),
    ...(schema ? [rows(schema), ...Object.entries(schema.$defs ?? {}).map(([name, about]) => make("div", {}, make("h3", {}, printable(name)), rows(about)))] : []));
}

try {
  const answer = await fetch("openapi.json");
  const { paths } = await answer.json();
  find("#routes").append(...Object.entries(paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, about]) => route(path, method, about))));
} catch (error) {
  find("#routes").append(...makeError(error));
}

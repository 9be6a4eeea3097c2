/** The routes of the API and the fields of their bodies, from openapi.json. */

import { make, one, problem, shown } from "./dom.js";

const kind = ({ type, anyOf, items, $ref, const: fixed, enum: some }) =>
  fixed !== undefined ? JSON.stringify(fixed)
    : some ? some.map((value) => JSON.stringify(value)).join(" or ")
      : anyOf ? anyOf.filter(({ type: of }) => of !== "null").map(kind).join(" or ")
        : type === "array" ? `list of ${kind(items ?? {})}` : $ref ? $ref.split("/").at(-1) : type ?? "any";

const rows = ({ properties = {}, required = [] }) => make("dl", { className: "schema" }, Object.entries(properties).map(([name, about]) =>
  make("div", {}, make("dt", {}, make("code", {}, shown(name)), required.includes(name) ? " (required)" : ""), make("dd", {}, shown(kind(about))))));

function route(path, method, { summary, requestBody }) {
  const schema = requestBody?.content["application/json"]?.schema;
  return make("section", {}, make("h2", {}, make("code", {}, `${method.toUpperCase()} ${shown(path)}`)), make("p", { className: "note" }, shown(summary ?? "")),
    ...(schema ? [rows(schema), ...Object.entries(schema.$defs ?? {}).map(([name, about]) => make("div", {}, make("h3", {}, shown(name)), rows(about)))] : []));
}

try {
  const answer = await fetch("openapi.json");
  const { paths } = await answer.json();
  one("#routes").append(...Object.entries(paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, about]) => route(path, method, about))));
} catch (error) {
  one("#routes").append(...problem(error));
}

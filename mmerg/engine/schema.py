"""From a schema class to the JSON schema of one call, to its outline in the prompt, and back from the reply's text.

The three hold a reply to the same bounds: the server's grammar, what the model is told, and our validation, which
alone decides (servers ignore parts of a schema, or all of it). Knows nothing of prompts or backends.

    bounds = Bounds(seen=frozenset("DV"), choices={"emotion": ("joy", "sadness")}, counts={"turn": 3, "frame": 4})
    schema = json_schema(Forecast, bounds)
    forecast = parse(Forecast, bounds, reply.text)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from mmerg.errors import Failure, ReplyError
from mmerg.systems.fields import CHOICE, INDEX, NEEDS

Record = TypeVar("Record", bound=BaseModel)
Schema = dict[str, Any]


@dataclass(frozen=True)
class Bounds:
    """What a reply may refer to: inputs that the agent sees, words of each vocabulary, number of turns and frames."""

    seen: frozenset[str]
    choices: Mapping[str, tuple[str, ...]]
    counts: Mapping[str, int]

    @property
    def context(self) -> dict[str, Any]:
        return {**self.choices, **self.counts}


def json_schema(cls: type[BaseModel], bounds: Bounds) -> Schema:
    """The JSON schema of one call: references inlined, every field required, in class order, nothing else allowed."""
    raw = _raw(cls)
    schema = _concrete(raw, raw.get("$defs", {}), bounds)
    schema.pop("description", None)  # a class's docstring is for readers of the code
    return schema


@cache
def _raw(cls: type[BaseModel]) -> Schema:
    return cls.model_json_schema()


def _concrete(node: Schema, defs: Mapping[str, Schema], bounds: Bounds) -> Schema:
    if "$ref" in node:
        target = {k: v for k, v in defs[node["$ref"].rsplit("/", 1)[1]].items() if k != "description"}
        return _concrete({**target, **{k: v for k, v in node.items() if k != "$ref"}}, defs, bounds)
    if "anyOf" in node:  # optional only because it may not be asked for; where it is asked for, it is required
        [present] = [option for option in node["anyOf"] if option.get("type") != "null"]
        return _concrete({**present, **{k: v for k, v in node.items() if k != "anyOf"}}, defs, bounds)
    kept = {k: v for k, v in node.items() if k in ("type", "enum", "description", "minLength", "maxLength")}
    if "const" in node:
        kept["enum"] = [node["const"]]
    if CHOICE in node:
        kept["enum"] = list(bounds.choices[node[CHOICE]])
    if INDEX in node:
        kept |= {"minimum": 1, "maximum": bounds.counts[node[INDEX]]}
    if node.get("type") == "array":
        kept |= {k: node[k] for k in ("minItems", "maxItems") if k in node}
        kept["items"] = _concrete(node["items"], defs, bounds)
    if node.get("type") == "object":
        asked = {k: v for k, v in node["properties"].items() if v.get(NEEDS, "D") in bounds.seen | {"D"}}
        kept["properties"] = {name: _concrete(child, defs, bounds) for name, child in asked.items()}
        kept["required"] = list(asked)
        kept["additionalProperties"] = False
    return kept


def outline(schema: Schema) -> str:
    """The schema in words, a line per field, for the prompt: a server's grammar is not shown to the model."""
    return "\n".join(_lines(schema["properties"], ""))


def _lines(properties: Mapping[str, Schema], indent: str) -> list[str]:
    lines = []
    for node, alike in groupby(properties, key=lambda name: properties[name]):
        names = list(alike)
        about = f" ({node['description']})" if "description" in node else ""
        told = ", ".join(f'"{name}"' for name in names)
        lines.append(f"{indent}- {told}: {'each ' if len(names) > 1 else ''}{_kind(node)}{about}")
        inner = node.get("items", node)
        if inner.get("type") == "object":
            lines += _lines(inner["properties"], indent + "  ")
    return lines


def _kind(node: Schema) -> str:
    if "enum" in node:
        return "one of " + ", ".join(json.dumps(word, ensure_ascii=False) for word in node["enum"])
    plain = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
    match node["type"]:
        case "string" if "maxLength" in node:
            return f"text, at most {node['maxLength']} characters"
        case "integer" if "maximum" in node:
            return f"number {node['minimum']} to {node['maximum']}"
        case "array":
            return f"list of {node.get('minItems', 0)} to {node.get('maxItems', 'many')}, each {_kind(node['items'])}"
        case kind:
            return plain.get(kind, "an object with")


def parse(cls: type[Record], bounds: Bounds, text: str) -> Record:
    """The record in `text`. Raises ReplyError (schema_invalid) whose `what` is the complaint to show to the model."""
    try:
        record = cls.model_validate_json(text, strict=True, context=bounds.context)
    except ValidationError as error:
        raise ReplyError(Failure.SCHEMA_INVALID, _complaint(error)) from error
    asked = json_schema(cls, bounds)["required"]
    if unasked := sorted(record.model_fields_set - set(asked)):
        raise ReplyError(Failure.SCHEMA_INVALID, f"{', '.join(unasked)}: was not asked for")
    for name in asked:
        if name not in record.model_fields_set or getattr(record, name) is None:
            raise ReplyError(Failure.SCHEMA_INVALID, f'"{name}" is missing')
    return record


def _complaint(error: ValidationError) -> str:
    """Each violation with its place, in the model's terms."""
    lines = []
    for item in error.errors(include_url=False, include_input=False)[:8]:
        place = ".".join(str(part) for part in item["loc"])
        what = item["msg"].removeprefix("Value error, ")
        lines.append(f"{place}: {what}" if place else what)
    return "; ".join(lines)

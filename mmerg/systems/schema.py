"""The JSON schema of one call and its outline in the prompt, made from a schema class.

The server's grammar, the outline and the validation (`mmerg.systems.parsing`) have the same bounds.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from pydantic import BaseModel, JsonValue
from pydantic.errors import PydanticUserError

from mmerg.errors import ConfigError
from mmerg.systems.fields import QUOTED, list_quotes
from mmerg.systems.wire import Node, get_items, get_nodes, to_wire

IGNORED = {"title", "default", "format", "uniqueItems", "examples", "deprecated"}  # no grammar can enforce these
PLAIN = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
LIMITS = {  # keys of a node that bound its value, with their text in the outline
    "x-words": "at most {} words",  # maxLength leaves room for these
    "maxLength": "at most {} characters",
    "x-form": "{}",  # replaces a pattern, or the list of all quotes
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "over {}",
    "exclusiveMaximum": "under {}",
    "multipleOf": "a multiple of {}",
    "minLength": "",
    "minItems": "",
    "maxItems": "",
}
# The keys of a node, in the order of digests (part of a run's identity) and of requests.
KEYS = (
    *("type", "enum", "description", "minLength", "maxLength", "pattern", "minimum", "maximum"),
    *("exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "items", "properties"),
    *("required", "additionalProperties", "const", "$defs", "x-choice", "x-index", "x-needs", "x-quote"),
    *("x-words", "x-form"),
)
PORTABLE = re.compile(r"\^(?!.*(\\|\(\?)).*\$")  # matches patterns that mean the same in grammars and in pydantic


@dataclass(frozen=True)
class Bounds:
    """The bounds of an output in one call."""

    inputs: frozenset[str]  # the symbols of the inputs that the agent sees
    choices: Mapping[str, tuple[str, ...]]  # the words of each vocabulary, by its name
    counts: Mapping[str, range]  # the turns and frames that may be cited, from 1, by "turn" and "frame"
    quotable: tuple[str, ...] = ()  # the texts of the turns that may be quoted


@dataclass(frozen=True)
class Schema:
    """The schema of one call."""

    text: str  # JSON as it is sent to a server, with wire names
    outline: str  # for the prompt, one line for each field
    node: Node  # the schema with the names of the class

    @property
    def required(self) -> tuple[str, ...]:
        """The class names of all requested fields."""
        return tuple(get_nodes(self.node, "properties"))


def build_json_schema(cls: type[BaseModel], bounds: Bounds) -> Schema:
    """Builds the JSON schema of one call: without references, in class order, with wire names, every field required."""
    node = _apply_bounds(_plain_schema(cls), bounds)
    on_wire = to_wire(node)
    outline = "\n".join(_outline_lines(get_nodes(on_wire, "properties"), ""))
    return Schema(_dump(on_wire, "x-words", "x-form"), outline, node)


def digest_schema(cls: type[BaseModel]) -> str:
    """Returns a text that is equal for equal schema classes, wherever they are defined."""
    return _dump(_plain_schema(cls), "x-words")


def find_vocabularies(cls: type[BaseModel]) -> set[str]:
    """Returns the names of the vocabularies from which fields of a class choose, at any depth. Raises ConfigError for a
    field whose type no grammar or outline can express."""
    return {_text(node, "x-choice") for node in _nodes(_plain_schema(cls)) if "x-choice" in node}


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for inner in (*get_nodes(node, "properties").values(), get_items(node)):
        yield from _nodes(inner) if inner else ()


def _text(node: Node, key: str) -> str:
    text = node.get(key)
    return text if isinstance(text, str) else ""


def _dump(node: Node, *omitted: str) -> str:
    """Returns a node as JSON without the keys `omitted`, at any depth."""

    def without(node: JsonValue) -> JsonValue:
        if not isinstance(node, dict):
            return node
        return {key: without(child) for key, child in node.items() if key not in omitted}

    return json.dumps(without(node), ensure_ascii=False, separators=(",", ":"))


@cache
def _plain_schema(cls: type[BaseModel]) -> Node:
    """Returns the JSON schema of a class without references and without docstrings, which `python -OO` removes."""
    try:
        schema = cls.model_json_schema()
    except PydanticUserError as error:
        raise _make_type_error(cls.__name__) from error
    if schema != cls.model_json_schema(by_alias=False):
        raise _make_type_error(cls.__name__)
    return _inline({**schema, "description": None}, get_nodes(schema, "$defs"), cls.__name__, ())


def _inline(node: Node, defs: Mapping[str, Node], place: str, above: tuple[str, ...]) -> Node:
    """Returns the node with references resolved, and with X for `X | None`, as only a field that is not requested may
    be None. Raises ConfigError for a type that is not supported.

    defs: the definitions to which references point. place: names the field in errors. above: the references that are
    being resolved.
    """
    any_of, ref = node.get("anyOf"), _text(node, "$ref")
    alternatives = any_of if isinstance(any_of, list) else []
    options = [option for option in alternatives if isinstance(option, dict) and option.get("type") != "null"]
    if len(options) > 1 or ref in above:
        raise _make_type_error(place)
    if options or ref:
        inner = options[0] if options else {**defs[ref.rsplit("/", 1)[1]], "description": None}
        rest = {key: value for key, value in node.items() if key not in ("$ref", "anyOf")}
        return _inline(inner | rest, defs, place, (*above, ref) if ref else above)
    kind = _text(node, "type")
    is_whole = {"object": bool(node.get("properties")), "array": "items" in node}.get(kind, kind in PLAIN)
    if set(node) - {*KEYS, *IGNORED} or not (is_whole or "enum" in node or "const" in node):
        raise _make_type_error(place)
    fields = get_nodes(node, "properties").items()
    children: Node = {name: _inline(field, defs, f"{place}.{name}", above) for name, field in fields}
    items = _inline(get_items(node), defs, place, above) if "items" in node else None
    whole: Node = {**node, "properties": children or None, "items": items, "$defs": {}}
    return {key: whole[key] for key in (*KEYS, *node) if whole.get(key) is not None}


def _apply_bounds(node: Node, bounds: Bounds) -> Node:
    """Returns the node for one call: with the words, numbers, quotes and fields that the bounds allow."""
    kept: Node = {key: node.get(key) for key in ("type", "enum", "description")}
    if "const" in node:
        kept["enum"] = [node["const"]]
    if choice := _text(node, "x-choice"):
        kept["enum"] = [*bounds.choices[choice]]
    if cited := _text(node, "x-index"):
        numbers = bounds.counts[cited]
        kept |= {"minimum": numbers.start, "maximum": numbers.stop - 1}
    elif kept["enum"] is None:
        pattern = _text(node, "pattern")
        kept |= {name: node.get(name) for name in LIMITS} | {"x-form": f"of the form {pattern}" if pattern else None}
        kept["pattern"] = pattern if PORTABLE.fullmatch(pattern) else None
    if "x-quote" in node:
        kept |= {"enum": [*list_quotes(bounds.quotable)], "x-form": QUOTED}
    if items := get_items(node):
        kept["items"] = _apply_bounds(items, bounds)
    if fields := get_nodes(node, "properties"):
        requested = [name for name, field in fields.items() if _text(field, "x-needs") in bounds.inputs | {""}]
        kept["properties"] = {name: _apply_bounds(fields[name], bounds) for name in requested}
        kept |= {"required": [*requested], "additionalProperties": False}
    return {key: kept[key] for key in KEYS if kept.get(key) is not None}


def _make_type_error(place: str) -> ConfigError:
    return ConfigError(
        f"{place} is of a type that no model can be asked for",
        where=place,
        hint="use text, numbers, booleans, Literal, Choice, Index, lists of one of them (list[X], tuple[X, …, ...]), "
        "and classes of such fields, without aliases; X | None with needs(…) for what is not always asked for",
    )


def _outline_lines(properties: Mapping[str, Node], indent: str) -> list[str]:
    """Returns the outline of fields. Neighbouring fields with equal nodes share a line."""
    lines = []
    for node, group in groupby(properties, key=lambda name: properties[name]):
        names, inner = list(group), node
        while items := get_items(inner):
            inner = items
        descriptions = dict.fromkeys(filter(None, (_text(node, "description"), _text(inner, "description"))))
        description = f" ({'; '.join(descriptions)})" if descriptions else ""
        quoted = ", ".join(f'"{name}"' for name in names)
        lines.append(f"{indent}- {quoted}: {'each ' if len(names) > 1 else ''}{_describe_type(node)}{description}")
        lines += _outline_lines(get_nodes(inner, "properties"), indent + "  ")
    return lines


def _describe_type(node: Node) -> str:
    """Returns the type and limits of a field for the outline."""
    if isinstance(choices := node.get("enum"), list) and "x-form" not in node:
        return "one of " + ", ".join(json.dumps(word, ensure_ascii=False) for word in choices)
    kind = _text(node, "type") or "object"
    if kind == "array":
        item = _describe_type(get_items(node))
        return f"list of {node.get('minItems', 0)} to {node.get('maxItems', 'many')}, each {item}"
    if kind == "integer" and {"minimum", "maximum"} <= node.keys():
        return f"number {node['minimum']} to {node['maximum']}"
    limits = [name for name in LIMITS if name in node and not (name == "maxLength" and "x-words" in node)]
    bounds = (LIMITS[name].format(node[name]) for name in limits)
    return ", ".join(filter(None, (PLAIN.get(kind, "an object with"), *bounds)))

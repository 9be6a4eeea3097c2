"""The JSON schema of one call and its outline in the prompt, made from a schema class; and parsing of the reply.

The server's grammar, the outline and the validation have the same bounds. Only the validation decides, as servers may
ignore a schema or parts of it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import groupby
from typing import TypeVar

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import from_json

from mmerg.errors import ConfigError, Failure, ReplyError, SampleError, format_exception, locate_error
from mmerg.storage.json_objects import find_objects
from mmerg.systems.fields import QUOTE, QUOTED, REMOVED, list_quotes
from mmerg.systems.wire import Node, from_wire, get_items, get_nodes, to_wire, wire_path

Record = TypeVar("Record", bound=BaseModel)
IDLE = {"title", "default", "format", "uniqueItems", "examples", "deprecated"}  # no grammar can enforce these
PLAIN = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
LIMITS = {  # with their text in the outline
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
_BETWEEN = re.compile(r"\s|```(?:json)?")  # may surround JSON
GRAMMATICAL = re.compile(r"\^(?!.*(\\|\(\?)).*\$")  # a pattern with the same meaning in grammars and pydantic


@dataclass(frozen=True)
class Bounds:
    """The bounds of a reply. inputs: of the agent. choices: the words of each vocabulary. counts: the numbers of turns
    and frames. quotable: texts of turns."""

    inputs: frozenset[str]
    choices: Mapping[str, tuple[str, ...]]
    counts: Mapping[str, range]
    quotable: tuple[str, ...] = ()

    def __hash__(self) -> int:
        return hash((self.inputs, *self.choices.items(), *self.counts.items(), self.quotable))


@dataclass(frozen=True)
class Schema:
    """text: the JSON schema of one call as sent to a server. outline: for the prompt, one line for each field. node:
    the schema with the names of the class."""

    text: str
    outline: str
    node: Node

    @property
    def required(self) -> tuple[str, ...]:
        """The class names of all fields."""
        return tuple(get_nodes(self.node, "properties"))


def build_json_schema(cls: type[BaseModel], bounds: Bounds) -> Schema:
    """The JSON schema of one call: without references, every field required, in class order, with wire names."""
    return _build(cls, bounds if _quotes(cls) else replace(bounds, quotable=()))


@cache
def _quotes(cls: type[BaseModel]) -> bool:
    """Whether a field of the class, at any depth, holds a quote."""
    return any("x-quote" in node for node in _nodes(_plain_schema(cls)))


@lru_cache(maxsize=512)  # samples with equal numbers of turns and frames share a schema, except for quotes
def _build(cls: type[BaseModel], bounds: Bounds) -> Schema:
    node = _concrete(_plain_schema(cls), bounds)
    sent = to_wire(node)
    return Schema(_dump(sent, "x-words", "x-form"), "\n".join(_lines(get_nodes(sent, "properties"), "")), node)


def digest_schema(cls: type[BaseModel]) -> str:
    """A text that is equal for equal schema classes, wherever they are defined."""
    return _dump(_plain_schema(cls), "x-words")


def find_vocabularies(cls: type[BaseModel]) -> set[str]:
    """The vocabularies of a class, at any depth. Raises ConfigError for a field whose type no grammar or outline can
    express."""
    return {_text(node, "x-choice") for node in _nodes(_plain_schema(cls)) if "x-choice" in node}


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for inner in (*get_nodes(node, "properties").values(), get_items(node)):
        yield from _nodes(inner) if inner else ()


def _text(node: Node, key: str) -> str:
    """The text at `key`; "" if there is none."""
    text = node.get(key)
    return text if isinstance(text, str) else ""


def _dump(node: Node, *but_for: str) -> str:
    def kept(node: JsonValue) -> JsonValue:
        return {key: kept(one) for key, one in node.items() if key not in but_for} if isinstance(node, dict) else node

    return json.dumps(kept(node), ensure_ascii=False, separators=(",", ":"))


@cache
def _plain_schema(cls: type[BaseModel]) -> Node:
    """The JSON schema of a class without references and docstrings, which `python -OO` removes."""
    try:
        schema = cls.model_json_schema()
    except PydanticUserError as error:
        raise _unsupported(cls.__name__, f"is of a type that JSON does not know ({error.message})") from error
    if schema != cls.model_json_schema(by_alias=False):
        raise _unsupported(cls.__name__, "has a field with an alias")
    return _inlined({**schema, "description": None}, get_nodes(schema, "$defs"), cls.__name__, ())


def _inlined(node: Node, defs: Mapping[str, Node], place: str, above: tuple[str, ...]) -> Node:
    """The node with references resolved, and X for `X | None`: such a field may only not be requested."""
    any_of, ref = node.get("anyOf", []), _text(node, "$ref")
    either = any_of if isinstance(any_of, list) else []
    options = [option for option in either if isinstance(option, dict) and option.get("type") != "null"]
    if len(options) > 1:
        raise _unsupported(place, "is of several types")
    if options or ref:
        if ref in above:
            raise _unsupported(place, "holds itself")
        inner = options[0] if options else {**defs[ref.rsplit("/", 1)[1]], "description": None}
        own = {key: value for key, value in node.items() if key not in ("$ref", "anyOf")}
        return _inlined(inner | own, defs, place, (*above, ref) if ref else above)
    kind, odd = _text(node, "type"), sorted(set(node) - {*KEYS, *IDLE})
    refused = {
        "is a list whose items are not all of one type": "prefixItems" in odd
        or (kind == "array" and "items" not in node),
        "has no fields" if "properties" in node else "is a dict": kind == "object" and not node.get("properties"),
        f"is {', '.join(odd)}": bool(odd),
        "may be anything": not (kind in (*PLAIN, "array", "object") or "enum" in node or "const" in node),
    }
    for what, holds in refused.items():
        if holds:
            raise _unsupported(place, what)
    fields = get_nodes(node, "properties").items()
    children: Node = {name: _inlined(one, defs, f"{place}.{name}", above) for name, one in fields}
    items = _inlined(get_items(node), defs, place, above) if "items" in node else None
    whole: Node = {**node, "properties": children or None, "items": items, "$defs": {}}
    return {key: whole[key] for key in (*KEYS, *node) if whole.get(key) is not None}


def _concrete(node: Node, bounds: Bounds) -> Node:
    """The node for one call."""
    kept: Node = {key: node.get(key) for key in ("type", "enum", "description")}
    if "const" in node:
        kept["enum"] = [node["const"]]
    if choice := _text(node, "x-choice"):
        kept["enum"] = [*bounds.choices[choice]]
    if counted := _text(node, "x-index"):
        numbers = bounds.counts[counted]
        kept |= {"minimum": numbers.start, "maximum": numbers.stop - 1}
    elif kept["enum"] is None:
        pattern = _text(node, "pattern")
        kept |= {name: node.get(name) for name in LIMITS} | {"x-form": f"of the form {pattern}" if pattern else None}
        kept["pattern"] = pattern if GRAMMATICAL.fullmatch(pattern) else None
    if "x-quote" in node:
        kept |= {"enum": [*list_quotes(bounds.quotable)], "x-form": QUOTED}
    if items := get_items(node):
        kept["items"] = _concrete(items, bounds)
    if fields := get_nodes(node, "properties"):
        asked = [name for name, one in fields.items() if _text(one, "x-needs") in bounds.inputs | {""}]
        kept["properties"] = {name: _concrete(fields[name], bounds) for name in asked}
        kept |= {"required": [*asked], "additionalProperties": False}
    return {key: kept[key] for key in KEYS if kept.get(key) is not None}


def _unsupported(place: str, what: str) -> ConfigError:
    return ConfigError(
        f"{place} {what}, which no model can be asked for",
        where=place,
        hint="text, numbers, booleans, Literal, Choice, Index, lists of one of them (list[X], tuple[X, …, ...]), and "
        "classes of such fields, without aliases; X | None with needs(…) for what is not always asked for",
    )


def _lines(properties: Mapping[str, Node], indent: str) -> list[str]:
    lines = []
    for node, alike in groupby(properties, key=lambda name: properties[name]):
        names, inner = list(alike), node
        while items := get_items(inner):
            inner = items
        words = "; ".join(dict.fromkeys(filter(None, (_text(one, "description") for one in (node, inner)))))
        about = f" ({words})" if words else ""
        quoted = ", ".join(f'"{name}"' for name in names)
        lines.append(f"{indent}- {quoted}: {'each ' if len(names) > 1 else ''}{_kind(node)}{about}")
        lines += _lines(get_nodes(inner, "properties"), indent + "  ")
    return lines


def _kind(node: Node) -> str:
    if isinstance(choices := node.get("enum"), list) and "x-form" not in node:
        return "one of " + ", ".join(json.dumps(word, ensure_ascii=False) for word in choices)
    kind = _text(node, "type") or "object"
    if kind == "array":
        return f"list of {node.get('minItems', 0)} to {node.get('maxItems', 'many')}, each {_kind(get_items(node))}"
    if kind == "integer" and {"minimum", "maximum"} <= node.keys():
        return f"number {node['minimum']} to {node['maximum']}"
    limits = [name for name in LIMITS if name in node and not (name == "maxLength" and "x-words" in node)]
    bounds = (LIMITS[name].format(node[name]) for name in limits)
    return ", ".join(filter(None, (PLAIN.get(kind, "an object with"), *bounds)))


def parse_output(cls: type[Record], bounds: Bounds, text: str) -> tuple[Record, tuple[str, ...]]:
    """The record in a model's `text`, and the removals: words around the JSON object, ends of long texts. Uses the last
    valid object, unless the text consists of different objects. Raises ReplyError (schema_invalid) with the complaint
    for the model as `what`."""
    node = build_json_schema(cls, bounds).node

    def read(part: str, taken: list[str]) -> tuple[Record, tuple[str, ...]]:
        record = _validated(cls, bounds, from_wire(part, node), node, taken)
        return record, tuple(dict.fromkeys(taken))

    if _is_json(text):
        return read(text, [])
    objects = [text[place.start : place.stop] for place in find_objects(text)]
    differ = any(json.loads(one) != json.loads(objects[0]) for one in objects)
    if differ and _BETWEEN.sub("", text) == _BETWEEN.sub("", "".join(objects)):
        raise ReplyError(Failure.SCHEMA_INVALID, "the answer is several JSON objects that differ; write one")
    for one in reversed(objects):
        with suppress(ReplyError):
            return read(one, ["words around the JSON"])
    # The complaint is about the last object, unless a later brace shows that it is inside of a broken one.
    return read(objects[-1] if objects and text[: text.rfind("}") + 1].endswith(objects[-1]) else text, [])


def validate_output(cls: type[Record], bounds: Bounds, value: object) -> Record:
    """The record in a `value` that code returns, with class names. Raises ReplyError (schema_invalid), and TypeError or
    ValueError if JSON cannot hold it."""
    return _validated(cls, bounds, json.dumps(value), {}, [])


def _validated(cls: type[Record], bounds: Bounds, text: str, node: Node, taken: list[str]) -> Record:
    """The record in JSON with class names. node: gives wire names for complaints; {}: class names."""
    context = {**bounds.choices, **bounds.counts, QUOTE: bounds.quotable, REMOVED: taken}
    try:
        record = cls.model_validate_json(text, strict=True, context=context)
    except ValidationError as error:
        raise ReplyError(Failure.SCHEMA_INVALID, _complaint(error, node)) from error
    except Exception as error:  # a user's validator may raise anything; pydantic handles ValueError
        what = f"{cls.__name__} raised {format_exception(error)}"
        hint = "raise ValueError in a validator for a wrong reply: the model is shown its text"
        raise SampleError(Failure.CODE_ERROR, what, where=locate_error(error), hint=hint) from error
    asked = build_json_schema(cls, bounds).required
    if unasked := sorted(record.model_fields_set - set(asked)):
        raise ReplyError(Failure.SCHEMA_INVALID, f"{', '.join(unasked)}: was not asked for")
    for name in asked:
        if name not in record.model_fields_set or getattr(record, name) is None:
            raise ReplyError(Failure.SCHEMA_INVALID, f'"{wire_path([name], node)}" is missing')
    return record


def _is_json(text: str) -> bool:
    try:
        from_json(text)
    except ValueError:
        return False
    return True


def _complaint(error: ValidationError, node: Node) -> str:
    """Each violation and its place."""
    lines = []
    for item in error.errors(include_url=False, include_input=False)[:8]:
        place = wire_path(item["loc"], node)
        what = item["msg"].removeprefix("Value error, ")
        lines.append(f"{place}: {what}" if place else what)
    return "; ".join(lines)

"""From a schema class to the JSON schema of one call, to its outline in the prompt, and back from the reply's text.

The three hold a reply to the same bounds: the server's grammar, what the model is told, and our validation, which
alone decides (servers ignore parts of a schema, or all of it).
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import groupby
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import from_json

from mmerg.errors import ConfigError, Failure, ReplyError, SampleError, described, raised_at
from mmerg.systems.fields import QUOTE, QUOTED, TAKEN, quotes

Node: TypeAlias = dict[str, Any]  # of a JSON schema
Record = TypeVar("Record", bound=BaseModel)
IDLE = {"title", "default", "format", "uniqueItems", "examples", "deprecated"}  # say nothing that a grammar can hold to
PLAIN = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
LIMITS = {  # and what the outline says of them
    "x-words": "at most {} words",  # for which maxLength leaves room
    "maxLength": "at most {} characters",
    "x-form": "{}",  # in place of a pattern, or of all quotes
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "over {}",
    "exclusiveMaximum": "under {}",
    "multipleOf": "a multiple of {}",
    "minLength": "",
    "minItems": "",
    "maxItems": "",
}
# What a node may hold, in the order of digests, which are a part of a run's identity, and of what servers are sent.
KEYS = (
    *("type", "enum", "description", "minLength", "maxLength", "pattern", "minimum", "maximum"),
    *("exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "items", "properties"),
    *("required", "additionalProperties", "const", "$defs", "x-choice", "x-index", "x-needs", "x-quote"),
    *("x-words", "x-form"),
)
GRAMMATICAL = re.compile(r"\^(?!.*(\\|\(\?)).*\$")  # a pattern that servers' grammars read as pydantic does


@dataclass(frozen=True)
class Bounds:
    """What a reply may refer to: inputs that the agent sees, words of each vocabulary, number of turns and frames, and
    turns that may be quoted."""

    seen: frozenset[str]
    choices: Mapping[str, tuple[str, ...]]
    counts: Mapping[str, int]
    quotable: tuple[str, ...] = ()

    def __hash__(self) -> int:
        return hash((self.seen, *self.choices.items(), *self.counts.items(), self.quotable))


@dataclass(frozen=True)
class Schema:
    """The JSON schema of one call, as a server is sent it; the outline, in words, a line a field, for the prompt (a
    server's grammar is not shown to the model); the fields, all of which are asked for."""

    text: str
    outline: str
    required: tuple[str, ...]


def json_schema(cls: type[BaseModel], bounds: Bounds) -> Schema:
    """The JSON schema of one call: references inlined, every field required, in class order, nothing else allowed."""
    quoting = any("x-quote" in node for node in _nodes(_plain_schema(cls)))
    return _build(cls, bounds if quoting else replace(bounds, quotable=()))


@lru_cache(maxsize=512)  # samples with as many turns and frames share theirs, but for what is quoted
def _build(cls: type[BaseModel], bounds: Bounds) -> Schema:
    node = _concrete(_plain_schema(cls), bounds)
    outline = "\n".join(_lines(node["properties"], ""))
    return Schema(_dump(node, "x-words", "x-form"), outline, node["required"])


def schema_digest(cls: type[BaseModel]) -> str:
    """What two equal schema classes have in common, wherever they are written."""
    return _dump(_plain_schema(cls), "x-words")


def vocabularies(cls: type[BaseModel]) -> set[str]:
    """The vocabularies that a class chooses from, at any depth. Raises ConfigError, naming the field, for a type that
    no grammar or outline can tell a model, or that no value can be of."""
    return {node["x-choice"] for node in _nodes(_plain_schema(cls)) if "x-choice" in node}


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for inner in (*node.get("properties", {}).values(), *([node["items"]] if "items" in node else [])):
        yield from _nodes(inner)


def _dump(node: Node, *but_for: str) -> str:
    def kept(node: Any) -> Any:
        return {key: kept(one) for key, one in node.items() if key not in but_for} if isinstance(node, dict) else node

    return json.dumps(kept(node), ensure_ascii=False, separators=(",", ":"))


@cache
def _plain_schema(cls: type[BaseModel]) -> Node:
    """What pydantic says of a class, without references. Docstrings are for readers of the code, and `python -OO` has
    none."""
    try:
        schema = cls.model_json_schema()
    except PydanticUserError as error:
        raise _unsupported(cls.__name__, f"is of a type that JSON does not know ({error.message})") from error
    if schema != cls.model_json_schema(by_alias=False):
        raise _unsupported(cls.__name__, "has a field with an alias")
    return _inlined({**schema, "description": None}, schema.get("$defs", {}), cls.__name__, ())


def _inlined(node: Node, defs: Mapping[str, Node], place: str, above: tuple[str, ...]) -> Node:
    """The node with what it refers to, or the one type of `X | None`, in its place: it is optional only because it may
    not be asked for; where it is asked for, it is required."""
    options = [option for option in node.get("anyOf", ()) if option.get("type") != "null"]
    ref: str = node.get("$ref", "")
    if len(options) > 1:
        raise _unsupported(place, "is of several types")
    if options or ref:
        if ref in above:
            raise _unsupported(place, "holds itself")
        inner = options[0] if options else {**defs[ref.rsplit("/", 1)[1]], "description": None}
        own = {key: value for key, value in node.items() if key not in ("$ref", "anyOf")}
        return _inlined(inner | own, defs, place, (*above, ref) if ref else above)
    kind, odd = node.get("type"), sorted(set(node) - {*KEYS, *IDLE})
    refused = {
        "is a list whose items are not all of one type": "prefixItems" in odd
        or (kind == "array" and "items" not in node),
        "is a dict": kind == "object" and "properties" not in node,
        f"is {', '.join(odd)}": bool(odd),
        "may be anything": not (kind in (*PLAIN, "array", "object") or "enum" in node or "const" in node),
        "has limits that contradict each other": _is_void(node),
    }
    for what, holds in refused.items():
        if holds:
            raise _unsupported(place, what)
    children = {name: _inlined(one, defs, f"{place}.{name}", above) for name, one in node.get("properties", {}).items()}
    items = _inlined(node["items"], defs, place, above) if "items" in node else None
    whole = {**node, "properties": children or None, "items": items, "$defs": {}}
    return {key: whole[key] for key in (*KEYS, *node) if whole.get(key) is not None}


def _is_void(node: Node) -> bool:
    """Whether no value is within the node's limits, of which it has those of one type."""
    least = [node[limit] for limit in ("minLength", "minItems", "minimum") if limit in node]
    most = [node[limit] for limit in ("maxLength", "maxItems", "maximum") if limit in node]
    least += [math.nextafter(node[limit], math.inf) for limit in ["exclusiveMinimum"] if limit in node]
    most += [math.nextafter(node[limit], -math.inf) for limit in ["exclusiveMaximum"] if limit in node]
    return bool(max(least, default=-math.inf) > min(most, default=math.inf))


def _concrete(node: Node, bounds: Bounds) -> Node:
    """The node as it is asked for in one call."""
    kept = {key: node.get(key) for key in ("type", "enum", "description")}
    if "const" in node:
        kept["enum"] = (node["const"],)
    if "x-choice" in node:
        kept["enum"] = bounds.choices[node["x-choice"]]
    if "x-index" in node:
        kept |= {"minimum": 1, "maximum": bounds.counts[node["x-index"]]}
    elif kept["enum"] is None:
        pattern = node.get("pattern")
        kept |= {name: node.get(name) for name in LIMITS} | {"x-form": f"of the form {pattern}" if pattern else None}
        kept["pattern"] = pattern if pattern and GRAMMATICAL.fullmatch(pattern) else None
    if "x-quote" in node:
        kept |= {"enum": quotes(bounds.quotable), "x-form": QUOTED}
    if "items" in node:
        kept["items"] = _concrete(node["items"], bounds)
    if "properties" in node:
        asked = {
            name: one for name, one in node["properties"].items() if one.get("x-needs", "D") in bounds.seen | {"D"}
        }
        kept["properties"] = {name: _concrete(one, bounds) for name, one in asked.items()}
        kept |= {"required": tuple(asked), "additionalProperties": False}
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
        names, inner = list(alike), node.get("items", node)
        words = "; ".join(dict.fromkeys(one["description"] for one in (node, inner) if "description" in one))
        about = f" ({words})" if words else ""
        quoted = ", ".join(f'"{name}"' for name in names)
        lines.append(f"{indent}- {quoted}: {'each ' if len(names) > 1 else ''}{_kind(node)}{about}")
        lines += _lines(inner.get("properties", {}), indent + "  ")
    return lines


def _kind(node: Node) -> str:
    if "enum" in node and "x-form" not in node:
        return "one of " + ", ".join(json.dumps(word, ensure_ascii=False) for word in node["enum"])
    kind = node.get("type", "object")
    if kind == "array":
        return f"list of {node.get('minItems', 0)} to {node.get('maxItems', 'many')}, each {_kind(node['items'])}"
    if kind == "integer" and {"minimum", "maximum"} <= node.keys():
        return f"number {node['minimum']} to {node['maximum']}"
    limits = [name for name in LIMITS if name in node and not (name == "maxLength" and "x-words" in node)]
    bounds = (LIMITS[name].format(node[name]) for name in limits)
    return ", ".join(filter(None, (PLAIN.get(kind, "an object with"), *bounds)))


def parse(cls: type[Record], bounds: Bounds, text: str) -> tuple[Record, tuple[str, ...]]:
    """The record in `text`, and what was taken off it: words around the one JSON object, ends of texts that are too
    long. Raises ReplyError (schema_invalid) whose `what` is the complaint to show to the model."""
    inner = _object_in(text)
    taken = ["words around the JSON"] if inner != text else []
    context = {**bounds.choices, **bounds.counts, QUOTE: bounds.quotable, TAKEN: taken}
    try:
        record = cls.model_validate_json(inner, strict=True, context=context)
    except ValidationError as error:
        raise ReplyError(Failure.SCHEMA_INVALID, _complaint(error)) from error
    except (Exception, SystemExit) as error:  # a user's validator may raise anything; ValueError is pydantic's own
        what = f"{cls.__name__} raised {described(error)}"
        hint = "let a validator raise ValueError for a reply that is wrong: the model is shown its text"
        raise SampleError(Failure.CODE_ERROR, what, where=raised_at(error), hint=hint) from error
    asked = json_schema(cls, bounds).required
    if unasked := sorted(record.model_fields_set - set(asked)):
        raise ReplyError(Failure.SCHEMA_INVALID, f"{', '.join(unasked)}: was not asked for")
    for name in asked:
        if name not in record.model_fields_set or getattr(record, name) is None:
            raise ReplyError(Failure.SCHEMA_INVALID, f'"{name}" is missing')
    return record, tuple(dict.fromkeys(taken))


def _object_in(text: str) -> str:
    """The one JSON object in a text that is no JSON as it stands, such as a code fence around it; else the text."""
    inner = text[text.find("{") : text.rfind("}") + 1]
    return inner if not _is_json(text) and _is_json(inner) else text


def _is_json(text: str) -> bool:
    try:
        from_json(text)
    except ValueError:
        return False
    return True


def _complaint(error: ValidationError) -> str:
    """Each violation with its place, in the model's terms."""
    lines = []
    for item in error.errors(include_url=False, include_input=False)[:8]:
        place = ".".join(str(part) for part in item["loc"])
        what = item["msg"].removeprefix("Value error, ")
        lines.append(f"{place}: {what}" if place else what)
    return "; ".join(lines)

"""From a schema class to the JSON schema of one call, to its outline in the prompt, and back from the reply's text.

The three hold a reply to the same bounds: the server's grammar, what the model is told, and our validation, which
alone decides (servers ignore parts of a schema, or all of it).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import groupby
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import from_json

from mmerg.errors import ConfigError, Failure, ReplyError, SampleError, described, raised_at
from mmerg.systems.fields import QUOTE, QUOTED, TAKEN, quotes

Record = TypeVar("Record", bound=BaseModel)
IDLE = {"title", "default", "format", "uniqueItems", "examples", "deprecated"}  # say nothing that a grammar can hold to
PLAIN = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
LIMITS = {  # and what the outline says of them
    "words": "at most {} words",
    "maxLength": "at most {} characters",
    "form": "{}",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "over {}",
    "exclusiveMaximum": "under {}",
    "multipleOf": "a multiple of {}",
    "minLength": "",
    "minItems": "",
    "maxItems": "",
}
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


class Node(BaseModel):
    """A node of a JSON schema: what servers and outlines are told of a field, and what pydantic says of it before."""

    model_config = ConfigDict(frozen=True, extra="allow")

    type: str | None = None
    enum: tuple[str | int | float | bool | None, ...] | None = None
    description: str | None = None
    minLength: int | None = None  # noqa: N815 - the names of JSON schema
    maxLength: int | None = None  # noqa: N815
    pattern: str | None = None
    form: str | None = Field(None, exclude=True)  # what the outline says in place of a pattern, or of all quotes
    words: int | None = Field(None, alias="x-words", exclude=True)  # for which maxLength leaves room
    minimum: int | float | None = None
    maximum: int | float | None = None
    exclusiveMinimum: int | float | None = None  # noqa: N815
    exclusiveMaximum: int | float | None = None  # noqa: N815
    multipleOf: int | float | None = None  # noqa: N815
    minItems: int | None = None  # noqa: N815
    maxItems: int | None = None  # noqa: N815
    items: Node | None = None
    properties: dict[str, Node] | None = None
    required: tuple[str, ...] | None = None
    additionalProperties: bool | Node | None = None  # noqa: N815
    const: str | int | float | bool | None = None
    any_of: tuple[Node, ...] | None = Field(None, alias="anyOf")
    ref: str | None = Field(None, alias="$ref")
    defs: dict[str, Node] = Field({}, alias="$defs")
    choice: str | None = Field(None, alias="x-choice")
    index: str | None = Field(None, alias="x-index")
    needs: str | None = Field(None, alias="x-needs")
    quote: str | None = Field(None, alias="x-quote")

    @cached_property
    def text(self) -> str:
        """As a server is sent it."""
        return self.model_dump_json(exclude_none=True, exclude={"defs"}, exclude_unset=True)

    @cached_property
    def outline(self) -> str:
        """In words, a line a field, for the prompt: a server's grammar is not shown to the model."""
        return "\n".join(_lines(self.properties or {}, ""))


def json_schema(cls: type[BaseModel], bounds: Bounds) -> Node:
    """The JSON schema of one call: references inlined, every field required, in class order, nothing else allowed."""
    quoting = any(node.quote for node in _nodes(_read(cls)))
    return _made(cls, bounds if quoting else replace(bounds, quotable=()))


@lru_cache(maxsize=512)  # samples with as many turns and frames share theirs, but for what is quoted
def _made(cls: type[BaseModel], bounds: Bounds) -> Node:
    return _concrete(_read(cls), bounds)


def schema_digest(cls: type[BaseModel]) -> str:
    """What two equal schema classes have in common, wherever they are written."""
    return _read(cls).model_dump_json(by_alias=True, exclude_none=True)


def vocabularies(cls: type[BaseModel]) -> set[str]:
    """The vocabularies that a class chooses from, at any depth. Raises ConfigError, naming the field, for a type that
    no grammar or outline can tell a model, or that no value can be of."""
    return {node.choice for node in _nodes(_read(cls)) if node.choice}


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for inner in (*(node.properties or {}).values(), *([node.items] if node.items else [])):
        yield from _nodes(inner)


@cache
def _read(cls: type[BaseModel]) -> Node:
    """What pydantic says of a class, without references. Docstrings are for readers of the code, and `python -OO` has
    none."""
    try:
        schema = cls.model_json_schema()
    except PydanticUserError as error:
        raise _unsupported(cls.__name__, f"is of a type that JSON does not know ({error.message})") from error
    if schema != cls.model_json_schema(by_alias=False):
        raise _unsupported(cls.__name__, "has a field with an alias")
    root = Node.model_validate(schema)
    return _inlined(root, root.defs, cls.__name__, ()).model_copy(update={"description": None, "defs": {}})


def _inlined(node: Node, defs: Mapping[str, Node], place: str, above: tuple[str, ...]) -> Node:
    """The node with what it refers to, or the one type of `X | None`, in its place: it is optional only because it may
    not be asked for; where it is asked for, it is required."""
    options = [option for option in node.any_of or () if option.type != "null"]
    if len(options) > 1:
        raise _unsupported(place, "is of several types")
    inner = options[0] if options else defs[node.ref.rsplit("/", 1)[1]] if node.ref else None
    if inner:
        if node.ref in above:
            raise _unsupported(place, "holds itself")
        own = {name: getattr(node, name) for name in node.model_fields_set - {"ref", "any_of"}}
        inner = inner.model_copy(update=({"description": None} if node.ref else {}) | own)
        return _inlined(inner, defs, place, (*above, node.ref) if node.ref else above)
    odd = sorted(set(node.model_extra or {}) - IDLE)
    refused = {
        "is a list whose items are not all of one type": "prefixItems" in odd
        or (node.type == "array" and not node.items),
        "is a dict": node.type == "object" and node.properties is None,
        f"is {', '.join(odd)}": bool(odd),
        "may be anything": not (node.type in (*PLAIN, "array", "object") or node.enum or node.const is not None),
        "has limits that contradict each other": _is_void(node),
    }
    for what, holds in refused.items():
        if holds:
            raise _unsupported(place, what)
    children = {name: _inlined(one, defs, f"{place}.{name}", above) for name, one in (node.properties or {}).items()}
    items = _inlined(node.items, defs, place, above) if node.items else None
    return node.model_copy(update={"properties": children if node.properties else None, "items": items})


def _is_void(node: Node) -> bool:
    """Whether no value is within the node's limits, of which it has those of one type."""
    least = [limit for limit in (node.minLength, node.minItems, node.minimum) if limit is not None]
    most = [limit for limit in (node.maxLength, node.maxItems, node.maximum) if limit is not None]
    least += [math.nextafter(limit, math.inf) for limit in [node.exclusiveMinimum] if limit is not None]
    most += [math.nextafter(limit, -math.inf) for limit in [node.exclusiveMaximum] if limit is not None]
    return max(least, default=-math.inf) > min(most, default=math.inf)


def _concrete(node: Node, bounds: Bounds) -> Node:
    """The node as it is asked for in one call."""
    kept: dict[str, object] = {"type": node.type, "enum": node.enum, "description": node.description}
    if node.const is not None:
        kept["enum"] = (node.const,)
    if node.choice:
        kept["enum"] = bounds.choices[node.choice]
    if node.index:
        kept |= {"minimum": 1, "maximum": bounds.counts[node.index]}
    elif kept["enum"] is None:
        kept |= {name: getattr(node, name) for name in LIMITS}
        kept["form"] = f"of the form {node.pattern}" if node.pattern else None
        kept["pattern"] = node.pattern if node.pattern and GRAMMATICAL.fullmatch(node.pattern) else None
    if node.quote:
        kept |= {"enum": quotes(bounds.quotable), "form": QUOTED}
    if node.items:
        kept["items"] = _concrete(node.items, bounds)
    if node.properties is not None:
        asked = {name: child for name, child in node.properties.items() if (child.needs or "D") in bounds.seen | {"D"}}
        kept["properties"] = {name: _concrete(child, bounds) for name, child in asked.items()}
        kept |= {"required": tuple(asked), "additionalProperties": False}
    found = {name: value for name, value in kept.items() if value is not None}
    return Node.model_construct({*found}, **found)


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
        names = list(alike)
        words = "; ".join(filter(None, (node.description, node.items.description if node.items else None)))
        about = f" ({words})" if words else ""
        quoted = ", ".join(f'"{name}"' for name in names)
        lines.append(f"{indent}- {quoted}: {'each ' if len(names) > 1 else ''}{_kind(node)}{about}")
        inner = node.items or node
        if inner.type == "object":
            lines += _lines(inner.properties or {}, indent + "  ")
    return lines


def _kind(node: Node) -> str:
    if node.enum is not None and not node.form:
        return "one of " + ", ".join(json.dumps(word, ensure_ascii=False) for word in node.enum)
    if node.type == "array":
        assert node.items
        most = "many" if node.maxItems is None else node.maxItems
        return f"list of {node.minItems or 0} to {most}, each {_kind(node.items)}"
    if node.type == "integer" and node.minimum is not None and node.maximum is not None:
        return f"number {node.minimum} to {node.maximum}"
    bounds = [
        words.format(limit)
        for name, words in LIMITS.items()
        if words and (limit := getattr(node, name)) is not None and not (name == "maxLength" and node.words)
    ]
    return ", ".join([PLAIN.get(node.type or "", "an object with"), *bounds])


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
    except (
        Exception,
        SystemExit,
    ) as error:  # a validator of the user's may raise anything; pydantic passes on what is no ValueError
        what = f"{cls.__name__} raised {described(error)}"
        hint = "let a validator raise ValueError for a reply that is wrong: the model is shown its text"
        raise SampleError(Failure.CODE_ERROR, what, where=raised_at(error), hint=hint) from error
    asked = json_schema(cls, bounds).required or ()
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

"""Wire names: field names in requests and replies, which sort in the order of the class.

A model writes fields in the order of the JSON schema, and so reasons before it decides. But some servers (Ollama 0.34)
sort properties by name. If the names of a class are not sorted, all get letters: `a_reason`, `b_passed`,
`c_correction`. docs/quality.md compares them with plain names and numbers.
"""

import json
from collections.abc import Iterable
from itertools import product
from string import ascii_lowercase
from typing import TypeAlias

from pydantic import BaseModel, JsonValue

from mmerg.errors import Failure, ReplyError

Node: TypeAlias = dict[str, JsonValue]  # of a JSON schema


def get_nodes(node: Node, key: str) -> dict[str, Node]:
    """The nodes at `key` (properties, $defs) by name, in order; {} if there are none."""
    inner = node.get(key)
    return {name: one for name, one in inner.items() if isinstance(one, dict)} if isinstance(inner, dict) else {}


def get_items(node: Node) -> Node:
    """The schema of a list's items; {} for other nodes."""
    items = node.get("items")
    return items if isinstance(items, dict) else {}


def wire_names(fields: Iterable[str]) -> dict[str, str]:
    """The wire name of each field of one object, in class order."""
    names = list(fields)
    if names == sorted(names):
        return {name: name for name in names}
    letters = product(ascii_lowercase, repeat=1 if len(names) <= len(ascii_lowercase) else 2)
    return {name: f"{''.join(letter)}_{name}" for name, letter in zip(names, letters, strict=False)}


def to_wire(node: Node) -> Node:
    """The JSON schema with wire names."""
    sent = dict(node)
    if items := get_items(node):
        sent["items"] = to_wire(items)
    if fields := get_nodes(node, "properties"):
        names = wire_names(fields)
        sent["properties"] = {names[name]: to_wire(one) for name, one in fields.items()}
        sent["required"] = [*names.values()]
    return sent


def as_written(output: BaseModel | str) -> str:
    """A stage's output as a model writes it, with the requested fields only."""

    def renamed(value: JsonValue) -> JsonValue:
        if isinstance(value, list):
            return [renamed(one) for one in value]
        if isinstance(value, dict):
            return {written: renamed(value[name]) for name, written in wire_names(value).items()}
        return value

    if isinstance(output, str):
        return output
    value = renamed(output.model_dump(mode="json", exclude_unset=True))
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def from_wire(text: str, node: Node) -> str:
    """A reply's JSON with class names; other texts unchanged. node: the JSON schema with class names.

    Without a grammar a model may omit all letters, which is valid. Raises ReplyError (schema_invalid) if an object has
    a name twice, or letters only some of its names."""
    try:
        value = json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError):  # validation reports the problem
        return text
    return json.dumps(_by_class_names(value, node))


def wire_path(place: Iterable[str | int], node: Node) -> str:
    """The place of a value in a reply, such as `d_sgrg.a_reason`. node: the JSON schema with class names."""
    parts = []
    for part in place:
        fields = get_nodes(node, "properties")
        parts.append(wire_names(fields).get(str(part), str(part)))
        node = get_items(node) if isinstance(part, int) else fields.get(part, {})
    return ".".join(parts)


def _object(pairs: list[tuple[str, JsonValue]]) -> JsonValue:
    named = dict(pairs)
    if len(named) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ReplyError(Failure.SCHEMA_INVALID, f'"{twice}" appears twice')
    return named


def _by_class_names(value: JsonValue, node: Node) -> JsonValue:
    if isinstance(value, list):
        return [_by_class_names(one, get_items(node)) for one in value]
    if not isinstance(value, dict):
        return value
    fields = get_nodes(node, "properties")
    names = wire_names(fields)
    written = {names[name]: name for name in names}
    plain = [name for name in value if name in names and name not in written]
    if plain and not written.keys().isdisjoint(value):
        what = f'"{plain[0]}" must be named "{names[plain[0]]}", as the other fields are'
        raise ReplyError(Failure.SCHEMA_INVALID, what)
    named = {written.get(name, name): one for name, one in value.items()}
    return {name: _by_class_names(one, fields.get(name, {})) for name, one in named.items()}

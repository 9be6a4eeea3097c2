"""Wire names: names of fields in requests and completions, whose alphabetical order is the order of the class.

A model writes fields in the order of the JSON schema, so that it reasons before it decides. But some servers
(Ollama 0.34) sort properties by name. If the names of a class are not sorted, all get a letter: `a_reason`, `b_passed`,
`c_correction`. docs/quality.md compares letters with plain names and numbers.
"""

import json
from collections.abc import Iterable
from itertools import product
from string import ascii_lowercase
from typing import TypeAlias

from pydantic import BaseModel, JsonValue

from mmerg.errors import CompletionError, Failure

Node: TypeAlias = dict[str, JsonValue]  # a node of a JSON schema


def get_nodes(node: Node, key: str) -> dict[str, Node]:
    """Returns the nodes at `key` (properties, $defs) by name, in order; {} if there are none."""
    inner = node.get(key)
    return {name: child for name, child in inner.items() if isinstance(child, dict)} if isinstance(inner, dict) else {}


def get_items(node: Node) -> Node:
    """Returns the schema of a list's items; {} for other nodes."""
    items = node.get("items")
    return items if isinstance(items, dict) else {}


def wire_names(fields: Iterable[str]) -> dict[str, str]:
    """Returns the wire name of each field of one object, in class order."""
    names = list(fields)
    if names == sorted(names):
        return {name: name for name in names}
    letters = product(ascii_lowercase, repeat=1 if len(names) <= len(ascii_lowercase) else 2)
    return {name: f"{''.join(letter)}_{name}" for name, letter in zip(names, letters, strict=False)}


def to_wire(node: Node) -> Node:
    on_wire = dict(node)
    if items := get_items(node):
        on_wire["items"] = to_wire(items)
    if fields := get_nodes(node, "properties"):
        names = wire_names(fields)
        on_wire["properties"] = {names[name]: to_wire(field) for name, field in fields.items()}
        on_wire["required"] = [*names.values()]
    return on_wire


def as_written(output: BaseModel | str) -> str:
    """Returns a stage's output as a model writes it, with the requested fields only."""

    def rename(value: JsonValue) -> JsonValue:
        if isinstance(value, list):
            return [rename(item) for item in value]
        if isinstance(value, dict):
            return {wire_name: rename(value[name]) for name, wire_name in wire_names(value).items()}
        return value

    if isinstance(output, str):
        return output
    value = rename(output.model_dump(mode="json", exclude_unset=True))
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def from_wire(text: str, node: Node) -> str:
    """Returns a completion's JSON with class names; texts that are not JSON remain unchanged. node: the JSON schema
    with class names. Without a grammar a model may omit all letters, which is valid. Raises CompletionError
    (schema_invalid) if an object has the same name twice, or if only some of its names have letters."""
    try:
        value = json.loads(text, object_pairs_hook=_make_object)
    except (ValueError, RecursionError):  # validation reports the problem
        return text
    return json.dumps(_use_class_names(value, node))


def wire_path(place: Iterable[str | int], node: Node) -> str:
    """Returns the place of a value in a completion, such as `d_sgrg.a_reason`. node: the schema with class names."""
    parts = []
    for part in place:
        fields = get_nodes(node, "properties")
        parts.append(wire_names(fields).get(str(part), str(part)))
        node = get_items(node) if isinstance(part, int) else fields.get(part, {})
    return ".".join(parts)


def _make_object(pairs: list[tuple[str, JsonValue]]) -> JsonValue:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise CompletionError(Failure.SCHEMA_INVALID, f'"{repeated}" appears twice')
    return fields


def _use_class_names(value: JsonValue, node: Node) -> JsonValue:
    if isinstance(value, list):
        return [_use_class_names(item, get_items(node)) for item in value]
    if not isinstance(value, dict):
        return value
    fields = get_nodes(node, "properties")
    names = wire_names(fields)
    class_names = {wire_name: name for name, wire_name in names.items()}
    without_letter = [name for name in value if name in names and name not in class_names]
    if without_letter and not class_names.keys().isdisjoint(value):
        first = without_letter[0]
        what = f'"{first}" must be named "{names[first]}", as the other fields are'
        raise CompletionError(Failure.SCHEMA_INVALID, what)
    renamed = {class_names.get(name, name): child for name, child in value.items()}
    return {name: _use_class_names(child, fields.get(name, {})) for name, child in renamed.items()}

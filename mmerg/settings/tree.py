"""The classes and keys in the tree of settings.

get_keys(FramesSettings)                  # ["seen_by", "last_turns", …]
model_at(RunSettings, "frames")           # FramesSettings
paths_marked(RunSettings, RUNTIME_ONLY)   # ["limit", "backend.hosts", …]
"""

from collections.abc import Iterator
from typing import Annotated, Any, TypeGuard, get_args, get_origin

from pydantic.fields import FieldInfo

from mmerg.settings.kinds import SettingsModel


def get_fields(kind: type[SettingsModel]) -> dict[str, FieldInfo]:
    return {info.alias or name: info for name, info in kind.model_fields.items()}


def get_keys(kind: type[SettingsModel]) -> list[str]:
    return [key for key in get_fields(kind) if not key.startswith("_")]


def model_at(kind: type[SettingsModel], key: str) -> type[SettingsModel] | None:
    """Returns the class of settings at a dotted key; None if the key has a value, or any content, as an argument of a
    user's class. Raises KeyError for an unknown setting."""
    node: Any = kind
    for name in key.split("."):
        if get_origin(node) is dict:
            node = unwrap_optional(get_args(node)[1])
            continue
        part = next(filter(is_settings, (node, *get_args(node))), None)  # of a union, the class with settings
        fields = get_fields(part) if part else {}
        if part and name not in fields and part.model_config.get("extra") == "allow":
            return None
        node = unwrap_optional(fields[name].annotation)
    return node if is_settings(node) else None


def iterate_keys(kind: type[SettingsModel], above: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for key, info in get_fields(kind).items():
        if not key.startswith("_"):
            yield f"{above}{key}", info
            if is_settings(node := unwrap_optional(info.annotation)):
                yield from iterate_keys(node, f"{above}{key}.")


def paths_marked(kind: type[SettingsModel], mark: str) -> list[str]:
    return [key for key, info in iterate_keys(kind) if mark in info.metadata]


def is_settings(node: Any) -> TypeGuard[type[SettingsModel]]:
    return isinstance(node, type) and issubclass(node, SettingsModel)


def unwrap_optional(annotation: Any) -> Any:
    if get_origin(annotation) is Annotated:
        return unwrap_optional(get_args(annotation)[0])
    inner = [argument for argument in get_args(annotation) if argument is not type(None)]
    return unwrap_optional(inner[0]) if type(None) in get_args(annotation) and len(inner) == 1 else annotation


def get_path(plain: Any, path: str) -> Any:
    """Returns the value at a dotted path of nested dicts; None if it is missing."""
    for name in path.split("."):
        plain = plain.get(name) if isinstance(plain, dict) else None
    return plain


def iterate_leaves(node: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from iterate_leaves(value, f"{above}.{key}" if above else str(key))
    else:
        yield above, node

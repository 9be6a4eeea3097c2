"""In which settings runs differ, as their manifests say: what must be read before any figure of theirs is compared.

Reads manifests only. What decides results in a config is for the caller to say
(`mmerg.settings.identity.canonical`). Folders are left out: where files lie is not what they hold, for which digests
stand.

    [one] = differing([read_manifest(a), read_manifest(b)], canonical)
    one.name, one.values    # "system.max_iterations", ("2", "0")
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmerg.runs.manifest import node, short

NONE = "–"
Deciding = Callable[[Mapping[str, Any]], Mapping[str, Any]]

_FOLDERS = ("root", "folder")  # last names of paths
# Below these settings of other groups are told again.
_COPIES = ("dataset.reader.", "dataset.memory.reader.", "backend.adapter.", "engine.", "sources.M.")
_RENAMED = {"model": "gguf"}  # last names that a copy and its setting do not share
_DIGESTS = ("corpus", "clips", "prompts", "sources")  # parts of the identity that no setting tells


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting by its dotted path, or what else decides results (`engine.version`, `model digest`, `commit`), and a
    text for each run in order, NONE where a run has no such setting or leaves it empty."""

    name: str
    values: tuple[str, ...]


def differing(manifests: Sequence[Mapping[str, Any]], deciding: Deciding) -> list[Setting]:
    """What of `deciding(config)` differs between the runs, in the order of the configs; then the digests of what they
    read and were told, the engine, and the commit. Empty for runs that are set alike, and for one run alone."""
    told = [_parts(manifest, deciding) for manifest in manifests]
    names = dict.fromkeys(name for part in zip(*told, strict=True) for leaves in part for name in leaves)
    runs = [{name: text for leaves in parts for name, text in leaves.items()} for parts in told]
    found: list[Setting] = []
    for name in names:
        values = tuple(leaves.get(name, NONE) for leaves in runs)
        if len(set(values)) > 1 and not _told(name, values, found):
            found.append(Setting(name, values))
    return found


def _told(name: str, values: tuple[str, ...], found: Sequence[Setting]) -> bool:
    """Whether the setting that this one is a copy of is among those found."""
    last = _last(name)
    same = (one for one in found if one.values == values and _last(one.name) in (last, _RENAMED.get(last)))
    return name.startswith(_COPIES) and any(same)


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _parts(manifest: Mapping[str, Any], deciding: Deciding) -> tuple[dict[str, str], ...]:
    """All that may differ, as texts: settings; digests and engine; commit."""
    config = _flat(deciding(node(manifest, "config")))
    settings = {name: text for name, text in config if _last(name) not in _FOLDERS}
    identity, engine = node(manifest, "identity"), dict(node(manifest, "engine"))
    digests = {f"{part} digest": short(identity.get(part) or NONE) for part in _DIGESTS}
    digests |= {"model digest": short(engine.pop("digest", None) or NONE), **dict(_flat(engine, "engine."))}
    return settings, digests, {"commit": short(manifest.get("git_commit") or NONE)}


def _flat(part: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    for key, value in part.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", _text(value)


def _text(value: Any) -> str:
    if value is None or value in ("", []):
        return NONE
    if isinstance(value, list | tuple) and not any(isinstance(one, list | tuple | Mapping) for one in value):
        return ", ".join(map(_text, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

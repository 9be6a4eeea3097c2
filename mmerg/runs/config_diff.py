"""In which settings runs differ, as their manifests say: what must be read before any figure of theirs is compared.

What of the settings decides results is for the caller to say (`mmerg.settings.identity.canonical`). Folders are left
out: where files lie is not what they hold, for which digests stand.

    [one] = config_diff([read_manifest(a), read_manifest(b)], canonical)
    one.name, one.values    # "system.max_iterations", ("2", "0")
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmerg.runs.manifest import Started, short

NONE = "–"
Deciding = Callable[[Mapping[str, object]], Mapping[str, object]]

_FOLDERS = ("root", "folder")  # last names of paths
# Settings of other groups that are repeated below these. What follows from a setting is told by it alone.
_COPIES = ("dataset.reader.", "dataset.memory.reader.", "backend.adapter.", "engine.")
_RENAMED = {"model": "gguf"}  # last names that a copy and its setting do not share
_FOLLOWS = {  # what no setting tells, and the settings that another value of it follows from
    "corpus digest": ("dataset.",),
    "clips digest": ("dataset.",),
    "prompts digest": ("system.prompts", "system.name"),
    "sources digest": ("memory.", "dataset.memory.", "sources."),
    "model digest": ("backbone.model", "backbone.gguf"),
}


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting by its dotted path, or what else decides results (`engine.version`, `model digest`, `commit`), and a
    text for each run in order, NONE where a run has no such setting or leaves it empty."""

    name: str
    values: tuple[str, ...]


def config_diff(manifests: Sequence[Started], deciding: Deciding) -> list[Setting]:
    """What of `deciding(settings)` differs between the runs, in the order of the settings; then the digests of what
    they read, the engine, and the commit. Empty for runs that are set alike, and for one run alone."""
    parts = [_parts(manifest, deciding) for manifest in manifests]
    return _differing([dict(pair for part in one for pair in part.items()) for one in parts], _order(parts))


def settings_diff(settings: Sequence[Mapping[str, object]], deciding: Deciding) -> list[Setting]:
    """The same of settings alone."""
    leaves = [_settings(one, deciding) for one in settings]
    return _differing(leaves, _order([(one,) for one in leaves]))


def _order(parts: Sequence[Sequence[Mapping[str, str]]]) -> list[str]:
    return list(dict.fromkeys(name for part in zip(*parts, strict=True) for leaves in part for name in leaves))


def _differing(runs: Sequence[Mapping[str, str]], names: Sequence[str]) -> list[Setting]:
    found: list[Setting] = []
    for name in names:
        values = tuple(leaves.get(name, NONE) for leaves in runs)
        if len(set(values)) > 1 and not _follows(name, values, found):
            found.append(Setting(name, values))
    return found


def _follows(name: str, values: tuple[str, ...], found: Sequence[Setting]) -> bool:
    """Whether this follows from a setting that is among those found: as its copy, or as what it names."""
    last = _last(name)
    copied = (one for one in found if one.values == values and _last(one.name) in (last, _RENAMED.get(last)))
    named = (one for one in found if one.name.startswith(_FOLLOWS.get(name, ())))
    return (name.startswith(_COPIES) and any(copied)) or any(named)


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _parts(manifest: Started, deciding: Deciding) -> tuple[dict[str, str], ...]:
    """All that may differ, as texts: settings; digests and engine; commit."""
    engine = manifest.engine.model_dump(mode="json")
    digests = {name: short(manifest.identity.get(name.partition(" ")[0]) or NONE) for name in _FOLLOWS}
    digests["model digest"] = short(engine.pop("digest") or NONE)
    return (
        _settings(manifest.settings, deciding),
        digests | _leaves(engine, "engine."),
        {"commit": short(manifest.git_commit or NONE)},
    )


def _settings(settings: Mapping[str, object], deciding: Deciding) -> dict[str, str]:
    """What decides results, by the names that users give: the source M is set as `memory`."""
    named = bool(settings.get("memory"))
    leaves = _leaves(deciding(settings))
    return {name.replace("sources.M.", "memory.", 1) if named else name: text for name, text in leaves.items()}


def _leaves(node: Mapping[str, object], above: str = "") -> dict[str, str]:
    return {name: text for name, text in _flat(node, above) if _last(name) not in _FOLDERS}


def _flat(node: Mapping[str, object], path: str) -> Iterator[tuple[str, str]]:
    for key, value in node.items():
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

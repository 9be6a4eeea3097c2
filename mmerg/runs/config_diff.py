"""In which settings that decide results runs differ: what must be read before any figure of theirs is compared.

[one] = config_diff([read_manifest(a), read_manifest(b)])
one.name, one.values    # "system.max_iterations", ("2", "0")
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from mmerg.errors import ConfigError
from mmerg.runs.manifest import Manifest, Started, short
from mmerg.settings.identity import canonical
from mmerg.settings.model import RunSettings

NONE = "–"

_FOLDER = ".embedder.folder"  # a digest stands for what lies there
_COPIES = ("dataset.reader.", "dataset.memory.reader.", "backend.adapter.", "engine.")  # of settings of other groups
_RENAMED = {"model": "gguf"}  # last names that a copy and its setting do not share
_OF_A_SYSTEM = (  # what one of several systems lacks goes without saying, but for what `_TOLD` says
    *("system.stages.", "system.auditor.", "system.vocabulary.", "system.result."),
    *("memory.", "sources.", "dataset.memory."),
)
_PAGES = ("system.name", "dataset.name", "backbone.name", "backend.name")
_BY_PAGE = ("system.", "memory.", "sources.", "dataset.memory.", "frames.")  # what naming a system decides
_TOLD = re.compile(r"\.sampling\.|\.top_k$|\.transductive$")  # the last: whether a test set was read
_OF_REPLIES = ("system.name", "dataset.", "protocol.", "corpus digest")
_IDLE = {  # what a run may lack where it has another value of this
    "system.without": ("system.", "sources.", "memory.", "dataset.memory."),
    "frames.seen_by": ("frames.",),
}
_FOLLOWS = {  # digests, and the settings that another value of them follows from
    "corpus digest": ("dataset.",),
    "clips digest": ("dataset.",),
    "prompts digest": ("system.prompts", "system.name"),
    "sources digest": ("memory.", "dataset.memory.", "sources.", "system.name"),
    "model digest": ("backbone.model", "backbone.gguf"),
}


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting by its path, or what else decides results (`engine.version`, `model digest`, `commit`); a text for each
    run, NONE where it has none."""

    name: str
    values: tuple[str, ...]


def config_diff(manifests: Sequence[Started]) -> list[Setting]:
    """What differs between the runs, in the order of the settings; then the digests of what they read, the engine, and
    the commit. Of replies that another system wrote, no more is known than who wrote them, and to what."""
    found = _differing(
        [_settings(one.settings) for one in manifests],
        [_digests(one) for one in manifests],
        [{"commit": short(one.sessions[0].git_commit or NONE) if one.sessions else NONE} for one in manifests],
    )
    imported = any(isinstance(one, Manifest) and one.imported for one in manifests)
    return [one for one in found if one.name.startswith(_OF_REPLIES)] if imported else found


def settings_diff(settings: Sequence[Mapping[str, object]]) -> list[Setting]:
    """The same of settings alone."""
    return _differing([_settings(one) for one in settings])


def alike_but_for(manifest: Started, *settings: str) -> str:
    """The same text for runs that differ in nothing that decides results but the settings at these dotted paths."""
    digests = {name: part for name, part in manifest.identity.items() if name not in ("config", *settings)}
    return json.dumps([canonical(manifest.settings, *settings), digests], sort_keys=True)


def _differing(*parts: Sequence[Mapping[str, str]]) -> list[Setting]:
    """A part has a mapping for each run."""
    found: list[Setting] = []
    for runs in parts:
        several = len({leaves.get("system.name") for leaves in runs}) > 1
        usual = [_usual(*(leaves.get(name, "") for name in _PAGES)) for leaves in runs] if several else []
        for name in dict.fromkeys(name for leaves in runs for name in leaves):
            values = tuple(leaves.get(name, NONE) for leaves in runs)
            by_system = several and name.startswith(_OF_A_SYSTEM) and not _TOLD.search(name)
            own = by_system and NONE in values and len(set(values)) == 2
            pages = (one.get(name, NONE) if one else None for one in usual)
            own |= several and name.startswith(_BY_PAGE) and name != "system.name" and values == tuple(pages)
            if len(set(values)) > 1 and not own and not _follows(name, values, found):
                found.append(Setting(name, values))
    return [one for one in found if not _is_idle(one, found)]


@cache
def _usual(*pages: str) -> Mapping[str, str]:
    """What these pages set where the user sets nothing: what follows from naming them. Empty where they do not compose,
    as those of the user's own."""
    from mmerg.settings.compose import compose
    from mmerg.settings.parse import parse

    named = [f"{name.partition('.')[0]}={page}" for name, page in zip(_PAGES, pages, strict=True)]
    for root in (["dataset.root=/"], []):  # where a corpus lies decides nothing; the demo lies in the package
        with suppress(ConfigError):
            return _settings(parse(compose("config", [*named, *root]).config, RunSettings).plain())
    return {}


def _follows(name: str, values: tuple[str, ...], found: Sequence[Setting]) -> bool:
    """Whether this follows from a setting that is among those found: as its copy, or as what it names."""
    last = name.rsplit(".", maxsplit=1)[-1]
    names = (last, _RENAMED.get(last))
    copied = any(one.values == values and one.name.split(".")[-1] in names for one in found)
    named = any(one.name.startswith(_FOLLOWS.get(name, ())) for one in found)
    return (name.startswith(_COPIES) and copied) or named


def _is_idle(setting: Setting, found: Sequence[Setting]) -> bool:
    """Whether a run lacks this because of another setting that is among those found."""
    counts = {one.name: one.name.removesuffix("top_k") for one in found if one.name.endswith(".top_k")}
    idle = _IDLE | {name: (above, "dataset.memory.") for name, above in counts.items()}
    causes = (parts for name, parts in idle.items() if name != setting.name and any(one.name == name for one in found))
    return NONE in setting.values and any(map(setting.name.startswith, causes))


def _digests(manifest: Started) -> dict[str, str]:
    engine = manifest.engine.model_dump(mode="json")
    digests = {name: short(manifest.identity.get(name.partition(" ")[0]) or NONE) for name in _FOLLOWS}
    return digests | {"model digest": short(engine.pop("digest") or NONE)} | dict(_leaves(engine, "engine."))


def _settings(settings: Mapping[str, object]) -> dict[str, str]:
    """What decides results, by the names that users give: the source M is set as `memory`."""
    leaves = dict(_leaves(canonical(settings)))
    if settings.get("memory"):
        leaves = {name.replace("sources.M.", "memory.", 1): text for name, text in leaves.items()}
    return leaves


def _leaves(node: Mapping[str, object], above: str = "") -> Iterator[tuple[str, str]]:
    for key, value in node.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{above}{key}.")
        elif not f"{above}{key}".endswith(_FOLDER):
            yield f"{above}{key}", _text(value)


def _text(value: object) -> str:
    if value is None or value in ("", []):
        return NONE
    if isinstance(value, list | tuple) and not any(isinstance(one, list | tuple | Mapping) for one in value):
        return ", ".join(map(_text, value))
    return value if isinstance(value, str) and "\n" not in value else json.dumps(value, ensure_ascii=False)

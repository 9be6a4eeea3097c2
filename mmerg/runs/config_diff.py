"""The differences between runs that affect results, and labels of runs based on them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mmerg.backends.protocol import list_engine_changes
from mmerg.runs.identity import CLIPS, CONFIG, CORPUS, ENGINE, MEMORY, SOURCE, canonicalize
from mmerg.runs.manifest import BaseManifest, Manifest, RunRef, shorten_digest

NONE, MODEL, COMMIT = "–", "model digest", "commit"

# Copies of settings of other groups.
_COPIES = ("dataset.reader.", "dataset.memory.reader.", "backend.adapter.", "engine.")
_RENAMED = {"model": "gguf"}  # settings whose copy has another name
_OF_SYSTEM = ("system.", "memory.", "sources.", "dataset.memory.", "frames.")  # a system may lack these
DIGEST = " digest"  # ends the name of a part of the identity
_FOLLOWS = {  # parts of the identity, by prefix, and the settings that explain them
    CORPUS: ("dataset.",),
    CLIPS: ("dataset.",),
    SOURCE: ("memory.", "dataset.memory.", "sources.", "system.name"),
    MEMORY: ("memory.", "dataset.memory.", "sources.", "system.name"),
    "model": ("backbone.model", "backbone.gguf"),
    "": ("system.name",),  # templates, schemas, classes
}
_ADDED_BY = ("system.", "sources.", "frames.seen_by", "backbone.")  # explain a part that one run lacks
_IDLE = {  # settings, and those without effect for one of their values
    "system.without": ("system.", "sources.", "memory.", "dataset.memory."),
    "frames.seen_by": ("frames.",),
}
# Labels have names for the first five; values of stages are too long.
_NOT_IN_LABELS = ("backbone.", "backend.", "engine.", "dataset.", "system.name", "system.stages.")
_LONGEST_VALUE, _LONGEST_CHANGE = 20, 200  # characters in a label, and in a change


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting by its path, or another difference (`engine.version`, `model digest`, `commit`), with a text for each
    run; NONE if the run lacks it."""

    name: str
    values: tuple[str, ...]


def diff_configs(manifests: Sequence[BaseManifest]) -> list[Setting]:
    """The differences between runs: settings in order, digests of inputs, the engine, and the commit. Of imported
    replies only the writer and the target are known."""
    commits = [shorten_digest(one.sessions[0].git_commit or NONE) if one.sessions else NONE for one in manifests]
    settings = _differing(
        [_settings(one.settings) for one in manifests],
        [_digests(one) for one in manifests],
        [{COMMIT: commit} for commit in commits],
    )
    if any(isinstance(one, Manifest) and one.imported for one in manifests):
        known = ("system.name", "dataset.", "protocol.", "corpus digest")
        return [one for one in settings if one.name.startswith(known)]
    return settings


def describe_changes(then: BaseManifest, now: BaseManifest) -> list[str]:
    """The differences between two manifests that affect results, the engine first: "server version 0.24.0 → 0.34.1",
    "frames.last_turns 2 → 3", "mine_parts.py changed"."""
    differ = [part for part in {**then.identity, **now.identity} if then.identity.get(part) != now.identity.get(part)]
    if not differ:
        return []
    found = diff_configs([then, now])
    engine = (list_engine_changes(then.engine, now.engine) or ["the engine changed"]) if ENGINE in differ else []
    settings = [_change(one) for one in found if not one.name.endswith((DIGEST, COMMIT)) and one.name[:7] != "engine."]
    if CONFIG in differ and not settings:
        settings = ["another version of mmerg reads the same settings differently"]
    return [*engine, *settings, *(_change(one) for one in found if one.name.endswith(DIGEST) and one.name != MODEL)]


def _change(setting: Setting) -> str:
    """A difference between two runs. Omits texts of several lines."""
    part, (old, new) = setting.name.removesuffix(DIGEST), setting.values
    if part == setting.name and max(len(old), len(new)) <= _LONGEST_CHANGE:
        return f"{part} {old} → {new}"
    part = {CORPUS: "the corpus's files", CLIPS: "the names or sizes of the clips"}.get(part, part)
    return f"{part} {'is new' if old == NONE else 'is gone' if new == NONE else 'changed'}"


def label_runs(abouts: Sequence[RunRef]) -> list[str]:
    """A short, unique label for each run: the user's name, else the backbone, with system, corpus, settings and a
    number as needed."""
    given = [about.manifest.custom_name for about in abouts]
    clear = [bool(name) and given.count(name) == 1 for name in given]
    names = [name or about.manifest.backbone for name, about in zip(given, abouts, strict=True)]
    settings = [
        [f"{one.name.rpartition('.')[2]} {value[:_LONGEST_VALUE]}" for value in one.values]
        for one in diff_configs([about.manifest for about in abouts])
        if not one.name.startswith(_NOT_IN_LABELS) and not one.name.endswith((DIGEST, COMMIT))
    ]
    parts = [
        [about.manifest.system for about in abouts],
        [about.manifest.corpus.name for about in abouts],
        *settings,
        [f"({number})" for number, _ in enumerate(abouts, start=1)],
    ]
    for part in parts:
        longer = [name if unique else f"{name} {text}" for name, unique, text in zip(names, clear, part, strict=True)]
        if len(set(longer)) > len(set(names)):
            names = longer
    return names


def grouping_key(manifest: BaseManifest, *settings: str) -> str:
    """A text that is equal for runs that differ only in the settings at these dotted paths."""
    digests = {name: part for name, part in manifest.identity.items() if name not in ("config", *settings)}
    return json.dumps([canonicalize(manifest.settings, *settings), digests], sort_keys=True)


def _differing(settings: Sequence[Mapping[str, str]], *rest: Sequence[Mapping[str, str]]) -> list[Setting]:
    """The differences between mappings, one for each run, without those that another difference explains."""
    several = len({leaves.get("system.name") for leaves in settings}) > 1
    differing = []
    for runs in (settings, *rest):
        for name in dict.fromkeys(name for leaves in runs for name in leaves):
            values = tuple(leaves.get(name, NONE) for leaves in runs)
            if len(set(values)) > 1 and not (several and _follows_from_system(name, values)):
                differing.append(Setting(name, values))
    return [one for one in differing if not any(_explains(other, one) for other in differing if other is not one)]


def _follows_from_system(name: str, values: Sequence[str]) -> bool:
    """Whether one of the systems lacks the setting."""
    kept = name == "system.name" or (name.endswith(".transductive") and "true" in values)
    return name.startswith(_OF_SYSTEM) and NONE in values and not kept


def _explains(cause: Setting, effect: Setting) -> bool:
    """Whether one difference explains another: the effect is a digest of it, its copy, or idle because of it."""
    if effect.name.endswith(DIGEST):
        causes = next(causes for begin, causes in _FOLLOWS.items() if effect.name.startswith(begin))
        return cause.name.startswith((*causes, *_ADDED_BY) if NONE in effect.values else causes)
    last, origin = effect.name.rpartition(".")[2], cause.name.rpartition(".")[2]
    if effect.name.startswith(_COPIES) and not cause.name.startswith(_COPIES) and cause.values == effect.values:
        return origin in (last, _RENAMED.get(last))
    above, _, name = cause.name.rpartition(".")
    idle = (f"{above}.", "dataset.memory.") if name == "top_k" else _IDLE.get(cause.name, ())
    return NONE in effect.values and effect.name.startswith(idle)


def _digests(manifest: BaseManifest) -> dict[str, str]:
    engine = manifest.engine.model_dump(mode="json")
    parts = manifest.identity.items()
    digests = {f"{part}{DIGEST}": shorten_digest(digest) for part, digest in parts if part not in (CONFIG, ENGINE)}
    return digests | {MODEL: shorten_digest(engine.pop("digest") or NONE)} | dict(_leaves(engine, "engine."))


def _settings(settings: Mapping[str, object]) -> dict[str, str]:
    """The settings that affect results, by their names for users: source M is `memory`."""
    leaves = dict(_leaves(canonicalize(settings)))
    if settings.get("memory"):
        leaves = {name.replace("sources.M.", "memory.", 1): text for name, text in leaves.items()}
    return leaves


def _leaves(node: Mapping[str, object], above: str = "") -> Iterator[tuple[str, str]]:
    for key, value in node.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{above}{key}.")
        elif not f"{above}{key}".endswith(".embedder.folder"):  # a digest covers the folder's content
            yield f"{above}{key}", _text(value)


def _text(value: object) -> str:
    if value is None or value in ("", []):
        return NONE
    if isinstance(value, list | tuple) and not any(isinstance(one, list | tuple | Mapping) for one in value):
        return ", ".join(map(_text, value))
    return value if isinstance(value, str) and "\n" not in value else json.dumps(value, ensure_ascii=False)

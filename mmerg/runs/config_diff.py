"""The differences between runs that affect results, and labels of runs by them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mmerg.backends.protocol import list_engine_changes
from mmerg.runs.identity import CLIPS, CONFIG, CORPUS, ENGINE, MEMORY, SOURCE, canonicalize
from mmerg.runs.manifest import BaseManifest, Manifest, RunRef, shorten_digest

NONE, MODEL, COMMIT = "–", "model digest", "commit"

# These settings are copies of settings of other groups.
_COPIES = ("dataset.reader.", "dataset.memory.reader.", "backend.adapter.", "engine.")
_RENAMED = {"model": "gguf"}  # the names of copies that differ from the name of the setting
_OF_SYSTEM = ("system.", "memory.", "sources.", "dataset.memory.", "frames.")  # settings that a system may lack
DIGEST = " digest"  # the end of the name of a part of the identity
_EXPLAINED_BY = {  # the settings that explain a part of the identity, by the start of its name
    CORPUS: ("dataset.",),
    CLIPS: ("dataset.",),
    SOURCE: ("memory.", "dataset.memory.", "sources.", "system.name"),
    MEMORY: ("memory.", "dataset.memory.", "sources.", "system.name"),
    "model": ("backbone.model", "backbone.gguf"),
    "": ("system.name",),  # templates, schemas, classes
}
_ADDED_BY = ("system.", "sources.", "frames.seen_by", "backbone.")  # these explain a part that one run lacks
_TURNED_OFF_BY = {  # settings, and the settings that have no effect for one of their values
    "system.without": ("system.", "sources.", "memory.", "dataset.memory."),
    "frames.seen_by": ("frames.",),
}
# Labels already name the backbone, the dataset and the system, and the settings of stages are too long.
_NOT_IN_LABELS = ("backbone.", "backend.", "engine.", "dataset.", "system.name", "system.stages.")
_LONGEST_VALUE, _LONGEST_CHANGE = 20, 200  # characters in a label, and in a change


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting by its path, or another difference, such as `model digest`; and its value in each run, or NONE."""

    name: str
    values: tuple[str, ...]


def diff_configs(manifests: Sequence[BaseManifest]) -> list[Setting]:
    """Lists the differences between runs: settings in order, digests of inputs, the engine, and the commit. If replies
    were imported, only the differences of system, dataset and protocol are known."""
    commits = [manifest.sessions[0].git_commit if manifest.sessions else None for manifest in manifests]
    differences = _find_differences(
        [_flatten_settings(manifest.settings) for manifest in manifests],
        [_shorten_digests(manifest) for manifest in manifests],
        [{COMMIT: shorten_digest(commit or NONE)} for commit in commits],
    )
    if any(isinstance(manifest, Manifest) and manifest.imported for manifest in manifests):
        known = ("system.name", "dataset.", "protocol.", "corpus digest")
        return [setting for setting in differences if setting.name.startswith(known)]
    return differences


def describe_changes(then: BaseManifest, now: BaseManifest) -> list[str]:
    """Describes the differences between two manifests that affect results, those of the engine first: "server version
    0.24.0 → 0.34.1", "frames.last_turns 2 → 3", "mine_parts.py changed"."""
    parts = {**then.identity, **now.identity}
    changed = [part for part in parts if then.identity.get(part) != now.identity.get(part)]
    if not changed:
        return []
    engine: list[str] = []
    if ENGINE in changed:
        engine = list_engine_changes(then.engine, now.engine) or ["the engine changed"]
    settings, digests = [], []
    for difference in diff_configs([then, now]):
        if difference.name.endswith(DIGEST):
            digests += [difference] if difference.name != MODEL else []
        elif difference.name != COMMIT and not difference.name.startswith("engine."):
            settings.append(difference)
    described = [_describe_change(setting) for setting in settings]
    if CONFIG in changed and not described:
        described = ["another version of mmerg reads the same settings differently"]
    return [*engine, *described, *map(_describe_change, digests)]


def _describe_change(setting: Setting) -> str:
    """Describes a difference between two runs. Shows no values of digests, and none that are long."""
    name, (old, new) = setting.name.removesuffix(DIGEST), setting.values
    if name == setting.name and max(len(old), len(new)) <= _LONGEST_CHANGE:
        return f"{name} {old} → {new}"
    name = {CORPUS: "the corpus's files", CLIPS: "the names or sizes of the clips"}.get(name, name)
    if NONE in (old, new):
        return f"{name} is {'new' if old == NONE else 'gone'}"
    return f"{name} changed"


def label_runs(runs: Sequence[RunRef]) -> list[str]:
    """Returns a short, unique label for each run: its custom name or its backbone, and as needed the system, the
    corpus, settings and a number."""
    manifests = [run.manifest for run in runs]
    custom_names = [manifest.custom_name for manifest in manifests]
    is_unique = [bool(name) and custom_names.count(name) == 1 for name in custom_names]
    labels = [name or manifest.backbone for name, manifest in zip(custom_names, manifests, strict=True)]
    settings = [
        [f"{setting.name.rpartition('.')[2]} {value[:_LONGEST_VALUE]}" for value in setting.values]
        for setting in diff_configs(manifests)
        if not setting.name.startswith(_NOT_IN_LABELS) and not setting.name.endswith((DIGEST, COMMIT))
    ]
    parts = [
        [manifest.system for manifest in manifests],
        [manifest.corpus.name for manifest in manifests],
        *settings,
        [f"({number})" for number, _ in enumerate(manifests, start=1)],
    ]
    for part in parts:
        longer = [
            label if unique else f"{label} {text}" for label, unique, text in zip(labels, is_unique, part, strict=True)
        ]
        if len(set(longer)) > len(set(labels)):
            labels = longer
    return labels


def grouping_key(manifest: BaseManifest, *settings: str) -> str:
    """Returns a text that is equal for runs that differ only in the settings at these dotted paths."""
    digests = {name: digest for name, digest in manifest.identity.items() if name not in (CONFIG, *settings)}
    return json.dumps([canonicalize(manifest.settings, *settings), digests], sort_keys=True)


def _find_differences(settings: Sequence[Mapping[str, str]], *others: Sequence[Mapping[str, str]]) -> list[Setting]:
    """Finds the differences between mappings, one per run in each sequence, except those that follow from another."""
    several_systems = len({leaves.get("system.name") for leaves in settings}) > 1
    differences = []
    for runs in (settings, *others):
        for name in dict.fromkeys(name for leaves in runs for name in leaves):
            values = tuple(leaves.get(name, NONE) for leaves in runs)
            if len(set(values)) > 1 and not (several_systems and _follows_from_system(name, values)):
                differences.append(Setting(name, values))
    return [
        effect
        for effect in differences
        if not any(_explains(cause, effect) for cause in differences if cause is not effect)
    ]


def _follows_from_system(name: str, values: Sequence[str]) -> bool:
    """Returns True if a run lacks the setting because its system has no such setting."""
    always_shown = name == "system.name" or (name.endswith(".transductive") and "true" in values)
    return name.startswith(_OF_SYSTEM) and NONE in values and not always_shown


def _explains(cause: Setting, effect: Setting) -> bool:
    """Returns True if `effect` is a digest or a copy of `cause`, or has no effect because of it."""
    if effect.name.endswith(DIGEST):
        causes = next(causes for start, causes in _EXPLAINED_BY.items() if effect.name.startswith(start))
        return cause.name.startswith((*causes, *_ADDED_BY) if NONE in effect.values else causes)
    cause_group, _, cause_name = cause.name.rpartition(".")
    effect_name = effect.name.rpartition(".")[2]
    if effect.name.startswith(_COPIES) and not cause.name.startswith(_COPIES) and cause.values == effect.values:
        return cause_name in (effect_name, _RENAMED.get(effect_name))
    if cause_name == "top_k":
        turned_off: tuple[str, ...] = (f"{cause_group}.", "dataset.memory.")
    else:
        turned_off = _TURNED_OFF_BY.get(cause.name, ())
    return NONE in effect.values and effect.name.startswith(turned_off)


def _shorten_digests(manifest: BaseManifest) -> dict[str, str]:
    """Returns the parts of the identity, and the fields of the engine."""
    engine = manifest.engine.model_dump(mode="json")
    parts = manifest.identity.items()
    digests = {f"{part}{DIGEST}": shorten_digest(digest) for part, digest in parts if part not in (CONFIG, ENGINE)}
    digests[MODEL] = shorten_digest(engine.pop("digest") or NONE)
    return digests | dict(_iterate_leaves(engine, "engine."))


def _flatten_settings(settings: Mapping[str, object]) -> dict[str, str]:
    """Returns the settings that affect results, by the path that a user sets: source M is `memory`."""
    leaves = dict(_iterate_leaves(canonicalize(settings)))
    if settings.get("memory"):
        leaves = {name.replace("sources.M.", "memory.", 1): text for name, text in leaves.items()}
    return leaves


def _iterate_leaves(node: Mapping[str, object], above: str = "") -> Iterator[tuple[str, str]]:
    for key, value in node.items():
        if isinstance(value, Mapping):
            yield from _iterate_leaves(value, f"{above}{key}.")
        elif not f"{above}{key}".endswith(".embedder.folder"):  # a digest covers the folder's content
            yield f"{above}{key}", _format(value)


def _format(value: object) -> str:
    if value is None or value in ("", []):
        return NONE
    if isinstance(value, list | tuple) and not any(isinstance(item, list | tuple | Mapping) for item in value):
        return ", ".join(map(_format, value))
    return value if isinstance(value, str) and "\n" not in value else json.dumps(value, ensure_ascii=False)

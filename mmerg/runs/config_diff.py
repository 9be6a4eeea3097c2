"""The differences between runs that affect results, and labels of runs by them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mmerg.backends.protocol import list_engine_changes
from mmerg.runs.identity import CLIPS, CONFIG, CORPUS, ENGINE, canonicalize
from mmerg.runs.manifest import BaseManifest, Manifest, RunRef, shorten_digest

NONE, MODEL, COMMIT = "–", "model digest", "commit"

_COPIES = ("dataset.reader.", "dataset.memory.reader.", "backend.adapter.", "engine.")  # of settings of other groups
_OF_SYSTEM = ("system.", "memory.", "sources.", "dataset.memory.", "frames.")  # settings that a system may lack
_TURN_OFF = ("system.name", "system.without", "frames.seen_by")  # settings that turn others off
DIGEST = " digest"  # the end of the name of a part of the identity
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
    differences = _find_differences(list(map(_flatten, manifests)))
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
    of_engine = ("engine.", MODEL, COMMIT)
    differences = [setting for setting in diff_configs([then, now]) if not setting.name.startswith(of_engine)]
    if CONFIG in changed and all(setting.name.endswith(DIGEST) for setting in differences):
        engine.append("another version of mmerg reads the same settings differently")
    return [*engine, *map(_describe_change, differences)]


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
    labels = [manifest.custom_name or manifest.backbone for manifest in manifests]
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
        longer = [f"{label} {text}" for label, text in zip(labels, part, strict=True)]
        if len(set(longer)) > len(set(labels)):
            labels = longer
    return labels


def grouping_key(manifest: BaseManifest, *settings: str) -> str:
    """Returns a text that is equal for runs that differ only in the settings at these dotted paths."""
    digests = {name: digest for name, digest in manifest.identity.items() if name not in (CONFIG, *settings)}
    return json.dumps([canonicalize(manifest.settings, *settings), digests], sort_keys=True)


def _find_differences(runs: Sequence[Mapping[str, str]]) -> list[Setting]:
    """Finds the differences between the runs, without copies of others, and without settings and digests that a run
    lacks because another setting turns them off."""
    found = dict.fromkeys(name for leaves in runs for name in leaves)
    names = sorted(found, key=lambda name: (name == COMMIT, name.startswith("engine."), name.endswith(DIGEST)))
    all_values = {name: tuple(leaves.get(name, NONE) for leaves in runs) for name in names}
    differences = [Setting(name, values) for name, values in all_values.items() if len(set(values)) > 1]
    turned_off = any(_turns_off(setting) for setting in differences)
    return [
        setting
        for setting in differences
        if not (turned_off and _is_lacking(setting)) and not any(_is_copy(setting, other) for other in differences)
    ]


def _turns_off(setting: Setting) -> bool:
    return setting.name in _TURN_OFF or (setting.name.endswith(".top_k") and "0" in setting.values)


def _is_lacking(setting: Setting) -> bool:
    """Returns True if a run lacks the setting or digest because its system has none."""
    name, values = setting.name, setting.values
    always_shown = name in _TURN_OFF or (name.endswith(".transductive") and "true" in values)
    return NONE in values and (name.startswith(_OF_SYSTEM) or name.endswith(DIGEST)) and not always_shown


def _is_copy(setting: Setting, other: Setting) -> bool:
    same_name = setting.name.rpartition(".")[2] == other.name.rpartition(".")[2]
    between_groups = setting.name.startswith(_COPIES) and not other.name.startswith(_COPIES)
    return between_groups and same_name and setting.values == other.values


def _flatten(manifest: BaseManifest) -> dict[str, str]:
    """Returns the settings that affect results, by the path that a user sets (source M is `memory`), the parts of the
    identity, the fields of the engine, and the commit."""
    leaves = dict(_iterate_leaves(canonicalize(manifest.settings)))
    if manifest.settings.get("memory"):
        leaves = {name.replace("sources.M.", "memory.", 1): text for name, text in leaves.items()}
    parts = manifest.identity.items()
    leaves |= {f"{part}{DIGEST}": shorten_digest(digest) for part, digest in parts if part not in (CONFIG, ENGINE)}
    engine = manifest.engine.model_dump(mode="json")
    leaves[MODEL] = shorten_digest(engine.pop("digest") or NONE)
    leaves |= dict(_iterate_leaves(engine, "engine."))
    commit = manifest.sessions[0].git_commit if manifest.sessions else None
    return leaves | {COMMIT: shorten_digest(commit or NONE)}


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

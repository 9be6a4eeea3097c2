"""Which settings decide results: with those of RUNTIME_KEYS changed a run goes on, all else makes it another.

Two configs that ask for the same are one run: what has no effect is left out, and order that means nothing is put in
order. Knows plain values only.

    identity_hash(settings.plain())    # a part of what the end of a run folder's name stands for
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from mmerg.settings.kinds import PLACE, RUNTIME, Plain
from mmerg.settings.model import LOOPS, JudgeSettings, RunSettings
from mmerg.settings.tree import marked

RUNTIME_KEYS = tuple(dict.fromkeys(key for kind in (RunSettings, JudgeSettings) for key in marked(kind, RUNTIME)))
_PLACES = (  # of these paths the last name counts
    *marked(RunSettings, PLACE),
    *("backend.adapter.model", "backend.adapter.mmproj"),  # copies of the backbone's
    "judge.prompts",  # what is in them has a digest of its own
)
_CODE = re.compile(r"/.*\.py:\w+")  # what a file of the user's is to give: its digest stands for where it lies
_SEM = "mmerg.sources.sem.Sem"
# any other source may need the corpus for exemplars
_NO_MEMORY = ("mmerg.sources.situation.Situation", _SEM)
_IDLE = {"top_k": 0}


def runtime_settings(plain: Plain) -> Plain:
    """What a resolved config sets of RUNTIME_KEYS, by dotted path: what a start notes beside what decides results."""
    return {path: value for path in RUNTIME_KEYS if (value := at(plain, path)) is not None}


def with_runtime_settings(plain: Plain, runtime: Plain) -> Plain:
    """A config with what `runtime_settings` gave of another start in place of its own."""
    kept: Plain = json.loads(json.dumps(plain))
    for path, value in runtime.items():
        above, last = _above(kept, path)
        above[last] = value
    return kept


def identity_hash(plain: Mapping[str, object]) -> str:
    """SHA-256 (hex) of what decides results in a resolved config."""
    return hashlib.sha256(json.dumps(canonical(plain), sort_keys=True).encode()).hexdigest()


def canonical(plain: Mapping[str, object], *but_for: str) -> Plain:
    """What decides results, spelled in one way, without the settings at the dotted paths `but_for`. A setting that is
    not there, as in the manifest of an older run, is one that is off."""
    kept = _without(_anywhere(json.loads(json.dumps(plain))), RUNTIME_KEYS)
    if isinstance(kept.get("dataset"), dict):
        kept["dataset"] = _anywhere(kept["dataset"], read=True)
    for path in _PLACES:
        above, last = _above(kept, path)
        if last in above:
            above[last] = _last(above[last])
    for part, settle in (("protocol", _protocol), ("system", _system)):
        if isinstance(kept.get(part), dict):
            settle(kept[part])
    stages = at(kept, "system.stages")
    agents = [*(stages.values() if isinstance(stages, dict) else ()), at(kept, "system.auditor")]
    seen = {symbol for agent in agents for symbol in at(agent, "sees") or ()}
    frames = kept.get("frames")
    if at(frames, "seen_by") == "none" or (at(frames, "seen_by") == "paper" and seen and "V" not in seen):
        kept["frames"] = {"seen_by": "none"}
    sources = kept.get("sources") or {}
    kept["sources"] = {name: _source(node) for name, node in sources.items() if node and name in seen}
    if all(node == _IDLE or at(node, "_target_") in _NO_MEMORY for node in kept["sources"].values()):
        above, last = _above(kept, "dataset.memory")
        above[last] = None
    return _without(kept, ("memory", "sem", "decoys", *but_for))  # the first three are what others name of them


def _protocol(protocol: Plain) -> None:
    protocol.pop("name", None)
    if protocol.get("sample") is None:
        protocol.pop("seed", None)
    if isinstance(protocol.get("emotions"), list):
        protocol["emotions"] = sorted(set(protocol["emotions"]))


def _system(system: Plain) -> None:
    system.pop("label_sets", None)  # the dataset has the one that was taken
    system.pop("prompts", None)  # what is in them has a digest of its own, wherever they lie
    without = system["without"] = sorted(set(system.get("without") or ()))
    stages, auditor = system.get("stages"), system.get("auditor")
    if isinstance(stages, dict):
        stages = system["stages"] = {name: stage for name, stage in stages.items() if name not in without}
        gives = {at(stage, "gives") for stage in stages.values()}
        if system.get("organization") and not any(gives & set(at(stage, "sees") or ()) for stage in stages.values()):
            system["organization"] = "cascaded"  # no stage sees another's output anyway
    if at(auditor, "name") in without:
        auditor = system["auditor"] = None
    loop = system.get("loop", LOOPS[0])
    if not isinstance(auditor, dict) and loop in LOOPS:  # a loop of the user's may do anything
        for name in ("max_iterations", "rerun_temperature"):  # without an audit there is one pass
            system.pop(name, None)
    if loop in LOOPS and loop != "draws":
        system.pop("draws", None)
    if loop == "refine" and not at(auditor, "score") and "final_selection" in system:
        system["final_selection"] = "last"  # without a score there is no other choice


def _anywhere(node: Any, *, read: bool = False) -> Any:
    """Settings without where the user's code lies. read: of a corpus, too, for all of which its own digest stands."""
    if isinstance(node, dict):
        return {
            key: _anywhere(value, read=read)
            for key, value in node.items()
            if not read or key != "root" or isinstance(value, dict)
        }
    if isinstance(node, list):
        return [_anywhere(value, read=read) for value in node]
    return _last(node) if isinstance(node, str) and (read or _CODE.fullmatch(node)) else node


def _last(path: Any) -> Any:
    """The last name of a path, and anything else as it is."""
    whole = isinstance(path, str) and path.startswith("/")
    return os.path.basename(os.path.normpath(path)) if whole else path  # noqa: PTH119


def _source(node: Plain) -> Plain:
    """A source without what decides how it is had, and where; of one without exemplars that there are none. A small
    empathetic model's digest, which is a part of a run's identity, tells its embedder."""
    if at(node, "top_k") == 0:
        return dict(_IDLE)
    if node.get("_target_") == _SEM:
        idle = () if node.get("cause_words", True) else ("transductive", "k1", "lexicon")
        return {key: value for key, value in node.items() if key not in ("folder", "embedder", *idle)}
    embedder = node.get("embedder")
    if isinstance(embedder, dict):
        keys = {key: f"memory.embedder.{key}" for key in embedder if f"memory.embedder.{key}" not in RUNTIME_KEYS}
        kept = {key: _last(embedder[key]) if path in _PLACES else embedder[key] for key, path in keys.items()}
        return {**node, "embedder": kept}
    return node


def _without(plain: Plain, paths: Iterable[str]) -> Plain:
    for path in paths:
        above, last = _above(plain, path)
        above.pop(last, None)
    return plain


def _above(plain: Plain, path: str) -> tuple[Plain, str]:
    """The settings among which the last name of a dotted path stands, empty where there are none, and that name."""
    above, _, last = path.rpartition(".")
    node = at(plain, above) if above else plain
    return (node if isinstance(node, dict) else {}), last


def at(plain: Any, path: str) -> Any:
    """The value at a dotted path, None where there is none."""
    for name in path.split("."):
        plain = plain.get(name) if isinstance(plain, dict) else None
    return plain

"""Which settings decide results. A run goes on when settings of RUNTIME_KEYS change; any other change makes a new run.

Two configs that ask for the same are one run: settings without effect are left out, and lists whose order means nothing
are sorted. Works on plain values only.

    identity_hash(settings.plain())    # a part of what the end of a run folder's name stands for
"""

import copy
import hashlib
import json
import os
import re
from collections.abc import Mapping
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
_EMBEDDER = re.compile(r"sources\.[^.]+\.embedder")  # the same settings as memory.embedder
_SEM = "mmerg.sources.sem.Sem"
_NO_MEMORY = ("mmerg.sources.situation.Situation", _SEM)  # any other source may need the corpus for exemplars
_NO_EXEMPLARS = {"top_k": 0}


def runtime_settings(plain: Plain) -> Plain:
    """The RUNTIME_KEYS that a resolved config sets, by dotted path. Each start of a run notes them."""
    return {path: value for path in RUNTIME_KEYS if (value := at(plain, path)) is not None}


def with_runtime_settings(plain: Plain, runtime: Plain) -> Plain:
    """The config with the runtime settings of another start in place of its own."""
    changed = copy.deepcopy(plain)
    for path, value in runtime.items():
        above, _, last = path.rpartition(".")
        (at(changed, above) if above else changed)[last] = value
    return changed


def identity_hash(plain: Mapping[str, object]) -> str:
    """SHA-256 (hex) of what decides results in a resolved config."""
    return hashlib.sha256(json.dumps(canonical(plain), sort_keys=True).encode()).hexdigest()


def canonical(plain: Mapping[str, object], *but_for: str) -> Plain:
    """The settings that decide results, each spelled in one way, without the dotted paths `but_for`. A setting that is
    absent, as in the manifest of imported replies, counts as off."""
    kept: Plain = _wherever_it_lies(plain)
    for part, settle in (("protocol", _settle_protocol), ("system", _settle_system)):
        if isinstance(kept.get(part), dict):
            settle(kept[part])
    stages = at(kept, "system.stages")
    agents = [*(stages.values() if isinstance(stages, dict) else ()), at(kept, "system.auditor")]
    seen = {symbol for agent in agents for symbol in at(agent, "sees") or ()}
    seen_by = at(kept, "frames.seen_by")
    if seen_by == "none" or (seen_by == "paper" and seen and "V" not in seen):
        kept["frames"] = {"seen_by": "none"}
    sources = kept.get("sources") or {}
    kept["sources"] = {name: _source(node) for name, node in sources.items() if node and name in seen}
    no_memory = all(node == _NO_EXEMPLARS or at(node, "_target_") in _NO_MEMORY for node in kept["sources"].values())
    if no_memory and isinstance(kept.get("dataset"), dict):
        kept["dataset"]["memory"] = None
    for path in ("memory", "sem", *but_for):  # memory and sem: settings that others refer to
        above, _, last = path.rpartition(".")
        node = at(kept, above) if above else kept
        if isinstance(node, dict):
            node.pop(last, None)
    return kept


def _wherever_it_lies(node: Any, path: str = "") -> Any:
    """A copy without runtime settings and without the folders that files lie in. The corpus has a digest of its own, so
    that its root does not count."""
    of_corpus = path.split(".", maxsplit=1)[0] == "dataset"
    if isinstance(node, Mapping):
        above = f"{_EMBEDDER.sub('memory.embedder', path)}." if path else ""
        return {
            key: _wherever_it_lies(value, above + key)
            for key, value in node.items()
            if above + key not in RUNTIME_KEYS
            and not (of_corpus and key == "root" and not isinstance(value, dict))  # a class may give one
        }
    if isinstance(node, list | tuple):
        return [_wherever_it_lies(value, path) for value in node]
    is_place = of_corpus or path in _PLACES or (isinstance(node, str) and _CODE.fullmatch(node))
    if is_place and isinstance(node, str) and node.startswith("/"):
        return os.path.basename(os.path.normpath(node))  # noqa: PTH119
    return node


def _settle_protocol(protocol: Plain) -> None:
    protocol.pop("name", None)
    if protocol.get("sample") is None:
        protocol.pop("seed", None)
    if isinstance(protocol.get("emotions"), list):
        protocol["emotions"] = sorted(set(protocol["emotions"]))


def _settle_system(system: Plain) -> None:
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
    if loop not in LOOPS:  # a loop of the user's may use any setting
        return
    if not isinstance(auditor, dict):
        for name in ("max_iterations", "rerun_temperature"):  # without an audit there is one pass
            system.pop(name, None)
    if loop != "draws":
        system.pop("draws", None)
    if loop == "refine" and not at(auditor, "score") and "final_selection" in system:
        system["final_selection"] = "last"  # without a score there is no other choice


def _source(node: Plain) -> Plain:
    """A source without settings that have no effect. A small empathetic model's embedder is left out, as the model's
    digest, a part of a run's identity, covers it."""
    if at(node, "top_k") == 0:
        return dict(_NO_EXEMPLARS)
    if at(node, "_target_") != _SEM:
        return node
    idle = () if node.get("cause_words", True) else ("transductive", "k1", "lexicon")
    return {key: value for key, value in node.items() if key not in ("file", "embedder", *idle)}


def at(plain: Any, path: str) -> Any:
    """The value at a dotted path, None where there is none."""
    for name in path.split("."):
        plain = plain.get(name) if isinstance(plain, dict) else None
    return plain

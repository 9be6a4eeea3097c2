"""Which settings decide results: a run goes on with those of `HOW` changed, everything else makes it another run.

Two configs that ask for the same are one run: what has no effect is left out, and order that means nothing is put in
order. Knows plain values only.

    identity_hash(settings.plain())    # a part of what the end of a run folder's name stands for
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

from mmerg.settings.model import LOOPS, RUNTIME, JudgeSettings, RunSettings
from mmerg.settings.tree import marked

HOW = tuple(dict.fromkeys(key for kind in (RunSettings, JudgeSettings) for key in marked(kind, RUNTIME)))
_NO_PLACES = ("check", "sampling", "vocabulary")  # a text in these that begins like a path is none


def how(plain: dict[str, Any]) -> dict[str, Any]:
    """What a resolved config sets of HOW, by dotted path: what a start notes beside what decides results."""
    return {path: value for path in HOW if (value := at(plain, path)) is not None}


def identity_hash(plain: Mapping[str, Any]) -> str:
    """SHA-256 (hex) of what decides results in a resolved config."""
    return hashlib.sha256(json.dumps(canonical(plain), sort_keys=True).encode()).hexdigest()


def canonical(plain: Mapping[str, Any]) -> dict[str, Any]:
    """What decides results, spelled in one way. A setting that is not there, as in the manifest of an older run, is one
    that is off."""
    kept: dict[str, Any] = _without_places(json.loads(json.dumps(plain)))
    for path in HOW:
        above, _, last = path.rpartition(".")
        node = at(kept, above) if above else kept
        if isinstance(node, dict):
            node.pop(last, None)
    for part, settle in (("protocol", _protocol), ("system", _system), ("frames", _frames)):
        if isinstance(kept.get(part), dict):
            settle(kept[part])
    sources: dict[str, Any] = kept.get("sources") or {}
    kept["sources"] = {name: _source(node) for name, node in sources.items() if node and _supplies(kept, name)}
    for name in ("memory", "sem"):  # they are what sources name of them
        kept.pop(name, None)
    if not kept["sources"] and isinstance(kept.get("dataset"), dict):
        kept["dataset"]["memory"] = None
    return kept


def _protocol(protocol: dict[str, Any]) -> None:
    protocol.pop("name", None)
    if protocol.get("sample") is None:
        protocol.pop("seed", None)
    if isinstance(protocol.get("emotions"), list):
        protocol["emotions"] = sorted(set(protocol["emotions"]))


def _system(system: dict[str, Any]) -> None:
    system.pop("label_sets", None)  # the dataset has the one that was taken
    system.pop("prompts", None)  # what is in them has a digest of its own, wherever they lie
    system["without"] = sorted(set(system.get("without") or ()))
    auditor = system.get("auditor")
    audited = isinstance(auditor, dict) and auditor.get("name") not in system["without"]
    if not audited and system.get("loop", LOOPS[0]) in LOOPS:
        system.pop("max_iterations", None)  # without an audit there is one pass, but in a loop of the user's


def _frames(frames: dict[str, Any]) -> None:
    if frames.get("seen_by") == "none":
        for name in set(frames) - {"seen_by"}:
            del frames[name]


def _without_places(node: Any) -> Any:
    """Settings without where files and folders lie: of a path its last name counts, of a corpus its own digest."""
    if isinstance(node, dict):
        return {
            key: value if key in _NO_PLACES else _without_places(value)
            for key, value in node.items()
            if key != "root" or isinstance(value, dict | list)  # a name of the user's
        }
    if isinstance(node, list):
        return [_without_places(value) for value in node]
    return os.path.basename(os.path.normpath(node)) if isinstance(node, str) and node.startswith("/") else node  # noqa: PTH119


def _supplies(kept: dict[str, Any], symbol: str) -> bool:
    """Whether any agent is shown what a source has."""
    stages = at(kept, "system.stages")
    agents = [*(stages.values() if isinstance(stages, dict) else ()), at(kept, "system.auditor")]
    seen = [at(agent, "sees") or () for agent in agents]
    return at(kept, f"sources.{symbol}.top_k") != 0 and any(symbol in sees for sees in seen)


def _source(node: dict[str, Any]) -> dict[str, Any]:
    """A source without what decides how it is had."""
    embedder = node.get("embedder")
    if isinstance(embedder, dict):
        embedder = {key: value for key, value in embedder.items() if f"memory.embedder.{key}" not in HOW}
        return {**node, "embedder": embedder}
    return node


def at(plain: Any, path: str) -> Any:
    """The value at a dotted path, None where there is none."""
    for name in path.split("."):
        plain = plain.get(name) if isinstance(plain, dict) else None
    return plain

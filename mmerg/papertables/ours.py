"""A run as a row of a paper's table: the settings that decide which row it is, and its figures.

run = read_ours(Path("runs/iemocap-merg-qwen3.5-27b-1a2b3c4d"))
run.settings["top_k"], run.score("acc")
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmerg.errors import RunError
from mmerg.judging.judgement import read_judgement
from mmerg.papertables.seen import seen
from mmerg.runs.folder import TRACE, read_manifest
from mmerg.scoring.score import Score, Scores, read_scores
from mmerg.settings.identity import identity_hash

Setting = str | int
JUDGEMENT = "judgement-*.json"


@dataclass(frozen=True)
class Ours:
    """A scored run. judges: by name, their ratings by aspect. but_for_seed: the same for runs that differ in their
    seeds alone."""

    name: str
    seed: int
    but_for_seed: str
    settings: Mapping[str, Setting]
    scores: Scores
    judges: Mapping[str, Mapping[str, Score]] = field(default_factory=dict)

    @property
    def dataset(self) -> str:
        return str(self.settings["dataset"])

    def score(self, column: str) -> Score | None:
        """The figure of a column: of `scores.json`, or the rating of the one judge."""
        if column in self.scores.scores:
            return self.scores.scores[column]
        rated = [ratings[column] for ratings in self.judges.values() if column in ratings]
        return rated[0] if len(rated) == 1 else None


@dataclass(frozen=True)
class Placed:
    """A run in a table, by the number it goes by there. differs: in what it is not as its row, or why it has none."""

    number: int
    run: Ours
    differs: str = ""

    @property
    def fits(self) -> bool:
        return not self.differs


def read_ours(path: Path, judge: str | None = None) -> Ours:
    """The run in folder `path`, judged by `judge` alone if given. Raises UnscoredError where it has no scores, or they
    are not of its results as they are now, RunError where a file of it cannot be read."""
    manifest = read_manifest(path)
    if dataset_of(manifest) is None:
        raise RunError("the manifest does not say of which dataset the run is", where=str(path), hint="see `ls runs/`")
    scores = read_scores(path, manifest["identity"])
    judges = _judges(path)
    if judge is not None:
        judges = {name: ratings for name, ratings in judges.items() if name == judge}
    config = dict(_node(manifest, "config"))
    seed = int(config.get("seed") or 0)
    parts = {name: part for name, part in manifest["identity"].items() if name != "config"}
    but_for_seed = f"{identity_hash(config | {'seed': 0})} {json.dumps(parts, sort_keys=True)}"
    settings = settings_of(manifest)
    if settings["frames"] != "none":
        settings["seen"] = seen(path / TRACE)
    return Ours(path.resolve().name, seed, but_for_seed, settings, scores, judges)


def dataset_of(manifest: Mapping[str, Any]) -> str | None:
    """The dataset of a run; None where the manifest is of something else."""
    name = _node(_node(manifest, "config"), "dataset").get("name")
    return name if isinstance(name, str) else None


def settings_of(manifest: Mapping[str, Any]) -> dict[str, Setting]:
    """What the papers' tables tell apart, by the names that they use. What an older run does not have is as if it were
    off: no agent left out, cascaded, the best pass, no exemplars; keyframes are seen by the paper's agents."""
    config = _node(manifest, "config")
    dataset, system = _node(config, "dataset"), _node(config, "system")
    found: dict[str, Setting] = {
        "dataset": str(dataset.get("name")),
        "split": str(dataset.get("split")),
        "variant": str(dataset.get("variant") or "multi"),
        "labels": len(_node(manifest, "corpus").get("labels") or ()),
        "samples": int(_node(manifest, "protocol").get("samples") or 0),
        "targets": str(_node(manifest, "protocol").get("targets") or "last"),
        "system": str(system.get("name")),
        "backbone": str(_node(config, "backbone").get("name")),
        "max_iterations": int(system.get("max_iterations") or 0),
        "top_k": int(_node(config, "memory").get("top_k") or 0),
        "without": "+".join(sorted(system.get("without") or ())) or "none",
        "organization": str(system.get("organization") or "cascaded"),
        "final_selection": str(system.get("final_selection") or "lexicographic"),
        "frames": str(_node(config, "frames").get("seen_by") or "paper"),
    }
    if sessions := dataset.get("sessions"):
        found["sessions"] = sessions[0] if len(sessions) == 1 else "+".join(str(session) for session in sessions)
    return found


def _node(above: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    node = above.get(name)
    return node if isinstance(node, Mapping) else {}


def _judges(path: Path) -> dict[str, Mapping[str, Score]]:
    """Each judge's ratings. Raises RunError for a file that cannot be read as one, or is of other replies."""
    return {
        file.stem.removeprefix("judgement-"): read_judgement(file, path).scores for file in sorted(path.glob(JUDGEMENT))
    }

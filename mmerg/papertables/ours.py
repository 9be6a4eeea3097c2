"""A run as a row of a paper's table: the settings that decide which row it is, and its figures.

run = read_ours(Path("runs/iemocap-merg-qwen3.5-27b-1a2b3c4d"))
run.settings["top_k"], run.score("acc")
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mmerg.errors import RunError
from mmerg.judging.judgement import read_judgement
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import JudgingManifest, Manifest, read_manifest
from mmerg.runs.result import Result
from mmerg.scoring.score import Score, Scores, read_scores
from mmerg.settings.identity import identity_hash

Setting = str | int
KEYFRAMES = "keyframes"
MEASURED = "descriptions measured from keyframes"
NOT_FOUND = "no clip was found: text only"
UNUSABLE = "no clip could be used: text only"
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
    scores = read_scores(path, manifest.identity)
    judges = _judges(path)
    if judge is not None:
        judges = {name: ratings for name, ratings in judges.items() if name == judge}
    parts = {name: part for name, part in manifest.identity.items() if name != "config"}
    but_for_seed = f"{identity_hash(manifest.settings | {'seed': 0})} {json.dumps(parts, sort_keys=True)}"
    settings = settings_of(manifest)
    if settings["frames"] != "none":
        settings["seen"] = seen(read_results(path).values())
    return Ours(path.resolve().name, manifest.setting("seed", 0), but_for_seed, settings, scores, judges)


def dataset_of(manifest: Manifest | JudgingManifest) -> str | None:
    """The dataset of a run; None where the manifest is of something else."""
    return manifest.setting("dataset.name") if isinstance(manifest, Manifest) else None


def seen(results: Iterable[Result]) -> str:
    """What the agents saw of the keyframes: a run whose clips were not found is one of text. A run of which no clip was
    looked at yet is taken for one with keyframes."""
    found = KEYFRAMES
    for result in results:
        if result.frames:
            return MEASURED if result.frames_form == "descriptions" else KEYFRAMES
        if result.turns_looked_at:
            found = UNUSABLE
        elif result.frames_form and found == KEYFRAMES:
            found = NOT_FOUND
    return found


def settings_of(manifest: Manifest) -> dict[str, Setting]:
    """What the papers' tables tell apart, by the names that they use. What a run does not have is as if it were off:
    no agent left out, cascaded, the best pass, no exemplars; keyframes are seen by the paper's agents."""
    of = manifest.setting
    found: dict[str, Setting] = {
        "dataset": of("dataset.name"),
        "split": of("dataset.split", "None"),
        "variant": of("dataset.variant", "multi"),
        "labels": len(manifest.corpus.labels),
        "samples": manifest.protocol.samples,
        "targets": str(of("protocol.targets", "last")),
        "system": of("system.name", "None"),
        "backbone": of("backbone.name", "None"),
        "max_iterations": of("system.max_iterations", 0),
        "top_k": of("memory.top_k", 0),
        "without": "+".join(sorted(of("system.without", ()))) or "none",
        "organization": of("system.organization", "cascaded"),
        "final_selection": of("system.final_selection", "lexicographic"),
        "frames": str(of("frames.seen_by", "paper")),
    }
    if sessions := of("dataset.sessions"):
        found["sessions"] = sessions[0] if len(sessions) == 1 else "+".join(str(session) for session in sessions)
    return found


def _judges(path: Path) -> dict[str, Mapping[str, Score]]:
    """Each judge's ratings. Raises RunError for a file that cannot be read as one, or is of other replies."""
    return {
        file.stem.removeprefix("judgement-"): read_judgement(file, path).scores for file in sorted(path.glob(JUDGEMENT))
    }

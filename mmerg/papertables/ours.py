"""A run beside a paper's table: what decides which row it is, and its figures.

run = read_ours(Path("runs/iemocap-merg-qwen3.5-27b-1a2b3c4d"))
run.called, run.score("acc")
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mmerg.errors import ConfigError, RunError, did_you_mean
from mmerg.judging.judgement import Judgement, read_judgements
from mmerg.runs.folder import read_results
from mmerg.runs.labels import own
from mmerg.runs.manifest import About, JudgingManifest, Manifest, read_manifest
from mmerg.runs.result import Result
from mmerg.scoring.score import Score, Scores, read_scores

KEYFRAMES = "keyframes"
MEASURED = "descriptions measured from keyframes"
NOT_FOUND = "no clip was found: text only"
UNUSABLE = "no clip could be used: text only"


@dataclass(frozen=True)
class Ours(About):
    """A scored run. seen: what agents saw of the clips. judges: their ratings, by name."""

    seen: str
    scores: Scores
    judges: Mapping[str, Judgement] = field(default_factory=dict)

    @property
    def called(self) -> str:
        """The user's own name for the run before that of its folder."""
        return f"{name} ({self.run})" if (name := own(self)) else self.run

    def score(self, column: str) -> Score | None:
        """The figure of a column: of `scores.json`, or the rating of the one judge."""
        if column in self.scores.scores:
            return self.scores.scores[column]
        rated = self.judges_of([column])
        return rated[0].scores[column] if len(rated) == 1 else None

    def judges_of(self, columns: Collection[str]) -> list[Judgement]:
        """Those who rated any of these aspects."""
        return [judge for judge in self.judges.values() if judge.scores.keys() & set(columns)]


@dataclass(frozen=True)
class Placed:
    """A run in a table, by the number it goes by there. differs: in what it is not as its row, or why it has none."""

    number: int
    run: Ours
    differs: str = ""

    @property
    def fits(self) -> bool:
        return not self.differs

    def note(self, columns: Collection[str]) -> str:
        """What a reader must know of its line."""
        own = ", ".join(judge.name for judge in self.run.judges_of(columns) if judge.self_judged)
        return "; ".join(filter(None, (self.differs, f"rated by the model that wrote the replies: {own}" * bool(own))))


def read_ours(path: Path) -> Ours:
    """The run in folder `path`. Raises UnscoredError where it has no scores, or they are not of its results as they are
    now, RunError where a file cannot be read."""
    manifest = read_manifest(path)
    if dataset_of(manifest) is None:
        raise RunError("the manifest does not say of which dataset the run is", where=str(path), hint="see `ls runs/`")
    scores = read_scores(path, manifest.identity)
    text = manifest.setting("frames.seen_by") == "none"
    looked = KEYFRAMES if text else seen(read_results(path).values())  # what was asked for, as the settings tell
    return Ours(path, manifest, looked, scores, read_judgements(path))


def judged_by(runs: Sequence[Ours], judge: str) -> list[Ours]:
    """The runs with the ratings of `judge` (a backbone, or backbone@rubric) alone. Raises ConfigError where it judged
    none of them."""
    names = {name: found.judge for run in runs for name, found in run.judges.items()}
    if judge not in (*names, *names.values()):
        near = did_you_mean(judge, [*names, *names.values()])
        hint = f"{near} judges: {', '.join(sorted(names))}".strip() if names else "mmerg judge RUN…"
        raise ConfigError(f"none of these runs is judged by {judge}", where="--judge", hint=hint)
    return [
        replace(run, judges={name: one for name, one in run.judges.items() if judge in (name, one.judge)})
        for run in runs
    ]


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

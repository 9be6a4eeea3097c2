"""A run in a paper's table, with its scores and ratings.

run = read_table_run(Path("runs/iemocap-merg-qwen3.5-27b-1a2b3c4d"))
run.score("acc")
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mmerg.errors import ConfigError, did_you_mean
from mmerg.judging.judgement import Judgement, read_judgements
from mmerg.rating.people import PeopleRatings, read_people_ratings
from mmerg.runs.manifest import RunRef, read_manifest
from mmerg.scoring.score import Score, Scores, read_scores


@dataclass(frozen=True)
class TableRun(RunRef):
    """A scored run. judges, people: ratings of its replies, by the name of the judge or the study."""

    scores: Scores
    judges: Mapping[str, Judgement]
    people: Mapping[str, PeopleRatings]

    @property
    def name(self) -> str:
        """The name that the user gave the run, and that of its folder."""
        return f"{name} ({self.run})" if (name := self.manifest.custom_name) else self.run

    @property
    def dataset(self) -> str | None:
        name: str | None = self.manifest.setting("dataset.name")
        return name

    def score(self, column: str) -> Score | None:
        """Returns a column's score: from `scores.json`, or else by people, or else by a judge, if there is only one."""
        if column in self.scores.scores:
            return self.scores.scores[column]
        ratings = [rated.scores[column] for rated in self.people.values() if column in rated.scores]
        if not ratings:
            ratings = [judge.scores[column] for judge in self.find_judgements([column])]
        return ratings[0] if len(ratings) == 1 else None

    def find_judgements(self, columns: Collection[str]) -> list[Judgement]:
        """Finds the judgements that rate any of these aspects."""
        return [judge for judge in self.judges.values() if judge.scores.keys() & set(columns)]


def read_table_run(path: Path) -> TableRun:
    """Reads the run in the folder `path`. Raises UnscoredError if its scores are missing or stale, RunError if a file
    cannot be read."""
    manifest = read_manifest(path)
    scores = read_scores(path, manifest.identity)
    return TableRun(path, manifest, scores, read_judgements(path), read_people_ratings(path))


def select_judge(runs: Sequence[TableRun], judge: str) -> list[TableRun]:
    """Keeps only ratings by `judge`, a backbone or backbone@rubric. Raises ConfigError if it judged no run."""
    names = {name: rated.judge for run in runs for name, rated in run.judges.items()}
    names |= {name: rated.judge for run in runs for name, rated in run.people.items()}
    if judge not in (*names, *names.values()):
        near = did_you_mean(judge, [*names, *names.values()])
        hint = f"{near} judges: {', '.join(sorted(names))}".strip() if names else "mmerg judge RUN…"
        raise ConfigError(f"none of these runs is judged by {judge}", where="--judge", hint=hint)
    return [
        replace(
            run,
            judges={name: rated for name, rated in run.judges.items() if judge in (name, rated.judge)},
            people={name: rated for name, rated in run.people.items() if judge in (name, rated.judge)},
        )
        for run in runs
    ]

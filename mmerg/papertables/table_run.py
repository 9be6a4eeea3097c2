"""A run in a paper's table, with its scores and ratings.

run = read_table_run(Path("runs/iemocap-merg-qwen3.5-27b-1a2b3c4d"))
run.score("acc")
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mmerg.errors import ConfigError, did_you_mean
from mmerg.judging.judgement import Judgement, read_judgements
from mmerg.rating.people import PeopleRatings, read_people_ratings
from mmerg.runs.manifest import RunRef, read_manifest
from mmerg.scoring.score import Score, Scores, read_scores


@dataclass(frozen=True)
class TableRun(RunRef):
    """A scored run, with the ratings of its replies by judges and people."""

    scores: Scores
    ratings: Sequence[Judgement | PeopleRatings]

    @property
    def dataset(self) -> str | None:
        name: str | None = self.manifest.setting("dataset.name")
        return name

    def score(self, column: str) -> Score | None:
        """Returns a column's score: from `scores.json`, or else from the ratings, if there is only one."""
        if column in self.scores.scores:
            return self.scores.scores[column]
        ratings = self.find_ratings([column])
        return ratings[0].scores[column] if len(ratings) == 1 else None

    def find_ratings(self, columns: Collection[str]) -> Sequence[Judgement | PeopleRatings]:
        """Finds the ratings of any of these aspects by people, or else by judges."""
        ratings = [rated for rated in self.ratings if rated.scores.keys() & set(columns)]
        return [rated for rated in ratings if isinstance(rated, PeopleRatings)] or ratings


def read_table_run(path: Path) -> TableRun:
    """Reads the run in the folder `path`. Raises UnscoredError if its scores are missing or stale, RunError if a file
    cannot be read."""
    manifest = read_manifest(path)
    ratings: list[Judgement | PeopleRatings] = [*read_judgements(path).values(), *read_people_ratings(path).values()]
    return TableRun(path, manifest, read_scores(path, manifest.identity), ratings)


def select_judge(runs: Sequence[TableRun], judge: str) -> list[TableRun]:
    """Keeps only ratings by `judge`, a backbone or backbone@rubric. Raises ConfigError if it judged no run."""
    names = {rated.name: rated.judge for run in runs for rated in run.ratings}
    if judge not in (*names, *names.values()):
        near = did_you_mean(judge, [*names, *names.values()])
        hint = f"{near} judges: {', '.join(sorted(names))}".strip() if names else "mmerg judge RUN…"
        raise ConfigError(f"none of these runs is judged by {judge}", where="--judge", hint=hint)
    return [
        replace(run, ratings=[rated for rated in run.ratings if judge in (rated.name, rated.judge)]) for run in runs
    ]

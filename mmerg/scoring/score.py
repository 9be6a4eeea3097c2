"""A score with its n, interval and signature; and the file `scores.json` with the scores of a run.

scores = read_scores(folder, read_manifest(folder).identity)
scores.scores["acc"].value, scores.scores["acc"].interval, scores.scores["acc"].n
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from pydantic import Field

from mmerg.errors import RunError
from mmerg.runs.folder import read_results
from mmerg.runs.result import Result
from mmerg.scoring.intervals import compute_interval
from mmerg.scoring.metric import Indices, IntervalBy, Value
from mmerg.storage.record import Record, read_record

SCORES = "scores.json"
DRAWS = 1000  # of a bootstrap


class Score(Record):
    """The value of a metric. Shares are percentages (×100). If value or interval is None, `why` gives the reason."""

    name: str
    value: float | None
    n: int  # the number of samples that count
    interval: tuple[float, float] | None = None  # 95 %, by `method`
    method: str = ""  # wilson, bootstrap, …
    higher_is_better: bool | None = None
    signature: str = ""
    why: str = ""

    def evaluate(
        self,
        value: Value,
        dialogues: Sequence[str] | Indices,
        by: IntervalBy | None,
        *,
        resamples: int = DRAWS,
        seed: int = 0,
    ) -> Score:
        """Returns the score with its value over all samples, and its interval by `by`. dialogues: of each sample."""
        ends, method, why = compute_interval(by, value, dialogues, resamples=resamples, seed=seed)
        score = value(np.arange(len(dialogues)))
        update = {"value": score, "n": len(dialogues), "interval": ends, "method": method, "why": why}
        return self.model_copy(update=update)

    def row(self) -> dict[str, object]:
        """Returns the fields for a table: the name as `metric`, and the ends of the interval as `low` and `high`."""
        low, high = self.interval or (None, None)
        return {"metric": self.name, **self.model_dump(exclude={"name", "interval"}), "low": low, "high": high}


class Confusion(Record):
    """A confusion matrix."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]  # [i][j]: samples with the gold label labels[i] and the forecast labels[j]
    failed: tuple[int, ...]  # the number of failed samples by gold label

    @property
    def occurring(self) -> tuple[str, ...]:
        """The labels that occur among the gold labels."""
        golds = zip(self.labels, self.counts, self.failed, strict=True)
        return tuple(label for label, row, failed in golds if sum(row) + failed)


class Scores(Record):
    """All scores of a run."""

    run: str
    corpus: str
    protocol: str
    engine: str
    inputs: tuple[str, ...] = ()  # see `runs.inputs`
    n: int  # finished samples
    failed: int  # of the finished samples
    unaudited: int = 0  # with an audit that could not be read
    unfinished: int  # samples of the protocol without a result
    scores: dict[str, Score]  # by name; a metric of a single label is named such as "f1:joy"
    confusion: Confusion | None = None
    uncut: bool = False  # most replies have at least twice as many words as tokens, as in Chinese, Japanese and Thai
    identity: dict[str, str] = Field(default_factory=dict)  # of the manifest
    results: str = ""  # a digest (see `results_digest`)

    @property
    def overall(self) -> dict[str, Score]:
        """The scores that are not of a single label."""
        return {name: score for name, score in self.scores.items() if ":" not in name}

    @property
    def by_label(self) -> dict[str, dict[str, Score]]:
        by_label: dict[str, dict[str, Score]] = {}
        for name, score in self.scores.items():
            metric, colon, label = name.partition(":")
            if colon:
                by_label.setdefault(label, {})[metric] = score
        return by_label

    @property
    def counts_line(self) -> str:
        """The number of scored samples, and of those without a result yet, as a text."""
        line = f"{self.n} sample{'' if self.n == 1 else 's'} scored, {self.failed} of them failed"
        if self.unaudited:
            line += f", {self.unaudited} unaudited"
        if self.unfinished:
            missing = f"{self.unfinished} of the protocol's samples have no result"
            line += f"; unfinished: {missing} (not run yet, or excluded by limit)"
        return line


class UnscoredError(RunError):
    """The error for a run without scores, or with stale scores."""


def read_scores(folder: Path, identity: Mapping[str, str]) -> Scores:
    """Reads the scores in a run's folder. identity: of the run's manifest. Raises UnscoredError if they are missing or
    stale, RunError if the file is of another version."""
    file, again = folder / SCORES, f"mmerg score {folder}"
    try:
        scores = read_record(file, Scores, again)
    except FileNotFoundError as error:
        raise UnscoredError(f"this run has no scores: there is no {SCORES}", where=str(folder), hint=again) from error
    if (scores.identity, scores.results) != (identity, results_digest(read_results(folder).values())):
        raise UnscoredError("the scores of this run are stale: it has changed since", where=str(folder), hint=again)
    return scores


def results_digest(results: Iterable[Result]) -> str:
    """Returns the SHA-256 digest (hex) of results in the order of their ids. It omits default values, so that a later
    version with more fields gives the same digest."""
    digest = hashlib.sha256()
    for result in sorted(results, key=lambda result: result.id):
        digest.update(json.dumps(result.model_dump(mode="json", exclude_defaults=True), sort_keys=True).encode())
    return digest.hexdigest()

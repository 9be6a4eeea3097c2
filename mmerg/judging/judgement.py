"""The files with the scores over a judge's verdicts.

judgement.json in a judging's folder holds a `Judgement` of one run or a `Match` of two; beside a judged run,
judgement-<judge's backbone>@<rubric>.json holds the latest `Judgement` of its replies."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from mmerg.errors import RunError
from mmerg.judging.metrics import Sign
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import JudgingManifest, RunRef, read_any_manifest
from mmerg.runs.result import Result
from mmerg.scoring.score import Score
from mmerg.storage.files import describe_error
from mmerg.storage.record import Record, read_record

Kind = TypeVar("Kind", bound=Record)
JUDGEMENT, VERDICTS = "judgement.json", "verdicts.jsonl"  # of a judging's folder


class _Judged(Record):
    """judge: the name of its backbone. judging: the folder with the verdicts. drawn: samples to judge. n: judged
    samples; no_reply: those without calls, as a run failed. failed: samples with a failed call. unjudged: samples not
    judged yet. left_out: samples that were not drawn, by reason. verdicts: on the n samples, including unusable ones.
    identity: what affects the verdicts."""

    judge: str
    engine: str
    judging: str
    corpus: str
    drawn: int
    n: int
    no_reply: int = 0
    failed: int
    unjudged: int
    left_out: dict[str, int]
    verdicts: int
    unusable: int
    identity: dict[str, str]

    @property
    def rubric(self) -> str:
        """The name of the rubric, such as likert. The folder is named judge-<rubric>-<judge>-<hash>."""
        return self.judging.removeprefix("judge-").rpartition("-")[0].removesuffix(f"-{self.judge}")

    @property
    def name(self) -> str:
        """Unique among judgements of a run: gemma3-12b@likert."""
        return f"{self.judge}@{self.rubric}"


class Judgement(_Judged):
    """The ratings of one run, by aspect. self_judged: the judge is the model that wrote the replies. replies: their
    digest."""

    run: str
    replies: str
    protocol: str
    self_judged: bool
    scores: dict[str, Score]


class Match(_Judged):
    """Run A against run B. replies: their digests. aspects, overall: scores by aspect and over all (see
    `preferences`). signs: tests by aspect. self_judged: the runs whose replies the judge wrote."""

    runs: tuple[str, str]
    replies: tuple[str, str]
    self_judged: tuple[str, ...]
    aspects: dict[str, dict[str, Score]]
    overall: dict[str, Score]
    signs: dict[str, Sign]


def replies_digest(results: Iterable[Result]) -> str:
    """SHA-256 (hex) of all replies of a run, by id; the reply of a failed sample is None."""
    replies = sorted((result.id, result.response) for result in results)
    return hashlib.sha256(json.dumps(replies).encode()).hexdigest()


def read_judgements(run: Path) -> dict[str, Judgement]:
    """The judgements of the run in folder `run`, by name. Raises RunError if one cannot be read, or the run's replies
    have changed since."""
    judgements = {}
    for file in sorted(run.glob(judgement_file("*"))):
        one = _read(file, Judgement)
        _refuse_stale(run, one.replies, file, f"{run} judge={one.rubric} backbone={one.judge}")
        judgements[one.name] = one
    return judgements


def read_matches(about: RunRef) -> list[Match]:
    """The pairwise judgements in which a run is run A. Raises RunError if one cannot be read, or the run's replies
    have changed since."""
    matches = []
    for file in sorted(about.path.resolve().parent.glob(f"judge-*/{JUDGEMENT}")):
        try:
            manifest = read_any_manifest(file.parent)
        except RunError:
            continue  # damaged or of another version
        first, *others = manifest.judged if isinstance(manifest, JudgingManifest) else [None]
        if others and first and (first.run, first.identity) == (about.run, about.manifest.identity):
            match = read_match(file.parent)
            _refuse_stale(about.path, match.replies[0], file, " ".join(match.runs))
            matches.append(match)
    return matches


def read_match(folder: Path) -> Match:
    """The pairwise judgement in a judging's folder. Raises RunError if it cannot be read."""
    return _read(folder / JUDGEMENT, Match)


def judgement_file(name: str) -> str:
    """The name of the file beside a judged run; name: see `Judgement.name`."""
    return f"judgement-{name}.json"


def _refuse_stale(run: Path, replies: str, file: Path, judged: str) -> None:
    if replies != replies_digest(read_results(run).values()):
        what = "this judgement is stale: the run's replies have changed since"
        raise RunError(what, where=str(file), hint=f"judge again with mmerg judge {judged}, or remove the file")


def _read(file: Path, kind: type[Kind]) -> Kind:
    try:
        return read_record(file, kind)
    except (OSError, ValueError) as error:
        what = f"this judgement cannot be read, or is of another version: {describe_error(error)}"
        hint = "run the same mmerg judge command again to resume, or remove the file"
        raise RunError(what, where=str(file), hint=hint) from error

"""What a judge's verdicts come to, as the files keep it.

judgement.json in a judging's folder holds a `Judgement` of one run or a `Match` of two; beside a judged run,
judgement-<judge's backbone>.json holds the fullest `Judgement` of its replies.

    read_judgement(run / judgement_file("qwen3.5-9b"), run).scores["empathy"]
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from mmerg.backends.protocol import Engine
from mmerg.errors import RunError
from mmerg.judging.preferences import Sign
from mmerg.runs.folder import read_results
from mmerg.runs.result import Result
from mmerg.scoring.files import read, written
from mmerg.scoring.score import Score
from mmerg.storage.files import why

JUDGEMENT = "judgement.json"


class _Judged(BaseModel):
    """judge: the name of its backbone. judging: the folder with the verdicts. drawn: samples to be judged, of which n
    are; failed: those on which a call failed; unjudged: those not come to yet. left_out: those that were not to be
    judged, by reason. verdicts: answers asked for on the n samples, of which so many were unusable. identity: what
    decided the verdicts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    judge: str
    engine: str
    judging: str
    corpus: str
    drawn: int
    n: int
    failed: int
    unjudged: int
    left_out: dict[str, int]
    verdicts: int
    unusable: int
    identity: dict[str, str]

    def write(self, file: Path) -> None:
        """Write the file, whole or not at all. Raises RunError where it cannot be written."""
        written(file, self)


class Judgement(_Judged):
    """The ratings of one run, by aspect. self_judged: the judge is the model that wrote the replies. replies: which
    replies the run held then (see `replies_digest`)."""

    run: str
    replies: str
    protocol: str
    self_judged: bool
    scores: dict[str, Score]


class Match(_Judged):
    """Run A against run B: figures by aspect (see `preferences`), and over all aspects; signs: tests by aspect.
    self_judged: the runs whose replies the judge itself wrote."""

    runs: tuple[str, str]
    self_judged: tuple[str, ...]
    aspects: dict[str, dict[str, Score]]
    overall: dict[str, Score]
    signs: dict[str, Sign]


def replies_digest(results: Iterable[Result]) -> str:
    """SHA-256 (hex) over all replies of a run, by id; None, for a sample that failed, among them."""
    said = sorted((result.id, result.response) for result in results)
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def read_judgement(file: Path, run: Path) -> Judgement:
    """The judgement in `file`, of the run in folder `run`. Raises RunError where it cannot be read as one, or is not of
    the run's replies as they are now."""
    found = _read(file)
    if found.replies != replies_digest(read_results(run).values()):
        raise RunError("this judgement is stale: the run's replies are not those that were judged", **_again(file, run))
    return found


def keep(judgement: Judgement, file: Path) -> Judgement | None:
    """Write `judgement` to `file`, unless that holds one of the same replies over more samples: then it stays, and is
    returned. Raises RunError where the file cannot be written."""
    try:
        before = _read(file) if file.exists() else None
    except RunError:
        before = None  # of another version, or damaged: it is worth nothing to any reader
    if before and before.replies == judgement.replies and before.n > judgement.n:
        return before
    judgement.write(file)
    return None


def _read(file: Path) -> Judgement:
    try:
        return read(file, Judgement)
    except OSError as error:
        raise RunError(f"this judgement cannot be read: {error.strerror}", where=str(file)) from error
    except ValueError as error:
        what = f"this judgement cannot be read, or is of another version: {why(error)}"
        raise RunError(what, **_again(file, file.parent)) from error


def _again(file: Path, run: Path) -> dict[str, str]:
    return {"where": str(file), "hint": f"judge it again, python -m mmerg.judge {run}, or remove the file"}


def judgement_file(backbone: str) -> str:
    """The name of the file beside a judged run."""
    return f"judgement-{backbone}.json"


def same_model(engine: Engine, other: Engine) -> bool:
    """Whether two engines, as manifests hold them, run one model: the same name, or the same weights under another."""
    return engine.model == other.model or bool(engine.digest and engine.digest == other.digest)

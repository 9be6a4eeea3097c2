"""The files with the scores that follow from a judge's verdicts.

`judgement.json` in a judging's folder holds a `Judgement` of one run or a `Match` of two. Beside a judged run,
`judgement-<judge's backbone>@<rubric>.json` holds a `Judgement` of its replies: the latest, or one of more samples."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from mmerg.errors import RunError
from mmerg.judging.metrics import SignTest
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import JudgingManifest, RunRef, read_any_manifest
from mmerg.runs.result import Result
from mmerg.scoring.score import Score
from mmerg.storage.record import Record, read_record, write_record

JUDGEMENT, VERDICTS = "judgement.json", "verdicts.jsonl"  # of a judging's folder
AGAIN = "run the same mmerg judge command again to resume, or remove the file"


class _JudgingRecord(Record):
    """What judgements and matches have in common."""

    judge: str  # name of the judge's backbone
    rubric: str  # its name, such as likert
    engine: str
    judging: str  # name of the folder with the verdicts
    corpus: str
    drawn: int  # samples to judge
    n: int  # judged samples, including those in `no_reply`
    no_reply: int = 0  # samples without a call, as a run failed on them
    failed: int  # samples on which a call failed
    unjudged: int  # samples that are not judged yet
    skipped: dict[str, int]  # excluded samples, by reason
    verdicts: int  # on the n samples, including unusable ones
    unusable: int

    @property
    def name(self) -> str:
        """The judge and the rubric, such as gemma3-12b@likert: unique among the judgements of a run."""
        return f"{self.judge}@{self.rubric}"


class Judgement(_JudgingRecord):
    """The ratings of one run."""

    run: str
    replies: str  # their digest
    self_judged: bool  # the judge is the model that wrote them
    scores: dict[str, Score]  # by aspect


class Match(_JudgingRecord):
    """The comparison of run A with run B."""

    runs: tuple[str, str]
    replies: tuple[str, str]  # their digests
    self_judged: tuple[str, ...]  # the runs whose replies the judge wrote
    aspects: dict[str, dict[str, Score]]  # the scores by aspect (see `score_preferences`)
    overall: dict[str, Score]  # over all aspects
    signs: dict[str, SignTest]  # the sign tests by aspect
    unequal: str = ""  # the inputs of the runs, if they differ


def digest_replies(results: Iterable[Result]) -> str:
    """Returns the SHA-256 (hex) of all replies of a run, by id; the reply of a failed sample is None."""
    replies = sorted((result.id, result.response) for result in results)
    return hashlib.sha256(json.dumps(replies).encode()).hexdigest()


def read_judgements(run: Path) -> dict[str, Judgement]:
    """Reads the judgements beside a run, by name. Raises RunError if one cannot be read, or is of other replies."""
    judgements = {}
    for file in sorted(run.glob(judgement_file("*"))):
        judgement = read_record(file, Judgement, AGAIN)
        refuse_stale(run, judgement.replies, file, f"mmerg judge {run} judge={judgement.rubric}")
        judgements[judgement.name] = judgement
    return judgements


def read_matches(run: RunRef) -> list[Match]:
    """Reads the pairwise judgements with a run as run A. Raises RunError if one is unreadable, or of other replies."""
    matches = []
    for file in sorted(run.path.resolve().parent.glob(f"judge-*/{JUDGEMENT}")):
        try:
            manifest = read_any_manifest(file.parent)
        except RunError:
            continue  # damaged or of another version
        if not isinstance(manifest, JudgingManifest) or len(manifest.judged) < 2:
            continue
        first = manifest.judged[0]
        if (first.run, first.identity) == (run.run, run.manifest.identity):
            match = read_record(file, Match, AGAIN)
            refuse_stale(run.path, match.replies[0], file, f"mmerg judge {' '.join(match.runs)} judge=pairwise")
            matches.append(match)
    return matches


def judgement_file(name: str) -> str:
    """Returns the name of the file beside a judged run. name: see `Judgement.name`."""
    return f"judgement-{name.replace('/', '-')}.json"  # hf.co/a/b:Q4_K_M is the name of a model, too


def write_beside(run: Path, judgement: Judgement) -> str:
    """Writes a judgement beside its run. If the file there has a judgement of the same replies with more samples, keeps
    that one and returns a note: a trial with limit=2 must not replace the scores of a whole run."""
    file = run / judgement_file(judgement.name)
    try:
        existing = read_record(file, Judgement)
    except (FileNotFoundError, RunError):  # missing, damaged or of another version
        existing = None
    if existing and existing.replies == judgement.replies and existing.n > judgement.n:
        note = f"{file} is unchanged: its judgement has {existing.n} samples, this one {judgement.n}."
        return f"{note} To replace it, judge as many samples, or remove it and repeat this command."
    write_record(file, judgement)
    return ""


def refuse_stale(run: Path, replies: str, file: Path, again: str) -> None:
    """Raises RunError if the rated replies are not those of the run. again: the command that rates them."""
    if replies != digest_replies(read_results(run).values()):
        what = "these ratings are stale: the run's replies have changed since"
        raise RunError(what, where=str(file), hint=f"rate again with {again}, or remove the file")

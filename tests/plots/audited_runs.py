"""Run folders whose traces have whole passes with audits, written with the real `Run` and `SampleTrace`."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmerg.errors import Failure
from mmerg.runs import events
from mmerg.runs.folder import Run, read_results
from mmerg.runs.result import Result
from mmerg.scoring.score import SCORES, Confusion, Score, Scores, results_digest
from mmerg.storage.record import write_record
from mmerg.systems.audit import to_audit
from tests.engine.parts import STAGES, audit
from tests.scoring.run_builder import AT, HISTORY, LABELS, make_call, make_manifest, record_sample, result

GIVES = dict(zip(STAGES, "EePR", strict=True))
PASSED, UNAUDITED, LOST = "passed", "unaudited", "lost"


def plan(**more: str) -> dict[str, Any]:
    return {
        "reasoning": "r",
        "goal": "comfort",
        "stance": "warm",
        "tactic": "question",
        "tone": "gentle",
    } | more


def planned(id: str, emotion: str = "joy", **more: Any) -> Result:
    """Makes a result with a plan. more: fields of the result, which may replace the plan."""
    return result(id, "Oh no.", emotion, gold=more.pop("gold", emotion), **{"plan": plan(), **more})


def make_events(one: Result, verdicts: Sequence[str]) -> Iterator[events.Event]:
    """Yields the events of a sample. verdicts: one per pass: the stage at fault, PASSED, UNAUDITED or LOST."""
    yield events.SampleStarted(
        sample=one.id, at=AT, dialogue=one.dialogue, history=HISTORY, responder="Ben", labels=LABELS
    )
    first = STAGES[0]
    ranks: dict[int, tuple[int, ...]] = {}
    for t, verdict in enumerate(verdicts):
        if verdict == LOST:
            yield make_call(one.id, "{", t=t, stage=first)
            yield events.Refused(
                sample=one.id, at=AT, t=t, stage=first, attempt=0, failure=Failure.SCHEMA_INVALID, complaint="no JSON"
            )
            yield events.PassLost(sample=one.id, at=AT, t=t, failure=Failure.SCHEMA_INVALID, what="no JSON")
            break
        for stage in STAGES[STAGES.index(first) :]:
            yield make_call(one.id, f"{stage} {t}", t=t, stage=stage)
            output = f"{stage} {t}" if stage == "sgrg" else {"said": f"{stage} {t}"}
            yield events.Produced(sample=one.id, at=AT, t=t, stage=stage, symbol=GIVES[stage], output=output)
        yield make_call(one.id, "audit", t=t, stage="gra")
        if verdict == UNAUDITED:
            yield events.Unaudited(sample=one.id, at=AT, t=t, failure=Failure.EMPTY, what="blank")
            break
        found = to_audit(audit({stage: stage != verdict for stage in STAGES}))
        ranks[t] = (*found.checks, -t)
        yield events.Audited(sample=one.id, at=AT, t=t, audit=found, checks=found.checks, fault=found.fault)
        if t + 1 < len(verdicts):
            first = verdict
            yield events.Rerun(sample=one.id, at=AT, t=t + 1, stage=first, reason="wrong", correction="mend")
    if one.status == "failed":
        assert one.failure
        yield events.SampleFailed(sample=one.id, at=AT, failure=one.failure, what="cut off")
    else:
        ended: events.LoopEnd = "passed" if verdicts[-1] == PASSED else "max_iterations"
        yield events.Selected(sample=one.id, at=AT, t=one.selected_pass or 0, ranks=ranks, ended=ended)
        yield events.SampleDone(sample=one.id, at=AT)


def build(folder: Path, tries: Sequence[tuple[Result, Sequence[str]]], **manifest: Any) -> Path:
    """Writes a run with these attempts, each a result and the verdicts on its passes. A sample's last one counts."""
    order = list(dict.fromkeys(one.id for one, _ in tries))
    results = {one.id: one for one, _ in tries}
    with Run(folder, make_manifest(list(results.values()), **manifest)) as run:
        for one, verdicts in tries:
            record_sample(run, one, make_events(one, verdicts))
        run.seal(order)
    return folder


def score(
    folder: Path,
    values: Mapping[str, tuple[float | None, int]],
    confusion: Confusion | None = None,
    identity: str = "same",
    half: float = 3.0,
) -> None:
    """Writes a scores.json with these (value, n). half: half the width of their intervals."""
    results = list(read_results(folder).values())
    scores = {
        name: Score(
            name=name,
            value=value,
            n=count,
            interval=None if value is None else (value - half, value + half),
            method="bootstrap",
            why="" if value is not None else "no log-probabilities",
        )
        for name, (value, count) in values.items()
    }
    parts = ("config", "corpus", "clips", "engine", "prompt mpa.j2")
    found = Scores(
        run=folder.name,
        corpus="demo",
        protocol="p",
        engine="e",
        n=len(results),
        failed=sum(one.status == "failed" for one in results),
        unfinished=0,
        scores=scores,
        confusion=confusion,
        identity={part: f"{identity}-{part}" for part in parts},
        results=results_digest(results),
    )
    write_record(folder / SCORES, found)

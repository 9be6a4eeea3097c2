"""The six tables of a run: their columns, read off the classes that hold the facts, and their rows.

A field that a result, a call or a score gains is a column. Outputs of agents, which differ from system to system, are
JSON text; all else keeps its type. A row may hold more than the columns.

TABLES["passes"], list(iterate_rows(about, "passes"))
"""

import json
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from pydantic import BaseModel

from mmerg.backends.protocol import Reply
from mmerg.errors import RunError
from mmerg.judging.judgement import VERDICTS, Match, read_judgements, read_matches
from mmerg.rating.rated import Rating, read_rated
from mmerg.runs import events
from mmerg.runs.folder import read_records, read_results
from mmerg.runs.manifest import RunRef
from mmerg.runs.result import Result, Verdicts
from mmerg.runs.samples import read_events
from mmerg.runs.story import Story
from mmerg.scoring.score import Score, read_scores
from mmerg.systems.audit import Verdict

# The type of each column, the same for every run: a class or an annotation, [type] of a list, {name: type} of a record.
Columns: TypeAlias = dict[str, object]
Row: TypeAlias = dict[str, object]
RUN: Columns = dict.fromkeys(("run", "corpus", "split", "system", "backbone", "model"), str)
NOT_OF_SAMPLES = ("id", "audit", "timing")  # of a result; calls have their own times
NOT_OF_CALLS = ("kind", "logprobs", "reply")


def describe_run(about: RunRef) -> Row:
    """What every row of a run begins with; model: as the server names it."""
    manifest, corpus = about.manifest, about.manifest.corpus
    values = (about.run, corpus.name, corpus.split, manifest.system, manifest.backbone, manifest.engine.model)
    return dict(zip(RUN, values, strict=True))


def list_columns(kind: type[BaseModel], *without: str) -> Columns:
    """The fields of a class by name."""
    return {name: info.annotation for name, info in kind.model_fields.items() if name not in without}


def iterate_rows(about: RunRef, table: str) -> Iterator[Row]:
    """The rows of a table of a run. Raises RunError where what they are of cannot be read."""
    if table in OF_RUN:
        yield from OF_RUN[table](about)
        return
    for result in read_results(about.path).values():
        if table == "samples":
            yield sample(about, result)
        else:
            story = Story(read_events(about.path, result.id))
            yield from ({"sample": result.id, **row} for row in OF_STORY[table](story))


def sample(about: RunRef, result: Result) -> Row:
    """The row of a finished sample; of replies that another system wrote nothing is counted."""
    return {
        "sample": result.id,
        "protocol": about.manifest.protocol.description,
        **result.model_dump(exclude=set(NOT_OF_SAMPLES)),
        "plan": None if result.plan is None else _json(result.plan),
        "checks": None if result.audit is None else {name: bool(check) for name, check in result.audit.items()},
        "history": [{"speaker": speaker, "text": text} for speaker, text in result.history],
        "labels": about.manifest.corpus.labels,
        **(dict.fromkeys(COUNTED) if about.manifest.imported else {}),
    }


def passes(story: Story) -> Iterator[Row]:
    """A row for each pass of a sample."""
    last = max(story.passes, default=0)
    for t, this in story.passes.items():
        rerun, audited, status = this.rerun, this.audited, story.status(this)
        problem = this.unaudited or this.lost or (story.failed if status == "failed" and t == last else None)
        yield {
            "t": t,
            "outputs": _json({symbol: event.output for symbol, event in this.outputs.items()}),
            "status": status,
            "selected": story.selected is not None and story.selected.t == t,
            "rerun_from": rerun and rerun.stage,
            "rerun_reason": rerun and rerun.reason,
            "rerun_correction": rerun and rerun.correction,
            "ran": [event.stage for event in this.made],
            "checks": audited and {name: finding.passed for name, finding in audited.audit.findings.items()},
            "fault": audited and audited.fault,
            "findings": audited and {name: dict(finding) for name, finding in audited.audit.findings.items()},
            "failure": problem and problem.failure,
            "failure_text": problem and problem.what,
            "supplied": [_place(event) | {"content": _json(item)} for event in this.supplied for item in event.content],
            "excluded": [kept.model_dump() | _place(event) for event in this.supplied for kept in event.excluded],
        }


def _place(event: events.Supplied) -> Row:
    return {"stage": event.stage, "symbol": event.symbol}


def calls(story: Story) -> Iterator[Row]:
    """A row for each call of a sample."""
    for call in story.calls:
        event, reply = call.event, call.event.reply
        yield {
            **event.model_dump(exclude=set(NOT_OF_CALLS)),
            "sampling": _json(event.sampling),
            **reply.model_dump(exclude={"logprobs", "taken"}),
            "images": sum(len(message.images) for message in event.messages),
            "refused": call.refused and call.refused.failure,
            "complaint": call.refused and call.refused.complaint,
            "logprob": sum(token.logprob for token in reply.logprobs) if reply.logprobs else None,
            "logprob_tokens": len(reply.logprobs),
        }


def scores(about: RunRef) -> Iterator[Row]:
    """A row per metric: of `scores.json`, of each judge beside the run, and of each who compared it with another (by
    aspect, and over all). Raises UnscoredError where there are none of the run as it is now."""
    yield from _score_rows(read_scores(about.path, about.manifest.identity).scores)
    for judgement in read_judgements(about.path).values():
        yield from _score_rows(judgement.scores, judge=judgement.name)
    for match in read_matches(about):
        for aspect, scores in {"": match.overall, **match.aspects}.items():
            yield from _score_rows(scores, aspect, judge=match.name, against=match.runs[1])
    for rated in read_rated(about.path).values():
        yield from _score_rows(rated.scores, judge=rated.name)
        for other, scores in rated.against.items():
            yield from _score_rows(scores, judge=rated.name, against=other)


def _score_rows(scores: Mapping[str, Score], aspect: str = "", **whose: str) -> Iterator[Row]:
    for metric, score in scores.items():
        yield {**whose, **score.row(), "metric": f"{metric}_{aspect}" if aspect else metric}


def ratings(about: RunRef) -> Iterator[Row]:
    """A row an answer of a person, of each study that was scored."""
    for rated in read_rated(about.path).values():
        yield from ({"study": rated.study, **one.model_dump()} for one in rated.ratings)


def verdicts(about: RunRef) -> Iterator[Row]:
    """A row a verdict of each judge beside the run, against none or against another run. Raises RunError where the
    folder of a judging is not there."""
    for judgement in (*read_judgements(about.path).values(), *read_matches(about)):
        folder = about.path.resolve().parent / judgement.judging
        if not folder.exists():
            what = f"the verdicts of {judgement.name} are gone: its judging is not beside the run"
            hint = "put that folder back, or judge again: the calls come from the reply cache"
            raise RunError(what, where=str(folder), hint=hint)
        against = judgement.runs[1] if isinstance(judgement, Match) else None
        for judged in read_records(folder, Verdicts, VERDICTS).values():
            own = {"judge": judgement.name, "against": against, "sample": judged.id, "dialogue": judged.dialogue}
            yield from (own | verdict.model_dump() for verdict in judged.verdicts)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


COUNTED = [name for name, kind in list_columns(Result).items() if kind in (int, float)]  # of a result
JUDGE: Columns = {"judge": str, "against": str}
PROMPTS: Columns = {name: list_columns(events.Called)[name] for name in ("messages", "answer_schema")}
STAGE: Columns = {"stage": str, "symbol": str}
OF_RUN = {"scores": scores, "verdicts": verdicts, "ratings": ratings}
OF_STORY = {"passes": passes, "calls": calls}
TABLES: Mapping[str, Columns] = {
    "samples": RUN
    | {"protocol": str, "sample": str}
    | list_columns(Result, *NOT_OF_SAMPLES)
    | {"plan": str, "checks": dict[str, bool], "history": [{"speaker": str, "text": str}], "labels": [str]},
    "passes": RUN
    | {"sample": str, "t": int, "outputs": str, "status": str, "selected": bool}
    | dict.fromkeys(("rerun_from", "rerun_reason", "rerun_correction"), str)
    | {"ran": [str], "checks": dict[str, bool], "fault": str, "findings": dict[str, Verdict]}
    | {"failure": str, "failure_text": str}
    | {"supplied": [STAGE | {"content": str}], "excluded": [list_columns(events.Excluded) | STAGE]},
    "calls": RUN
    | list_columns(events.Called, *NOT_OF_CALLS, *PROMPTS)
    | {"sampling": str}
    | list_columns(Reply, "logprobs", "taken")
    | {"images": int, "refused": str, "complaint": str, "logprob": float, "logprob_tokens": int},
    "scores": RUN | JUDGE | {"metric": str} | list_columns(Score, "name", "interval") | {"low": float, "high": float},
    "verdicts": RUN | JUDGE | {"sample": str, "dialogue": str} | list_columns(events.Verdict),
    "ratings": RUN | {"study": str} | list_columns(Rating),
}

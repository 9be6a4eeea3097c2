"""The six tables of a run: the names of their columns, taken from the classes of the files, and their rows.

A new field of a result, a call or a score becomes a column. The outputs of agents differ between systems, so they are
JSON text.

TABLES["passes"], list(iterate_rows(about, "passes"))
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from pydantic import BaseModel

from mmerg.backends.protocol import Reply
from mmerg.errors import RunError
from mmerg.judging.judgement import VERDICTS, Match, read_judgements, read_matches
from mmerg.rating.people import PersonRating, read_people_ratings
from mmerg.runs import events
from mmerg.runs.folder import read_records, read_results
from mmerg.runs.manifest import RunRef
from mmerg.runs.result import Result, Verdicts
from mmerg.runs.samples import read_events
from mmerg.runs.trace import SampleTrace
from mmerg.scoring.score import Score, read_scores

Row: TypeAlias = dict[str, object]
RUN = ("run", "corpus", "split", "system", "backbone", "model")
NOT_OF_SAMPLES = ("id", "audit", "timing")  # of a result; calls have their own times
NOT_OF_CALLS = ("kind", "logprobs", "reply", "messages", "answer_schema")


def list_columns(kind: type[BaseModel], *without: str) -> tuple[str, ...]:
    """The fields of a class."""
    return tuple(name for name in kind.model_fields if name not in without)


def iterate_rows(about: RunRef, table: str) -> Iterator[Row]:
    """The rows of a table of a run; they may hold more than its columns. Raises RunError if a file cannot be read."""
    manifest, corpus = about.manifest, about.manifest.corpus
    values = (about.run, corpus.name, corpus.split, manifest.system, manifest.backbone, manifest.engine.model)
    of_run = dict(zip(RUN, values, strict=True))
    yield from (of_run | row for row in _ROWS[table](about))


def _samples(about: RunRef) -> Iterator[Row]:
    """For imported replies, counts are unknown."""
    for result in read_results(about.path).values():
        fields = result.model_dump(exclude=set(NOT_OF_SAMPLES))
        yield {
            "sample": result.id,
            "protocol": about.manifest.protocol.description,
            **{name: None if value == {} else value for name, value in fields.items()},  # Parquet has no empty structs
            "plan": None if result.plan is None else _json(result.plan),
            "checks": None if result.audit is None else {name: bool(check) for name, check in result.audit.items()},
            "history": [{"speaker": speaker, "text": text} for speaker, text in result.history],
            "labels": list(about.manifest.corpus.labels),
            **(dict.fromkeys(COUNTED) if about.manifest.imported else {}),
        }


def _read_traces(about: RunRef) -> Iterator[tuple[str, SampleTrace]]:
    """Each sample's id and trace."""
    for id in read_results(about.path):
        yield id, SampleTrace(read_events(about.path, id))


def _passes(about: RunRef) -> Iterator[Row]:
    for sample, trace in _read_traces(about):
        last = max(trace.passes, default=0)
        for t, this in trace.passes.items():
            rerun, audited, status = this.rerun, this.audited, trace.status(this)
            problem = this.unaudited or this.lost or (trace.failed if status == "failed" and t == last else None)
            yield {
                "sample": sample,
                "t": t,
                "outputs": _json({symbol: event.output for symbol, event in this.outputs.items()}),
                "status": status,
                "selected": trace.selected is not None and trace.selected.t == t,
                "rerun_from": rerun and rerun.stage,
                "rerun_reason": rerun and rerun.reason,
                "rerun_correction": rerun and rerun.correction,
                "ran": [event.stage for event in this.made],
                "checks": audited and {name: finding.passed for name, finding in audited.audit.findings.items()},
                "fault": audited and audited.fault,
                "findings": audited and {name: dict(finding) for name, finding in audited.audit.findings.items()},
                "failure": problem and str(problem.failure),
                "failure_text": problem and problem.what,
                "supplied": [
                    _place(event) | {"content": _json(item)} for event in this.supplied for item in event.content
                ],
                "excluded": [kept.model_dump() | _place(event) for event in this.supplied for kept in event.excluded],
            }


def _place(event: events.Supplied) -> Row:
    return {"stage": event.stage, "symbol": event.symbol}


def _calls(about: RunRef) -> Iterator[Row]:
    for sample, trace in _read_traces(about):
        for call in trace.calls:
            event, reply = call.event, call.event.reply
            yield {
                **event.model_dump(exclude=set(NOT_OF_CALLS)),
                "sample": sample,
                "sampling": _json(event.sampling),
                **reply.model_dump(exclude={"logprobs", "taken"}),
                "images": sum(len(message.images) for message in event.messages),
                "refused": call.refused and str(call.refused.failure),
                "complaint": call.refused and call.refused.complaint,
                "logprob": sum(token.logprob for token in reply.logprobs) if reply.logprobs else None,
                "logprob_tokens": len(reply.logprobs),
            }


def _scores(about: RunRef) -> Iterator[Row]:
    """The metrics of `scores.json`, of each judge and study, and of each comparison with another run, by aspect and
    over all. Raises UnscoredError if the run is not scored, or its scores are stale."""
    yield from _score_rows(read_scores(about.path, about.manifest.identity).scores)
    for judgement in read_judgements(about.path).values():
        yield from _score_rows(judgement.scores, judge=judgement.name)
    for match in read_matches(about):
        for aspect, scores in {"": match.overall, **match.aspects}.items():
            yield from _score_rows(scores, aspect, judge=match.name, against=match.runs[1])
    for rated in read_people_ratings(about.path).values():
        yield from _score_rows(rated.scores, judge=rated.name)
        for other, scores in rated.against.items():
            yield from _score_rows(scores, judge=rated.name, against=other)


def _score_rows(scores: Mapping[str, Score], aspect: str = "", **whose: str) -> Iterator[Row]:
    for metric, score in scores.items():
        yield {**whose, **score.row(), "metric": f"{metric}_{aspect}" if aspect else metric}


def _ratings(about: RunRef) -> Iterator[Row]:
    for rated in read_people_ratings(about.path).values():
        yield from ({"study": rated.study, **one.model_dump()} for one in rated.ratings)


def _verdicts(about: RunRef) -> Iterator[Row]:
    """Raises RunError if the folder of a judging is missing."""
    for judgement in (*read_judgements(about.path).values(), *read_matches(about)):
        folder = about.path.resolve().parent / judgement.judging
        if not folder.exists():
            what = f"the verdicts of {judgement.name} are gone: its folder is not beside the run"
            hint = "put that folder back, or judge again: the calls come from the reply cache"
            raise RunError(what, where=str(folder), hint=hint)
        against = judgement.runs[1] if isinstance(judgement, Match) else None
        for judged in read_records(folder, Verdicts, VERDICTS).values():
            own = {"judge": judgement.name, "against": against, "sample": judged.id, "dialogue": judged.dialogue}
            yield from (own | verdict.model_dump() for verdict in judged.verdicts)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


COUNTED = [name for name, info in Result.model_fields.items() if info.annotation in (int, float)]
JUDGE = ("judge", "against")
_ROWS: Mapping[str, Callable[[RunRef], Iterator[Row]]] = {
    "samples": _samples,
    "passes": _passes,
    "calls": _calls,
    "scores": _scores,
    "verdicts": _verdicts,
    "ratings": _ratings,
}
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "samples": ("protocol", "sample", *list_columns(Result, *NOT_OF_SAMPLES), "checks", "labels"),
    "passes": (
        *("sample", "t", "outputs", "status", "selected", "rerun_from", "rerun_reason", "rerun_correction", "ran"),
        *("checks", "fault", "findings", "failure", "failure_text", "supplied", "excluded"),
    ),
    "calls": (
        *list_columns(events.Called, *NOT_OF_CALLS),
        *list_columns(Reply, "logprobs", "taken"),
        *("images", "refused", "complaint", "logprob", "logprob_tokens"),
    ),
    "scores": (*JUDGE, "metric", *list_columns(Score, "name", "interval"), "low", "high"),
    "verdicts": (*JUDGE, "sample", "dialogue", *list_columns(events.Verdict)),
    "ratings": ("study", *list_columns(PersonRating)),
}
TABLES = {table: (*RUN, *columns) for table, columns in _COLUMNS.items()}

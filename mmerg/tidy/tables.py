"""The columns and rows of the six tables of a run.

Most columns are the fields of the classes in the run's files, so a new field of a result, a call or a score becomes a
column. The outputs of agents are JSON text, as they differ between systems.

TABLES["passes"], list(iterate_rows(ref, "passes"))
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from pydantic import BaseModel

from mmerg.backends.protocol import Completion
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
RUN = ("run", "corpus", "split", "system", "backbone", "model")  # the first columns of each table
NOT_OF_SAMPLES = ("id", "audit", "timing")  # fields of results that are not columns; the calls have times
NOT_OF_CALLS = ("kind", "logprobs", "completion", "messages", "answer_schema")  # fields of calls that are not columns


def list_columns(model: type[BaseModel], *excluded: str) -> tuple[str, ...]:
    """Returns the names of the fields of a class, but for the excluded ones."""
    return tuple(name for name in model.model_fields if name not in excluded)


def iterate_rows(ref: RunRef, table: str) -> Iterator[Row]:
    """Yields the rows of a table, which may have more keys than it has columns. Raises RunError if reading fails."""
    manifest, corpus = ref.manifest, ref.manifest.corpus
    values = (ref.run, corpus.name, corpus.split, manifest.system, manifest.backbone, manifest.engine.model)
    run_columns = dict(zip(RUN, values, strict=True))
    yield from (run_columns | row for row in _ROWS[table](ref))


def _samples(ref: RunRef) -> Iterator[Row]:
    """Yields a row per sample. Counts are None if the replies are imported, as they are unknown."""
    for result in read_results(ref.path).values():
        fields = result.model_dump(exclude=set(NOT_OF_SAMPLES))
        yield {
            "sample": result.id,
            "protocol": ref.manifest.protocol.description,
            **{name: None if value == {} else value for name, value in fields.items()},  # Parquet has no empty structs
            "plan": None if result.plan is None else _json(result.plan),
            "checks": None if result.audit is None else {name: bool(check) for name, check in result.audit.items()},
            "history": [{"speaker": speaker, "text": text} for speaker, text in result.history],
            "labels": list(ref.manifest.corpus.labels),
            **(dict.fromkeys(COUNTS) if ref.manifest.imported else {}),
        }


def _read_traces(ref: RunRef) -> Iterator[tuple[str, SampleTrace]]:
    """Yields the id and the trace of each sample."""
    for id in read_results(ref.path):
        yield id, SampleTrace(read_events(ref.path, id))


def _passes(ref: RunRef) -> Iterator[Row]:
    for sample, trace in _read_traces(ref):
        last = max(trace.passes, default=0)
        for t, pass_ in trace.passes.items():
            rerun, audited, status = pass_.rerun, pass_.audited, trace.status(pass_)
            problem = pass_.unaudited or pass_.lost or (trace.failed if status == "failed" and t == last else None)
            yield {
                "sample": sample,
                "t": t,
                "outputs": _json({symbol: event.output for symbol, event in pass_.outputs.items()}),
                "status": status,
                "selected": trace.selected is not None and trace.selected.t == t,
                "rerun_from": rerun and rerun.stage,
                "rerun_reason": rerun and rerun.reason,
                "rerun_correction": rerun and rerun.correction,
                "ran": [event.stage for event in pass_.made],
                "checks": audited and {name: finding.passed for name, finding in audited.audit.findings.items()},
                "fault": audited and audited.fault,
                "findings": audited and {name: dict(finding) for name, finding in audited.audit.findings.items()},
                "failure": problem and str(problem.failure),
                "failure_text": problem and problem.what,
                "supplied": [
                    {"stage": event.stage, "symbol": event.symbol, "content": _json(item)}
                    for event in pass_.supplied
                    for item in event.content
                ],
                "excluded": [
                    {**exemplar.model_dump(), "stage": event.stage, "symbol": event.symbol}
                    for event in pass_.supplied
                    for exemplar in event.excluded
                ],
            }


def _calls(ref: RunRef) -> Iterator[Row]:
    for sample, trace in _read_traces(ref):
        for call in trace.calls:
            event, completion = call.event, call.event.completion
            yield {
                **event.model_dump(exclude=set(NOT_OF_CALLS)),
                "sample": sample,
                "sampling": _json(event.sampling),
                **completion.model_dump(exclude={"logprobs", "removed"}),
                "images": sum(len(message.images) for message in event.messages),
                "refused": call.refused and str(call.refused.failure),
                "complaint": call.refused and call.refused.complaint,
                "logprob": sum(token.logprob for token in completion.logprobs) if completion.logprobs else None,
                "logprob_tokens": len(completion.logprobs),
            }


def _scores(ref: RunRef) -> Iterator[Row]:
    """Yields the metrics of `scores.json`, of each judge and study, and of each comparison with another run (over all
    aspects and by aspect). Raises UnscoredError if the scores are missing or stale."""
    yield from _score_rows(read_scores(ref.path, ref.manifest.identity).scores)
    for judgement in read_judgements(ref.path).values():
        yield from _score_rows(judgement.scores, judge=judgement.name)
    for match in read_matches(ref):
        for aspect, scores in {"": match.overall, **match.aspects}.items():
            yield from _score_rows(scores, aspect, judge=match.name, against=match.runs[1])
    for rated in read_people_ratings(ref.path).values():
        yield from _score_rows(rated.scores, judge=rated.name)
        for other, scores in rated.against.items():
            yield from _score_rows(scores, judge=rated.name, against=other)


def _score_rows(scores: Mapping[str, Score], aspect: str = "", **judge: str) -> Iterator[Row]:
    """Yields a row per score. judge: the columns of JUDGE."""
    for metric, score in scores.items():
        yield {**judge, **score.row(), "metric": f"{metric}_{aspect}" if aspect else metric}


def _ratings(ref: RunRef) -> Iterator[Row]:
    for rated in read_people_ratings(ref.path).values():
        yield from ({"study": rated.study, **rating.model_dump()} for rating in rated.ratings)


def _verdicts(ref: RunRef) -> Iterator[Row]:
    """Yields a row per verdict. Raises RunError if the folder of a judging is missing."""
    for judgement in (*read_judgements(ref.path).values(), *read_matches(ref)):
        folder = ref.path.resolve().parent / judgement.judging
        if not folder.exists():
            what = f"the verdicts of {judgement.name} are missing: its folder is not beside the run"
            hint = "restore the folder, or judge again: the calls come from the completion cache"
            raise RunError(what, where=str(folder), hint=hint)
        against = judgement.runs[1] if isinstance(judgement, Match) else None
        for judged in read_records(folder, Verdicts, VERDICTS).values():
            shared = {"judge": judgement.name, "against": against, "sample": judged.id, "dialogue": judged.dialogue}
            yield from (shared | verdict.model_dump() for verdict in judged.verdicts)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


COUNTS = [name for name, info in Result.model_fields.items() if info.annotation in (int, float)]
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
        *list_columns(Completion, "logprobs", "removed"),
        *("images", "refused", "complaint", "logprob", "logprob_tokens"),
    ),
    "scores": (*JUDGE, "metric", *list_columns(Score, "name", "interval"), "low", "high"),
    "verdicts": (*JUDGE, "sample", "dialogue", *list_columns(events.Verdict)),
    "ratings": ("study", *list_columns(PersonRating)),
}
TABLES = {table: (*RUN, *columns) for table, columns in _COLUMNS.items()}

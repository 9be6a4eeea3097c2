"""The five tables of a run: their columns, read off the classes that hold the facts, and their rows.

A field that a result, a call or a score gains is a column. Outputs of agents, which differ from system to system, are
JSON text; all else keeps its type. A row may hold more than the columns.

TABLES["passes"], [row for table, row in rows_of(about, ["passes"])]
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from pydantic import BaseModel

from mmerg.backends.protocol import Reply
from mmerg.errors import RunError
from mmerg.judging.judgement import VERDICTS, Match, read_judgements, read_matches
from mmerg.runs import events
from mmerg.runs.events import Event
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import About
from mmerg.runs.result import Result, Verdicts, read_lines
from mmerg.runs.samples import read_events
from mmerg.scoring.score import Score, read_scores
from mmerg.systems.audit import Finding

# The type of each column, the same for every run: a class or an annotation, [type] of a list, {name: type} of a record.
Columns: TypeAlias = dict[str, object]
Row: TypeAlias = dict[str, object]
RUN: Columns = dict.fromkeys(("run", "corpus", "split", "system", "backbone", "model"), str)
NOT_OF_SAMPLES = ("id", "audit", "timing")  # of a result; calls have their own times
NOT_OF_CALLS = ("kind", "logprobs", "reply")
RERUN = ("rerun_from", "rerun_reason", "rerun_correction")


def run_of(about: About) -> Row:
    """What every row of a run begins with; model: as the server names it."""
    manifest, corpus = about.manifest, about.manifest.corpus
    values = (about.run, corpus.name, corpus.split, manifest.system, manifest.backbone, manifest.engine.model)
    return dict(zip(RUN, values, strict=True))


def fields_of(kind: type[BaseModel], *without: str) -> Columns:
    """The fields of a class by name."""
    return {name: info.annotation for name, info in kind.model_fields.items() if name not in without}


def rows_of(about: About, tables: Collection[str]) -> Iterator[tuple[str, Row]]:
    """The rows of these tables of a run, each with the name of its table. Those of a sample come together, as its
    events are read once. Raises RunError where what they are of cannot be read."""
    of_events = [(name, rows) for name, rows in (("passes", passes), ("calls", calls)) if name in tables]
    for result in read_results(about.path).values() if of_events or "samples" in tables else ():
        if "samples" in tables:
            yield "samples", sample(about, result)
        recorded = read_events(about.path, result.id) if of_events else []
        for name, rows in of_events:
            yield from ((name, row) for row in rows(recorded))
    for name, of_run in (("scores", scores), ("verdicts", verdicts)):
        if name in tables:
            yield from ((name, row) for row in of_run(about))


def sample(about: About, result: Result) -> Row:
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


def passes(recorded: Sequence[Event]) -> Iterator[Row]:
    """A row for each pass of a sample; none where its events are gone."""
    gives = {event.stage: event.symbol for event in recorded if isinstance(event, events.Produced)}
    outputs: Row = {}  # by symbol, those kept from the pass before among them
    numbers = sorted({t for event in recorded if (t := getattr(event, "t", None)) is not None})
    for t in numbers:
        end = events.Selected if t < numbers[-1] else events.Selected | events.SampleFailed
        of_pass = [event for event in recorded if getattr(event, "t", None) == t or isinstance(event, end)]
        rerun = next((event for event in of_pass if isinstance(event, events.Rerun)), None)
        kept = list(gives.values())[: list(gives).index(rerun.stage)] if rerun else []
        outputs = {symbol: outputs[symbol] for symbol in kept if symbol in outputs}
        outputs |= {event.symbol: event.output for event in of_pass if isinstance(event, events.Produced)}
        yield {"sample": recorded[0].sample, "t": t, **_pass(t, of_pass), "outputs": _json(outputs)}


def _pass(t: int, of_pass: Iterable[Event]) -> Row:
    """What the events of pass t say of it. A pass is "failed" where the sample was given up before anything else."""
    ran: list[str] = []
    supplied: list[Row] = []
    excluded: list[Row] = []
    row: Row = {"status": "failed", "selected": False, "ran": ran, "supplied": supplied, "excluded": excluded}
    for event in of_pass:
        match event:
            case events.Rerun():
                row |= dict(zip(RERUN, (event.stage, event.reason, event.correction), strict=True))
            case events.Supplied():
                place = {"stage": event.stage, "symbol": event.symbol}
                supplied += [{**place, "content": _json(one)} for one in event.content]
                excluded += [one.model_dump() | place for one in event.excluded]
            case events.Produced():
                ran.append(event.stage)
            case events.Audited():
                findings = event.audit.findings
                checks = {name: finding.passed for name, finding in findings.items()}
                row |= {"status": "audited", "fault": event.fault, "findings": findings, "checks": checks}
            case events.Unaudited() | events.PassLost():
                status = "lost" if isinstance(event, events.PassLost) else "unaudited"
                row |= {"status": status, "failure": event.failure, "failure_text": event.what}
            case events.Selected() if t in {*event.ranks, event.t}:
                row["selected"] = event.t == t
                if row["status"] == "failed":  # the loop could select it, whatever it ended by
                    row["status"] = "no auditor" if event.ended == "no auditor" else "finished"
            case events.SampleFailed() if row["status"] == "failed":
                row |= {"failure": event.failure, "failure_text": event.what}
            case _:
                pass
    return row


def calls(recorded: Sequence[Event]) -> Iterator[Row]:
    """A row for each call of a sample; none where its events are gone."""
    refused = {(one.t, one.stage, one.attempt): one for one in recorded if isinstance(one, events.Refused)}
    for event in recorded:
        if isinstance(event, events.Called):
            complaint = refused.get((event.t, event.stage, event.attempt))
            yield {
                **event.model_dump(exclude=set(NOT_OF_CALLS)),
                "sampling": _json(event.sampling),
                **event.reply.model_dump(exclude={"logprobs", "taken"}),
                "images": sum(len(message.images) for message in event.messages),
                "refused": complaint.failure if complaint else None,
                "complaint": complaint.complaint if complaint else None,
                "logprob": sum(token.logprob for token in event.reply.logprobs) if event.reply.logprobs else None,
                "logprob_tokens": len(event.reply.logprobs),
            }


def scores(about: About) -> Iterator[Row]:
    """A row a figure: of `scores.json`, of each judge beside the run, and of each who compared it with another (by
    aspect, and over all). Raises UnscoredError where there are none of the run as it is now."""
    yield from _figures(read_scores(about.path, about.manifest.identity).scores)
    for judgement in read_judgements(about.path).values():
        yield from _figures(judgement.scores, judge=judgement.name)
    for match in read_matches(about):
        for aspect, figures in {"": match.overall, **match.aspects}.items():
            yield from _figures(figures, aspect, judge=match.name, against=match.runs[1])


def _figures(scores: Mapping[str, Score], aspect: str = "", **whose: str) -> Iterator[Row]:
    for metric, score in scores.items():
        yield {**whose, **score.row(), "metric": f"{metric}_{aspect}" if aspect else metric}


def verdicts(about: About) -> Iterator[Row]:
    """A row a verdict of each judge beside the run, against none or against another run. Raises RunError where the
    folder of a judging is not there."""
    for judgement in (*read_judgements(about.path).values(), *read_matches(about)):
        file = about.path.resolve().parent / judgement.judging / VERDICTS
        if not file.exists():
            what = f"the verdicts of {judgement.name} are gone: its judging is not beside the run"
            hint = "put that folder back, or judge again: the calls come from the reply cache"
            raise RunError(what, where=str(file), hint=hint)
        against = judgement.runs[1] if isinstance(judgement, Match) else None
        for judged in read_lines(file, Verdicts).values():
            own = {"judge": judgement.name, "against": against, "sample": judged.id, "dialogue": judged.dialogue}
            yield from (own | verdict.model_dump() for verdict in judged.verdicts)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


COUNTED = [name for name, kind in fields_of(Result).items() if kind in (int, float)]  # of a result
JUDGE: Columns = {"judge": str, "against": str}
PROMPTS: Columns = {name: fields_of(events.Called)[name] for name in ("messages", "answer_schema")}
STAGE: Columns = {"stage": str, "symbol": str}
TABLES: Mapping[str, Columns] = {
    "samples": RUN
    | {"protocol": str, "sample": str}
    | fields_of(Result, *NOT_OF_SAMPLES)
    | {"plan": str, "checks": dict[str, bool], "history": [{"speaker": str, "text": str}], "labels": [str]},
    "passes": RUN
    | {"sample": str, "t": int, "outputs": str, "status": str, "selected": bool, **dict.fromkeys(RERUN, str)}
    | {"ran": [str], "checks": dict[str, bool], "fault": str, "findings": dict[str, Finding]}
    | {"failure": str, "failure_text": str}
    | {"supplied": [STAGE | {"content": str}], "excluded": [fields_of(events.Excluded) | STAGE]},
    "calls": RUN
    | fields_of(events.Called, *NOT_OF_CALLS, *PROMPTS)
    | {"sampling": str}
    | fields_of(Reply, "logprobs", "taken")
    | {"images": int, "refused": str, "complaint": str, "logprob": float, "logprob_tokens": int},
    "scores": RUN | JUDGE | {"metric": str} | fields_of(Score, "name", "interval") | {"low": float, "high": float},
    "verdicts": RUN | JUDGE | {"sample": str, "dialogue": str} | fields_of(events.Verdict),
}

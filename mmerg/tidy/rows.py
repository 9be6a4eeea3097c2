"""Run folders as plain rows: what each table holds of one run. Outputs of agents, which differ from system to system,
become JSON text; all else keeps its type. Knows no file format of its own.

    for table, row in told(about): …    # passes and calls
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from mmerg.errors import RunError
from mmerg.judging.judgement import VERDICTS, Match, read_judgements, read_matches
from mmerg.runs import events
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import About
from mmerg.runs.result import Result, Verdicts, read_lines
from mmerg.runs.samples import read_events
from mmerg.scoring.score import Score, read_scores
from mmerg.tidy.columns import NOT_OF_CALLS, NOT_OF_SAMPLES, Given, KeptBack, Pass, of

Row: TypeAlias = dict[str, Any]


def run_of(about: About) -> Row:
    """What every row of a run begins with; model: as the server names it."""
    manifest = about.manifest
    return {
        "run": about.run,
        "corpus": manifest.corpus.name,
        "split": manifest.corpus.split,
        "system": manifest.system,
        "backbone": manifest.backbone,
        "model": manifest.engine.model,
    }


def samples(about: About) -> Iterator[Row]:
    """A row a finished sample, in the order of the results; of replies that another system wrote nothing is counted.
    Raises RunError where they cannot be read."""
    counted = [name for name, kind in of(Result).items() if kind in (int, float)]
    unknown = dict.fromkeys(counted) if about.manifest.imported else {}
    for result in read_results(about.path).values():
        yield {
            "sample": result.id,
            "protocol": about.manifest.protocol.description,
            **result.model_dump(exclude=set(NOT_OF_SAMPLES)),
            "plan": None if result.plan is None else _json(result.plan),
            "checks": None if result.audit is None else {name: bool(check) for name, check in result.audit.items()},
            "history": [{"speaker": speaker, "text": text} for speaker, text in result.history],
            "labels": about.manifest.corpus.labels,
            **unknown,
        }


def told(about: About, prompts: bool = False) -> Iterator[tuple[str, Row]]:
    """The rows of passes and calls, each with its table's name; `prompts` adds to each call what was sent. Raises
    RunError where events cannot be read."""
    for result in read_results(about.path).values():
        found = read_events(about.path, result.id)
        yield from (("passes", row) for row in _passes(result, found))
        yield from (("calls", row) for row in _calls(found, prompts))


def scores(about: About) -> Iterator[Row]:
    """A row a figure: of `scores.json`, of each judge beside the run, and of each who compared it with another (by
    aspect, and over all). Raises UnscoredError where there are none of the run as it is now, RunError where a file
    cannot be read."""
    yield from _figures(read_scores(about.path, about.manifest.identity).scores)
    for judgement in read_judgements(about.path).values():
        yield from _figures(judgement.scores, judge=judgement.name)
    for match in read_matches(about):
        yield from _figures(match.overall, judge=match.name, against=match.runs[1])
        for aspect, figures in match.aspects.items():
            yield from _figures(figures, f"_{aspect}", judge=match.name, against=match.runs[1])


def _figures(scores: Mapping[str, Score], tail: str = "", **whose: str) -> Iterator[Row]:
    yield from ({**whose, **score.row(), "metric": f"{metric}{tail}"} for metric, score in scores.items())


def verdicts(about: About) -> Iterator[Row]:
    """A row a verdict of each judge beside the run, against none or against another run. Raises RunError where the
    folder of a judging is not there."""
    for found in (*read_judgements(about.path).values(), *read_matches(about)):
        against = found.runs[1] if isinstance(found, Match) else None
        file = about.path.resolve().parent / found.judging / VERDICTS
        if not file.exists():
            what = f"the verdicts of {found.name} are gone: its judging is not beside the run"
            hint = "put that folder back, or judge again: the calls come from the reply cache"
            raise RunError(what, where=str(file), hint=hint)
        for sample in read_lines(file, Verdicts).values():
            for verdict in sample.verdicts:
                own = {"judge": found.name, "against": against, "sample": sample.id, "dialogue": sample.dialogue}
                yield own | verdict.model_dump()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _passes(result: Result, told: Sequence[events.Event]) -> Iterator[Row]:
    gives: dict[str, str] = {}  # symbol by stage, in the order in which the stages run
    found: dict[int, Pass] = {}

    def at(t: int) -> Pass:
        return found.setdefault(t, Pass(result.id, t))

    for event in told:
        match event:
            case events.Rerun():
                first = list(gives).index(event.stage) if event.stage in gives else 0
                before = found[event.t - 1].outputs if event.t - 1 in found else {}
                kept = {name: before[name] for name in list(gives.values())[:first] if name in before}
                this = found[event.t] = Pass(result.id, event.t, kept)
                this.rerun_from, this.rerun_reason, this.rerun_correction = event.stage, event.reason, event.correction
            case events.Called():
                at(event.t)
            case events.Supplied(stage=stage, symbol=symbol):
                at(event.t).supplied += (Given(stage=stage, symbol=symbol, content=_json(one)) for one in event.content)
                at(event.t).excluded += (
                    KeptBack(stage=stage, symbol=symbol, **one.model_dump()) for one in event.excluded
                )
            case events.Produced():
                gives.setdefault(event.stage, event.symbol)
                at(event.t).outputs[event.symbol] = event.output
                at(event.t).ran.append(event.stage)
            case events.Audited():
                this, findings = at(event.t), event.audit.findings
                this.status, this.fault, this.findings = "audited", event.fault, findings
                this.checks = {name: finding.passed for name, finding in findings.items()}
            case events.Unaudited() | events.PassLost():
                at(event.t).status = "lost" if isinstance(event, events.PassLost) else "unaudited"
                at(event.t).failure, at(event.t).failure_text = event.failure, event.what
            case events.Selected():
                at(event.t).selected = True
                for this in (found[t] for t in {*event.ranks, event.t} & found.keys()):
                    if this.status == "failed":  # the loop could select it, whatever it ended by
                        this.status = "no auditor" if event.ended == "no auditor" else "finished"
            case events.SampleFailed() if found and found[max(found)].status == "failed":
                found[max(found)].failure, found[max(found)].failure_text = event.failure, event.what
            case _:
                pass
    yield from (vars(this) | {"outputs": _json(this.outputs)} for _, this in sorted(found.items()))


def _calls(told: Iterable[events.Event], prompts: bool) -> Iterator[Row]:
    refused = {(event.t, event.stage, event.attempt): event for event in told if isinstance(event, events.Refused)}
    for event in told:
        if not isinstance(event, events.Called):
            continue
        reply = event.reply
        complaint = refused.get((event.t, event.stage, event.attempt))
        yield {
            **event.model_dump(exclude=set(NOT_OF_CALLS)),
            "sampling": _json(event.sampling),
            **reply.model_dump(exclude={"logprobs"}),
            "images": sum(len(message.images) for message in event.messages),
            "refused": complaint.failure if complaint else None,
            "complaint": complaint.complaint if complaint else None,
            "logprob": sum(token.logprob for token in reply.logprobs) if reply.logprobs else None,
            "logprob_tokens": len(reply.logprobs),
            **(event.model_dump(include={"messages", "answer_schema"}) if prompts else {}),
        }

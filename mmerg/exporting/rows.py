"""Samples, passes and calls as plain rows, from a result line and the events of the sample's last try.

Knows no file format. Outputs of agents, which differ from system to system, become JSON text; all else keeps its type.

    sample, passes, calls = rows_of(result, read_events(run, result.id), prompts=False)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mmerg.runs import events
from mmerg.runs.result import Result

Row: TypeAlias = dict[str, object]


@dataclass(frozen=True)
class Rows:
    """A sample's row, a row for each of its passes, and one for each of its calls."""

    sample: Row
    passes: list[Row]
    calls: list[Row]


def rows_of(result: Result, told: Sequence[events.Event], prompts: bool) -> Rows:
    """All rows of one sample; `prompts` adds to each call what was sent."""
    passes = list(_passes(result, told))
    return Rows(_sample(result, told), passes, list(_calls(result.id, told, prompts)))


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)


def _sample(result: Result, told: Sequence[events.Event]) -> Row:
    started = next((event for event in told if isinstance(event, events.SampleStarted)), None)
    plain = result.model_dump(mode="json", exclude={"id", "plan", "audit", "excluded", "history", "timing"})
    return {
        "sample": result.id,
        **plain,
        "plan": _json(result.plan),
        "checks": None if result.audit is None else {name: bool(check) for name, check in result.audit.items()},
        "excluded": dict(result.excluded),
        "history": [{"speaker": speaker, "text": text} for speaker, text in result.history],
        "labels": list(started.labels) if started else None,
    }


@dataclass
class _Pass:
    """A pass as its events fill it in. outputs: by symbol, those kept from the pass before among them."""

    outputs: dict[str, object]
    status: str = "failed"  # what it stays where the sample was given up before anything else was decided
    again: events.Rerun | None = None
    ran: list[str] = field(default_factory=list)
    audited: events.Audited | None = None
    broken: events.Unaudited | events.PassLost | events.SampleFailed | None = None
    supplied: list[events.Supplied] = field(default_factory=list)

    def finish(self, ended: str) -> None:
        """The loop could select it, whatever it ended by."""
        if self.status == "failed":
            self.status = "no auditor" if ended == "no auditor" else "finished"


def _passes(result: Result, told: Sequence[events.Event]) -> Iterator[Row]:
    gives: dict[str, str] = {}  # symbol by stage, in the order in which the stages run
    found: dict[int, _Pass] = {}
    selected: events.Selected | None = None
    for event in told:
        match event:
            case events.Rerun():
                first = list(gives).index(event.stage) if event.stage in gives else 0
                kept = list(gives.values())[:first]
                before = found[event.t - 1].outputs if event.t - 1 in found else {}
                found[event.t] = _Pass({name: before[name] for name in kept if name in before}, again=event)
            case events.Called():
                found.setdefault(event.t, _Pass({}))
            case events.Supplied():
                found.setdefault(event.t, _Pass({})).supplied.append(event)
            case events.Produced():
                gives.setdefault(event.stage, event.symbol)
                this = found.setdefault(event.t, _Pass({}))
                this.outputs[event.symbol] = event.output
                this.ran.append(event.stage)
            case events.Audited():
                this = found.setdefault(event.t, _Pass({}))
                this.audited, this.status = event, "audited"
            case events.Unaudited() | events.PassLost():
                this = found.setdefault(event.t, _Pass({}))
                this.broken, this.status = event, "lost" if isinstance(event, events.PassLost) else "unaudited"
            case events.Selected():
                selected = event
                found.setdefault(event.t, _Pass({}))
                for this in (found[t] for t in {*event.ranks, event.t} & found.keys()):
                    this.finish(event.ended)
            case events.SampleFailed() if found and found[max(found)].status == "failed":
                found[max(found)].broken = event
            case _:
                pass
    for t, this in sorted(found.items()):
        yield _pass(result.id, t, this, selected is not None and selected.t == t)


def _pass(sample: str, t: int, this: _Pass, selected: bool) -> Row:
    audit = this.audited.audit.findings if this.audited else None
    return {
        "sample": sample,
        "t": t,
        "status": this.status,
        "selected": selected,
        "rerun_from": this.again.stage if this.again else None,
        "rerun_reason": this.again.reason if this.again else None,
        "rerun_correction": this.again.correction if this.again else None,
        "ran": this.ran,
        "outputs": _json(this.outputs),
        "checks": None if audit is None else {name: finding.passed for name, finding in audit.items()},
        "fault": this.audited.fault if this.audited else None,
        "findings": None
        if audit is None
        else [
            {"stage": name, "passed": finding.passed, "reason": finding.reason, "correction": finding.correction}
            for name, finding in audit.items()
        ],
        "failure": str(this.broken.failure) if this.broken else None,
        "failure_text": this.broken.what if this.broken else None,
        "supplied": [
            {"stage": event.stage, "symbol": event.symbol, "content": _json(item)}
            for event in this.supplied
            for item in event.content
        ],
        "excluded": [
            {"stage": event.stage, "symbol": event.symbol, **kept.model_dump(mode="json")}
            for event in this.supplied
            for kept in event.excluded
        ],
    }


def _calls(sample: str, told: Sequence[events.Event], prompts: bool) -> Iterator[Row]:
    refused = {(event.t, event.stage, event.attempt): event for event in told if isinstance(event, events.Refused)}
    for event in told:
        if not isinstance(event, events.Called):
            continue
        reply = event.reply
        complaint = refused.get((event.t, event.stage, event.attempt))
        row = {
            "sample": sample,
            "t": event.t,
            "stage": event.stage,
            "attempt": event.attempt,
            "at": event.at,
            "digest": event.digest,
            "finish": str(reply.finish),
            "refused": str(complaint.failure) if complaint else None,
            "complaint": complaint.complaint if complaint else None,
            "text": reply.text,
            "thinking": reply.thinking,
            "images": sum(len(message.images) for message in event.messages),
            "prompt_tokens": reply.prompt_tokens,
            "reused_tokens": reply.reused_tokens,
            "response_tokens": reply.response_tokens,
            "logprob": sum(token.logprob for token in reply.logprobs) if reply.logprobs else None,
            "logprob_tokens": len(reply.logprobs),
            "prompt_seconds": reply.prompt_seconds,
            "seconds": reply.seconds,
            "cached": reply.cached,
            "host": reply.host,
            "sampling": _json(event.sampling),
        }
        if prompts:
            row["messages"] = [message.model_dump(mode="json") for message in event.messages]
            row["answer_schema"] = event.answer_schema
        yield row

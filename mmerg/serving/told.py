"""What happens in a turn, from the trace's events to what clients are told: a name and its fields.

told = Told(offered, turn)
for name, fields in told.of(event): ...
"""

from collections.abc import Iterator, Mapping
from typing import Any

from mmerg.runs import events
from mmerg.runs.result import Result
from mmerg.serving.offered import Offered
from mmerg.serving.refused import hint_for
from mmerg.serving.work import SILENCE, Place

Message = tuple[str, dict[str, Any]]
SILENT = "silent"  # there was nothing to tell for a while


class Told:
    """One turn's. turn: its id, for the client. wrong: why files that were shown give no frames, by "turn 3"."""

    def __init__(self, offered: Offered, turn: str) -> None:
        self._system, self._sources, self._turn = offered.system, offered.sources, turn
        self.wrong: Mapping[str, str] = {}
        self._calls: list[events.Called] = []  # of the agent at work
        self._passes = 1
        self._failed: events.SampleFailed | None = None

    def of(self, what: object) -> Iterator[Message]:  # noqa: PLR0912 - a short branch an event
        """What a client is told of a place in the line, an event, or the result."""
        match what:
            case Place(place):
                yield "accepted", {"turn": self._turn, "place": place}
            case _ if what is SILENCE:
                yield SILENT, {}
            case events.FramesTaken():
                yield "frames", _frames(what, self.wrong)
                yield from self._next(0, "")
            case events.Called():
                self._calls.append(what)
            case events.Supplied():
                kind = type(self._sources[what.symbol]).__name__
                fields = {"pass": what.t, "agent": what.stage, "symbol": what.symbol, "kind": kind}
                yield "supplied", {**fields, "items": list(what.content), "problem": what.problem}
            case events.Refused():
                yield "refused", {"pass": what.t, "agent": what.stage, "complaint": what.complaint}
            case events.Produced():
                said = {"pass": what.t, "agent": what.stage, "symbol": what.symbol, "output": what.output}
                yield "said", said | self._cost()
                yield from self._next(what.t, what.stage)
            case events.Audited():
                yield "audit", _audit(what) | self._cost()
            case events.Unaudited():
                why = f"the audit cannot be read: {what.what}"
                unread = {"pass": what.t, "findings": [], "blamed": None, "instruction": "", "problem": why}
                yield "audit", unread | self._cost()
            case events.PassLost():
                yield "lost", {"pass": what.t, "what": what.what}
            case events.Rerun():
                self._passes = max(self._passes, what.t + 1)
                yield "rerun", {"pass": what.t, "from": what.stage, "reason": what.reason}
                yield "asked", {"pass": what.t, "agent": what.stage}
            case events.Selected():
                self._passes = max([self._passes, *(t + 1 for t in what.ranks)])
                yield "chosen", {"pass": what.t, "passes": self._passes, "why": _why(what)}
            case events.SampleFailed():
                self._failed = what
            case Result() if self._failed:
                cause, hint = self._failed, hint_for(self._failed.failure, self._failed.hint)
                failed = {"what": cause.what, "where": cause.where, "hint": hint, "failure": cause.failure.value}
                yield "failed", failed
            case Result():
                yield "reply", {"text": what.response or "", "emotion": what.emotion or ""}
                yield "done", what.model_dump(include={"calls", "prompt_tokens", "response_tokens", "seconds"})

    def _cost(self) -> dict[str, float]:
        """Of the agent that has ended its work."""
        replies = [call.reply for call in self._calls]
        self._calls.clear()
        tokens, seconds = sum(one.response_tokens for one in replies), sum(one.seconds for one in replies)
        return {"tokens": tokens, "seconds": round(seconds, 3)}

    def _next(self, t: int, after: str) -> Iterator[Message]:
        """Who is asked after the agent `after`, as our loops do it: the stages in order, then the auditor."""
        stages = [stage.name for stage in self._system.stages]
        agents = stages + ([self._system.auditor.name] if self._system.auditor else [])
        if following := agents[agents.index(after) + 1 :] if after in agents else agents:
            yield "asked", {"pass": t, "agent": following[0]}
        elif after in stages and t + 1 < self._system.draws:
            self._passes = t + 2
            yield "asked", {"pass": t + 1, "agent": stages[0]}


def _frames(event: events.FramesTaken, wrong: Mapping[str, str]) -> dict[str, Any]:
    frames = [
        {
            "turn": turn.turn,
            "time": frame.time,
            "url": f"/page/frames/{frame.sha256}.jpg",
            "description": turn.descriptions[index] if turn.descriptions else "",
        }
        for turn in event.turns
        for index, frame in enumerate(turn.frames)
    ]
    own = {name: wrong.get(name, turn.problem) for turn in event.turns for name in [f"turn {turn.turn}"]}
    problems = [f"{name}: {problem}" for name, problem in own.items() if problem]
    numbered = [{"number": number, **frame} for number, frame in enumerate(frames, start=1)]
    return {"frames": numbered, "problem": "; ".join(problems)}


def _audit(event: events.Audited) -> dict[str, Any]:
    found = event.audit.findings
    findings = [{"check": name, "passed": one.passed, "reason": one.reason} for name, one in found.items()]
    instruction = found[event.fault].correction if event.fault else ""
    return {"pass": event.t, "findings": findings, "blamed": event.fault, "instruction": instruction}


def _why(event: events.Selected) -> str:
    """Why the loop ended, and why this pass is the one."""
    ended = events.ENDED.get(event.ended, event.ended)
    by = "it is the last one" if event.by == "last" else "its rank is the highest, of equals the earlier"
    return f"{ended}; {by}" if len(event.ranks) > 1 else ended

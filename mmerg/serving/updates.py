"""What clients hear of a turn: each event of the trace as updates, for the page as fields, for chat programs in words.

updates = Updates(offered, turn)
for update in updates.of(event): ...
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mmerg.runs import events
from mmerg.runs.result import Result
from mmerg.serving.offered import ServedSystem, titled
from mmerg.serving.refused import hint_for
from mmerg.serving.work import SILENCE, Place

SILENT = "silent"  # the name of an update that says only that the turn is still at work
LONGEST = 400  # characters of an output in words


@dataclass(frozen=True)
class Update:
    """name and fields: what the page gets, as JSON. thought and status: a line for a chat program's thinking block, and
    one for its status line; "" for none. cause: the event or the result, where the server itself acts on it."""

    name: str
    fields: Mapping[str, object]
    thought: str = ""
    status: str = ""
    cause: object = None


class Updates:
    """Those of one turn. turn: its id, for the client. problems: why files that were sent give no frames, by
    "turn 3", once they are decoded."""

    def __init__(self, offered: ServedSystem, turn: str, problems: Mapping[str, str]) -> None:
        self._system, self._sources, self._turn, self._problems = offered.system, offered.sources, turn, problems
        self._calls: list[events.Called] = []  # of the agent at work
        self._passes = 1
        self._failed: events.SampleFailed | None = None

    def of(self, what: object) -> Iterator[Update]:  # noqa: PLR0912 - a short branch an event
        """The updates for a place in the line, an event, or the result."""
        match what:
            case Place(place):
                turns = "turn is" if place == 1 else "turns are"
                status = f"Waiting: {place} {turns} before this one" if place else "At work"
                yield Update("accepted", {"turn": self._turn, "place": place}, status=status)
            case _ if what is SILENCE:
                yield Update(SILENT, {})
            case events.FramesTaken():
                yield _frames(what, self._problems)
                yield from self._next(0, "")
            case events.Called():
                self._calls.append(what)
            case events.Supplied():
                yield self._supplied(what)
            case events.Refused():
                words = f"{titled(what.stage)} is asked again: {what.complaint}"
                yield Update("refused", {**_agent(what), "complaint": what.complaint}, words, words)
            case events.Produced():
                fields = {**_agent(what), "symbol": what.symbol, "output": what.output, **self._cost()}
                yield Update("said", fields, f"{titled(what.stage)}: {_short(what.output)}")
                yield from self._next(what.t, what.stage)
            case events.Audited():
                yield _audit(what, self._cost())
            case events.Unaudited():
                problem = f"the audit cannot be read: {what.what}"
                fields = {"pass": what.t, "findings": [], "blamed": None, "instruction": "", "problem": problem}
                yield Update("audit", fields | self._cost(), f"Audit: {problem}", f"audit: {problem}")
            case events.PassLost():
                words = f"Pass {what.t} could not be finished: {what.what}"
                yield Update("lost", {"pass": what.t, "what": what.what}, words)
            case events.Rerun():
                self._passes = max(self._passes, what.t + 1)
                words = f"Again from {titled(what.stage)}"
                yield Update("rerun", {"pass": what.t, "from": what.stage, "reason": what.reason}, words, words)
                yield _asked(what.t, what.stage)
            case events.Selected():
                self._passes = max([self._passes, *(t + 1 for t in what.ranks)])
                fields = {"pass": what.t, "passes": self._passes, "why": _why(what)}
                yield Update("chosen", fields, f"Pass {what.t} is the reply: {_why(what)}" if self._passes > 1 else "")
            case events.SampleFailed():
                self._failed = what
            case Result() if self._failed:
                yield _failed(self._failed)
            case Result():
                yield Update("reply", {"text": what.response or "", "emotion": what.emotion or ""})
                fields = what.model_dump(include={"calls", "prompt_tokens", "response_tokens", "seconds"})
                yield Update("done", fields, cause=what)

    def _supplied(self, event: events.Supplied) -> Update:
        kind = type(self._sources[event.symbol]).__name__
        fields = {"symbol": event.symbol, "kind": kind, "items": list(event.content), "problem": event.problem}
        thought = f"{kind} for {titled(event.stage)}: {len(event.content) or event.problem}"
        return Update("supplied", {**_agent(event), **fields}, thought if event.content or event.problem else "")

    def _cost(self) -> dict[str, object]:
        """Of the agent that has ended its work."""
        replies = [call.reply for call in self._calls]
        self._calls.clear()
        tokens, seconds = sum(one.response_tokens for one in replies), sum(one.seconds for one in replies)
        return {"tokens": tokens, "seconds": round(seconds, 3)}

    def _next(self, t: int, after: str) -> Iterator[Update]:
        """Who is asked after the agent `after`, as our loops do it: the stages in order, then the auditor."""
        stages = [stage.name for stage in self._system.stages]
        agents = stages + ([self._system.auditor.name] if self._system.auditor else [])
        if following := agents[agents.index(after) + 1 :] if after in agents else agents:
            yield _asked(t, following[0])
        elif after in stages and t + 1 < self._system.draws:
            self._passes = t + 2
            yield _asked(t + 1, stages[0])


def _agent(event: events.Supplied | events.Refused | events.Produced) -> dict[str, object]:
    return {"pass": event.t, "agent": event.stage}


def _asked(t: int, agent: str) -> Update:
    return Update("asked", {"pass": t, "agent": agent}, status=titled(agent) + (f", pass {t}" if t else ""))


def _frames(event: events.FramesTaken, problems: Mapping[str, str]) -> Update:
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
    own = {name: problems.get(name, turn.problem) for turn in event.turns for name in [f"turn {turn.turn}"]}
    problem = "; ".join(f"{name}: {text}" for name, text in own.items() if text)
    numbered = [{"number": number, **frame} for number, frame in enumerate(frames, start=1)]
    thought = f"Frames: {len(frames)}" + (f" ({problem})" if problem else "")
    fields = {"frames": numbered, "problem": problem}
    return Update("frames", fields, thought if frames or problem else "", cause=event)


def _audit(event: events.Audited, cost: Mapping[str, object]) -> Update:
    findings = event.audit.findings
    words, instruction = "all checks passed", ""
    if event.fault:
        blamed = findings[event.fault]
        words, instruction = f"{titled(event.fault)} does not hold: {blamed.reason}", blamed.correction
    fields = {
        "pass": event.t,
        "findings": [{"check": name, "passed": one.passed, "reason": one.reason} for name, one in findings.items()],
        "blamed": event.fault,
        "instruction": instruction,
    }
    return Update("audit", {**fields, **cost}, f"Audit: {words}", f"audit: {words}")


def _why(event: events.Selected) -> str:
    """Why the loop ended, and why this pass is the one."""
    ended = events.ENDED.get(event.ended, event.ended)
    by = "it is the last one" if event.by == "last" else "its rank is the highest, of equals the earlier"
    return f"{ended}; {by}" if len(event.ranks) > 1 else ended


def _failed(event: events.SampleFailed) -> Update:
    hint = hint_for(event.failure, event.hint)
    fields = {"what": event.what, "where": event.where, "hint": hint, "failure": event.failure.value}
    return Update("failed", fields, cause=event)


def _short(output: object) -> str:
    """An output on one line, a field behind the other."""
    text = " ".join(_in_words(output).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _in_words(output: object) -> str:
    if isinstance(output, dict):
        return "; ".join(f"{key} {_in_words(value)}" for key, value in output.items() if value not in (None, "", []))
    return ", ".join(map(_in_words, output)) if isinstance(output, list) else str(output)

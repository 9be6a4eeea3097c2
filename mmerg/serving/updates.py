"""The updates of a turn that clients get: fields for the page, and lines of text for chat programs.

updates = Updates(offered, frames, problems)
for update in updates.of(event): ...
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from mmerg.runs import events
from mmerg.runs.result import Result
from mmerg.runs.trace import SampleTrace, Step
from mmerg.serving.offered import ServedSystem, titled
from mmerg.serving.refused import describe_failure, hint_for
from mmerg.serving.saving import Trace
from mmerg.serving.work import SILENCE, Place

SILENT = "silent"  # the name of an update that says only that the turn is still running
LONGEST = 400  # characters of an output as text


@dataclass(frozen=True)
class Update:
    """name, fields: for the page, as JSON. thought, status: a line for a chat program's thinking block, and one for its
    status line; "" for none. cause: the event or result, if the server itself acts on it, or the trace of a pass that
    has a response. about: of the reply so far, see `Updates.about`."""

    name: str
    fields: Mapping[str, object]
    thought: str = ""
    status: str = ""
    cause: object = None
    about: Mapping[str, object] | None = None


class Words(str):
    """A piece of the model's text; "" starts a new text."""

    __slots__ = ()


class Updates:
    """The updates of one turn. frames: JPEGs by hash. problems: why files give no frames, by "turn 3"; both are filled
    while the turn runs."""

    def __init__(self, offered: ServedSystem, frames: Mapping[str, bytes], problems: Mapping[str, str]) -> None:
        self._system, self._sources = offered.system, offered.plan.sources
        self._jpegs, self._problems = frames, problems
        self.trace = SampleTrace()
        self._asked = ""
        self._response = self._system.result_symbol("response")

    def of(self, what: object) -> Iterator[Update]:
        match what:
            case Place(place):
                turns = "turn is" if place == 1 else "turns are"
                status = f"Waiting: {place} {turns} before this one" if place else "At work"
                yield Update("accepted", {"place": place}, status=status)
            case _ if what is SILENCE:
                yield Update(SILENT, {})
            case Words(text):
                if any(stage.name == self._asked and stage.gives == self._response for stage in self._system.stages):
                    yield Update("words", {"text": text})
            case Trace():
                yield Update("trace", {"trace": what.model_dump_json()})
            case Result() if failed := self.trace.failed:
                fields = failed.model_dump(mode="json", include={"what", "where", "failure"})
                if (plain := describe_failure(failed.failure, failed.what)) != failed.what:
                    fields |= {"what": plain, "where": f"{failed.where}: {failed.what}"}
                yield Update("failed", fields | {"hint": hint_for(failed.failure, failed.hint)}, cause=failed)
            case Result():
                yield Update("reply", {"text": what.response or "", "emotion": what.emotion or ""})
                fields = what.model_dump(include={"calls", "prompt_tokens", "response_tokens", "seconds"})
                yield Update("done", fields, cause=what, about=self.about())
            case _:
                event = cast("events.Event", what)
                self.trace.add(event)
                yield from self._of_event(event)

    def _of_event(self, event: events.Event) -> Iterator[Update]:
        match event:
            case events.FramesTaken():
                yield self._frames(event)
                yield from self._next(0, "")
            case events.Supplied():
                fields = {**_agent(event), "symbol": event.symbol, "items": event.content, "problem": event.problem}
                kind, given = type(self._sources[event.symbol]).__name__, len(event.content) or event.problem
                yield Update("supplied", fields, f"{kind} for {titled(event.stage)}: {given}" if given else "")
            case events.Refused():
                words = f"{titled(event.stage)} is asked again: {event.complaint}"
                yield Update("refused", {**_agent(event), "complaint": event.complaint}, words, words)
            case events.Produced():
                fields = {**_agent(event), "output": event.output, "seconds": self._seconds(event.t, event.stage)}
                draft = str(self._at("response", event.t) or "") if event.symbol == self._response else ""
                thought = f"{titled(event.stage)}: {_short(event.output)}"
                cause, about = (self.trace, self.about()) if draft else (None, None)
                yield Update("said", fields | {"draft": draft}, thought, cause=cause, about=about)
                yield from self._next(event.t, event.stage)
            case events.Audited(audit=audit):
                findings = [
                    {"check": name, "passed": finding.passed, "reason": finding.reason}
                    for name, finding in audit.findings.items()
                ]
                blamed = audit.findings[event.fault] if event.fault else None
                fields = {"findings": findings, "instruction": blamed.correction if blamed else ""}
                words = f"{titled(event.fault)} does not hold: {blamed.reason}" if event.fault and blamed else ""
                yield self._audit(event.t, words or "all checks passed", **fields, blamed=event.fault)
            case events.Unaudited():
                problem = f"the audit cannot be read: {describe_failure(event.failure, event.what)}"
                yield self._audit(event.t, problem, findings=[], blamed=None, instruction="", problem=problem)
            case events.PassLost():
                plain = describe_failure(event.failure, event.what)
                yield Update("lost", {"pass": event.t, "what": plain}, f"Pass {event.t} could not be finished: {plain}")
            case events.Rerun():
                words = f"Again from {titled(event.stage)}"
                yield Update("rerun", {"pass": event.t, "from": event.stage, "reason": event.reason}, words, words)
                yield self._ask(event.t, event.stage)
            case events.Selected():
                passes, why = len(self.trace.passes), self.trace.why
                yield Update("chosen", {"pass": event.t, "passes": passes, "why": why}, why if passes > 1 else "")
            case _:
                pass

    def _frames(self, event: events.FramesTaken) -> Update:
        frames = [
            {
                "number": number,
                "turn": keyframe.turn,
                "time": keyframe.frame.time,
                "jpeg": b64encode(self._jpegs[keyframe.frame.sha256]).decode(),
                "description": keyframe.description,
            }
            for number, keyframe in enumerate(self.trace.keyframes, start=1)
        ]
        own = {name: self._problems.get(name, turn.problem) for turn in event.turns for name in [f"turn {turn.turn}"]}
        problem = "; ".join(f"{name}: {text}" for name, text in own.items() if text)
        thought = f"Frames: {len(frames)}" + (f" ({problem})" if problem else "")
        fields = {"frames": frames, "problem": problem}
        return Update("frames", fields, thought if frames or problem else "", cause=event)

    def _audit(self, t: int, words: str, **fields: object) -> Update:
        fields |= {"pass": t, "seconds": self._seconds(t, self._system.agents[-1].name)}
        return Update("audit", fields, f"Audit: {words}", f"audit: {words}")

    def _seconds(self, t: int, agent: str) -> float:
        step = self.trace.passes[t].steps.get(agent, Step())
        return round(sum(call.event.reply.seconds for call in step.calls), 3)

    def _next(self, t: int, after: str) -> Iterator[Update]:
        """The update for the agent after `after`: the stages in order, then the auditor."""
        stages = [stage.name for stage in self._system.stages]
        agents = [agent.name for agent in self._system.agents]
        if following := agents[agents.index(after) + 1 :] if after in agents else agents:
            yield self._ask(t, following[0])
        elif after in stages and t + 1 < self._system.n:
            yield self._ask(t + 1, stages[0])

    def _ask(self, t: int, agent: str) -> Update:
        self._asked = agent
        return Update("asked", {"pass": t, "agent": agent}, status=titled(agent) + (f", pass {t}" if t else ""))

    def about(self) -> dict[str, object]:
        """What programs get beside the text: the emotion and plan of the selected pass, and for each pass the audit's
        findings (null without a readable audit) and the agents' outputs."""
        passes = list(self.trace.passes.values())
        chosen = self.trace.selected.t if self.trace.selected else max(self.trace.passes, default=0)
        return {
            "system": self._system.name,
            "emotion": self._at("emotion", chosen),
            "plan": self._at("plan", chosen),
            "response": self._at("response", chosen),
            "selected_pass": chosen,
            "audits": [done.audited.audit.model_dump()["findings"] if done.audited else None for done in passes],
            "passes": [{output.stage: output.output for output in done.outputs.values()} for done in passes],
        }

    def _at(self, part: str, t: int) -> Any:
        """A part of the result in pass t; None if it does not exist."""
        place = self._system.result.get(part, "")
        return self.trace.passes[t].at(place) if t in self.trace.passes else None


def _agent(event: events.Supplied | events.Refused | events.Produced) -> dict[str, object]:
    return {"pass": event.t, "agent": event.stage}


def _short(output: object) -> str:
    text = " ".join(_in_words(output).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _in_words(output: object) -> str:
    if isinstance(output, dict):
        return "; ".join(f"{key} {_in_words(value)}" for key, value in output.items() if value not in (None, "", []))
    return ", ".join(map(_in_words, output)) if isinstance(output, list) else str(output)

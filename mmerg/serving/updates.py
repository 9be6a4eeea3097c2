"""The updates of a turn that clients get: fields for the page, and lines of text for chat programs.

updates = Updates(served, frames, problems)
for update in updates.convert(event): ...
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from mmerg.runs import events
from mmerg.runs.result import Result
from mmerg.runs.trace import SampleTrace, Step
from mmerg.serving.http_error import choose_hint, describe_failure
from mmerg.serving.saving import ReplyTrace
from mmerg.serving.systems import ServedSystem, get_title
from mmerg.serving.turn_runner import SILENCE, QueuePlace

SILENT = "silent"  # the name of an update that only keeps the connection alive
MAX_LENGTH = 400  # characters of an output as text


@dataclass(frozen=True)
class Reply:
    """A reply as chat programs receive it."""

    text: str
    prompt_tokens: int
    response_tokens: int
    seconds: float  # of the calls to the model
    finish: str = "stop"  # or "length" if the model reached its token limit
    details: Mapping[str, object] | None = None  # of the field `mmerg`; None for a front end's own prompt
    last: bool = True  # False for that of a pass which is not audited yet

    @property
    def extra(self) -> dict[str, object]:
        """`details` as the field that both APIs add to a response."""
        return {"mmerg": self.details} if self.details else {}


@dataclass(frozen=True)
class Update:
    """One update of a turn."""

    name: str  # of the page's event
    fields: Mapping[str, object]  # the data of the page's event, as JSON
    thought: str = ""  # a line for a chat program's thinking block; "" for none
    status: str = ""  # a line for a chat program's status; "" for none
    reply: Reply | None = None


class TextPiece(str):
    """A piece of the model's text; "" starts a new text."""

    __slots__ = ()


class Updates:
    """A converter of what happens in one turn to updates. frames: JPEGs by hash. problems: why files give no frames, by
    turn, such as "turn 3". The turn fills both while it runs."""

    def __init__(self, served: ServedSystem, frames: Mapping[str, bytes], problems: Mapping[str, str]) -> None:
        self._system, self._sources = served.system, served.plan.sources
        self._jpegs, self._problems = frames, problems
        self.trace = SampleTrace()
        self._running_agent = ""
        self._response = self._system.result_symbol("response")

    def convert(self, item: object) -> Iterator[Update]:
        """Yields the updates for a report of `TurnRunner`: a place in the queue, an event, a piece of text, a trace, a
        result or SILENCE."""
        match item:
            case QueuePlace(ahead):
                turns = "turn is" if ahead == 1 else "turns are"
                status = f"Waiting: {ahead} {turns} before this one" if ahead else "At work"
                yield Update("queued", {"ahead": ahead}, status=status)
            case _ if item is SILENCE:
                yield Update(SILENT, {})
            case TextPiece(text):
                if self._is_writing_response():
                    yield Update("text", {"text": text})
            case ReplyTrace():
                yield Update("trace", {"trace": item.model_dump_json()})
            case Result() if failed := self.trace.failed:
                fields = failed.model_dump(mode="json", include={"what", "where", "failure"})
                description = describe_failure(failed.failure, failed.what)
                if description != failed.what:
                    fields |= {"what": description, "where": f"{failed.where}: {failed.what}"}
                yield Update("failed", fields | {"hint": choose_hint(failed.failure, failed.hint)})
            case Result():
                yield Update("reply", {"text": item.response or "", "emotion": item.emotion or ""})
                fields = item.model_dump(include={"calls", "prompt_tokens", "response_tokens", "seconds"})
                yield Update("done", fields, reply=self._build_reply(item.response or ""))
            case _:
                event = cast("events.Event", item)
                self.trace.add(event)
                yield from self._convert_event(event)

    def _is_writing_response(self) -> bool:
        stages = self._system.stages
        return any(stage.name == self._running_agent and stage.gives == self._response for stage in stages)

    def _convert_event(self, event: events.Event) -> Iterator[Update]:
        match event:
            case events.FramesTaken():
                yield self._convert_frames(event)
                yield from self._start_next(0, "")
            case events.Supplied():
                fields = {**_agent(event), "symbol": event.symbol, "items": event.content, "problem": event.problem}
                source, outcome = type(self._sources[event.symbol]).__name__, len(event.content) or event.problem
                yield Update("source", fields, f"{source} for {get_title(event.stage)}: {outcome}" if outcome else "")
            case events.Refused():
                text = f"{get_title(event.stage)} is asked again: {event.complaint}"
                yield Update("rejected", {**_agent(event), "reason": event.complaint}, text, text)
            case events.Produced():
                draft = str(self._get_result("response", event.t) or "") if event.symbol == self._response else ""
                seconds = self._sum_seconds(event.t, event.stage)
                fields = {**_agent(event), "output": event.output, "seconds": seconds, "draft": draft}
                thought = f"{get_title(event.stage)}: {_shorten(event.output)}"
                yield Update("output", fields, thought, reply=self._build_reply(draft, last=False) if draft else None)
                yield from self._start_next(event.t, event.stage)
            case events.Audited(audit=audit):
                findings = [
                    {"check": name, "passed": finding.passed, "reason": finding.reason}
                    for name, finding in audit.findings.items()
                ]
                if event.fault:
                    finding = audit.findings[event.fault]
                    correction = finding.correction
                    text = f"{get_title(event.fault)} does not hold: {finding.reason}"
                else:
                    correction, text = "", "all checks passed"
                yield self._build_audit(event.t, text, findings=findings, correction=correction, blamed=event.fault)
            case events.Unaudited():
                text = f"the audit cannot be read: {describe_failure(event.failure, event.what)}"
                yield self._build_audit(event.t, text, findings=[], correction="", blamed=None, problem=text)
            case events.PassLost():
                what = describe_failure(event.failure, event.what)
                text = f"Pass {event.t} could not be finished: {what}"
                yield Update("pass_failed", {"pass": event.t, "what": what}, text)
            case events.Rerun():
                text = f"Again from {get_title(event.stage)}"
                yield Update("rerun", {"pass": event.t, "from": event.stage, "reason": event.reason}, text, text)
                yield self._start_agent(event.t, event.stage)
            case events.Selected():
                passes, why = len(self.trace.passes), self.trace.why
                fields = {"pass": event.t, "passes": passes, "why": why}
                yield Update("selected", fields, why if passes > 1 else "")
            case _:
                pass

    def _convert_frames(self, event: events.FramesTaken) -> Update:
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
        problems = []
        for turn in event.turns:
            name = f"turn {turn.turn}"
            if text := self._problems.get(name, turn.problem):
                problems.append(f"{name}: {text}")
        problem = "; ".join(problems)
        thought = ""
        if frames or problem:
            thought = f"Frames: {len(frames)}" + (f" ({problem})" if problem else "")
        return Update("frames", {"frames": frames, "problem": problem}, thought)

    def _build_audit(self, t: int, text: str, **fields: object) -> Update:
        fields |= {"pass": t, "seconds": self._sum_seconds(t, self._system.agents[-1].name)}
        return Update("audit", fields, f"Audit: {text}", f"audit: {text}")

    def _sum_seconds(self, t: int, agent: str) -> float:
        """Sums the durations of all calls of an agent in pass t."""
        step = self.trace.passes[t].steps.get(agent, Step())
        return round(sum(call.event.completion.seconds for call in step.calls), 3)

    def _start_next(self, t: int, agent: str) -> Iterator[Update]:
        """Yields the update for the agent that runs after `agent`: the stages in order, then the auditor."""
        stages = [stage.name for stage in self._system.stages]
        agents = [agent.name for agent in self._system.agents]
        following = agents[agents.index(agent) + 1 :] if agent in agents else agents
        if following:
            yield self._start_agent(t, following[0])
        elif agent in stages and t + 1 < self._system.n:
            yield self._start_agent(t + 1, stages[0])

    def _start_agent(self, t: int, agent: str) -> Update:
        self._running_agent = agent
        return Update("agent", {"pass": t, "agent": agent}, status=get_title(agent) + (f", pass {t}" if t else ""))

    def _build_reply(self, text: str, *, last: bool = True) -> Reply:
        """Builds a reply. Its details are the system, the emotion, plan and response of the selected pass, and for each
        pass the findings of the audit (null without a readable audit) and the agents' outputs."""
        completions = [call.event.completion for call in self.trace.calls]
        passes = list(self.trace.passes.values())
        selected = self.trace.selected.t if self.trace.selected else max(self.trace.passes, default=0)
        details = {
            "system": self._system.name,
            "emotion": self._get_result("emotion", selected),
            "plan": self._get_result("plan", selected),
            "response": self._get_result("response", selected),
            "selected_pass": selected,
            "audits": [
                finished.audited.audit.model_dump()["findings"] if finished.audited else None for finished in passes
            ],
            "passes": [{output.stage: output.output for output in finished.outputs.values()} for finished in passes],
        }
        return Reply(
            text,
            sum(completion.prompt_tokens for completion in completions),
            sum(completion.response_tokens for completion in completions),
            sum(completion.seconds for completion in completions),
            details=details,
            last=last,
        )

    def _get_result(self, part: str, t: int) -> Any:
        """Returns a part of the result of pass t; None if it does not exist."""
        place = self._system.result.get(part, "")
        return self.trace.passes[t].at(place) if t in self.trace.passes else None


def _agent(event: events.Supplied | events.Refused | events.Produced) -> dict[str, object]:
    return {"pass": event.t, "agent": event.stage}


def _shorten(output: object) -> str:
    text = " ".join(_as_text(output).split())
    return text if len(text) <= MAX_LENGTH else f"{text[: MAX_LENGTH - 1]}…"


def _as_text(output: object) -> str:
    if isinstance(output, dict):
        return "; ".join(f"{key} {_as_text(value)}" for key, value in output.items() if value not in (None, "", []))
    return ", ".join(map(_as_text, output)) if isinstance(output, list) else str(output)

"""The trace of a sample by pass and stage, built from its events. All commands, reports and pages use it.

    trace = SampleTrace(read_events(run, "d1/4"))
    trace.passes[1].outputs["P"].output, trace.why

A live reader starts with `SampleTrace()` and adds events.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, repeat, takewhile
from typing import Any, Literal

from mmerg.frames.store import Keyframe
from mmerg.runs import events
from mmerg.runs.events import BEST_OF_N, LOOP_ENDS, Selected

FEEDBACK = "audit"  # the symbol of an auditor's output, which is not part of a pass
Status = Literal["audited", "unaudited", "lost", "no auditor", "idle", "finished", "failed"]


@dataclass
class Call:
    """A call, with its number in the sample from 1, why its completion is invalid, and what was removed from it."""

    number: int
    event: events.Called
    refused: events.Refused | None = None
    cleaned: events.Cleaned | None = None


@dataclass
class Step:
    """The events of a stage, of the auditor, or of a judge in one pass."""

    supplied: list[events.Supplied] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    read: events.LabelsRead | None = None
    output: events.Produced | None = None
    verdict: events.Verdict | None = None


@dataclass
class Pass:
    """The events of pass t, from 0."""

    t: int
    rerun: events.Rerun | None = None  # why it started; None for the first pass and for independent ones
    steps: dict[str, Step] = field(default_factory=dict)  # by stage, in order
    outputs: dict[str, events.Produced] = field(default_factory=dict)  # by symbol; first those of the pass before
    audited: events.Audited | None = None
    unaudited: events.Unaudited | None = None
    lost: events.PassLost | None = None
    views: list[events.Viewed] = field(default_factory=list)  # of the stage that ran again

    @property
    def supplied(self) -> list[events.Supplied]:
        """The source outputs of all steps."""
        return [event for step in self.steps.values() for event in step.supplied]

    def at(self, place: str) -> Any:
        """Returns the output at a place such as "R", or its field, such as "e.emotion"; None if there is none."""
        symbol, _, name = place.partition(".")
        output = self.outputs[symbol].output if symbol in self.outputs else None
        return output.get(name) if name and isinstance(output, Mapping) else output

    @property
    def made(self) -> list[events.Produced]:
        """The outputs that were made in this pass."""
        return [output for output in self.outputs.values() if output.t == self.t]


class SampleTrace:
    """The events of a sample: by pass in order, and all calls."""

    def __init__(self, emitted: Iterable[events.Event] = ()) -> None:
        self.started: events.SampleStarted | None = None
        self.frames: events.FramesTaken | None = None
        self.selected: events.Selected | None = None
        self.failed: events.SampleFailed | None = None
        self.passes: dict[int, Pass] = {}
        self.calls: list[Call] = []
        for event in emitted:
            self.add(event)

    def add(self, event: events.Event) -> None:  # noqa: PLR0912 - a short branch an event
        match event:
            case events.SampleStarted():
                self.started = event
            case events.FramesTaken():
                self.frames = event
            case events.Called():
                self.calls.append(Call(len(self.calls) + 1, event))
                self._step(event.t, event.stage).calls.append(self.calls[-1])
            case events.Refused():
                self._step(event.t, event.stage).calls[-1].refused = event
            case events.Cleaned():
                self._step(event.t, event.stage).calls[-1].cleaned = event
            case events.Supplied():
                self._step(event.t, event.stage).supplied.append(event)
            case events.Produced():
                self._step(event.t, event.stage).output = event
                self._pass(event.t).outputs[event.symbol] = event
            case events.Audited():
                self._pass(event.t).audited = event
            case events.Unaudited():
                self._pass(event.t).unaudited = event
            case events.PassLost():
                self._pass(event.t).lost = event
            case events.Rerun():
                before = [output for pass_ in [*self.passes.values()][-1:] for output in pass_.outputs.values()]
                kept = takewhile(lambda output: output.stage != event.stage, before)
                self.passes[event.t] = Pass(event.t, event, outputs={output.symbol: output for output in kept})
            case events.LabelsRead():
                self._step(event.t, event.stage).read = event
            case events.Viewed():
                self._pass(event.t).views.append(event)
            case events.Selected():
                self.selected = event
            case events.Judged():
                self._step(event.t, event.verdict.aspect).verdict = event.verdict
            case events.SampleFailed():
                self.failed = event
            case events.SampleDone():
                pass

    def _pass(self, t: int) -> Pass:
        return self.passes.setdefault(t, Pass(t))

    def _step(self, t: int, stage: str) -> Step:
        return self._pass(t).steps.setdefault(stage, Step())

    @property
    def keyframes(self) -> tuple[Keyframe, ...]:
        """The keyframes of all turns, in the order of their numbers in prompts."""
        return tuple(
            Keyframe(turn.turn, frame, description)
            for turn in (self.frames.turns if self.frames else ())
            for frame, description in zip(turn.frames, turn.descriptions or repeat(""), strict=False)
        )

    @property
    def supplied(self) -> list[events.Supplied]:
        """The source outputs of all passes."""
        return [event for pass_ in self.passes.values() for event in pass_.supplied]

    @property
    def checks(self) -> list[str]:
        """The names of the auditor's checks."""
        return next((list(pass_.audited.audit.findings) for pass_ in self.passes.values() if pass_.audited), [])

    @property
    def repeated(self) -> dict[int, str]:
        """The finished passes with the same outputs as the pass before, and the stage from which each started. MERG's
        loop continues then: by arXiv 2604.18988, section 3, only a passed audit or the last pass ends it."""
        ended = [*self.passes.values()][: None if self.selected else -1]
        return {
            pass_.t: pass_.rerun.stage
            for before, pass_ in pairwise(ended)
            if pass_.rerun and not pass_.lost and all(_repeats(output, before) for output in pass_.made)
        }

    def status(self, pass_: Pass) -> Status:
        """Returns how a pass ended; "failed" if the sample failed before that."""
        if pass_.audited:
            return "audited"
        if pass_.unaudited or pass_.lost:
            return "unaudited" if pass_.unaudited else "lost"
        if self.selected and pass_.t in {*self.selected.ranks, self.selected.t}:
            if pass_.t in self.repeated:
                return "idle"
            return "no auditor" if self.selected.ended == "no auditor" else "finished"
        return "failed"

    @property
    def why(self) -> str:
        """The reason why the pass was selected and the loop ended; "" before that."""
        return describe_selection(self.selected, self.checks) if self.selected else ""

    def rank(self, t: int) -> str:
        """Returns the rank of pass t; "" if checks decide, or if it has none."""
        ranked = self.selected and not self.checks and t in self.selected.ranks
        return describe_rank(self.selected, t) if self.selected and ranked else ""


def _repeats(output: events.Produced, before: Pass) -> bool:
    earlier = before.outputs.get(output.symbol)
    return output.symbol == FEEDBACK or bool(earlier and earlier.output == output.output)


def describe_selection(selected: Selected, checks: Sequence[str]) -> str:
    """Describes why the pass was selected and why the loop ended. checks: their names; [] without audits."""
    t, ended = selected.t, LOOP_ENDS.get(selected.ended, selected.ended)
    if t not in selected.ranks:
        return f"Pass {t} is the only one: {ended}"
    return f"Pass {t} {_describe_choice(selected, checks)}; the loop ended: {ended}"


def describe_rank(selected: Selected, t: int) -> str:
    """Describes the rank of pass t: its points, or the votes for its emotion and its mean log-probability."""
    first, *rest, _ = selected.ranks[t]
    candidates = selected.ended in BEST_OF_N
    points = f"{first:g} {'vote' if candidates else 'point'}{'s' * (first != 1)}".replace("-", "−")
    logprobs = [f", mean log-probability {f'{value:.4g}'.replace('-', '−')}" for value in rest] if candidates else []
    return points + "".join(logprobs)


def _describe_choice(selected: Selected, checks: Sequence[str]) -> str:
    ranks, t = selected.ranks, selected.t
    others = {other: rank for other, rank in ranks.items() if other != t}
    if selected.by == "last":
        latest = "the latest that could be audited (final_selection=last), whatever its checks"
        return f"is {latest if checks else 'the last one'}"
    if selected.by == "calibrated":
        points = {other: f"{rank[0]:.2f}".replace("-", "−") for other, rank in ranks.items()}
        rest = "".join(f", pass {other} {points[other]}" for other in others)
        return f"has the highest score of its checks, {points[t]}{rest}"
    if not others:
        failed = [name for name, passed in zip(checks, ranks[t], strict=False) if not passed]
        passed = f"all {len(checks)} checks passed" if checks else describe_rank(selected, t)
        reason = f"{' and '.join(failed)} failed" if failed else passed
        return f"is the only one {'audited' if checks else 'ranked'}: {reason}"
    second = max(others, key=lambda other: others[other])
    pairs = zip(ranks[t], others[second], strict=True)
    decided = next(place for place, (first, other) in enumerate(pairs) if first != other)
    if decided == len(ranks[t]) - 1:  # only −t differs
        equal = "is as likely" if selected.ended in BEST_OF_N else "has as many points"
        return f"won: pass {second} {'passed the same checks' if checks else equal}, and the earlier pass wins"
    if checks:
        return f"won: it passed the check of {checks[decided]}, which pass {second} did not"
    return f"won with {describe_rank(selected, t)}; pass {second} has {describe_rank(selected, second)}"

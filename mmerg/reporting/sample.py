"""A sample by the events of its last try, as its page and `mmerg show` need it: which stage gave what in which pass,
what the audits say, and why a pass was selected. The stages are those of the settings and the events, of any system.

    sample = Sample(read_events(run, "d1/4"), Agents(manifest))
    [cell.state for cell in sample.cells("mpa")]    # ['made', 'kept']
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, repeat
from typing import Any, Literal, NamedTuple

from mmerg.frames.store import Frame
from mmerg.reporting.agents import Agent, Agents
from mmerg.reporting.changes import Field, fields
from mmerg.runs import events
from mmerg.runs.facts import repeats

FORMS = {  # sentences without their full stop
    "images": "The keyframes were sent as images",
    "montage": "The keyframes were sent as one numbered grid",
    "descriptions": "The model takes no images, so descriptions measured from the keyframes were sent in their place",
    "none": "No keyframes were sent",
}
_SHORT = 120  # characters; what is shorter is shown again


class Shot(NamedTuple):
    """A keyframe of a history turn, with its number in the prompts. held: the run has its file."""

    turn: int
    number: int
    frame: Frame
    description: str
    held: bool


class Call(NamedTuple):
    """A call with its number in the sample. refused: why its reply was refused. cleaned: what was cut off the reply."""

    number: int
    event: events.Called
    refused: events.Refused | None
    cleaned: events.Cleaned | None


class Cell(NamedTuple):
    """A stage in pass t. made: it gave an output; kept: its output of pass `since` stands; none: it gave nothing that
    could be used. since: the last pass before with an output, which `fields` are compared with; t if there is none."""

    t: int
    state: Literal["made", "kept", "none"]
    since: int
    fields: tuple[Field, ...]


class Sample:
    """has_frame: whether the run's folder has a frame of this hash. numbers: the passes that were begun, from 0. order:
    stages as the settings have them, then what else the events name. checks: names of the audit's. blamed: agents that
    audits blame. repeated: passes equal to the one before, each with the agent that was called again."""

    def __init__(
        self, trace: Sequence[events.Event], agents: Agents, has_frame: Callable[[str], bool] = lambda _: True
    ) -> None:
        self.events, self.agents, self.has_frame = trace, agents, has_frame
        self._by_kind: dict[str, list[events.Event]] = {}
        for event in trace:
            self._by_kind.setdefault(event.kind, []).append(event)
        self.started, self.taken = self.last("sample_started"), self.last("frames_taken")
        self.selected, self.failed = self.last("selected"), self.last("sample_failed")
        self.history = self.started.history if self.started else ()
        self.form = self.taken.form if self.taken else "none"
        self.turns = self.taken.turns if self.taken else ()
        self.problems = {turn.turn: turn.problem for turn in self.turns if turn.problem}
        self.numbers = sorted({0, *(getattr(event, "t", 0) for event in trace)})
        active = [event.stage for event in trace if event.kind in ("supplied", "called", "produced")]
        self.order = list(dict.fromkeys([*agents.named, *active]))
        audits = self.find("audited")
        self.checks = list(audits[0].audit.findings) if audits else []
        self.blamed = tuple(dict.fromkeys(event.fault for event in audits if event.fault))
        self.repeated = repeats(trace)

    def find(self, kind: str, **where: object) -> list[Any]:
        """The events of a kind with these values, as `t=0, stage="psp"`."""
        alike = self._by_kind.get(kind, [])
        return [event for event in alike if all(getattr(event, name) == value for name, value in where.items())]

    def last(self, kind: str, **where: object) -> Any:
        """The last of them, None where there is none."""
        return next(reversed(self.find(kind, **where)), None)

    @cached_property
    def shots(self) -> tuple[Shot, ...]:
        frames = [
            (turn.turn, frame, text)
            for turn in self.turns
            for frame, text in zip(turn.frames, chain(turn.descriptions, repeat("")), strict=False)
        ]
        numbered = enumerate(frames, start=1)
        return tuple(Shot(turn, n, frame, text, self.has_frame(frame.sha256)) for n, (turn, frame, text) in numbered)

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        def followed_by(call: events.Called, kind: str) -> Any:
            return self.last(kind, t=call.t, stage=call.stage, attempt=call.attempt)

        numbered = enumerate(self.find("called"), start=1)
        return tuple(Call(n, call, followed_by(call, "refused"), followed_by(call, "cleaned")) for n, call in numbered)

    def calls_of(self, stage: str, t: int) -> list[Call]:
        return [call for call in self.calls if (call.event.stage, call.event.t) == (stage, t)]

    @cached_property
    def first_shown(self) -> dict[str, int]:
        """The first call with a long text, by the text. Agents share most of their prompts: later calls name that call
        in place of the text."""
        first: dict[str, int] = {}
        for call in self.calls:
            for text in (*(message.text for message in call.event.messages), call.event.answer_schema):
                if len(text) > _SHORT:
                    first.setdefault(text, call.number)
        return first

    @cached_property
    def audited(self) -> list[int]:
        """The passes that came to their audit, one that could be read or not."""
        calls = self.find("called", stage=self.agents.auditor)
        return sorted({event.t for event in (*self.find("audited"), *self.find("unaudited"), *calls)})

    def cached(self, t: int) -> bool:
        """Whether the reply cache served all calls of a repeated pass, but for the agent that was called again."""
        rest = (call for call in self.find("called", t=t) if call.stage != self.repeated[t])
        return all(call.reply.cached for call in rest)

    @property
    def first_label(self) -> str | None:
        """The label that pass 0 forecast."""
        symbol, *field = self.agents.emotion
        made = self.last("produced", t=0, symbol=symbol)
        label = made.output.get(*field) if made and field and isinstance(made.output, Mapping) else None
        return label if isinstance(label, str) else None

    def title(self, stage: str) -> str:
        """What a stage gives, in words."""
        symbol = next((event.symbol for event in self.find("produced", stage=stage)), "")
        return self.agents.named.get(stage, Agent(symbol)).title or stage

    def sees(self, stage: str) -> tuple[str, ...]:
        """What an agent sees, in words. If it was called: without exemplars or keyframes where the sample has none."""
        symbols = self.agents.audits if stage == self.agents.auditor else self.agents.named.get(stage, Agent()).sees
        calls = self.find("called", stage=stage)
        there = {"M": any(event.content for event in self.find("supplied", symbol="M")), "V": self.form != "none"}
        kept = [symbol for symbol in symbols if not calls or there.get(symbol, True)]
        described = "descriptions of " if self.form == "descriptions" else ""
        return tuple(f"{described if symbol == 'V' else ''}{self.agents.meaning(symbol)}" for symbol in kept)

    def cells(self, stage: str) -> Iterator[Cell]:
        """A stage in each pass. An output stands from the pass before only where the rerun began behind its stage."""
        produced = {event.t: event for event in self.find("produced", stage=stage)}
        before: events.Produced | None = None
        for t in self.numbers:
            made, again = produced.get(t), self.last("rerun", t=t)
            first = self.order.index(again.stage) if again and again.stage in self.order else 0
            kept = before and stage in self.order[:first] and not self.calls_of(stage, t)
            output = fields(made.output, before.output if before else None) if made else ()
            yield Cell(t, "made" if made else "kept" if kept else "none", before.t if before else t, output)
            before = made or before

    @property
    def why(self) -> str:
        """Why a pass was selected, and why the loop ended; "" where none was."""
        if not self.selected:
            return ""
        t, ended = self.selected.t, events.ENDED.get(self.selected.ended, self.selected.ended)
        if t not in self.selected.ranks:
            return f"Pass {t} is the only one: {ended}"
        return f"{self._describe_choice(t)}; the loop ended: {ended}"

    def _describe_choice(self, t: int) -> str:
        """Why pass t was selected, in a sentence that names the check that decided."""
        ranks, checks = self.selected.ranks, self.checks
        others = {other: rank for other, rank in ranks.items() if other != t}
        if self.selected.by == "last":
            latest = "the latest that could be audited (final_selection=last), whatever its checks"
            return f"Pass {t} is {latest if checks else 'the last one'}"
        if not others:
            failed = [name for name, passed in zip(checks, ranks[t], strict=False) if not passed]
            reason = f"{' and '.join(failed)} failed" if failed else self.rank(t) or f"all {len(checks)} checks passed"
            return f"Pass {t} is the only one that could be {'audited' if checks else 'ranked'}: {reason}"
        second = max(others, key=lambda other: others[other])
        decided = next(at for at, (one, two) in enumerate(zip(ranks[t], others[second], strict=True)) if one != two)
        if decided == len(ranks[t]) - 1:  # only −t differs
            drawn = self.selected.ended in events.DRAWN
            same = "passed the same checks" if checks else "is as likely" if drawn else "has as many points"
            reason = f": pass {second} {same}, and the earlier pass wins"
        elif checks:
            reason = f": it passed the check of {checks[decided]}, which pass {second} did not"
        else:
            reason = f" with {self.rank(t)}; pass {second} has {self.rank(second)}"
        return f"Pass {t} won{reason}"

    def rank(self, t: int) -> str:
        """What a pass was compared by: its points, or how many draws agree with it and how likely it is; "" for checks,
        which its audit tells."""
        if self.checks or not self.selected or t not in self.selected.ranks:
            return ""
        first, *rest, _ = self.selected.ranks[t]
        drawn = self.selected.ended in events.DRAWN
        counted = f"{first:g} {'vote' if drawn else 'point'}{'s' * (first != 1)}"
        likely = "".join(f", mean log-probability {value:.4g}" for value in rest) if drawn else ""
        return f"{counted}{likely}".replace("-", "−").replace("log−", "log-")

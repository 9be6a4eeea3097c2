"""A sample's page from the events of its last try: who said what in which pass, and what was found wrong with it.

Stages are what the run's config and its events name; nothing here knows MERG.

    page = SamplePage(read_events(run, "d1/4"), Stages(manifest), held)
    page.rows[0].cells[1].state    # 'kept'
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, repeat
from typing import Any, TypeVar

from mmerg.reporting.sample_model import Call, Cell, Row, Shot
from mmerg.reporting.stages import Stages, agent
from mmerg.reporting.values import fields
from mmerg.reporting.won import describe, why_selected
from mmerg.runs import events
from mmerg.runs.facts import repeats

_SHORT = 120  # characters; what is shorter is shown again
Kind = TypeVar("Kind")


class SamplePage:
    """All that the page shows but for its links. held: whether the run's folder has a frame of this hash. numbers: the
    passes that were begun, from 0. order: stages as the config has them, then what else the events name. checks: the
    names of the audit's, in order. blamed: the agents that audits found at fault, each once. repeated: the passes that
    say what the one before said, word for word, with the agent that was asked again. problems: why turns, by their
    number from 1, have no frames. first_label: what pass 0 forecast."""

    def __init__(self, found: Sequence[events.Event], stages: Stages, held: Callable[[str], bool]) -> None:
        self.found, self.stages, self.held = found, stages, held
        self.started, self.taken = self.last(events.SampleStarted), self.last(events.FramesTaken)
        self.selected, self.failed = self.last(events.Selected), self.last(events.SampleFailed)
        self.history = self.started.history if self.started else ()
        self.form = self.taken.form if self.taken else "none"
        self.looked = self.taken.turns if self.taken else ()
        self.problems = {turn.turn: turn.problem for turn in self.looked if turn.problem}
        self.numbers = sorted({0, *(getattr(event, "t", 0) for event in found)})
        told = (events.Supplied, events.Called, events.Produced)
        self.order = list(dict.fromkeys([*stages.named, *(one.stage for one in found if isinstance(one, told))]))
        audited = self.of(events.Audited)
        self.checks = list(audited[0].audit.findings) if audited else []
        self.blamed = tuple(dict.fromkeys(event.fault for event in audited if event.fault))
        self.why = why_selected(self.selected, self.checks) if self.selected else ""
        self.repeated = repeats(found)
        symbol, field = stages.emotion
        first = [event.output for event in self.of(events.Produced) if (event.t, event.symbol) == (0, symbol)]
        label = first[-1].get(field) if first and isinstance(first[-1], Mapping) else None
        self.first_label = label if isinstance(label, str) else None

    def of(self, kind: type[Kind]) -> list[Kind]:
        return [event for event in self.found if isinstance(event, kind)]

    def last(self, kind: type[Kind]) -> Kind | None:
        return next(reversed(self.of(kind)), None)

    @cached_property
    def shots(self) -> tuple[Shot, ...]:
        """The keyframes, numbered as prompts number them: over all turns."""
        frames = [
            (turn.turn, frame, text)
            for turn in self.looked
            for frame, text in zip(turn.frames, chain(turn.descriptions, repeat("")), strict=False)
        ]
        numbered = enumerate(frames, start=1)
        return tuple(Shot(turn, n, frame, text, self.held(frame.sha256)) for n, (turn, frame, text) in numbered)

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """In order, each with the complaint about its reply, or what was taken off it, where there is one."""
        refused = {_call(event): event for event in self.of(events.Refused)}
        cleaned = {_call(event): event for event in self.of(events.Cleaned)}
        numbered = enumerate(self.of(events.Called), start=1)
        return tuple(Call(n, event, refused.get(_call(event)), cleaned.get(_call(event))) for n, event in numbered)

    def calls_of(self, stage: str, t: int) -> tuple[Call, ...]:
        return tuple(call for call in self.calls if (call.event.stage, call.event.t) == (stage, t))

    def supplied(self, stage: str, t: int) -> list[events.Supplied]:
        return [event for event in self.of(events.Supplied) if (event.stage, event.t) == (stage, t)]

    @cached_property
    def first_shown(self) -> dict[str, int]:
        """The call that showed a long text first. Agents share most of their prompts: naming that call in place of the
        text keeps a page of fifteen calls readable."""
        first: dict[str, int] = {}
        for call in self.calls:
            for text in (*(message.text for message in call.event.messages), call.event.answer_schema):
                if len(text) > _SHORT:
                    first.setdefault(text, call.number)
        return first

    def at(self, t: int, kind: str) -> Any:
        """The last event of a kind in pass t, None where there is none."""
        found = (event for event in reversed(self.found) if event.kind == kind and getattr(event, "t", None) == t)
        return next(found, None)

    def audited(self, t: int) -> bool:
        """Whether a pass came to its audit, one that could be read or not."""
        return bool(self.at(t, "audited") or self.at(t, "unaudited") or self.calls_of(self.stages.auditor, t))

    @property
    def any_audit(self) -> bool:
        return any(map(self.audited, self.numbers))

    def rank(self, t: int) -> str:
        """What a pass was compared by, in words; "" for checks, which its audit tells."""
        if self.checks or not self.selected or t not in self.selected.ranks:
            return ""
        return describe(self.selected.ranks[t], self.selected.ended in events.DRAWN)

    def cached(self, t: int) -> bool:
        """Whether the reply cache served all calls of a repeated pass but those of the agent that was asked again."""
        rest = (call for call in self.calls if call.event.t == t and call.event.stage != self.repeated[t])
        return all(call.event.reply.cached for call in rest)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        return tuple(self._row(stage) for stage in self.order if stage != self.stages.auditor)

    def _row(self, stage: str) -> Row:
        produced = {event.t: event for event in self.of(events.Produced) if event.stage == stage}
        symbol = next((event.symbol for event in produced.values()), "")
        known = self.stages.named.get(stage) or agent(symbol, "")
        cells = tuple(self._cells(stage, produced))
        kept = (cell.since for cell in cells if self.selected and cell.t == self.selected.t and cell.state == "kept")
        return Row(stage, known.title or stage, self.sees(stage, known.sees), cells, next(kept, None))

    def sees(self, stage: str, symbols: Sequence[str]) -> tuple[str, ...]:
        """What an agent is shown, in words; where it was asked, without what this sample had none of."""
        asked = any(call.event.stage == stage for call in self.calls)
        supplied = any(event.symbol == "M" and event.content for event in self.of(events.Supplied))
        there = {"M": supplied, "V": self.form != "none"}
        kept = [symbol for symbol in symbols if not asked or there.get(symbol, True)]
        described = "descriptions of " if self.form == "descriptions" else ""
        return tuple(f"{described if symbol == 'V' else ''}{self.stages.told(symbol)}" for symbol in kept)

    def _cells(self, stage: str, produced: Mapping[int, events.Produced]) -> Iterator[Cell]:
        """An output stands from the pass before only where the rerun began behind its stage."""
        before: events.Produced | None = None
        for t in self.numbers:
            made, again = produced.get(t), self.at(t, "rerun")
            first = self.order.index(again.stage) if again and again.stage in self.order else 0
            kept = before and stage in self.order[:first] and not self.calls_of(stage, t)
            shown = fields(made.output, before.output if before else None) if made else ()
            yield Cell(t, "made" if made else "kept" if kept else "none", before.t if before else t, shown)
            before = made or before


def _call(event: events.Called | events.Refused | events.Cleaned) -> tuple[int, str, int]:
    """Which call of its sample an event is about."""
    return event.t, event.stage, event.attempt

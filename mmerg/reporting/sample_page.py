"""From a sample's events to its page: who said what in which pass, and what was found wrong with it.

Stages are what the run's config and its events name; nothing here knows MERG.

    page = sample_page(index.events("d1/4"), stages_of(manifest), held)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mmerg.reporting.calls import calls
from mmerg.reporting.sample_model import Call, Cell, Checked, PassHead, Row, SamplePage, Shot, Spoken
from mmerg.reporting.stages import Stages, agent
from mmerg.reporting.values import fields
from mmerg.reporting.won import describe, why_selected
from mmerg.runs import events
from mmerg.runs.facts import repeats

_SHOWN = (
    *(events.SampleStarted, events.FramesTaken, events.Called, events.Refused, events.Cleaned, events.Supplied),
    *(events.Produced, events.Audited, events.Unaudited, events.PassLost, events.Rerun, events.Selected),
    *(events.SampleDone, events.SampleFailed),
)
Held = Callable[[str], bool]
_OF_A_PASS = tuple(kind for kind in _SHOWN if "t" in kind.model_fields)


def sample_page(found: Sequence[events.Event], stages: Stages, held: Held) -> SamplePage:
    """The page of a sample's last try. held: whether the run's folder has a frame of this hash."""
    return _Story(found, stages, held).page()


@dataclass(frozen=True)
class _Story:
    """The events of one sample, asked by kind."""

    found: Sequence[events.Event]
    stages: Stages
    held: Held

    def of(self, *kinds: type) -> list[Any]:
        return [event for event in self.found if isinstance(event, kinds)]

    def last(self, kind: type) -> Any:
        return next(iter(reversed(self.of(kind))), None)

    def page(self) -> SamplePage:
        started, taken, selected = (
            self.last(kind) for kind in (events.SampleStarted, events.FramesTaken, events.Selected)
        )
        return SamplePage(
            dialogue=started.dialogue if started else "",
            responder=started.responder if started else "",
            labels=started.labels if started else (),
            turns=tuple(_turns(started, taken, self.held)) if started else (),
            form=taken.form if taken else "none",
            passes=tuple(self._heads(selected)),
            rows=tuple(self._row(name, selected) for name in self.order if name != self.stages.auditor),
            audits=tuple(self._audits()),
            auditor=self.stages.auditor,
            audits_what=self._told(self.stages.auditor, self.stages.audits),
            why=why_selected(selected, self.checks) if selected else "",
            ended=selected.ended if selected else "",
            failed=self.last(events.SampleFailed),
            first_label=self._first_label(),
            others=tuple(event.model_dump(mode="json") for event in self.found if not isinstance(event, _SHOWN)),
            sent=tuple(dict.fromkeys(image for call in self.calls for part in call.parts for image in part.images)),
        )

    @cached_property
    def calls(self) -> list[Call]:
        return calls(self.of(events.Called), self.of(events.Refused), self.of(events.Cleaned))

    @cached_property
    def numbers(self) -> list[int]:
        """The passes that were begun, from 0."""
        return sorted({0, *(event.t for event in self.of(*_OF_A_PASS))})

    @cached_property
    def order(self) -> list[str]:
        """Stages as the config has them, then what else the events name."""
        seen = [event.stage for event in self.of(events.Supplied, events.Called, events.Produced)]
        return [name for name in dict.fromkeys([*self.stages.named, *seen]) if name in {*seen, *self.stages.named}]

    @property
    def checks(self) -> list[str]:
        """The names of the audit's checks, in order."""
        return next((list(event.audit.findings) for event in self.of(events.Audited)), [])

    def _heads(self, selected: events.Selected | None) -> Iterator[PassHead]:
        again = {event.t: event for event in self.of(events.Rerun)}
        lost = {event.t: event for event in self.of(events.PassLost)}
        repeated = repeats(self.found)
        for t in self.numbers:
            yield PassHead(
                t=t,
                selected=selected is not None and selected.t == t,
                rank=describe(selected.ranks[t], selected.ended in events.DRAWN)
                if selected and t in selected.ranks and not self.checks
                else "",
                again=again.get(t),
                lost=lost.get(t),
                repeats=t in repeated,
                cached=t in repeated and self._cached(t, repeated[t]),
            )

    def _first_label(self) -> str | None:
        symbol, field = self.stages.emotion
        first = [event.output for event in self.of(events.Produced) if (event.t, event.symbol) == (0, symbol)]
        label = first[-1].get(field) if first and isinstance(first[-1], Mapping) else None
        return label if isinstance(label, str) else None

    def _cached(self, t: int, but: str) -> bool:
        """Whether the reply cache served all calls of pass t but those of one agent."""
        rest = [call.event for call in self.calls if call.event.t == t and call.event.stage != but]
        return all(event.reply.cached for event in rest)

    def _row(self, stage: str, selected: events.Selected | None) -> Row:
        produced = [event for event in self.of(events.Produced) if event.stage == stage]
        known = self.stages.named.get(stage) or agent(produced[0].symbol if produced else "", "")
        cells = tuple(self._cells(stage, produced))
        final = next((cell for cell in cells if selected and cell.t == selected.t), None)
        origin = final.since if final and final.state == "kept" else None
        return Row(
            stage=stage,
            title=known.title or stage,
            sees=self._told(stage, known.sees),
            cells=tuple(replace(cell, into=selected.t) if cell.t == origin and selected else cell for cell in cells),
        )

    def _told(self, stage: str, sees: Sequence[str]) -> tuple[str, ...]:
        """What an agent is shown, in words; where it was asked, without what this sample had none of."""
        asked = any(call.event.stage == stage for call in self.calls)
        form = taken.form if (taken := self.last(events.FramesTaken)) else "none"
        there = {
            "M": any(event.symbol == "M" and event.content for event in self.of(events.Supplied)),
            "V": form != "none",
        }
        kept = [symbol for symbol in sees if not asked or there.get(symbol, True)]
        described = "descriptions of " if form == "descriptions" else ""
        return tuple(f"{described if symbol == 'V' else ''}{self.stages.told(symbol)}" for symbol in kept)

    def _cells(self, stage: str, produced: Sequence[events.Produced]) -> Iterator[Cell]:
        by_pass = {event.t: event for event in produced}
        again = {event.t: event for event in self.of(events.Rerun) if event.stage == stage}
        supplied = [event for event in self.of(events.Supplied) if event.stage == stage]
        before: events.Produced | None = None
        for t in self.numbers:
            made = by_pass.get(t)
            mine = tuple(call for call in self.calls if (call.event.stage, call.event.t) == (stage, t))
            shown = fields(made.output, before.output if before else None) if made else ()
            state = self._state(stage, t, made, before, mine)
            yield Cell(
                t=t,
                state=state,
                since=before.t if before else t,
                fields=shown,
                compared=bool(made and before),
                calls=mine,
                supplied=tuple(event for event in supplied if event.t == t),
                again=again.get(t),
            )
            before = made or before

    def _state(
        self, stage: str, t: int, made: events.Produced | None, before: events.Produced | None, mine: Sequence[Call]
    ) -> Any:
        """An output stands from the pass before only where the rerun began behind its stage."""
        if made:
            return "made"
        first = next((event.stage for event in self.of(events.Rerun) if event.t == t), None)
        upstream = first in self.order and self.order.index(stage) < self.order.index(first)
        return "kept" if before and upstream and not mine else "none"

    def _audits(self) -> Iterator[Checked]:
        audited = {event.t: event for event in self.of(events.Audited)}
        unread = {event.t: event for event in self.of(events.Unaudited)}
        for t in self.numbers:
            mine = tuple(call for call in self.calls if (call.event.stage, call.event.t) == (self.stages.auditor, t))
            event = audited.get(t)
            if event or t in unread or mine:
                findings = event.audit.findings if event else {}
                yield Checked(t, findings, event.fault if event else None, unread.get(t), mine)


def _turns(started: events.SampleStarted, taken: events.FramesTaken | None, held: Held) -> Iterator[Spoken]:
    """History turns with their frames, numbered as prompts number them: over all turns."""
    looked = {turn.turn: turn for turn in taken.turns} if taken else {}
    numbers = {(turn.turn, place): 0 for turn in looked.values() for place in range(len(turn.frames))}
    numbers = {key: number for number, key in enumerate(numbers, start=1)}
    for number, (speaker, text) in enumerate(started.history, start=1):
        turn = looked.get(number)
        told = dict(enumerate(turn.descriptions)) if turn else {}
        shots = tuple(
            Shot(
                number=numbers[number, place],
                sha256=frame.sha256,
                source=frame.source,
                time=frame.time,
                width=frame.width,
                height=frame.height,
                description=told.get(place, ""),
                held=held(frame.sha256),
            )
            for place, frame in enumerate(turn.frames if turn else ())
        )
        yield Spoken(number, speaker, text, shots, turn.problem if turn else "")

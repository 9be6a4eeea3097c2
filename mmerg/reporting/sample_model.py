"""What a sample's page holds: the dialogue with its keyframes, then every stage in every pass.

Plain records without behaviour worth a name; `sample_page` makes them, templates read them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mmerg.reporting.values import Field
from mmerg.runs import events
from mmerg.systems.audit import Finding


@dataclass(frozen=True, slots=True)
class Shot:
    """A keyframe, numbered from 1 over the sample as prompts number it. held: whether its file is in the run."""

    number: int
    sha256: str
    source: str
    time: float
    width: int
    height: int
    description: str
    held: bool


@dataclass(frozen=True, slots=True)
class Spoken:
    """A history turn with its keyframes; problem: why it has none."""

    number: int
    speaker: str
    text: str
    shots: tuple[Shot, ...]
    problem: str


@dataclass(frozen=True, slots=True)
class Part:
    """A long text of a call. same_as: the number of the call that showed the same text before, 0 where none did."""

    role: str
    text: str
    images: tuple[str, ...]
    same_as: int


@dataclass(frozen=True, slots=True)
class Call:
    """A call, numbered from 1 over the sample, and the complaint where its reply was refused, or what was taken off."""

    number: int
    event: events.Called
    parts: tuple[Part, ...]
    schema: Part | None
    refused: events.Refused | None
    cleaned: events.Cleaned | None

    @property
    def sampling(self) -> str:
        """The settings of the call in words."""
        settings = sorted(self.event.sampling.items())
        told = ((name, json.dumps(" ".join(one)) if isinstance(one, tuple) else one) for name, one in settings)
        return ", ".join(f"{name} {value}" for name, value in told)


@dataclass(frozen=True, slots=True)
class Cell:
    """A stage in a pass. made: it gave an output here; kept: that of pass `since` stands; none: it was not reached, or
    gave nothing that could be used. since: the pass before in which it gave one. into: the selected pass, where that
    kept this output."""

    t: int
    state: Literal["made", "kept", "none"]
    since: int
    fields: tuple[Field, ...]
    compared: bool
    calls: tuple[Call, ...]
    supplied: tuple[events.Supplied, ...]
    again: events.Rerun | None
    into: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A stage over all passes. title: what it gives, in words. sees: what it was shown, in words."""

    stage: str
    title: str
    sees: tuple[str, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """The audit of a pass: findings by stage, or why there are none."""

    t: int
    findings: Mapping[str, Finding]
    fault: str | None
    unread: events.Unaudited | None
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class PassHead:
    """A pass; rank: what it was compared by, in words, "" for checks, which its audit tells; lost: why it could not be
    finished. repeats: it says what the pass before said, word for word; cached: the reply cache served all calls but
    those of the agent that was asked again."""

    t: int
    selected: bool
    rank: str
    again: events.Rerun | None
    lost: events.PassLost | None
    repeats: bool
    cached: bool


@dataclass(frozen=True, slots=True)
class SamplePage:
    """All that a sample's page shows but for its links. first_label: what pass 0 forecast."""

    dialogue: str
    responder: str
    labels: tuple[str, ...]
    turns: tuple[Spoken, ...]
    form: str
    passes: tuple[PassHead, ...]
    rows: tuple[Row, ...]
    audits: tuple[Checked, ...]
    auditor: str
    audits_what: tuple[str, ...]
    why: str
    ended: str
    failed: events.SampleFailed | None
    first_label: str | None
    others: tuple[Mapping[str, object], ...]
    sent: tuple[str, ...]

    @property
    def shots(self) -> tuple[Shot, ...]:
        return tuple(shot for turn in self.turns for shot in turn.shots)

    @property
    def calls(self) -> tuple[Call, ...]:
        cells = (cell.calls for row in self.rows for cell in row.cells)
        return tuple(call for some in (*cells, *(audit.calls for audit in self.audits)) for call in some)

    def audit_of(self, t: int) -> Checked | None:
        """The audit of pass t, where it came to one."""
        return next((audit for audit in self.audits if audit.t == t), None)

    @property
    def blamed(self) -> tuple[str, ...]:
        """The agents that audits found at fault, in order, each once."""
        return tuple(dict.fromkeys(audit.fault for audit in self.audits if audit.fault))

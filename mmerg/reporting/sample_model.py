"""The parts of a sample's page: the dialogue with its keyframes, calls, and what each stage gave.

`sample_page` makes them of events, templates read them; what an event tells is read off the event.
"""

import json
from dataclasses import dataclass
from typing import Literal

from mmerg.frames.store import Frame
from mmerg.reporting.values import Field
from mmerg.runs import events


@dataclass(frozen=True, slots=True)
class Shot:
    """A keyframe of a history turn, numbered from 1 over the sample as prompts number it. held: whether its file is in
    the run."""

    turn: int
    number: int
    frame: Frame
    description: str
    held: bool


@dataclass(frozen=True, slots=True)
class Call:
    """A call, numbered from 1 over the sample, and the complaint where its reply was refused, or what was taken off."""

    number: int
    event: events.Called
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
    gave nothing that could be used. since: the pass before in which it gave one, which it is compared with, if any."""

    t: int
    state: Literal["made", "kept", "none"]
    since: int
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A stage over all passes. title: what it gives, in words. sees: what it was shown, in words. origin: the pass that
    made what the selected pass kept of it, None where that made its own."""

    stage: str
    title: str
    sees: tuple[str, ...]
    cells: tuple[Cell, ...]
    origin: int | None

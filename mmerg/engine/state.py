"""What is known of a sample so far. It is immutable: to run again from a stage is to drop the outputs from there on.

A `State` holds the scene, never the target, so nothing that renders prompts can reach it.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace

from pydantic import BaseModel

from mmerg.backends.protocol import Image, Reply
from mmerg.corpora.dialogue import Scene
from mmerg.frames.store import Keyframe
from mmerg.systems.audit import Audit
from mmerg.systems.system import Stage

Output = BaseModel | str


@dataclass(frozen=True)
class State:
    """The scene, its keyframes in order, the images that travel (none for a text-only model), and outputs by symbol.
    turns: how many of the last turns are shown; None for all. labels: the emotions as prompts and schemas list them, ()
    for the scene's order."""

    scene: Scene
    keyframes: tuple[Keyframe, ...] = ()
    images: tuple[Image, ...] = ()
    outputs: tuple[tuple[str, Output], ...] = ()
    turns: int | None = None
    labels: tuple[str, ...] = ()

    @property
    def listed(self) -> tuple[str, ...]:
        """The emotions that a model may choose from, in the order in which it reads them."""
        return self.labels or self.scene.labels

    def get(self, symbol: str) -> Output | None:
        return dict(self.outputs).get(symbol)

    def at(self, path: str) -> object:
        """The output, or the field of it, that a path such as "e.emotion" or "R" names; None where there is none."""
        symbol, _, name = path.partition(".")
        return getattr(self.get(symbol), name, None) if name else self.get(symbol)

    def text_at(self, path: str) -> str | None:
        """As `at`, where that is a text; else None."""
        output = self.at(path)
        return output if isinstance(output, str) else None

    def with_(self, symbol: str, output: Output) -> State:
        """The state with one more output; an output is never replaced."""
        if self.get(symbol) is not None:
            raise ValueError(f"{symbol} is already there")
        return replace(self, outputs=(*self.outputs, (symbol, output)))

    def before(self, symbol: str) -> State:
        """The state as it was before `symbol` was added."""
        names = [name for name, _ in self.outputs]
        return replace(self, outputs=self.outputs[: names.index(symbol)])


@dataclass(frozen=True)
class Draft:
    """What a stage gave in an earlier pass, and the feedback on it."""

    output: Output
    feedback: Output


@dataclass(frozen=True)
class Correction:
    """Why a stage runs again: its previous output, the reason, and what to do better; both are empty for a stage that
    runs again after the faulty one. drafts: all that it gave so far, oldest first, where a loop shows the whole
    history. retained: what other stages gave in the same pass, by symbol, where they are shown it."""

    stage: str
    previous: Output
    reason: str
    instruction: str
    drafts: tuple[Draft, ...] = ()
    retained: Mapping[str, Output] = field(default_factory=dict)

    def for_stage(self, stage: Stage, renewed: Set[str]) -> Correction | None:
        """What `stage` is shown of it in a pass that has renewed these symbols, of which it must see one."""
        if stage.name == self.stage:
            return self
        previous = self.retained.get(stage.gives)
        return Correction(stage.name, previous, "", "") if previous and not renewed.isdisjoint(stage.sees) else None


@dataclass(frozen=True)
class Candidate:
    """One of several independent candidates, whose number, from 0, enters the seed. replies: by symbol, the reply of a
    model, and the stage's output as it stands there, before it is cleaned."""

    number: int
    replies: dict[str, tuple[Reply, Output]] = field(default_factory=dict)


@dataclass(frozen=True)
class Pass:
    """Pass t: a complete state, the correction that led to it, and what it is ranked by: an audit, or a score, whose
    first place counts most. It has neither where there is no auditor, or what ranks it could not be read."""

    t: int
    state: State
    audit: Audit | None = None
    correction: Correction | None = None
    score: tuple[float, ...] | None = None

    def rank(self) -> tuple[float, ...]:
        """(c1, c2, …, -t), or (*score, -t): the highest wins, the earlier pass in a tie. () for a pass without, which
        is below all others."""
        if self.score is None and self.audit:
            return (*self.audit.checks, -self.t)
        return () if self.score is None else (*self.score, -self.t)

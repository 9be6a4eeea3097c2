"""What is known of a sample so far. A state is immutable: to run again from a stage, drop its output and the later
ones.

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
        """The emotions that a model may choose from, in the order of its prompt."""
        return self.labels or self.scene.labels

    def get(self, symbol: str) -> Output | None:
        return dict(self.outputs).get(symbol)

    def at(self, path: str) -> object:
        """The output, or a field of it, at a path such as "e.emotion" or "R"; None if there is none."""
        symbol, _, name = path.partition(".")
        return getattr(self.get(symbol), name, None) if name else self.get(symbol)

    def text_at(self, path: str) -> str | None:
        """As `at`, if the value is a text; else None."""
        output = self.at(path)
        return output if isinstance(output, str) else None

    def with_(self, symbol: str, output: Output) -> State:
        """The state with one more output. An output is never replaced."""
        if self.get(symbol) is not None:
            raise ValueError(f"{symbol} is already there")
        return replace(self, outputs=(*self.outputs, (symbol, output)))

    def before(self, symbol: str) -> State:
        """The state as it was before `symbol` was added."""
        names = [name for name, _ in self.outputs]
        return replace(self, outputs=self.outputs[: names.index(symbol)])


@dataclass(frozen=True)
class Draft:
    """An output of a stage in an earlier pass, and the feedback on it."""

    output: Output
    feedback: Output


@dataclass(frozen=True)
class Correction:
    """Why a stage runs again: its previous output, the reason, and the advice; both are empty for a stage after the
    faulty one. drafts: all its earlier outputs, oldest first, if the loop shows the history. retained: outputs of other
    stages in the same pass, by symbol, if they are shown."""

    stage: str
    previous: Output
    reason: str
    instruction: str
    drafts: tuple[Draft, ...] = ()
    retained: Mapping[str, Output] = field(default_factory=dict)

    def for_stage(self, stage: Stage, renewed: Set[str]) -> Correction | None:
        """The part of this that `stage` is shown in a pass that has renewed these symbols, of which it must see one."""
        if stage.name == self.stage:
            return self
        previous = self.retained.get(stage.gives)
        return Correction(stage.name, previous, "", "") if previous and not renewed.isdisjoint(stage.sees) else None


@dataclass(frozen=True)
class Candidate:
    """One of several independent candidates. Its number, from 0, is part of the seed. replies: by symbol, the model's
    reply and the stage's output before cleaning."""

    number: int
    replies: dict[str, tuple[Reply, Output]] = field(default_factory=dict)


@dataclass(frozen=True)
class Pass:
    """Pass t: a complete state, the correction that led to it, and its audit or score, by which it is ranked. It has
    neither without an auditor, or if the audit could not be read."""

    t: int
    state: State
    audit: Audit | None = None
    correction: Correction | None = None
    score: tuple[float, ...] | None = None

    def rank(self) -> tuple[float, ...]:
        """(c1, c2, …, -t) or (*score, -t): the highest wins, and the earlier pass in a tie. () if there is neither
        audit nor score, which ranks last."""
        if self.score is None and self.audit:
            return (*self.audit.checks, -self.t)
        return () if self.score is None else (*self.score, -self.t)

"""The state of a sample. It is immutable: to run again from a stage, drop its output and later ones.

A `State` has the scene but not the target, so no prompt can show the target.
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
    """The scene, its keyframes in order, the images for the model (none for a text-only model), and outputs by symbol.
    turns: the number of last turns shown; None: all. labels: the emotions in the order of prompts and schemas; (): the
    scene's."""

    scene: Scene
    keyframes: tuple[Keyframe, ...] = ()
    images: tuple[Image, ...] = ()
    outputs: tuple[tuple[str, Output], ...] = ()
    turns: int | None = None
    labels: tuple[str, ...] = ()

    @property
    def ordered_labels(self) -> tuple[str, ...]:
        """The emotions to choose from, in the order of the prompt."""
        return self.labels or self.scene.labels

    def get(self, symbol: str) -> Output | None:
        return dict(self.outputs).get(symbol)

    def get_path(self, path: str) -> object:
        """The output, or a field of it, at a path such as "e.emotion" or "R"; None if there is none."""
        symbol, _, name = path.partition(".")
        return getattr(self.get(symbol), name, None) if name else self.get(symbol)

    def get_text(self, path: str) -> str | None:
        """As `at`, if the value is a text; else None."""
        output = self.get_path(path)
        return output if isinstance(output, str) else None

    def with_output(self, symbol: str, output: Output) -> State:
        """The state with another output. Raises ValueError if it exists."""
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
    """Why a stage runs again: its previous output, the reason and the instruction, both empty for stages after the
    faulty one. drafts: all earlier outputs, oldest first, if the loop shows them. retained: outputs of other stages in
    the same pass by symbol, if shown."""

    stage: str
    previous: Output
    reason: str
    instruction: str
    drafts: tuple[Draft, ...] = ()
    retained: Mapping[str, Output] = field(default_factory=dict)

    def for_stage(self, stage: Stage, renewed: Set[str]) -> Correction | None:
        """The correction as `stage` sees it. renewed: symbols with new outputs; later stages must see one of them."""
        if stage.name == self.stage:
            return self
        previous = self.retained.get(stage.gives)
        return Correction(stage.name, previous, "", "") if previous and not renewed.isdisjoint(stage.sees) else None


@dataclass(frozen=True)
class Candidate:
    """One of several independent candidates. number: from 0, part of the seed. replies: by symbol, the model's reply
    and the output before cleaning."""

    number: int
    replies: dict[str, tuple[Reply, Output]] = field(default_factory=dict)


@dataclass(frozen=True)
class Pass:
    """Pass t: a complete state, the correction that led to it, and its audit or score for its rank. It has neither
    without an auditor or with an unreadable audit."""

    t: int
    state: State
    audit: Audit | None = None
    correction: Correction | None = None
    score: tuple[float, ...] | None = None

    def rank(self) -> tuple[float, ...]:
        """(c1, c2, …, -t) or (*score, -t): the highest wins, and the earlier pass in a tie. () ranks last: no audit and
        no score."""
        if self.score is None and self.audit:
            return (*self.audit.checks, -self.t)
        return () if self.score is None else (*self.score, -self.t)

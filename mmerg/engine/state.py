"""The state of a sample. It is immutable: to run again from a stage, drop its output and later ones.

A `State` has the scene but not the target, so no prompt can show the target.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace

from pydantic import BaseModel

from mmerg.backends.protocol import Completion, Image
from mmerg.corpora.dialogue import Scene
from mmerg.frames.store import Keyframe
from mmerg.systems.audit import Audit
from mmerg.systems.system import Stage

Output = BaseModel | str


@dataclass(frozen=True)
class State:
    """The inputs of a sample and the outputs of its stages so far."""

    scene: Scene  # the dialogue without the target
    keyframes: tuple[Keyframe, ...] = ()  # in the order of the dialogue
    images: tuple[Image, ...] = ()  # for the model; empty for a text-only model
    outputs: tuple[tuple[str, Output], ...] = ()  # pairs of a stage's symbol and its output, in the order of the stages
    turns: int | None = None  # how many of the last turns are shown; None: all
    labels: tuple[str, ...] = ()  # in the order of prompts and schemas; empty: in the order of the scene

    @property
    def ordered_labels(self) -> tuple[str, ...]:
        return self.labels or self.scene.labels

    def get(self, symbol: str) -> Output | None:
        """Returns the output of the stage that gives `symbol`; None if it has none yet."""
        return dict(self.outputs).get(symbol)

    def get_path(self, path: str) -> object:
        """Returns the output or field at a path such as "R" or "e.emotion"; None if it does not exist."""
        symbol, _, name = path.partition(".")
        return getattr(self.get(symbol), name, None) if name else self.get(symbol)

    def get_text(self, path: str) -> str | None:
        """Returns the text at a path; None if there is no value, or it is not a text."""
        value = self.get_path(path)
        return value if isinstance(value, str) else None

    def with_output(self, symbol: str, output: Output) -> State:
        """Returns the state with one more output. Raises ValueError if it already has one for `symbol`."""
        if self.get(symbol) is not None:
            raise ValueError(f"the state already has an output {symbol}")
        return replace(self, outputs=(*self.outputs, (symbol, output)))

    def before(self, symbol: str) -> State:
        """Returns the state as it was before the output `symbol` was added."""
        names = [name for name, _ in self.outputs]
        return replace(self, outputs=self.outputs[: names.index(symbol)])


@dataclass(frozen=True)
class Draft:
    """An output of a stage in an earlier pass, and the feedback on it."""

    output: Output
    feedback: Output


@dataclass(frozen=True)
class Correction:
    """What a stage sees when it runs again."""

    stage: str
    previous: Output  # the stage's output in the previous pass
    reason: str  # why the auditor rejects that output; empty for stages after the faulty one
    instruction: str  # how to correct it; empty for stages after the faulty one
    drafts: tuple[Draft, ...] = ()  # all earlier outputs with their feedback, oldest first, if the loop shows them
    retained: Mapping[str, Output] = field(default_factory=dict)  # previous outputs of later stages, if shown

    def for_stage(self, stage: Stage, renewed: Set[str]) -> Correction | None:
        """Returns what `stage` sees of this correction. A later stage sees its previous output if it sees one of the
        `renewed` symbols, which have new outputs."""
        if stage.name == self.stage:
            return self
        previous = self.retained.get(stage.gives)
        return Correction(stage.name, previous, "", "") if previous and not renewed.isdisjoint(stage.sees) else None


@dataclass(frozen=True)
class Candidate:
    """One of several independent candidates."""

    number: int  # from 0, a part of the seed
    completions: dict[str, tuple[Completion, Output]] = field(default_factory=dict)  # by symbol; each with its output


@dataclass(frozen=True)
class Pass:
    """Pass t: a complete state, the correction that led to it, and the audit or score that ranks it. It has neither
    audit nor score if there is no auditor or the audit cannot be read."""

    t: int
    state: State
    audit: Audit | None = None
    correction: Correction | None = None
    score: tuple[float, ...] | None = None

    def rank(self) -> tuple[float, ...]:
        """Returns (*score, -t), or (c1, c2, …, -t) with the checks of the audit. The highest rank wins; in a tie, the
        earlier pass. Without score and audit the rank is the lowest, ()."""
        if self.score is None and self.audit:
            return (*self.audit.checks, -self.t)
        return () if self.score is None else (*self.score, -self.t)

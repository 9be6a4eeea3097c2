"""What is known of a sample so far. Immutable: running again from a stage means dropping a suffix.

Knows nothing of how outputs are made. A `State` holds the scene, never the target, so nothing that renders prompts
can reach it.

    state = State(scene, keyframes).with_("E", evidence)
    state.before("E").outputs   # ()
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pydantic import BaseModel

from mmerg.backends.protocol import Image
from mmerg.corpora.dialogue import Scene
from mmerg.frames.frame import Frame
from mmerg.systems.audit import Audit

Output = BaseModel | str


@dataclass(frozen=True)
class Keyframe:
    """A frame with the history turn it comes from (from 1); `description` is for models without eyes."""

    turn: int
    frame: Frame
    description: str = ""


@dataclass(frozen=True)
class State:
    """The scene, its keyframes in order, the images that travel (none for a text-only model), and outputs by symbol."""

    scene: Scene
    keyframes: tuple[Keyframe, ...] = ()
    images: tuple[Image, ...] = ()
    outputs: tuple[tuple[str, Output], ...] = ()

    def get(self, symbol: str) -> Output | None:
        return dict(self.outputs).get(symbol)

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
class Again:
    """Why a stage runs again: its previous output, the audit's reason and correction instruction f."""

    stage: str
    previous: Output
    reason: str
    correction: str


@dataclass(frozen=True)
class Pass:
    """Pass t: a complete state, its audit (None where there is no auditor, or it could not be read), and the rerun
    that led to it."""

    t: int
    state: State
    audit: Audit | None
    again: Again | None = None

    def rank(self) -> tuple[int, ...] | None:
        """(c1, c2, …, -t) for the lexicographic choice, None if the pass is unaudited."""
        return (*self.audit.checks, -self.t) if self.audit else None

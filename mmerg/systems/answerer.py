"""The seam for a stage that no language model answers: a class that a stage's YAML names in `by`.

class Longest:  # by: {_target_: my_stage.Longest}, output: my_stage.Cue
    def __call__(self, asked: Asked) -> object:
        turn = max(asked.inputs["D"], key=lambda turn: len(turn.text))
        return {"turn": turn.number, "cue": turn.text}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Asked:
    """What is asked, as the prompt of a model would show it. inputs: what the stage sees, by symbol (D: turns with
    number, speaker and text; V: frames; outputs of stages; what sources supply); absent is what there is not. labels:
    the emotions that the sample may have. images: JPEGs, where the stage sees V and the run's model has eyes.
    instruction: what an audit found wrong with `previous`, both empty in the first pass."""

    sample: str
    t: int
    stage: str
    responder: str
    labels: tuple[str, ...]
    inputs: Mapping[str, object]
    images: tuple[bytes, ...] = ()
    previous: object = None
    instruction: str = ""


class Answerer(Protocol):
    """Gives a stage's output: a text, or a record of the stage's output class or the mapping that makes one. It is held
    to the same schema as a model's reply. Is called from several threads. A `digest`, a text, joins the run's identity;
    without one the SHA-256 of the class's file does."""

    def __call__(self, asked: Asked) -> object: ...

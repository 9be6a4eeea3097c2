"""The interface of sources. They supply inputs that no stage makes, such as exemplars M (docs/extend.md)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from mmerg.corpora.dialogue import Sample
from mmerg.engine.state import State
from mmerg.runs.events import Excluded


@dataclass(frozen=True, slots=True)
class SourceOutput:
    """What a source supplies for one call of a stage."""

    content: tuple[Mapping[str, object], ...]  # for the prompt
    excluded: tuple[Excluded, ...] = ()  # the items that guards withheld; only for the trace
    problem: str = ""  # why there is no content; only for the trace


class Source(Protocol):
    """A supplier of one input to the stages that see it. Several threads call it.

    A source may also have `describe_missing(samples)`, which returns a note on what the source lacks, printed before
    the first call; `facts`, a dict that is stored with the run's settings; and `close()`, which another thread calls to
    interrupt `supply`.
    """

    @property
    def digest(self) -> str:
        """A part of the run's identity. It must change whenever the output may change."""

    def supply(self, sample: Sample, state: State, forecast: str | None) -> SourceOutput:
        """Returns the input for one call of a stage.

        sample: contains the hidden target, so that a source can guard against leaks. The output must not contain it, as
        it goes into prompts and the trace.
        forecast: the emotion of `system.result`, if the stage sees it and it exists.
        """


BoundSource = Callable[[State, str | None], SourceOutput]  # a source for one sample

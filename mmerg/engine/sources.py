"""The interface of sources: inputs that no stage makes, such as exemplars M (docs/extend.md)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from mmerg.corpora.dialogue import Sample
from mmerg.engine.state import State
from mmerg.runs.events import Excluded


@dataclass(frozen=True, slots=True)
class SourceOutput:
    """content: for the prompt. excluded: withheld by guards; problem: why there is no content. Both are for the trace
    only."""

    content: tuple[Mapping[str, object], ...]
    excluded: tuple[Excluded, ...] = ()
    problem: str = ""


class Source(Protocol):
    """Supplies one symbol to the stages that see it. Several threads call it.

    digest: part of the run's identity; must change whenever the output may change. sample: has the hidden target, to
    guard against leaks; the output goes into prompts and the trace. forecast: the emotion of `system.result`, if the
    stage sees it and it exists. Optional: `missing(samples)` describes what the source lacks, printed before the first
    call; `facts`, noted beside the run's settings; `close()`, called from another thread to interrupt `supply`.
    """

    @property
    def digest(self) -> str: ...

    def supply(self, sample: Sample, state: State, forecast: str | None) -> SourceOutput: ...


BoundSource = Callable[[State, str | None], SourceOutput]  # a source for one sample

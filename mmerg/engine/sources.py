"""The interface for inputs that no stage makes (M: exemplars), by the symbols in `sources` (docs/extend.md)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from mmerg.corpora.dialogue import Sample
from mmerg.engine.state import State
from mmerg.runs.events import Excluded


@dataclass(frozen=True, slots=True)
class SourceOutput:
    """content: what goes into the prompt. excluded: what guards withheld; problem: why there is no content, if
    something failed. Both are for the trace only."""

    content: tuple[Mapping[str, object], ...]
    excluded: tuple[Excluded, ...] = ()
    problem: str = ""


class Source(Protocol):
    """Supplies one symbol to the stages that see it. Several threads call it.

    digest: a text that changes whenever the output may change; it is part of the run's identity. sample: may be used
    to guard against leaks, as it holds the hidden target; the output goes into prompts and the trace.
    forecast: the emotion of `system.result`, if the stage sees it and it exists. A source may also have a
    `missing(samples)`: what it lacks, printed before the first call; `facts`, which the run notes beside its
    settings; and a `close()`, which a run that stops calls from another thread: break off what `supply` waits for.
    """

    @property
    def digest(self) -> str: ...

    def supply(self, sample: Sample, state: State, forecast: str | None) -> SourceOutput: ...


BoundSource = Callable[[State, str | None], SourceOutput]  # a source for one sample

"""The seam for inputs that no stage makes (M: exemplars), by the symbols that `sources` gives them (docs/extend.md)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from mmerg.corpora.dialogue import Sample
from mmerg.engine.state import State
from mmerg.runs.events import Excluded


@dataclass(frozen=True, slots=True)
class SourceOutput:
    """content: what a source has for a prompt. For the trace alone: what it kept back, and why there is nothing where
    that is no answer of the source."""

    content: tuple[Mapping[str, object], ...]
    excluded: tuple[Excluded, ...] = ()
    problem: str = ""


class Source(Protocol):
    """Supplies one symbol to the stages that see it. Is asked from several threads.

    digest: a text that changes whenever what is supplied may change; it joins the run's identity. sample: may be used
    to guard against leaks, as it holds the hidden target; what is supplied goes into prompts and into the trace.
    forecast: the emotion of `system.result`, where the asking stage sees it and it is there. A source may have a
    `missing(samples)` as well: what it lacks, printed before the first call; `facts`, which the run notes beside its
    settings; and a `close()`, which a run that stops calls from another thread: break off what `supply` waits for.
    """

    @property
    def digest(self) -> str: ...

    def supply(self, sample: Sample, state: State, forecast: str | None) -> SourceOutput: ...


BoundSource = Callable[[State, str | None], SourceOutput]  # a source for one sample

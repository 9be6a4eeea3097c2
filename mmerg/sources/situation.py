"""The situation that a speaker described before the dialogue: an input of TRACE (arXiv 2509.21849).

sources: {S: {_target_: mmerg.sources.situation.Situation}}
"""

from collections.abc import Sequence

from mmerg.corpora.dialogue import Sample
from mmerg.engine.sources import SourceOutput
from mmerg.engine.state import State


class Situation:
    """The situation of the dialogue, if the corpus has it."""

    digest = "1"

    def supply(self, sample: Sample, state: State, forecast: str | None) -> SourceOutput:  # noqa: ARG002 - for other sources
        text = " ".join((sample.situation or "").split())
        return SourceOutput(({"text": text},) if text else ())

    def describe_missing(self, samples: Sequence[Sample]) -> str:
        without = sum(not sample.situation for sample in samples)
        return f"{without} of {len(samples)} samples have no situation" if without else ""

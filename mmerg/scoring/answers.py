"""What is scored: the samples of a run as its folder tells them, each with what metrics need of it.

run = read_run(Path("runs/meld-merg-…"))
run.answers[0].response, run.answers[0].gold_response
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmerg.records.result import Result


@dataclass(frozen=True, slots=True)
class Answer:
    """A sample as it came out. logprobs: natural logarithms, one a token of the selected pass's response as it was
    generated; None where the trace holds none. history: (speaker, text) of the turns that were shown."""

    result: Result
    logprobs: tuple[float, ...] | None
    history: tuple[tuple[str, str], ...]

    @property
    def id(self) -> str:
        return self.result.id

    @property
    def ok(self) -> bool:
        return self.result.status == "ok"


@dataclass(frozen=True)
class ScoredRun:
    """A run folder: its manifest, and an answer for every sample that it finished, in the order of its results."""

    path: Path
    manifest: Mapping[str, Any]
    answers: tuple[Answer, ...]

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def protocol(self) -> str:
        """The protocol with its n, as the run told it."""
        return str(self.manifest["protocol"]["told"])

"""What is scored: the samples of a run as its folder tells them, each with what metrics need of it.

run = read_run(Path("runs/meld-merg-…"))
run.answers[0].response, run.answers[0].gold_response
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mmerg.errors import some
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import Manifest, read_manifest
from mmerg.runs.result import Result


@dataclass(frozen=True, slots=True)
class Answer:
    """A sample as it came out."""

    result: Result

    @property
    def id(self) -> str:
        return self.result.id

    @property
    def ok(self) -> bool:
        return self.result.status == "ok"

    @property
    def improper(self) -> bool:
        """Whether the log-probabilities are left out, one being no logarithm of a probability."""
        return self.ok and self.result.logprob is None and self.result.logprob_tokens > 0


@dataclass(frozen=True)
class ScoredRun:
    """A run folder: its manifest, and an answer for every sample that it finished, in the order of its results. label:
    what it is called where its folder's name would not tell it from another's."""

    path: Path
    manifest: Manifest
    answers: tuple[Answer, ...]
    label: str = ""

    @property
    def improper(self) -> tuple[str, ...]:
        """The samples of which `self_ppl` cannot be had."""
        return tuple(answer.id for answer in self.answers if answer.improper)

    @property
    def name(self) -> str:
        return self.label or self.path.resolve().name  # also of "."

    @property
    def protocol(self) -> str:
        """The protocol with its n, as the run told it."""
        return self.manifest.protocol.description


def told_apart(runs: Sequence[ScoredRun]) -> list[ScoredRun]:
    """The same runs; those whose folders have one name, in different places, are called by their paths."""
    names = Counter(run.name for run in runs)
    return [replace(run, label=str(run.path)) if names[run.name] > 1 else run for run in runs]


def describe_improper(samples: Sequence[str]) -> str:
    """Of which samples self_ppl cannot be had, and why; "" for none."""
    if not samples:
        return ""
    return (
        f"self_ppl is without {some(samples)}: the server gave a token a probability above 1, or none that is a number"
    )


def read_run(path: Path) -> ScoredRun:
    """The run in folder `path`, finished or not. Raises RunError where it is none, or its files do not hold."""
    return ScoredRun(path, read_manifest(path), tuple(map(Answer, read_results(path).values())))

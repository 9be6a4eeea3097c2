"""What is scored: the samples of a run as its folder tells them, each with what metrics need of it.

run = read_run(Path("runs/meld-merg-…"))
run.answers[0].response, run.answers[0].gold_response
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mmerg.errors import RunError
from mmerg.runs.folder import TRACE, read_manifest, read_results
from mmerg.runs.manifest import AGAIN, needed
from mmerg.runs.result import Result
from mmerg.scoring.told import Told, told

NAMED = 5  # samples, where many could be named


@dataclass(frozen=True, slots=True)
class Answer:
    """A sample as it came out. logprobs: natural logarithms, one a token of the selected pass's response as it was
    generated (see `tokens`); None where the trace holds none, or improper ones. history: (speaker, text) of the turns
    that were shown, responder: who replies, "" where that is not known."""

    result: Result
    logprobs: tuple[float, ...] | None
    history: tuple[tuple[str, str], ...]
    responder: str = ""

    @property
    def id(self) -> str:
        return self.result.id

    @property
    def ok(self) -> bool:
        return self.result.status == "ok"


@dataclass(frozen=True)
class ScoredRun:
    """A run folder: its manifest, and an answer for every sample that it finished, in the order of its results.
    improper: samples whose log-probabilities were left out, one being no logarithm of a probability. label: what it is
    called where its folder's name would not tell it from another's."""

    path: Path
    manifest: Mapping[str, Any]
    answers: tuple[Answer, ...]
    improper: tuple[str, ...] = ()
    label: str = ""

    @property
    def name(self) -> str:
        return self.label or self.path.resolve().name  # also of "."

    @property
    def protocol(self) -> str:
        """The protocol with its n, as the run told it."""
        return str(self.manifest["protocol"]["told"])


def told_apart(runs: Sequence[ScoredRun]) -> list[ScoredRun]:
    """The same runs; those whose folders have one name, in different places, are called by their paths."""
    names = Counter(run.name for run in runs)
    return [replace(run, label=str(run.path)) if names[run.name] > 1 else run for run in runs]


def named(samples: Sequence[str]) -> str:
    """The first few of many samples."""
    return ", ".join(samples[:NAMED]) + (f" and {len(samples) - NAMED} more" if len(samples) > NAMED else "")


def told_improper(samples: Sequence[str]) -> str:
    """Of which samples self_ppl cannot be had, and why; "" for none."""
    if not samples:
        return ""
    return (
        f"self_ppl is without {named(samples)}: the trace gives a token a probability above 1, or none that is a number"
    )


def read_run(path: Path) -> ScoredRun:
    """The run in folder `path`, finished or not. Raises RunError where it is none, or its files do not hold."""
    manifest = read_manifest(path)
    needed(manifest, ("corpus", "protocol"), path)
    results = dict(read_results(path))  # each once, all are kept anyway
    stage, field = _response_stage(manifest, path)
    facts = told(path / TRACE, results, stage, field)
    nothing = Told()
    answers, improper = [], []
    for result in results.values():
        fact = facts.get(result.id, nothing)
        logprobs = fact.logprobs if result.status == "ok" else None
        improper += [result.id] if fact.improper and result.status == "ok" else []
        answers.append(Answer(result, logprobs, fact.history, fact.responder))
    return ScoredRun(path, manifest, tuple(answers), tuple(improper))


def _response_stage(manifest: Mapping[str, Any], path: Path) -> tuple[str, str]:
    """The stage that gives the response, and in which field of its output ("" where it is the text itself)."""
    try:
        system = manifest["config"]["system"]
        symbol, _, field = system["result"]["response"].partition(".")
        [stage] = [name for name, node in system["stages"].items() if node["gives"] == symbol]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        what = "the manifest does not say which stage gives the response"
        raise RunError(what, where=str(path), hint=AGAIN) from error
    return stage, field

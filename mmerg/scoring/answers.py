"""What is scored: the samples of a run as its folder tells them, each with what metrics need of it.

run = read_run(Path("runs/meld-merg-…"))
run.answers[0].response, run.answers[0].gold_response
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmerg.errors import RunError
from mmerg.records.result import Result
from mmerg.records.run import TRACE, read_manifest, read_results
from mmerg.scoring.told import Told, told


@dataclass(frozen=True, slots=True)
class Answer:
    """A sample as it came out. logprobs: natural logarithms, one a token of the selected pass's response as it was
    generated (see `tokens`); None where the trace holds none. history: (speaker, text) of the turns that were shown,
    responder: who replies, "" where that is not known."""

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
    """A run folder: its manifest, and an answer for every sample that it finished, in the order of its results."""

    path: Path
    manifest: Mapping[str, Any]
    answers: tuple[Answer, ...]

    @property
    def name(self) -> str:
        return self.path.resolve().name  # also of "."

    @property
    def protocol(self) -> str:
        """The protocol with its n, as the run told it."""
        return str(self.manifest["protocol"]["told"])


_AGAIN = "run it again with this version; finished samples come from the reply cache"


def read_run(path: Path) -> ScoredRun:
    """The run in folder `path`, finished or not. Raises RunError where it is none, or its files do not hold."""
    manifest = read_manifest(path)
    _check(manifest, path)
    results = dict(read_results(path))  # each once, all are kept anyway
    stage, field = _response_stage(manifest, path)
    facts = told(path / TRACE, results, stage, field)
    nothing = Told()
    answers = []
    for result in results.values():
        fact = facts.get(result.id, nothing)
        logprobs = fact.logprobs if result.status == "ok" else None
        answers.append(Answer(result, logprobs, fact.history, fact.responder))
    return ScoredRun(path, manifest, tuple(answers))


def _check(manifest: Mapping[str, Any], path: Path) -> None:
    """Whether the manifest holds what figures are told with."""
    needed: dict[str, dict[str, type]] = {
        "protocol": {"told": str, "samples": int},
        "engine": {"backend": str, "version": str, "model": str, "digest": str},
        "corpus": {"name": str, "split": str},
    }
    for part, fields in needed.items():
        node = manifest.get(part)
        for name, kind in fields.items():
            if not isinstance(node, dict) or not isinstance(node.get(name), kind):
                raise RunError(
                    f"the manifest has no {part}.{name}, which figures are told with", where=str(path), hint=_AGAIN
                )


def _response_stage(manifest: Mapping[str, Any], path: Path) -> tuple[str, str]:
    """The stage that gives the response, and in which field of its output ("" where it is the text itself)."""
    try:
        system = manifest["config"]["system"]
        symbol, _, field = system["result"]["response"].partition(".")
        [stage] = [name for name, node in system["stages"].items() if node["gives"] == symbol]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        what = "the manifest does not say which stage gives the response"
        raise RunError(what, where=str(path), hint=_AGAIN) from error
    return stage, field

"""The results of a run, for scoring.

run = read_run(Path("runs/meld-merg-…"))
run.results[0].response, run.results[0].gold_response
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmerg.errors import preview
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import RunRef, read_manifest
from mmerg.runs.result import Result


@dataclass(frozen=True)
class RunResults(RunRef):
    """A run with the results of its finished samples, in the order of the file."""

    results: tuple[Result, ...]


def get_dialogue(result: Result) -> str:
    """Returns the dialogue of a sample, or the sample's id if the corpus has no dialogues."""
    return result.dialogue or result.id


def without_usable_logprobs(results: Iterable[Result]) -> tuple[str, ...]:
    """Lists the samples that `self_ppl` skips because a log-probability is impossible."""
    return tuple(result.id for result in results if result.ok and result.logprob is None and result.logprob_tokens > 0)


def describe_without_logprobs(samples: Sequence[str]) -> str:
    """Names the samples that `self_ppl` skips, and the reason; "" if there are none."""
    why = "the server gave a token a probability above 1 or NaN"
    return f"self_ppl skips {preview(samples)}: {why}" if samples else ""


def read_run(path: Path) -> RunResults:
    """Reads the run in the folder `path`, finished or not. Raises RunError as `read_results` does."""
    return RunResults(path, read_manifest(path), tuple(read_results(path).values()))

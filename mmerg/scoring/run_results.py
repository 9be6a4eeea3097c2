"""A run to be scored: its manifest and its results, read from its folder.

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
    """A run with a result for every finished sample, in the order of its file."""

    results: tuple[Result, ...]


def get_dialogue(result: Result) -> str:
    """The dialogue of a sample; its own id if the corpus has no dialogues. Samples of one dialogue are not
    independent."""
    return result.dialogue or result.id


def without_usable_logprobs(results: Iterable[Result]) -> tuple[str, ...]:
    """The samples that `self_ppl` skips because a log-probability is impossible."""
    return tuple(one.id for one in results if one.ok and one.logprob is None and one.logprob_tokens > 0)


def describe_without_logprobs(samples: Sequence[str]) -> str:
    """The samples without self_ppl, and the reason; "" if there are none."""
    why = "the server gave a token a probability above 1 or NaN"
    return f"self_ppl skips {preview(samples)}: {why}" if samples else ""


def read_run(path: Path) -> RunResults:
    """The run in folder `path`, finished or not. Raises RunError as `read_results` does."""
    return RunResults(path, read_manifest(path), tuple(read_results(path).values()))

"""The results of a run, for scoring.

run = read_run(Path("runs/meld-merg-…"))
run.results[0].response, run.results[0].gold_response
"""

from dataclasses import dataclass
from pathlib import Path

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


def read_run(path: Path) -> RunResults:
    """Reads the run in the folder `path`, finished or not. Raises RunError as `read_results` does."""
    return RunResults(path, read_manifest(path), tuple(read_results(path).values()))

"""The data of a run for plots and reports, and the caption of plots."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from mmerg.auditing.planted import read_planted
from mmerg.errors import RunError
from mmerg.runs.folder import read_results
from mmerg.runs.inputs import list_inputs
from mmerg.runs.manifest import RunRef
from mmerg.runs.result import Result
from mmerg.scoring.score import read_scores

Content = TypeVar("Content")


class RunData:
    """The data of a run. Raises RunError if the results cannot be read. `unscored` and `unplanted` say why `scores` and
    `planted` are None."""

    def __init__(self, ref: RunRef) -> None:
        self.ref = ref
        path, identity = ref.path, ref.manifest.identity
        self.results: Mapping[str, Result] = read_results(path)
        self.inputs = list_inputs(ref.manifest, self.results.values())
        self.scores, self.unscored = try_read(lambda: read_scores(path, identity))
        self.planted, self.unplanted = try_read(lambda: read_planted(path, identity))


def try_read(read: Callable[[], Content]) -> tuple[Content | None, str]:
    """Returns what `read` returns and "", or None and the message of its RunError."""
    try:
        return read(), ""
    except RunError as error:
        return None, f"{error.what}: {error.hint}" if error.hint else error.what


def describe_run(run: RunData) -> str:
    """Names the corpus, the protocol with the number of finished samples unless all are, the system, and the backbone
    of a run."""
    manifest, finished = run.ref.manifest, len(run.results)
    protocol = manifest.protocol.description
    if finished != manifest.protocol.samples:
        protocol += f", {finished} of {manifest.protocol.samples} finished"
    corpus = f"{manifest.corpus.name} {manifest.corpus.split}"
    return " · ".join((corpus, protocol, manifest.system, manifest.backbone))

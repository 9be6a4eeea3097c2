"""The data of a run for plots and reports, and the captions of plots."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from mmerg.auditing.planted import read_planted
from mmerg.errors import RunError
from mmerg.runs.folder import read_results
from mmerg.runs.inputs import list_inputs
from mmerg.runs.manifest import RunRef
from mmerg.runs.result import Result
from mmerg.scoring.metric import drop_recorded
from mmerg.scoring.score import Score, read_scores

TITLES = {
    "acc": "Accuracy, %",
    "dist1": "Distinct-1, %",
    "dist2": "Distinct-2, %",
    "self_ppl": "PPL (self)",
    "bert_f1": "BERT F1, %",
}
Content = TypeVar("Content")


class RunData:
    """The data of a run. Raises RunError if the results cannot be read. label: the name of the run in plots. `unscored`
    and `unplanted` say why `scores` and `planted` are None."""

    def __init__(self, ref: RunRef, label: str = "") -> None:
        self.ref, self.label = ref, label
        path, identity = ref.path, ref.manifest.identity
        self.results: Mapping[str, Result] = read_results(path)
        self.inputs = list_inputs(ref.manifest, self.results.values())
        self.scores, self.unscored = try_read(lambda: read_scores(path, identity))
        self.planted, self.unplanted = try_read(lambda: read_planted(path, identity))

    def score(self, metric: str) -> Score | None:
        """Returns the score of a metric; None without a value."""
        score = self.scores.scores.get(metric) if self.scores else None
        return score if score and score.value is not None else None


def try_read(read: Callable[[], Content]) -> tuple[Content | None, str]:
    """Returns what `read` returns and "", or None and the message of its RunError."""
    try:
        return read(), ""
    except RunError as error:
        return None, f"{error.what}: {error.hint}" if error.hint else error.what


def list_plotted_metrics(runs: Sequence[RunData]) -> list[str]:
    """Lists the metrics for which any run has a value, in the order of TITLES."""
    return [metric for metric in TITLES if any(run.score(metric) for run in runs)]


def describe_unscored(runs: Sequence[RunData]) -> str:
    """Says why no run has a score to draw."""
    return "; ".join(f"{run.ref.run}: {run.unscored}" for run in runs if run.unscored) or "no run has a score"


def describe_runs(runs: Sequence[RunData]) -> str:
    """Names the corpora, the protocols with their number of finished samples, the systems and the backbones."""
    manifests = [run.ref.manifest for run in runs]
    parts = (
        [f"{manifest.corpus.name} {manifest.corpus.split}" for manifest in manifests],
        [_describe_protocol(run) for run in runs],
        [manifest.system for manifest in manifests],
        [manifest.backbone for manifest in manifests],
    )
    return " · ".join("; ".join(dict.fromkeys(part)) for part in parts)


def _describe_protocol(run: RunData) -> str:
    """Describes the protocol of a run, and how many of its samples are finished unless all are."""
    protocol, finished = run.ref.manifest.protocol, len(run.results)
    unfinished = f", {finished} of {protocol.samples} finished" if finished != protocol.samples else ""
    return protocol.description + unfinished


def describe_scores(runs: Sequence[RunData]) -> str:
    """Writes the caption of a plot of scores: runs, metrics with several signatures, and how many runs lack scores."""
    mixed = []
    for metric in list_plotted_metrics(runs):
        scores = [score for run in runs if (score := run.score(metric))]
        if len({drop_recorded(score.signature) for score in scores}) > 1:
            mixed.append(TITLES[metric])
    missing = sum(run.scores is None for run in runs)
    parts = (
        describe_runs(runs),
        f"measured differently (see signatures): {', '.join(mixed)}" if mixed else "",
        f"{missing} of {len(runs)} runs not scored" if missing else "",
    )
    return " · ".join(part for part in parts if part)

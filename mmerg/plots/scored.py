"""A run with its figures, as `scores.json` keeps them, for plots that compare runs; and the caption below a plot."""

from collections.abc import Sequence
from dataclasses import dataclass

from mmerg.runs.manifest import About
from mmerg.scoring.metric import deciding
from mmerg.scoring.score import Score, Scores, UnscoredError, read_scores

TITLES = {
    "acc": "Accuracy, %",
    "dist1": "Distinct-1, %",
    "dist2": "Distinct-2, %",
    "self_ppl": "PPL (self)",
    "bert_f1": "BERT F1, %",
}


@dataclass(frozen=True)
class Scored:
    """scores None: the run has none, or they are of another state of it; `why` says which."""

    about: About
    scores: Scores | None
    why: str = ""

    def score(self, metric: str) -> tuple[float, Score] | None:
        """A figure's value with what stands beside it, where it has one."""
        score = self.scores.scores.get(metric) if self.scores else None
        return (score.value, score) if score and score.value is not None else None


def read_scored(about: About) -> Scored:
    """The figures of a run. Raises RunError where its scores.json cannot be read."""
    try:
        return Scored(about, read_scores(about.path, about.manifest.identity))
    except UnscoredError as error:
        return Scored(about, None, f"{error.what}: {error.hint}")


def with_any(scored: list[Scored]) -> list[str]:
    """The metrics of which any of the runs has a figure, in the order of TITLES."""
    return [metric for metric in TITLES if any(run.score(metric) for run in scored)]


def measured_apart(scored: list[Scored]) -> str:
    """Which figures were not measured in one way for all runs, for a caption; "" where none."""
    apart = [
        TITLES[metric]
        for metric in with_any(scored)
        if len({deciding(known[1].signature) for run in scored if (known := run.score(metric))}) > 1
    ]
    return f"not one measure for all runs (see signatures): {', '.join(apart)}" if apart else ""


def caption(abouts: Sequence[About]) -> str:
    """Corpus, protocol with its n, system and backbone; of several runs everything that occurs."""
    manifests = [about.manifest for about in abouts]
    told = (
        [f"{one.corpus.name} {one.corpus.split}" for one in manifests],
        [one.protocol.description for one in manifests],
        [one.system for one in manifests],
        [one.backbone for one in manifests],
    )
    return " · ".join("; ".join(dict.fromkeys(part)) for part in told)

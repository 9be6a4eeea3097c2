"""Scores a run: every figure with its n, interval and signature, and keeps them beside it as `scores.json`.

The same run, options and file before give the same bytes, whatever the order of its samples.

    scores = score_run(read_run(folder), Options())
    write_scores(folder, scores)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from math import isfinite
from pathlib import Path

import numpy as np

from mmerg.errors import RunError
from mmerg.scoring.accuracy import confusion
from mmerg.scoring.answers import Answer, ScoredRun
from mmerg.scoring.files import written
from mmerg.scoring.intervals import interval
from mmerg.scoring.metric import Metric
from mmerg.scoring.ref_perplexity import RefPerplexity
from mmerg.scoring.score import SCORES, Score, Scores, read_scores, results_digest
from mmerg.scoring.self_perplexity import SelfPerplexity
from mmerg.scoring.standard import DEFAULTS, Options, standard_metrics


def score_run(run: ScoredRun, options: Options = DEFAULTS) -> Scores:
    """All figures of `run` that `options` ask for. Raises ConfigError (see `standard_metrics`)."""
    answers = sorted(run.answers, key=lambda answer: (answer.result.dialogue, answer.id))
    manifest = run.manifest
    engine, corpus = manifest.engine, manifest.corpus
    scores = {metric.name: scored(metric, answers, options) for metric in standard_metrics(run, options)}
    return Scores(
        run=run.name,
        corpus=f"{corpus.name} {corpus.split}",
        protocol=run.protocol,
        engine=f"{engine.model} on {engine.backend} {engine.version}",
        n=len(answers),
        failed=sum(not answer.ok for answer in answers),
        unaudited=sum(answer.result.unaudited for answer in answers),
        unfinished=max(0, manifest.protocol.samples - len(answers)),
        scores=scores,
        confusion=confusion(answers, corpus.labels),
        improper=tuple(sorted(run.improper)),
        identity=manifest.identity,
        results=results_digest(answer.result for answer in answers),
        answers=digest(answers),
    )


def scored(metric: Metric, answers: Sequence[Answer], options: Options) -> Score:
    """One figure over those of `answers` that count for it."""
    kept = [answer for answer, counts in zip(answers, metric.counted(answers), strict=True) if counts]
    bare = Score(
        name=metric.name, value=None, n=len(kept), higher_is_better=metric.higher_is_better, signature=metric.signature
    )
    if not kept:
        return bare.model_copy(update={"why": f"no sample has {metric.needs}"})
    value = metric.ready(kept)
    figure = value(np.arange(len(kept)))
    if not isfinite(figure):
        asked = isinstance(metric, SelfPerplexity | RefPerplexity)
        why = "a token of probability 0" if asked else "its samples hold a number that is not finite"
        return bare.model_copy(update={"why": f"it is not finite: {why}"})
    names = [answer.result.dialogue or answer.id for answer in kept]
    found = interval(metric.interval_by, value, names, resamples=options.resamples, seed=options.seed)
    return bare.model_copy(update={"value": figure, "interval": found.ends, "method": found.method, "why": found.why})


def digest(answers: Sequence[Answer]) -> str:
    """SHA-256 (hex) over everything of the answers that a figure can depend on, times among it."""
    seen = hashlib.sha256()
    for answer in answers:
        seen.update(json.dumps(answer.result.model_dump(mode="json"), sort_keys=True).encode())
    return seen.hexdigest()


def write_scores(folder: Path, scores: Scores) -> Scores:
    """Write `scores` into a run's folder, whole or not at all; returns what the file holds.

    Figures that were not asked for this time (those by a large model, say) stay from the file before if it is of the
    same run with the same answers: they would come out the same. Raises RunError where it cannot be written.
    """
    before = _before(folder, scores)
    if before and before.answers == scores.answers:
        scores = scores.model_copy(update={"scores": scores.scores | _others(before, scores)})
    written(folder / SCORES, scores)
    return scores


def _before(folder: Path, scores: Scores) -> Scores | None:
    """What the file holds; scores of another version or state of the run, or damaged, are as good as none."""
    try:
        return read_scores(folder, scores.identity)
    except RunError:
        return None


def _others(before: Scores, scores: Scores) -> dict[str, Score]:
    return {name: score for name, score in before.scores.items() if name not in scores.scores}

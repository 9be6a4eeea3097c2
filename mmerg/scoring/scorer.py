"""The scores of a run on all metrics, stored in the run folder as `scores.json`.

The same run, options and earlier file give the same bytes, whatever the order of samples.

    scores = score_run(read_run(folder), Options())
    write_scores(folder, scores)
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import compress
from math import isfinite
from pathlib import Path

import numpy as np

from mmerg.errors import RunError
from mmerg.runs.inputs import list_inputs
from mmerg.runs.memory_usage import read_memory_usage
from mmerg.runs.result import Result
from mmerg.scoring.emotions import build_confusion, class_metrics
from mmerg.scoring.intervals import Dialogues
from mmerg.scoring.metric import Indices, Metric
from mmerg.scoring.run_results import RunResults, get_dialogue
from mmerg.scoring.score import SCORES, Score, Scores, results_digest
from mmerg.scoring.standard import DEFAULTS, Options, standard_metrics
from mmerg.scoring.tokenizers import load_tokenizer
from mmerg.storage.record import read_record, write_record
from mmerg.storage.words import split_words


def score_run(run: RunResults, options: Options = DEFAULTS) -> Scores:
    """Computes all scores that `options` request. Raises ConfigError as `standard_metrics` does."""
    results = sorted(run.results, key=lambda result: (result.dialogue, result.id))
    dialogues = Dialogues([get_dialogue(result) for result in results]).numbers
    manifest = run.manifest
    confusion = build_confusion(results, manifest.corpus.labels)
    metrics = standard_metrics(manifest, options)
    for label in confusion.occurring if confusion else ():
        metrics += class_metrics(label)
    scores = [*(_score(metric, results, dialogues, options) for metric in metrics), *_score_memory(run)]
    tokenize, replies = load_tokenizer(options.tokenizer), [result.response for result in results if result.response]
    uncut = [reply for reply in replies if 2 * len(tokenize(reply)) <= len(split_words(reply))]
    return Scores(
        run=run.run,
        corpus=f"{manifest.corpus.name} {manifest.corpus.split}",
        protocol=manifest.protocol.description,
        engine=manifest.engine.description,
        inputs=list_inputs(manifest, results),
        n=len(results),
        failed=sum(not result.ok for result in results),
        unaudited=sum(result.unaudited for result in results),
        unfinished=max(0, manifest.protocol.samples - len(results)),
        scores={score.name: score for score in scores},
        confusion=confusion,
        uncut=2 * len(uncut) > len(replies),
        identity=manifest.identity,
        results=results_digest(results),
    )


def _score_memory(run: RunResults) -> Iterator[Score]:
    """Yields the memory of the run's model in GiB, and its share on the CPU in %, if they were measured."""
    if usage := read_memory_usage(run.path):
        for name, value in (("memory_gib", usage.gib), ("on_cpu", usage.on_cpu)):
            if value is not None:
                yield Score(name=name, value=value, n=len(run.results), signature="as-loaded")


def _score(metric: Metric, results: Sequence[Result], dialogues: Indices, options: Options) -> Score:
    """Scores a metric over the results that count for it. dialogues: the number of each result's dialogue."""
    mask = metric.mask(results)
    kept = list(compress(results, mask))
    score = Score(
        name=metric.name,
        value=None,
        n=len(kept),
        higher_is_better=metric.higher_is_better,
        signature=metric.signature,
        why=f"no sample has {metric.needs}",
    )
    if not kept:
        return score
    value = metric.prepare(kept)
    if not isfinite(value(np.arange(len(kept)))):
        perplexity = metric.name in ("self_ppl", "ref_ppl")
        cause = "a token of probability 0" if perplexity else "its samples hold a number that is not finite"
        return score.model_copy(update={"why": f"it is not finite: {cause}"})
    return score.evaluate(value, dialogues[mask], metric.interval_by, resamples=options.resamples, seed=options.seed)


def write_scores(folder: Path, scores: Scores) -> Scores:
    """Writes the scores to a run's folder, and returns the content of the file.

    Other scores in the file, such as BERTScore, are kept if the run and its results are the same. The file is written
    as a whole or not at all. Raises RunError if it cannot be written.
    """
    with suppress(FileNotFoundError, RunError):  # the file is missing, or of another version
        earlier = read_record(folder / SCORES, Scores)
        if (earlier.identity, earlier.results) == (scores.identity, scores.results):
            others = {name: score for name, score in earlier.scores.items() if name not in scores.scores}
            scores = scores.model_copy(update={"scores": scores.scores | others})
    write_record(folder / SCORES, scores)
    return scores

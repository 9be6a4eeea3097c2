"""Which figures a run is given, by what was asked for.

for metric in standard_metrics(run, Options(level="response")):
    print(metric.name, metric.signature)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from mmerg.errors import ConfigError
from mmerg.scoring.accuracy import Accuracy
from mmerg.scoring.answers import ScoredRun
from mmerg.scoring.bertscore import PARTS, BertScore
from mmerg.scoring.descriptive import descriptive
from mmerg.scoring.distinct import CL100K, Distinct, ExpectationAdjusted, Level
from mmerg.scoring.extras import require
from mmerg.scoring.macro_f1 import MacroF1
from mmerg.scoring.metric import Metric
from mmerg.scoring.ref_perplexity import RefPerplexity
from mmerg.scoring.self_perplexity import SelfPerplexity
from mmerg.scoring.words import Tokenizer, tokenizer, tokenizer_signature
from mmerg.systems.target import named


@dataclass(frozen=True)
class Options:
    """What may differ. vocabulary: V of EAD. bert, ref_ppl: the models of the figures that need one, None for without.
    metrics: classes of the user's, as `folder/file.py:Class` or by dotted name.
    resamples and seed are the bootstrap's. primary: the figures whose differences are tested, () for the usual."""

    tokenizer: Tokenizer = "nltk"
    level: Level = "corpus"
    lower: bool = True
    vocabulary: int = CL100K
    bert: str | None = None
    bert_layers: int | None = None
    ref_ppl: str | None = None
    ref_context: bool = False
    resamples: int = 1000
    seed: int = 0
    metrics: tuple[str, ...] = ()
    primary: tuple[str, ...] = ()


DEFAULTS = Options()


def standard_metrics(run: ScoredRun, options: Options = DEFAULTS) -> list[Metric]:
    """The figures of a run, those that judge first. Loads no model yet.

    Raises ConfigError for an option that means nothing, and where a package of the extra `metrics` is missing.
    """
    _check(options)
    words, lower = options.tokenizer, options.lower
    metrics: list[Metric] = [Accuracy(), Accuracy(ok_only=True), MacroF1(), SelfPerplexity.of(run)]
    if options.ref_ppl is not None:
        metrics.append(RefPerplexity(options.ref_ppl, options.ref_context))
    metrics += [Distinct(n, words, options.level, lower) for n in (1, 2)]
    metrics += [ExpectationAdjusted(n, words, lower=lower, vocabulary=options.vocabulary) for n in (1, 2)]
    if options.bert is not None:
        metrics += [BertScore(part, options.bert, options.bert_layers) for part in PARTS]
    said = tokenizer(words, lower=lower), tokenizer_signature(words, lower=lower)
    metrics += descriptive(*said, run.manifest.imported)
    for reference in options.metrics:
        own = _own(reference)
        if own.name in [metric.name for metric in metrics]:
            what = f"there is a metric {own.name} already"
            raise ConfigError(what, where=f"--metric {reference}", hint="give yours another name")
        metrics.append(own)
    return metrics


def _own(reference: str) -> Metric:
    where = f"--metric {reference}"
    hint = "folder/file.py:Class, or the dotted name of a class; mmerg new metric NAME writes one"
    found = named(reference, where, hint)
    made = found() if callable(found) else found
    if lacking := [name for name in ("name", "signature", "counted", "ready") if not hasattr(made, name)]:
        raise ConfigError(f"it is no metric: it has no {', '.join(lacking)}", where=where, hint=hint)
    return cast(Metric, made)


def _check(options: Options) -> None:
    for name, least in {"vocabulary": 1, "resamples": 1, "seed": 0}.items():
        if (given := getattr(options, name)) < least:
            raise ConfigError(f"{name} is {given}, it must be {least} or more", where=f"--{name}")
    if options.bert is None and options.bert_layers is not None:
        raise ConfigError("--bert-layers says nothing without --bert", where=f"--bert-layers {options.bert_layers}")
    if options.ref_ppl is None and options.ref_context:
        raise ConfigError("--ref-context says nothing without --ref-ppl", where="--ref-context")
    if options.bert is not None:
        require("torch", "transformers", "bert_score")
    if options.ref_ppl is not None:
        require("torch", "transformers")

"""The metrics of a run, and the options that select them.

add_arguments(parser)
for metric in standard_metrics(manifest, read_options(parser.parse_args())):
    print(metric.name, metric.signature)
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import get_args

from mmerg.errors import ConfigError
from mmerg.runs.manifest import Manifest
from mmerg.scoring.bertscore import bert_scores
from mmerg.scoring.descriptive import descriptive_metrics
from mmerg.scoring.distinct import distinct
from mmerg.scoring.emotions import accuracy, baseline_metrics, f1
from mmerg.scoring.metric import Metric
from mmerg.scoring.perplexity import ref_perplexity, self_perplexity
from mmerg.scoring.reference import reference_metrics
from mmerg.scoring.score import DRAWS
from mmerg.scoring.tokenizers import Tokenizer, load_tokenizer, tokenizer_signature
from mmerg.systems.instantiate import import_name


@dataclass(frozen=True)
class Options:
    """The options of scoring and comparing."""

    tokenizer: Tokenizer = "nltk"  # of the metrics that count words
    bert: str | None = None  # the model of BERTScore; None skips it
    bert_layers: int | None = None  # the layer of the model; None for the default
    ref_ppl: str | None = None  # the model of reference perplexity; None skips it
    resamples: int = DRAWS  # of bootstraps and permutation tests
    seed: int = 0
    metrics: Sequence[str] = ()  # custom metrics, each as `folder/file.py:name` or a dotted name
    primary: Sequence[str] = ()  # the metrics whose differences are tested; empty for the default


DEFAULTS = Options()


def add_arguments(parser: argparse.ArgumentParser, resamples: int = DRAWS) -> None:
    """Adds the command-line options of metrics, intervals and tests. resamples: the default of `--resamples`."""
    custom = "a metric of your own (docs/extend.md); may be repeated"
    parser.add_argument("--metric", dest="metrics", metavar="FILE.py:NAME", action="append", default=[], help=custom)
    parser.add_argument(
        "--tokenizer", choices=get_args(Tokenizer), default="nltk", help="of dist, ead and length; default: nltk"
    )
    models = parser.add_argument_group("metrics by another model").add_argument
    models("--bert", action="store_true", help="BERTScore against the human replies")
    models("--bert-model", metavar="MODEL", default="roberta-large", help="a folder or hub name; default: %(default)s")
    models("--bert-layers", type=int, metavar="N", help="layer; required for a folder (roberta-large: 17)")
    models("--ref-ppl", metavar="MODEL", help="perplexity under a causal model: a folder or hub name")
    draws = parser.add_argument_group("intervals and tests").add_argument
    draws("--resamples", type=int, metavar="N", default=resamples, help="default: %(default)s")
    draws("--seed", type=int, metavar="N", default=0, help="default: %(default)s")


def read_options(given: argparse.Namespace) -> Options:
    """Reads the options of `add_arguments`. Raises ConfigError for an invalid option."""
    for name, least in {"resamples": 1, "seed": 0}.items():
        if (value := getattr(given, name)) < least:
            raise ConfigError(f"{name} is {value}, it must be {least} or more", where=f"--{name}")
    values = vars(given) | {"bert": given.bert_model if given.bert else None}
    return Options(**{field.name: values[field.name] for field in fields(Options) if field.name in values})


def standard_metrics(manifest: Manifest, options: Options) -> list[Metric]:
    """Returns the metrics of a run, those that judge first, and loads the models that they need. Raises ConfigError if
    a custom metric is wrong, or if a model cannot be loaded."""
    metrics = [
        accuracy(),
        *baseline_metrics(manifest.corpus.labels),
        accuracy(ok_only=True),
        f1(),
        f1(weighted=True),
        self_perplexity(manifest),
    ]
    if options.ref_ppl is not None:
        metrics.append(ref_perplexity(options.ref_ppl))
    metrics += [distinct(n, options.tokenizer, adjusted=adjusted) for adjusted in (False, True) for n in (1, 2)]
    metrics += reference_metrics()
    if options.bert is not None:
        metrics += bert_scores(options.bert, options.bert_layers)
    tokenize, signature = load_tokenizer(options.tokenizer), tokenizer_signature(options.tokenizer)
    metrics += descriptive_metrics(tokenize, signature, manifest.imported)
    for reference in options.metrics:
        where, hint = f"--metric {reference}", "folder/file.py:name; mmerg new metric NAME writes one"
        custom = import_name(reference, where, hint)
        if not isinstance(custom, Metric):
            raise ConfigError("it is not a mmerg.scoring.metric.Metric", where=where, hint=hint)
        if custom.name in [metric.name for metric in metrics]:
            raise ConfigError(f"there is a metric {custom.name} already", where=where, hint="give yours another name")
        metrics.append(custom)
    return metrics

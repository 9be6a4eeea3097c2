"""The options of figures as arguments of a command: what differs by tokeniser, level, case, V, and models to ask.

add_arguments(parser)
options_of(parser.parse_args())
"""

from __future__ import annotations

import argparse
from typing import get_args

from mmerg.scoring.distinct import Level
from mmerg.scoring.standard import DEFAULTS, Options
from mmerg.scoring.words import Tokenizer


def add_arguments(parser: argparse.ArgumentParser, resamples: str = "--resamples", most: int = 1000) -> None:
    """Options in groups: of figures that count words, of those by another model, of intervals, whose draws are called
    `resamples`, `most` of them unless told otherwise."""
    words = parser.add_argument_group("words (dist, ead, length)")
    words.add_argument("--tokenizer", choices=get_args(Tokenizer), default=DEFAULTS.tokenizer, help="default: nltk")
    words.add_argument("--level", choices=get_args(Level), default=DEFAULTS.level, help="of dist; default: corpus")
    words.add_argument("--keep-case", action="store_true", help="do not lower-case the replies")
    default = "of ead; default: cl100k_base's, %(default)s"
    words.add_argument("--vocabulary", type=int, metavar="V", default=DEFAULTS.vocabulary, help=default)
    own = "one of your own, beside ours; may be given several times (docs/own.md)"
    parser.add_argument("--metric", metavar="FILE.py:CLASS", action="append", default=[], help=own)
    models = parser.add_argument_group("figures by another model")
    models.add_argument("--bert", action="store_true", help="BERTScore against the data's own replies")
    bert = "its model: a folder or hub name; default: %(default)s"
    models.add_argument("--bert-model", metavar="MODEL", default="roberta-large", help=bert)
    layers = "which layer; needed for a folder (roberta-large: 17)"
    models.add_argument("--bert-layers", type=int, metavar="N", help=layers)
    reference = "perplexity by a causal model: a folder, .gguf file or hub name"
    models.add_argument("--ref-ppl", metavar="MODEL", help=reference)
    models.add_argument("--ref-context", action="store_true", help="with the dialogue before the reply")
    draws = parser.add_argument_group("intervals")
    draws.add_argument(resamples, dest="resamples", type=int, metavar="N", default=most, help="default: %(default)s")
    draws.add_argument("--seed", type=int, metavar="N", default=DEFAULTS.seed, help="default: %(default)s")


def options_of(given: argparse.Namespace) -> Options:
    """What was given of them."""
    return Options(
        tokenizer=given.tokenizer,
        level=given.level,
        lower=not given.keep_case,
        vocabulary=given.vocabulary,
        bert=given.bert_model if given.bert else None,
        bert_layers=given.bert_layers,
        ref_ppl=given.ref_ppl,
        ref_context=given.ref_context,
        resamples=given.resamples,
        seed=given.seed,
        metrics=tuple(given.metric),
        primary=tuple(getattr(given, "primary", ())),
    )

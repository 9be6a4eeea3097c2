"""Scores finished runs: `python -m mmerg.score RUN [RUN …]`; prints every figure with its n, interval and signature.

Writes scores.json into each run folder and calls no model that wrote replies. Figures that need a model of their own
(`--bert`, `--ref-ppl`) need `pip install 'mmerg[metrics]'`; those scored before are kept while answers stay the same.
Exit code 0 scored, 2 a run or an option is wrong, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from rich.console import Console
from rich.text import Text

from mmerg.records.run import read_manifest
from mmerg.scoring.answers import read_run
from mmerg.scoring.distinct import Level
from mmerg.scoring.scorer import score_run, write_scores
from mmerg.scoring.shown import shown
from mmerg.scoring.standard import DEFAULTS, Options
from mmerg.scoring.words import Tokenizer
from mmerg.terminal import console, forgiving, guarded


def score(out: Console, paths: Sequence[Path], options: Options) -> int:
    """Score, write and print. Raises RunError and ConfigError, for a folder that is no run before any is scored."""
    for path in paths:
        read_manifest(path)
    scores = [write_scores(path, score_run(read_run(path), options)) for path in paths]
    for part in shown(scores):
        out.print(part, soft_wrap=isinstance(part, Text))
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    given = _parser().parse_args(arguments)
    options = Options(
        tokenizer=given.tokenizer,
        level=given.level,
        lower=not given.keep_case,
        vocabulary=given.vocabulary,
        bert=given.bert,
        bert_layers=given.bert_layers,
        ref_ppl=given.ref_ppl,
        ref_context=given.ref_context,
        resamples=given.resamples,
        seed=given.seed,
    )
    return guarded(lambda: score(console(), given.run, options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mmerg.score", description=__doc__)
    parser.add_argument("run", type=Path, nargs="+", metavar="RUN", help="a run folder, such as runs/demo-merg-…")
    words = parser.add_argument_group("words (dist, ead, length)")
    words.add_argument("--tokenizer", choices=get_args(Tokenizer), default=DEFAULTS.tokenizer, help="default: nltk")
    words.add_argument("--level", choices=get_args(Level), default=DEFAULTS.level, help="of dist; default: corpus")
    words.add_argument("--keep-case", action="store_true", help="do not lower-case the replies")
    words.add_argument(
        "--vocabulary",
        type=int,
        metavar="V",
        default=DEFAULTS.vocabulary,
        help="V of ead; default: cl100k_base's, %(default)s",
    )
    models = parser.add_argument_group("figures by another model")
    models.add_argument(
        "--bert",
        nargs="?",
        const="roberta-large",
        metavar="MODEL",
        help="BERTScore; a folder or hub name, roberta-large",
    )
    models.add_argument(
        "--bert-layers", type=int, metavar="N", help="which layer; needed for a folder (roberta-large: 17)"
    )
    models.add_argument(
        "--ref-ppl", metavar="MODEL", help="perplexity by a causal model: a folder, .gguf file or hub name"
    )
    models.add_argument("--ref-context", action="store_true", help="with the dialogue before the reply")
    draws = parser.add_argument_group("intervals")
    draws.add_argument("--resamples", type=int, metavar="N", default=DEFAULTS.resamples, help="default: %(default)s")
    draws.add_argument("--seed", type=int, metavar="N", default=DEFAULTS.seed, help="default: %(default)s")
    return parser


if __name__ == "__main__":
    forgiving()
    sys.exit(main())

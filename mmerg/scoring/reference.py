"""Scores against the gold response: BLEU-4 and chrF (sacreBLEU), ROUGE-L (rouge-score), METEOR (NLTK). ×100, higher is
better. They say little about good replies that differ from the reference: use them to compare with older papers.

bleu is computed over the whole run; the others are means over replies. meteor has no value until WordNet is installed:
`python -m nltk.downloader wordnet`.

    [metric.name for metric in reference_metrics()]    # ['bleu', 'rouge_l', 'meteor', 'chrf']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.metadata import version
from typing import Any

import numpy as np

from mmerg.runs.result import Result
from mmerg.scoring.metric import Floats, Mask, Metric, Sums, Value, mean


def reference_metrics(wordnet: Any = None) -> list[Metric]:
    """Makes the metrics bleu, rouge_l, meteor and chrf. wordnet: of METEOR's synonyms; None for NLTK's, if it is
    installed."""
    wordnet = wordnet or _load_wordnet()
    sacrebleu = f"sacrebleu-{version('sacrebleu')}"
    synonyms = f"wordnet-{wordnet.get_version()}|tok:nltk-{version('nltk')}" if wordnet else "wordnet:none"
    meteor = _build_metric("meteor", f"alpha:0.9|beta:3|gamma:0.5|{synonyms}", partial(_meteor, wordnet))
    if not wordnet:
        needs = "synonyms, as WordNet is not installed: python -m nltk.downloader wordnet"
        meteor = replace(meteor, needs=needs, mask=lambda results: np.zeros(len(results), bool))
    return [
        _build_metric("bleu", f"order:4|smooth:exp|tok:13a|case:mixed|level:corpus|{sacrebleu}", _bleu),
        _build_metric("rouge_l", f"f1|stem:no|rouge-score-{version('rouge-score')}", _rouge_l),
        meteor,
        _build_metric("chrf", f"nc:6|nw:0|beta:2|level:response|{sacrebleu}", _chrf),
    ]


def has_reply_and_gold(results: Sequence[Result]) -> Mask:
    """Selects the samples that did not fail, and whose gold response is not blank."""
    return np.array([result.ok and bool((result.gold_response or "").strip()) for result in results], bool)


def _build_metric(name: str, signature: str, prepare: Callable[[Sequence[Result]], Value]) -> Metric:
    signature = f"{signature}|refs:1|failed:skipped|scale:100"
    needs = "a reply and a gold response"
    return Metric(name, signature, needs, has_reply_and_gold, prepare, higher_is_better=True)


def _get_texts(results: Sequence[Result]) -> list[tuple[str, str]]:
    return [(result.response or "", result.gold_response or "") for result in results]


def _bleu(results: Sequence[Result]) -> Value:
    """Returns BLEU from sums over pairs: of matching n-grams and of all n-grams of the reply, each of 1 to 4 tokens,
    and of the lengths of both texts."""
    from sacrebleu.metrics.bleu import BLEU

    score = BLEU(effective_order=True).sentence_score
    scores = [score(reply, [gold]) for reply, gold in _get_texts(results)]
    parts = np.array([(*bleu.counts, *bleu.totals, bleu.sys_len, bleu.ref_len) for bleu in scores], float).T
    return Sums(parts, compute_bleu, 0.0, 100.0, fewest=100)


def compute_bleu(sums: Floats) -> Floats:
    """Computes BLEU-4 from the sums of `_bleu`, shape [10, …]. As in sacreBLEU's smoothing "exp", the k-th order
    without a match counts 1/2^k."""
    matches, totals, (reply_length, gold_length) = sums[:4], sums[4:8], sums[8:]
    unmatched = matches <= 0
    precisions = np.where(unmatched, 0.5 ** np.cumsum(unmatched, axis=0), matches) / np.maximum(totals, 1)
    brevity = np.exp(np.minimum(0.0, 1 - gold_length / np.maximum(reply_length, 1e-12)))
    nonzero = (totals > 0).all(axis=0) & (matches > 0).any(axis=0)
    return np.asarray(np.where(nonzero, 100 * brevity * np.exp(np.log(precisions).mean(axis=0)), 0.0))


def _rouge_l(results: Sequence[Result]) -> Value:
    from rouge_score.rouge_scorer import RougeScorer

    score = RougeScorer(["rougeL"]).score
    return mean([100 * score(gold, reply)["rougeL"].fmeasure for reply, gold in _get_texts(results)])


def _chrf(results: Sequence[Result]) -> Value:
    from sacrebleu.metrics.chrf import CHRF

    score = CHRF().sentence_score
    return mean([score(reply, [gold]).score for reply, gold in _get_texts(results)])


def _meteor(wordnet: Any, results: Sequence[Result]) -> Value:
    """Computes METEOR over NLTK's tokens, with Porter's stems."""
    from nltk.tokenize.destructive import NLTKWordTokenizer
    from nltk.translate.meteor_score import meteor_score

    tokenize = NLTKWordTokenizer().tokenize
    pairs = [(tokenize(reply), tokenize(gold)) for reply, gold in _get_texts(results)]
    return mean([100 * meteor_score([gold], reply, wordnet=wordnet) for reply, gold in pairs])


@cache
def _load_wordnet() -> Any:
    """Returns NLTK's WordNet; None if it is not installed."""
    from nltk.corpus import wordnet

    try:
        wordnet.ensure_loaded()
    except LookupError:
        return None
    return wordnet

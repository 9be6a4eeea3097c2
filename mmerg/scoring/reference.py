"""Scores against the gold response: BLEU-4 and chrF (sacreBLEU), ROUGE-L (rouge-score), METEOR (NLTK). ×100, higher
is better. They say little about good replies that differ from the reference: use them to compare with older papers.

bleu is over the whole run; the others are means over replies. meteor has no value until WordNet is installed:
`python -m nltk.downloader wordnet`.

    [metric.name for metric in reference_metrics()]    # ['bleu', 'rouge_l', 'meteor', 'chrf']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from mmerg.runs.result import Result
from mmerg.scoring.metric import Floats, Mask, Metric, Sums, Value, mean


def reference_metrics() -> list[Metric]:
    """bleu, rouge_l, meteor, chrf."""
    sacrebleu = f"sacrebleu-{version('sacrebleu')}"
    wordnet = _load_wordnet()
    no_meteor = _metric("meteor", "wordnet:none", _bleu, "WordNet (python -m nltk.downloader wordnet)")
    return [
        _metric("bleu", f"order:4|smooth:exp|tok:13a|case:mixed|level:corpus|{sacrebleu}", _bleu),
        _metric("rouge_l", f"f1|stem:no|rouge-score-{version('rouge-score')}", _rouge_l),
        meteor(wordnet) if wordnet else no_meteor,
        _metric("chrf", f"nc:6|nw:0|beta:2|level:response|{sacrebleu}", _chrf),
    ]


def meteor(wordnet: Any) -> Metric:
    """METEOR of NLTK's tokens, with Porter's stems. wordnet: NLTK's, for synonyms."""

    def prepare(results: Sequence[Result]) -> Value:
        from nltk.tokenize.destructive import NLTKWordTokenizer
        from nltk.translate.meteor_score import meteor_score

        split = NLTKWordTokenizer().tokenize
        pairs = [(split(reply), split(gold)) for reply, gold in _pairs(results)]
        return mean([100 * meteor_score([gold], reply, wordnet=wordnet) for reply, gold in pairs])

    name = f"wordnet-{wordnet.get_version()}"
    return _metric("meteor", f"alpha:0.9|beta:3|gamma:0.5|{name}|tok:nltk-{version('nltk')}", prepare)


def has_reply_and_gold(results: Sequence[Result]) -> Mask:
    """The samples that did not fail and have a gold response that is not blank."""
    return np.array([one.ok and bool((one.gold_response or "").strip()) for one in results], bool)


def _metric(name: str, signature: str, prepare: Callable[[Sequence[Result]], Value], missing: str = "") -> Metric:
    """missing: a package that is not installed; then no sample counts."""
    signature = f"{signature}|refs:1|failed:left-out|scale:100"
    needs = "a reply and a gold response"
    mask = has_reply_and_gold if not missing else lambda results: np.zeros(len(results), bool)
    return Metric(name, signature, needs, mask, prepare, higher_is_better=True, missing=missing)


def _pairs(results: Sequence[Result]) -> list[tuple[str, str]]:
    return [(one.response or "", one.gold_response or "") for one in results]


def _bleu(results: Sequence[Result]) -> Value:
    """Each pair's matching n-grams and all n-grams of the reply, of 1 to 4 tokens, and both lengths."""
    from sacrebleu.metrics.bleu import BLEU

    score = BLEU(effective_order=True).sentence_score
    found = [score(reply, [gold]) for reply, gold in _pairs(results)]
    parts = np.array([(*one.counts, *one.totals, one.sys_len, one.ref_len) for one in found], float).T
    return Sums(parts, compute_bleu)


def compute_bleu(sums: Floats) -> Floats:
    """BLEU-4 from sums over replies, shape [10, …]. As sacreBLEU's smoothing "exp", the k-th order without a match
    counts 1/2^k."""
    matches, totals, (own, reference) = sums[:4], sums[4:8], sums[8:]
    none = matches <= 0
    precisions = np.where(none, 0.5 ** np.cumsum(none, axis=0), matches) / np.maximum(totals, 1)
    brevity = np.exp(np.minimum(0.0, 1 - reference / np.maximum(own, 1e-12)))
    some = (totals > 0).all(axis=0) & (matches > 0).any(axis=0)
    return np.asarray(np.where(some, 100 * brevity * np.exp(np.log(precisions).mean(axis=0)), 0.0))


def _rouge_l(results: Sequence[Result]) -> Value:
    from rouge_score.rouge_scorer import RougeScorer

    score = RougeScorer(["rougeL"]).score
    return mean([100 * score(gold, reply)["rougeL"].fmeasure for reply, gold in _pairs(results)])


def _chrf(results: Sequence[Result]) -> Value:
    from sacrebleu.metrics.chrf import CHRF

    score = CHRF().sentence_score
    return mean([score(reply, [gold]).score for reply, gold in _pairs(results)])


@cache
def _load_wordnet() -> Any:
    """NLTK's WordNet; None if it is not installed."""
    from nltk.corpus import wordnet

    try:
        wordnet.ensure_loaded()
    except LookupError:
        return None
    return wordnet

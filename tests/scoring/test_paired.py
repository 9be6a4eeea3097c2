"""Comparisons of two runs on the same samples: differences, intervals and p."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from mmerg.scoring.distinct import distinct
from mmerg.scoring.emotions import accuracy
from mmerg.scoring.metric import Metric, rate
from mmerg.scoring.paired import MetricComparison, compare_metric, pair_results
from mmerg.scoring.run_results import RunResults
from mmerg.scoring.shares import bonett_price
from tests.scoring.run_builder import make_manifest, result

SECONDS = rate("seconds", "mean", "a result", lambda result: result.seconds)
Side: TypeAlias = tuple[str | None, str, float]


@dataclass(frozen=True)
class Sample:
    """A sample of dialogue `d` with the gold label joy. emotion: its forecast; None if it failed."""

    d: int
    emotion: str | None
    reply: str = "Oh no."
    seconds: float = 1.0


def make_run(samples: Sequence[Sample], start: int = 0) -> RunResults:
    """A run with these samples, whose ids are d0/0, d0/1, …, numbered from `start`."""
    results = []
    for number, sample in enumerate(samples, start=start):
        reply = None if sample.emotion is None else sample.reply
        line = result(f"d{sample.d}/{number}", reply, sample.emotion, gold="joy")
        results.append(line.model_copy(update={"seconds": sample.seconds}))  # does not validate, so any number will do
    return RunResults(Path("run"), make_manifest([]), tuple(results))


def compared(
    metric: Metric, a: Sequence[Sample], b: Sequence[Sample], *, draws: int = 200, seed: int = 0
) -> MetricComparison:
    return compare_metric(metric, pair_results([make_run(a)], [make_run(b)]), draws=draws, seed=seed)


def right(pattern: str, *, each: int = 1) -> list[Sample]:
    """A sample per character: x is right, . wrong, f failed. each: the number of neighbours that share a dialogue."""
    meaning = {"x": "joy", ".": "anger", "f": None}
    return [Sample(number // each, meaning[one]) for number, one in enumerate(pattern)]


def timed(seconds: Sequence[float]) -> list[Sample]:
    return [Sample(number, "joy", seconds=one) for number, one in enumerate(seconds)]


def test_shares_are_compared_by_mcnemar() -> None:
    comparison = compared(accuracy(), right("xxxx....ff"), right("xx..xxxxxf"))
    assert (comparison.n, comparison.skipped) == (10, 0)
    assert (comparison.a_value or 0, comparison.b_value or 0) == pytest.approx((40.0, 70.0))
    assert comparison.difference == pytest.approx(30.0)
    assert comparison.p == pytest.approx(binomtest(2, 7).pvalue)
    assert comparison.test == "McNemar, exact: b = 2 pairs are right only in A, c = 5 only in B"


def test_failed_samples_are_wrong_in_accuracy_and_skipped_elsewhere() -> None:
    a, b = right("xxxxxf"), right("xxxff.")
    share = compared(accuracy(), a, b)
    assert share.n == 6
    assert share.difference == pytest.approx(-100 / 3)
    words = compared(distinct(1, tokenizer="whitespace"), a, b)
    assert (words.n, words.skipped) == (3, 3)


def test_samples_are_paired_by_id() -> None:
    pairing = pair_results([make_run(right("xxxx"))], [make_run(right("xx"))])
    assert (len(pairing.a), pairing.a_alone, pairing.b_alone) == (2, 2, 0)
    pairing = pair_results([make_run(right("xx"))], [make_run(right("xx"), start=5)])
    assert (len(pairing.a), pairing.a_alone, pairing.b_alone) == (0, 2, 2)
    run = make_run(timed(range(6)))
    pairing = pair_results([run], [replace(run, results=run.results[::-1])])
    assert [result.id for result in pairing.a] == [result.id for result in pairing.b]


def test_a_permutation_test_agrees_with_all_exchanges() -> None:
    a = [1.0, 2.0, 3.5, 1.0, 4.0, 2.0, 5.0, 3.0, 1.5, 2.0, 3.0]
    b = [2.0, 3.5, 3.0, 2.5, 5.0, 2.5, 4.5, 5.0, 3.0, 1.5, 3.0]
    gaps = np.array(b) - np.array(a)
    sums = [abs(float(np.dot(signs, gaps))) for signs in product((1, -1), repeat=len(gaps))]
    exact = float(np.mean([one >= abs(gaps.sum()) - 1e-9 for one in sums]))
    assert 0.01 < exact < 0.1
    comparison = compared(SECONDS, timed(a), timed(b), draws=2000)
    assert comparison.p == pytest.approx(exact, abs=0.015)
    assert comparison.test == "permutation, 2000 draws, seed 0"
    comparison = compared(SECONDS, timed(a), timed(b), draws=2**11)
    assert comparison.p == pytest.approx(exact)
    assert comparison.test == "permutation, all 2048 exchanges of 11 dialogues"


def test_dialogues_are_exchanged_as_a_whole() -> None:
    """There are ten dialogues of four equal samples. McNemar's test would count each sample."""
    a, b = right("xxxx" * 2 + "...." * 8, each=4), right("...." * 2 + "xxxx" * 8, each=4)
    comparison = compared(accuracy(), a, b, draws=1024)
    assert comparison.n == 40
    assert comparison.p == pytest.approx(binomtest(2, 10).pvalue)
    assert comparison.test.startswith("permutation")


def test_dialogues_count_as_a_sample_each_if_few_differ() -> None:
    """The correlation within dialogues is unknown then."""
    comparison = compared(accuracy(), right("x" * 100, each=10), right(".." + "x" * 98, each=10))
    assert comparison.method == "Bonett and Price, effective n 10.0 of 10 dialogues"
    assert comparison.interval == pytest.approx([100 * end for end in bonett_price(0.2, 0, 10)])


def test_the_interval_and_the_detectable_difference_agree_with_theory() -> None:
    draw = random.Random(5)
    a = [draw.gauss(10, 2) for _ in range(300)]
    b = [one + draw.gauss(0.5, 1) for one in a]
    gaps = np.array(b) - np.array(a)
    error = float(gaps.std() / np.sqrt(len(gaps)))
    comparison = compared(SECONDS, timed(a), timed(b), draws=4000)
    assert comparison.interval
    assert comparison.interval[0] == pytest.approx(gaps.mean() - 1.96 * error, abs=0.15 * error)
    assert comparison.interval[1] == pytest.approx(gaps.mean() + 1.96 * error, abs=0.15 * error)
    assert comparison.detectable == pytest.approx(2.8016 * error, rel=0.05)


@pytest.mark.parametrize(("n", "differing"), [(31, 0.02), (31, 0.3), (100, 0.1)])
def test_mcnemars_test_shows_the_detectable_difference_with_80_percent_power(n: int, differing: float) -> None:
    """differing: the share of pairs that differ between runs with the same accuracy."""
    each = round(n * differing / 2)
    comparison = compared(accuracy(), right("." * each + "x" * (n - each)), right("x" * (n - each) + "." * each))
    assert comparison.detectable
    shift = comparison.detectable / 100
    share = max(differing, shift)
    drawn = np.random.default_rng(1).multinomial(n, [(share - shift) / 2, (share + shift) / 2, 1 - share], size=2000)
    power = np.mean([b + c > 0 and binomtest(b, b + c).pvalue <= 0.05 for b, c, _ in drawn])
    assert 0.78 < power < 0.92


SIDE = st.tuples(st.sampled_from(["joy", "anger", None]), st.sampled_from(["a b", "a a", "c"]), st.floats(0, 9))
RESULTS = st.lists(st.tuples(st.integers(0, 4), SIDE, SIDE), min_size=1, max_size=8)
METRICS: list[Metric] = [accuracy(), distinct(1, tokenizer="whitespace"), SECONDS]


@settings(max_examples=10)
@given(RESULTS, st.sampled_from(METRICS))
def test_exchanging_the_runs_negates_the_difference(drawn: list[tuple[int, Side, Side]], metric: Metric) -> None:
    a, b = [Sample(d, *side) for d, side, _ in drawn], [Sample(d, *side) for d, _, side in drawn]
    forward, backward, alike = (compared(metric, *sides, draws=30) for sides in ((a, b), (b, a), (a, a)))
    assert (forward.n, forward.skipped, forward.why) == (backward.n, backward.skipped, backward.why)
    assert (alike.difference, alike.p) == ((0.0, 1.0) if alike.n else (None, None))
    if forward.difference is None:
        assert forward.n == 0
        return
    assert backward.difference == pytest.approx(-forward.difference)
    assert backward.p == pytest.approx(forward.p or 0)
    if forward.interval:
        assert backward.interval == pytest.approx((-forward.interval[1], -forward.interval[0]))
        assert forward.interval[0] <= forward.difference <= forward.interval[1]
    assert 0 < (forward.p or 0) <= 1


def test_p_of_a_few_dialogues_counts_the_variance_over_seeds() -> None:
    """Each seed alone is clear, but B is slower by 1 s with one seed and by 9 s with the other."""
    a = [make_run(timed([1.0, 2.0, 3.0, 1.5, 2.5, 3.5, 1.2, 2.2]))] * 2
    b = [make_run(timed([sample + gap for sample in (1.0, 2.0, 3.0, 1.5, 2.5, 3.5, 1.2, 2.3)])) for gap in (1.0, 9.0)]
    alone, together = (compare_metric(SECONDS, pair_results(a[:n], b[:n]), draws=1000, seed=0) for n in (1, 2))
    assert (alone.p or 1) < 0.01
    assert (together.p or 0) > 0.2

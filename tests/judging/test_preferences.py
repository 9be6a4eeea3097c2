"""Win, tie and lose, ratings, and the consistency of the judge."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from mmerg.judging.metrics import CONSISTENCY, run_sign_tests, score_preferences, score_ratings
from mmerg.runs.events import Choice, Verdict
from mmerg.runs.result import Verdicts
from tests.judging.parts import PAIR, always_first, ask_scripted, judge

ASPECTS = ["empathy", "relevance", "fluency", "informativity", "consistency"]


def sample(*repeats: tuple[Choice | None, Choice | None], name: str = "d0/4", aspect: str = "empathy") -> Verdicts:
    """A sample with a verdict for (A first, B first) of each repeat; None is unusable."""
    verdicts = []
    for repeat, pair in enumerate(repeats):
        for order, choice in zip(((0, 1), (1, 0)), pair, strict=True):
            failure = None if choice else "schema_invalid"
            about = {"aspect": aspect, "round": 0, "order": order, "repeat": repeat, "seed": repeat}
            verdicts.append(Verdict.model_validate({**about, "choice": choice, "failure": failure}))
    return Verdicts(id=name, status="ok", dialogue=name.split("/", maxsplit=1)[0], verdicts=tuple(verdicts))


def scores(*samples: Verdicts) -> dict[str, float | None]:
    return {name: score.value for name, score in score_preferences(samples, ["empathy"], "").items()}


def test_a_judge_that_always_prefers_the_first_reply_gives_only_ties() -> None:
    found = [ask_scripted(judge("pairwise", repeats=2), PAIR, always_first)[0]]
    scores = {name: score.value for name, score in score_preferences(found, ASPECTS, "").items()}
    assert (scores["win"], scores["tie"], scores["lose"]) == (0, 100, 0)
    assert (scores["first"], scores["agree_orders"], scores["agree_repeats"]) == (100, 0, 100)


def test_a_win_needs_both_orders() -> None:
    assert scores(sample(("first", "second")))["win"] == 100
    assert scores(sample(("second", "first")))["lose"] == 100
    for pair in (("first", "first"), ("second", "second"), ("first", "tie"), ("tie", "second"), ("tie", "tie")):
        assert scores(sample(pair))["tie"] == 100


def test_a_win_needs_more_than_half_of_the_repeats() -> None:
    won, lost, tied = ("first", "second"), ("second", "first"), ("first", "first")
    assert scores(sample(won, won, lost))["win"] == 100  # type: ignore[arg-type]
    assert scores(sample(won, lost))["tie"] == 100  # type: ignore[arg-type]
    assert scores(sample(won, tied, tied))["tie"] == 100  # type: ignore[arg-type]


def test_unusable_verdicts_do_not_count() -> None:
    half = sample((None, "second"))
    scores = score_preferences([half, sample(("first", "second"), name="d1/4")], ["empathy"], "")
    assert (scores["win"].value, scores["win"].n) == (100, 1)
    assert (scores["first"].value, scores["first"].n) == (25, 2)
    none = score_preferences([sample((None, None))], ["empathy"], "")
    assert all((score.value, score.n, bool(score.why)) == (None, 0, True) for score in none.values())


CHOICES: st.SearchStrategy[Choice | None] = st.sampled_from(["first", "second", "tie", None])
SAMPLES = st.lists(st.lists(st.tuples(CHOICES, CHOICES), min_size=1, max_size=3), min_size=1, max_size=5)


@settings(max_examples=10)
@given(given=SAMPLES)
def test_swapping_the_runs_only_swaps_win_and_lose(
    given: Sequence[Sequence[tuple[Choice | None, Choice | None]]],
) -> None:
    names = [f"d{n}/4" for n in range(len(given))]
    here = scores(*(sample(*repeats, name=name) for repeats, name in zip(given, names, strict=True)))
    # With the runs exchanged, the verdict with A first is the verdict with B first, and the other way round.
    swapped = [[(b_first, a_first) for a_first, b_first in repeats] for repeats in given]
    there = scores(*(sample(*repeats, name=name) for repeats, name in zip(swapped, names, strict=True)))
    back = {"win": "lose", "lose": "win"}
    margins = [found.pop("margin") for found in (here, there)]
    assert margins in ([None, None], [margins[0], -(margins[0] or 0.0)])
    assert {back.get(name, name): value for name, value in there.items()} == here
    assert set(here) == {"win", "tie", "lose", *CONSISTENCY}
    if here["win"] is not None:
        assert abs(here["win"] + (here["tie"] or 0) + (here["lose"] or 0) - 100) < 1e-9


def test_a_run_without_a_reply_loses_without_a_verdict() -> None:
    def failed(name: str, *runs: int) -> Verdicts:
        return Verdicts(id=name, status="ok", dialogue=name[:2], no_reply=runs)

    won = sample(("first", "second"))
    samples = [won, failed("d1/4", 0), failed("d2/4", 1), failed("d3/4", 1), failed("d4/4", 0, 1)]
    scores = score_preferences(samples, ["empathy", "fluency"], "")
    assert [(scores[name].value, scores[name].n) for name in ("win", "tie", "lose", "margin")] == [
        *((60, 5), (20, 5), (20, 5), (40, 5))
    ]
    alone = score_preferences([won], ["empathy", "fluency"], "")
    judge = ("first", "agree_orders", "agree_repeats")
    assert [(scores[name].value, scores[name].n) for name in judge] == [
        (alone[name].value, alone[name].n) for name in judge
    ]
    found = run_sign_tests(samples, ["empathy", "fluency"])
    assert [(sign.won, sign.lost) for sign in found.values()] == [(3, 1), (2, 1)]
    rated = score_ratings([failed("d0/1", 0), failed("d1/1", 0)], ["empathy"], "")["empathy"]
    assert (rated.value, rated.n) == (1.0, 2)


def test_ratings_are_means_over_samples_of_means_over_repeats() -> None:
    def rated(name: str, *scores: int | None) -> Verdicts:
        about = {"aspect": "empathy", "round": 0, "order": (0,), "seed": 0}
        verdicts = [
            Verdict.model_validate({**about, "repeat": n, "score": s, "failure": None if s else "empty"})
            for n, s in enumerate(scores)
        ]
        return Verdicts(id=name, status="ok", dialogue=name.split("/", maxsplit=1)[0], verdicts=tuple(verdicts))

    score = score_ratings([rated("d0/1", 1, 2), rated("d0/2", 5, None), rated("d1/1", None)], ["empathy"], "s")[
        "empathy"
    ]
    assert (score.value, score.n, score.signature, score.higher_is_better) == (3.25, 2, "s", True)
    assert score.interval is None  # all samples are from one dialogue
    more = score_ratings([rated("d0/1", 1), rated("d1/1", 5)], ["empathy"], "s")["empathy"]
    assert (more.value, more.why) == (3.0, "no interval: fewer than 10 dialogues")


def test_margins_and_sign_tests() -> None:
    won, lost, tied = ("first", "second"), ("second", "first"), ("first", "first")
    pairs = [won] * 6 + [lost] + [tied] * 3
    samples = [sample(pair, name=f"d{number}/1") for number, pair in enumerate(pairs)]  # type: ignore[arg-type]
    margin = score_preferences(samples, ["empathy"], "")["margin"]
    assert (margin.value, margin.n) == (50.0, 10)
    assert margin.interval
    assert margin.interval[0] < 50 < margin.interval[1]
    more = [sample(tied, name=f"d{number}/1", aspect="fluency") for number in range(10)]  # type: ignore[arg-type]
    both = [
        on_empathy.model_copy(update={"verdicts": on_empathy.verdicts + on_fluency.verdicts})
        for on_empathy, on_fluency in zip(samples, more, strict=True)
    ]
    found = run_sign_tests(both, ["empathy", "fluency"])
    assert (found["empathy"].won, found["empathy"].lost) == (6, 1)
    assert found["empathy"].p == pytest.approx(binomtest(6, 7).pvalue)
    assert found["empathy"].p_holm == 2 * found["empathy"].p
    assert (found["fluency"].won, found["fluency"].lost, found["fluency"].p_holm) == (0, 0, 1.0)
    assert score_preferences(both, ["empathy", "fluency"], "")["margin"].value == 25.0


def test_each_dialogue_has_one_vote_in_a_sign_test() -> None:
    won, lost = ("first", "second"), ("second", "first")
    samples = [sample(won, name=f"d0/{number}") for number in range(5)]  # type: ignore[arg-type]
    samples += [sample(lost, name="d1/1"), sample(won, name="d2/1"), sample(lost, name="d2/2")]  # type: ignore[arg-type]
    found = run_sign_tests(samples, ["empathy"])["empathy"]
    assert (found.won, found.lost, found.p) == (1, 1, 1.0)

"""Rates and seconds of a run: what the cache served counts for nothing."""

import pytest

from mmerg.backends.protocol import Finish, Reply
from mmerg.benching.measure import speed_of
from mmerg.runs import events
from mmerg.runs.facts import facts_of
from mmerg.runs.result import Result
from tests.scoring.run_builder import AT, result


def reply(prompt: int, seconds: float, *, prompt_seconds: float = 1.0, tokens: int = 20, **more: object) -> Reply:
    counts = {"prompt_tokens": prompt, "prompt_seconds": prompt_seconds, "response_tokens": tokens, "seconds": seconds}
    return Reply.model_validate({"text": "x", "finish": Finish.STOP, **counts, **more})


def called(sample: str, given: Reply) -> events.Called:
    return events.Called(
        sample=sample,
        at=AT,
        t=0,
        stage="sgrg",
        attempt=0,
        digest="0" * 64,
        messages=(),
        answer_schema="",
        sampling={},
        logprobs=False,
        reply=given,
    )


def told(replies: dict[str, list[Reply]], results: list[Result]) -> list[Result]:
    """The results with what the events say of the replies."""
    found = []
    for one in results:
        facts = facts_of([called(one.id, given) for given in replies.get(one.id, [])])
        found.append(one.model_copy(update={"timing": facts["timing"]}))
    return found


def test_rates_are_of_calls_that_were_made() -> None:
    replies = {
        "a/1": [reply(100, 5.0), reply(300, 3.0, reused_tokens=200)],  # 5 and 10 tokens a second
        "b/1": [reply(9999, 900.0, cached=True), reply(100, 2.0)],  # 20 tokens a second
    }
    results = [result("a/1", calls=2, seconds=8.0), result("b/1", calls=2, cached_calls=1, seconds=2.0)]
    found = speed_of(told(replies, results))
    assert found.calls == 3
    assert found.prompt_tokens_s == pytest.approx((100 + 100 + 100) / 3)
    assert found.reply_tokens_s == pytest.approx(10.0)
    assert (found.samples, found.median) == (1, 8.0)


def test_a_replay_has_no_speed_and_says_why() -> None:
    replies = {"a/1": [reply(100, 5.0, cached=True)]}
    found = speed_of(told(replies, [result("a/1", calls=1, cached_calls=1, seconds=0.1)]))
    assert (found.calls, found.prompt_tokens_s, found.median) == (0, None, None)
    assert found.why == "every call came from the reply cache"
    assert speed_of(told({}, [result("a/1", None, calls=0)])).why == "no call was answered"


def test_a_backend_that_counts_nothing_has_no_rate() -> None:
    replies = {"a/1": [reply(100, 1.0, prompt_seconds=0.0, tokens=0)]}
    found = speed_of(told(replies, [result("a/1", None, calls=1)]))
    assert (found.calls, found.prompt_tokens_s, found.reply_tokens_s) == (1, None, None)
    assert found.why == "no s/sample: no sample came out well"


def test_samples_that_the_cache_helped_are_counted_and_told() -> None:
    replies = {"a/1": [reply(100, 5.0)], "b/1": [reply(100, 2.0), reply(100, 0.0, cached=True)]}
    helped = result("b/1", calls=2, cached_calls=1, seconds=2.0)
    some = speed_of(told(replies, [result("a/1", seconds=5.0), helped]))
    assert (some.samples, some.helped, some.why) == (1, 1, "")
    none = speed_of(told(replies, [result("a/1", None), helped]))
    assert (none.samples, none.median, none.helped) == (0, None, 1)
    assert none.why == "no s/sample: 1 samples came out well, all with replies from the cache"


def test_quantiles_are_of_whole_samples() -> None:
    replies = {f"a/{n}": [reply(100, 1.0)] for n in range(101)}
    found = speed_of(told(replies, [result(sample, seconds=float(n)) for n, sample in enumerate(replies)]))
    assert (found.samples, found.median, found.p25, found.p75, found.p95) == (101, 50.0, 25.0, 75.0, 95.0)
    left_out = [result("a/1", None, seconds=3.0), result("a/2", cached_calls=1, seconds=1.0)]
    assert speed_of(told(replies, left_out)).median is None

"""Speed and memory of a run: what the cache served counts for nothing, and what is missing says why."""

from pathlib import Path

import pytest

from mmerg.backends.protocol import Finish, Reply
from mmerg.benching.backbones import Subset, find_backbone
from mmerg.benching.measure import MEMORY, check_scorer, keep_memory, measure, speed
from mmerg.errors import ConfigError
from mmerg.runs import events
from mmerg.runs.facts import facts_of
from mmerg.runs.result import Ended, Result
from mmerg.runs.story import Story
from mmerg.scoring.score import Score
from mmerg.scoring.standard import Options
from tests.scoring.run_builder import AT, build_run, result


def reply(prompt: int, seconds: float, *, prompt_seconds: float = 1.0, tokens: int = 20, **more: object) -> Reply:
    counts = {"prompt_tokens": prompt, "prompt_seconds": prompt_seconds, "response_tokens": tokens, "seconds": seconds}
    return Reply.model_validate({"text": "x", "finish": Finish.STOP, **counts, **more})


def called(sample: str, given: Reply) -> events.Called:
    return events.Called(
        **{"sample": sample, "at": AT, "t": 0, "stage": "sgrg", "attempt": 0, "digest": "0" * 64},  # type: ignore[arg-type]
        **{"messages": (), "answer_schema": "", "sampling": {}, "logprobs": False, "reply": given},  # type: ignore[arg-type]
    )


def speeds(replies: dict[str, list[Reply]], results: list[Result]) -> dict[str, Score]:
    """The speed of these results with what the events say of the replies."""
    timed = []
    for one in results:
        timing = facts_of(Story(called(one.id, given) for given in replies.get(one.id, [])))["timing"]
        timed.append(one.model_copy(update={"timing": timing}))
    return {score.name: score for score in speed(timed)}


def test_rates_are_of_calls_that_were_made() -> None:
    replies = {
        "a/1": [reply(100, 5.0), reply(300, 3.0, reused_tokens=200)],  # 5 and 10 tokens a second
        "b/1": [reply(9999, 900.0, cached=True), reply(100, 2.0)],  # 20 tokens a second
    }
    results = [result("a/1", calls=2, seconds=8.0), result("b/1", calls=2, cached_calls=1, seconds=2.0)]
    found = speeds(replies, results)
    assert found["prompt tok/s"].value == pytest.approx((100 + 100 + 100) / 3)
    assert found["reply tok/s"].value == pytest.approx(10.0)
    assert (found["seconds p95"].n, found["seconds p95"].value) == (1, 8.0)
    assert found["seconds p95"].why == "over 1 of 2 samples: 1 had replies from the cache"


def test_a_replay_has_no_speed_and_says_why() -> None:
    replies = {"a/1": [reply(100, 5.0, cached=True)]}
    found = speeds(replies, [result("a/1", calls=1, cached_calls=1, seconds=0.1)])
    assert {(one.value, one.why) for one in found.values()} == {(None, "every call came from the reply cache")}
    assert {one.why for one in speeds({}, [result("a/1", None, calls=0)]).values()} == {"no call was answered"}


def test_a_backend_that_counts_nothing_has_no_rate() -> None:
    replies = {"a/1": [reply(100, 1.0, prompt_seconds=0.0, tokens=0)]}
    found = speeds(replies, [result("a/1", None, calls=1)])
    assert {one.value for one in found.values()} == {None}
    assert found["prompt tok/s"].why == found["reply tok/s"].why == "the server tells no times"
    assert found["seconds p95"].why == "over 0 of 1 samples: 1 failed"


def test_quantiles_are_of_whole_samples() -> None:
    replies = {f"a/{n}": [reply(100, 1.0)] for n in range(101)}
    found = speeds(replies, [result(sample, seconds=float(n)) for n, sample in enumerate(replies)])
    assert (found["seconds p95"].n, found["seconds p95"].value, found["seconds p95"].why) == (101, 95.0, "")


def memory(run: Path, made: int, *settings: str, name: str = "gemma3-12b") -> Score:
    ended = Ended(run=str(run), samples=1, failed=0, kept=0, calls=1, made=made)
    keep_memory(Subset("demo", 3, settings).settings(find_backbone(name)), ended)
    return measure(find_backbone(name), run, Options()).scores.scores["GiB"]


def test_memory_is_kept_beside_the_run_and_says_why_it_is_not_known(tmp_path: Path) -> None:
    run = build_run(tmp_path / "run", [result("a/1")])
    assert memory(run, 0).why == "no call had to be made, so no model was loaded"
    assert memory(run, 1, "backend=dry").why == "dry does not tell"
    assert "no Ollama server answers" in memory(run, 1, "backend.hosts=[http://127.0.0.1:1]").why
    size = memory(run, 1, name="smollm2-135m").value
    assert size
    assert memory(run, 0, name="smollm2-135m").value == memory(run, 1, "backend=dry").value == size
    (run / MEMORY).write_text("{", encoding="utf-8")
    assert memory(run, 0).value is None


@pytest.mark.parametrize("wrong", [{"bert_layers": 3}, {"ref_context": True}, {"vocabulary": 0}, {"resamples": 0}])
def test_options_that_mean_nothing_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong)).replace("_", "[-_]")):
        check_scorer(Options(**wrong))  # type: ignore[arg-type]

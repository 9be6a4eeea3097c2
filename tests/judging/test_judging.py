"""Verdicts on one item, and the selection of items."""

from pathlib import Path

import pytest

from mmerg.backends.protocol import Request
from mmerg.backends.scripted import Scripted
from mmerg.errors import CallError, ConfigError, Failure, RunError
from mmerg.judging.items import select_items
from mmerg.judging.judge import build_judge_system
from mmerg.judging.metrics import score_ratings
from mmerg.runs import events
from mmerg.scoring.run_results import read_run
from mmerg.settings.model import StageSettings
from tests.judging.parts import ITEM, ask_scripted, judge, node, rating, user_text
from tests.scoring.run_builder import build_run, result


def test_each_aspect_is_rated() -> None:
    found, backend, _ = ask_scripted(
        judge("likert"), ITEM, lambda r: rating(5 if "Question: fluency" in user_text(r) else 2)
    )
    assert [(v.aspect, v.score, v.reason) for v in found.verdicts] == [
        ("empathy", 2, "because"),
        ("coherence", 2, "because"),
        ("fluency", 5, "because"),
    ]
    assert (found.status, found.calls, backend.calls) == ("ok", 3, 3)


BAD = [
    "CORRECT",
    rating(6),
    rating(True),
    rating("4"),
    '{"score": 4}',
    '{"score": 4, "reason": "one"} {"score": 2, "reason": "other"}',
]


@pytest.mark.parametrize("text", BAD)
def test_an_invalid_completion_is_requested_again_and_then_unusable(text: str) -> None:
    def answer(request: Request) -> str:
        return text if "Question: empathy" in user_text(request) else rating(3)

    found, backend, emitted = ask_scripted(judge("likert"), ITEM, answer)
    bad, *good = found.verdicts
    assert (bad.usable, bad.score, bad.failure) == (False, None, Failure.SCHEMA_INVALID)
    assert [v.score for v in good] == [3, 3]
    assert found.status == "ok"
    assert backend.calls == 1 + 2 + 2  # two repairs
    assert [e.verdict for e in emitted if isinstance(e, events.Judged)] == list(found.verdicts)
    scores = score_ratings([found], ["empathy", "fluency"], "")
    assert (scores["empathy"].value, scores["empathy"].n, scores["fluency"].value) == (None, 0, 3.0)


def test_a_failed_call_fails_the_item_and_an_interrupted_one_is_raised() -> None:
    def broken(request: Request) -> str | Exception:
        return CallError(Failure.TIMEOUT, "too late") if "Question: fluency" in user_text(request) else rating(3)

    found, _, emitted = ask_scripted(judge("likert"), ITEM, broken)
    assert (found.status, found.failure, found.verdicts) == ("failed", Failure.TIMEOUT, ())
    assert isinstance(emitted[-1], events.SampleFailed)
    closed = Scripted([])
    closed.close()
    with pytest.raises(CallError) as caught:
        judge("likert").judge_item(ITEM, closed, emitted.append)
    assert caught.value.failure is Failure.INTERRUPTED


def test_an_aspect_of_the_wrong_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match="must give a Rating"):
        build_judge_system(node("pairwise").model_copy(update={"replies": 1}))
    likert = node("likert")
    more = {**likert.aspects, "wit": StageSettings(sees=("D", "R"), gives="wit")}
    with pytest.raises(ConfigError, match="aspect wit must give a Rating"):
        build_judge_system(likert.model_copy(update={"aspects": more}))


def test_failed_samples_need_no_call(tmp_path: Path) -> None:
    run = read_run(build_run(tmp_path / "a", [result("d0/4"), result("d1/4", None)]))
    chosen = select_items(run)
    assert [(item.id, item.no_reply) for item in chosen.items] == [("d0/4", ()), ("d1/4", (0,))]
    found, backend, emitted = ask_scripted(judge("likert"), chosen.items[1], lambda _: rating(3))
    assert (found.status, found.verdicts, found.no_reply, found.calls, backend.calls) == ("ok", (), (0,), 0, 0)
    assert isinstance(emitted[-1], events.SampleDone)
    assert (chosen.items[0].responder, chosen.items[0].history[0]) == ("Ben", ("Ana", "I lost my keys."))
    with pytest.raises(RunError, match="there is no reply to judge: 1 failed"):
        select_items(read_run(build_run(tmp_path / "b", [result("d1/4", None)])))


def test_two_runs_are_compared_on_their_common_samples(tmp_path: Path) -> None:
    a = build_run(tmp_path / "a", [result("d0/4", "a0"), result("d1/4", None), result("d2/4", "a2")])
    b = build_run(tmp_path / "b", [result("d2/4", "b2\nmore"), result("d1/4", "b1"), result("d3/4", "b3")])
    chosen = select_items(read_run(a), read_run(b))
    assert [(item.id, item.replies) for item in chosen.items] == [("d1/4", (None, "b1")), ("d2/4", ("a2", "b2 more"))]
    assert chosen.skipped == {"in one run only": 2}


def test_runs_that_cannot_be_compared_are_refused(tmp_path: Path) -> None:
    a = read_run(build_run(tmp_path / "a", [result("d0/4")]))
    other = read_run(build_run(tmp_path / "b", [result("d0/4")], corpus="meld", identity="other"))
    with pytest.raises(RunError, match=r"different corpora \(demo test and meld test\)"):
        select_items(a, other)
    with pytest.raises(ConfigError, match="compared with itself"):
        select_items(a, a)
    with pytest.raises(RunError, match="no reply to judge: 2 in one run only"):
        select_items(a, read_run(build_run(tmp_path / "d", [result("d9/4")])))


def test_the_seed_decides_which_items_are_drawn(tmp_path: Path) -> None:
    run = read_run(build_run(tmp_path / "a", [result(f"d{n}/4") for n in range(9)]))
    chosen, drawn = select_items(run), select_items(run, count=4, seed=1)
    assert drawn == select_items(run, count=4, seed=1)
    assert drawn.skipped == {"not sampled": 5}
    assert len(drawn.items) == 4
    assert set(drawn.items) < set(chosen.items)
    assert select_items(run, count=9, seed=1) == chosen
    assert chosen.digest() != drawn.digest()

"""Verdicts: what is asked how often, with which seeds, and what becomes of answers that cannot be used."""

from dataclasses import replace
from pathlib import Path

import pytest

from mmerg.backends.protocol import Engine, Request
from mmerg.backends.scripted import Scripted
from mmerg.errors import CallError, ConfigError, Failure, RunError
from mmerg.judging.figures import ratings
from mmerg.judging.items import lot_of
from mmerg.judging.judge import judge_system
from mmerg.judging.launch import same_model
from mmerg.runs import events
from mmerg.scoring.answers import read_run
from mmerg.settings.model import StageSettings
from tests.composed import composed
from tests.judging.parts import ITEM, PAIR, asked, judge, node, rating, user_of
from tests.scoring.run_builder import build_run, result


def test_a_rating_is_asked_for_each_aspect() -> None:
    found, backend, _ = asked(judge("likert"), ITEM, lambda r: rating(5 if "Question: fluency" in user_of(r) else 2))
    assert [(v.aspect, v.score, v.reason) for v in found.verdicts] == [
        ("empathy", 2, "because"),
        ("coherence", 2, "because"),
        ("fluency", 5, "because"),
    ]
    assert (found.status, found.calls, backend.calls) == ("ok", 3, 3)


def test_repeats_have_seeds_of_their_own_and_share_their_prompts() -> None:
    found, backend, _ = asked(judge("likert", repeats=3), ITEM, lambda _: rating(4))
    assert [v.seed for v in found.verdicts] == [7] * 3 + [8] * 3 + [9] * 3
    assert len({r.sampling.seed for r in backend.requests}) == 9
    assert {r.sampling.temperature for r in backend.requests} == {0.7}
    assert len({user_of(r) for r in backend.requests}) == 3


BAD = [
    "CORRECT",
    rating(6),
    rating(True),
    rating(4.0),
    rating("4"),
    '{"score": 4}',
    '{"score": 4, "reason": "one"} {"score": 2, "reason": "other"}',
]


@pytest.mark.parametrize("text", BAD)
def test_an_answer_that_cannot_be_used_is_asked_for_again_and_then_counted(text: str) -> None:
    def answer(request: Request) -> str:
        return text if "Question: empathy" in user_of(request) else rating(3)

    found, backend, told = asked(judge("likert"), ITEM, answer)
    bad, *good = found.verdicts
    assert (bad.usable, bad.score, bad.failure) == (False, None, Failure.SCHEMA_INVALID)
    assert [v.score for v in good] == [3, 3]
    assert found.status == "ok"
    assert backend.calls == 1 + 2 + 2  # two repairs
    assert [e.verdict for e in told if isinstance(e, events.Judged)] == list(found.verdicts)
    scores = ratings([found], ["empathy", "fluency"], "")
    assert (scores["empathy"].value, scores["empathy"].n, scores["fluency"].value) == (None, 0, 3.0)


def test_an_answer_mended_in_time_counts() -> None:
    texts = iter(["no", rating(2)])
    found, _, _ = asked(judge("likert"), ITEM, lambda r: next(texts) if "empathy." in user_of(r) else rating(3))
    assert [v.score for v in found.verdicts] == [2, 3, 3]


def test_a_failed_call_fails_the_item_and_an_interrupted_one_decides_nothing() -> None:
    def broken(request: Request) -> str | Exception:
        return CallError(Failure.TIMEOUT, "too late") if "Question: fluency" in user_of(request) else rating(3)

    found, _, told = asked(judge("likert"), ITEM, broken)
    assert (found.status, found.failure, found.verdicts) == ("failed", Failure.TIMEOUT, ())
    assert isinstance(told[-1], events.SampleFailed)
    closed = Scripted([])
    closed.close()
    with pytest.raises(CallError) as caught:
        judge("likert").item(ITEM, closed, told.append)
    assert caught.value.failure is Failure.INTERRUPTED


def test_an_aspect_of_the_wrong_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match="does not give a Rating"):
        judge_system(node("pairwise").model_copy(update={"replies": 1}))
    likert = node("likert")
    more = {**likert.aspects, "wit": StageSettings(sees=("D", "R"), gives="wit")}
    with pytest.raises(ConfigError, match="aspect wit does not give a Rating"):
        judge_system(likert.model_copy(update={"aspects": more}))


def test_about_a_sample_without_a_reply_nothing_is_asked(tmp_path: Path) -> None:
    run = read_run(build_run(tmp_path / "a", [result("d0/4"), result("d1/4", None)]))
    lot = lot_of(run)
    assert [(item.id, item.no_reply) for item in lot.items] == [("d0/4", ()), ("d1/4", (0,))]
    found, backend, told = asked(judge("likert"), lot.items[1], lambda _: rating(3))
    assert (found.status, found.verdicts, found.no_reply, found.calls, backend.calls) == ("ok", (), (0,), 0, 0)
    assert isinstance(told[-1], events.SampleDone)
    assert (lot.items[0].responder, lot.items[0].history[0]) == ("Ben", ("Ana", "I lost my keys."))
    with pytest.raises(RunError, match="there is no reply to judge: 1 failed"):
        lot_of(read_run(build_run(tmp_path / "b", [result("d1/4", None)])))


def test_pairs_are_what_both_runs_have(tmp_path: Path) -> None:
    a = build_run(tmp_path / "a", [result("d0/4", "a0"), result("d1/4", None), result("d2/4", "a2")])
    b = build_run(tmp_path / "b", [result("d2/4", "b2\nmore"), result("d1/4", "b1"), result("d3/4", "b3")])
    lot = lot_of(read_run(a), read_run(b))
    assert [(item.id, item.replies) for item in lot.items] == [("d1/4", (None, "b1")), ("d2/4", ("a2", "b2 more"))]
    assert lot.left_out == {"in one run only": 2}


def test_runs_that_cannot_be_compared_are_refused(tmp_path: Path) -> None:
    a = read_run(build_run(tmp_path / "a", [result("d0/4")]))
    other = read_run(build_run(tmp_path / "b", [result("d0/4")], corpus="meld", identity="other"))
    with pytest.raises(RunError, match=r"another corpus \(demo test and meld test\)"):
        lot_of(a, other)
    with pytest.raises(ConfigError, match="compared with itself"):
        lot_of(a, a)
    short = read_run(build_run(tmp_path / "c", [result("d0/4")], history={"d0/4": (("Ana", "Again."),)}))
    with pytest.raises(RunError, match="do not tell one and the same history of d0/4"):
        lot_of(a, short)
    with pytest.raises(RunError, match="no reply to judge: 2 in one run only"):
        lot_of(a, read_run(build_run(tmp_path / "d", [result("d9/4")])))


def test_runs_of_unknown_files_are_refused(tmp_path: Path) -> None:
    runs = [read_run(build_run(tmp_path / name, [result("d0/4")])) for name in "ab"]
    unknown = [replace(run, manifest=run.manifest.model_copy(update={"identity": {}})) for run in runs]
    with pytest.raises(RunError, match="does not say of which files its run is"):
        lot_of(*unknown)


def test_a_reply_to_nothing_is_not_judged(tmp_path: Path) -> None:
    whole = read_run(build_run(tmp_path / "a", [result("d0/4")]))
    folder = build_run(tmp_path / "b", [result("d0/4")])
    line = result("d0/4").sealed(whole.manifest.identity).line()
    (folder / "results.jsonl").write_text(line, encoding="utf-8")
    empty = read_run(folder)
    with pytest.raises(RunError, match="do not tell one and the same history of d0/4"):
        lot_of(empty)
    for two in ((whole, empty), (empty, whole)):
        with pytest.raises(RunError, match=r"do not tell one and the same history of d0/4"):
            lot_of(*two)


def test_a_draw_is_the_same_each_time_and_told(tmp_path: Path) -> None:
    run = read_run(build_run(tmp_path / "a", [result(f"d{n}/4") for n in range(9)]))
    lot, drawn = lot_of(run), lot_of(run, count=4, seed=1)
    assert drawn == lot_of(run, count=4, seed=1)
    assert drawn.left_out == {"not drawn": 5}
    assert len(drawn.items) == 4
    assert set(drawn.items) < set(lot.items)
    assert lot_of(run, count=9, seed=1) == lot
    assert lot.digest() != drawn.digest()


def test_the_digest_is_of_what_the_judge_is_shown(tmp_path: Path) -> None:
    def digest(name: str, *results: object, **more: object) -> str:
        return lot_of(read_run(build_run(tmp_path / name, list(results), **more))).digest()  # type: ignore[arg-type]

    first = digest("a", result("d0/4", "x"), result("d1/4", "y"))
    assert digest("b", result("d1/4", "y", gold="joy"), result("d0/4", "x", gold_response="z"), model="m") == first
    assert digest("c", result("d0/4", "x"), result("d1/4", "z")) != first


@pytest.mark.parametrize(
    ("other", "same"), [({"digest": "e"}, True), ({"model": "n"}, True), ({"model": "n", "digest": "e"}, False)]
)
def test_one_model_is_known_by_its_name_or_its_weights(other: dict[str, str], same: bool) -> None:
    engine = Engine(backend="b", version="1", model="m", digest="d")
    assert same_model(engine, engine.model_copy(update=other)) == same
    one, two = (engine.model_copy(update={"model": name, "digest": ""}) for name in "mn")
    assert not same_model(one, two)


def test_the_default_judge_is_of_another_family_than_the_default_backbone() -> None:
    judge, run = composed(name="judge"), composed("dataset=demo", "backend=ollama")
    assert (judge.backbone.model, run.backbone.model) == ("gemma3:12b", "qwen3.5:27b")


def test_a_choice_without_its_json_is_not_guessed_from_the_text() -> None:
    found, _, _ = asked(judge("pairwise"), PAIR, lambda _: "Reply 1")
    assert {(v.choice, v.failure) for v in found.verdicts} == {(None, Failure.SCHEMA_INVALID)}

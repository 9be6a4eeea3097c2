"""Each guard, switched on and off, and their order."""

from dataclasses import replace

import pytest

from mmerg.memory.entries import Entry, Origin
from mmerg.memory.guards import Query, find_guard
from mmerg.settings.sources import MemorySettings
from tests.memory.parts import wanted

HERE = Origin("test_dia1", words="w1", conversation="c1", script="play", episode="s01e02", start=100.0, end=160.0)
QUERY = Query(HERE, "I lost it.", "I lost it.", reply="Oh no, not again!")
ELSEWHERE = Entry("dev_dia7/3", Origin("dev_dia7"), (("Ana", "It is gone."),), "Where was it?")
OFF = wanted(exclude_same_script=False, exclude_same_scene=False, exclude_same_reply=False, exclude_similarity=None)


def guard(entry: Entry, guards: MemorySettings | None = None, cosine: float = 0.5) -> str:
    return find_guard(entry, QUERY, guards or wanted(), lambda: cosine)


def entry_from(**origin: object) -> Entry:
    return replace(ELSEWHERE, origin=replace(ELSEWHERE.origin, **origin))  # type: ignore[arg-type]


def test_an_entry_from_elsewhere_passes() -> None:
    assert guard(ELSEWHERE) == ""


@pytest.mark.parametrize(
    "entry",
    [entry_from(dialogue="test_dia1"), entry_from(words="w1"), entry_from(conversation="c1")],
    ids=["id", "words", "conversation"],
)
def test_the_dialogue_itself_never_passes(entry: Entry) -> None:
    assert guard(entry) == guard(entry, OFF) == "same dialogue"


def test_another_performance_of_the_play_is_excluded() -> None:
    assert guard(entry_from(script="play")) == "same script"
    assert guard(entry_from(script="play"), wanted(exclude_same_script=False)) == ""
    assert guard(entry_from(script="another")) == ""


@pytest.mark.parametrize(
    ("start", "end", "same"),
    [
        (110.0, 120.0, True),
        (220.0, 300.0, True),
        (221.0, 300.0, False),
        (None, 20.0, True),
    ],
)
def test_the_same_scene_is_excluded(start: float | None, end: float | None, same: bool) -> None:
    near = entry_from(episode="s01e02", start=start, end=end)
    assert guard(near) == ("same scene" if same else "")
    assert guard(near, wanted(exclude_same_scene=False)) == ""
    assert guard(entry_from(episode="s01e03", start=start, end=end)) == ""
    assert guard(entry_from(start=start, end=end)) == ""


@pytest.mark.parametrize("reply", ["Oh no, not again!", " oh... no – not AGAIN "])
def test_the_hidden_reply_is_excluded(reply: str) -> None:
    entry = replace(ELSEWHERE, reply=reply)
    assert guard(entry) == "same reply"
    assert guard(entry, wanted(exclude_same_reply=False)) == ""
    assert guard(replace(ELSEWHERE, reply=f"{reply} Ever.")) == ""


def test_the_hidden_reply_is_excluded_in_a_history_that_prompts_show() -> None:
    def guard_reply(reply: str) -> str:
        entry = replace(ELSEWHERE, history=(("Ana", "It is gone."), ("Ben", f"{reply}?!"), ("Ana", "So what?")))
        return find_guard(entry, replace(QUERY, reply=reply), wanted(), lambda: 0.0)

    assert guard_reply("I lost it in the") == "same reply"
    assert guard_reply("I lost it in") == ""
    entry = replace(ELSEWHERE, history=(("Ana", "I lost it in the snow"),))
    assert find_guard(entry, replace(QUERY, reply="I lost it in the snow"), OFF, lambda: 0.0) == ""


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ("I am truly sorry to hear this news.", "Oh, I am truly sorry to hear this news, my dear friend."),
        ("I am truly sorry to hear this news.", "I am so sorry to hear this news."),
        ("我真的很抱歉听到这个消息，你还好吗？", "我真的很抱歉听到这个消息。"),
        ("その知らせを聞いて本当に残念です。", "その知らせを聞いて、本当に残念だ"),
        ("เสียใจด้วยนะที่ได้ยินแบบนั้น", "เสียใจด้วยนะคะที่ได้ยินแบบนั้น"),
        ("정말 힘들었겠다, 무슨 일이야?", "정말 힘들었겠어. 무슨 일이야?"),
        ("それは大変でしたね。ゆっくり休んで。", "ゆっくり休んで。それは大変でしたね。"),
        ("أنا آسف جدا لسماع هذا الخبر", "أَنَا آسِفٌ جِدًّا لِسَمَاعِ هَذَا الْخَبَرِ"),
    ],
)
def test_nearly_the_words_of_the_hidden_reply_are_excluded_wherever_they_are_shown(reply: str, shown: str) -> None:
    query = replace(QUERY, reply=reply)
    for entry in (
        replace(ELSEWHERE, reply=shown),
        replace(ELSEWHERE, history=(("Ana", shown), ("Ben", "No."))),
        replace(ELSEWHERE, situation=shown),
    ):
        assert find_guard(entry, query, wanted(), lambda: 0.0) == "same reply"
    other = replace(ELSEWHERE, reply="What a fine day, 今天天气很好, いい天気ですね, วันนี้อากาศดี, 오늘 날씨 좋다.")
    assert find_guard(other, query, wanted(), lambda: 0.0) == ""


def test_a_near_duplicate_is_excluded() -> None:
    assert guard(ELSEWHERE, cosine=0.98) == "near duplicate"
    assert guard(ELSEWHERE, cosine=0.979) == ""
    assert guard(ELSEWHERE, wanted(exclude_similarity=0.4)) == "near duplicate"
    assert guard(ELSEWHERE, wanted(exclude_similarity=None), cosine=1.0) == ""

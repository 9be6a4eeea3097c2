"""Samples are cut at the target: neither words, label nor frames of the target reach a scene."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmerg.corpora.dialogue import Clip, Dialogue, Turn, cut_sample

LABELS = ("joy", "sadness")
FILM, OTHER = Path("film.mp4"), Path("other.mp4")
GOLD = Turn("Ben", "the hidden words", "sadness", Clip(FILM, 6.0, 8.0))


def cut_clip(turn: Turn, gold: Turn = GOLD) -> tuple[Clip | None, tuple[int, ...]]:
    """The clip of the only history turn in the sample, and the turns that lost their clip."""
    sample = cut_sample(Dialogue("d", (turn, gold)), 1, LABELS)
    return sample.scene.history[0].clip, sample.dropped


def test_the_scene_contains_nothing_of_the_target() -> None:
    history = (Turn("Ana", "one", "joy", Clip(OTHER)), Turn("Ben", "two", "sadness"))
    sample = cut_sample(Dialogue("d", (*history, GOLD, Turn("Ana", "after", "joy"))), 2, LABELS)
    assert sample.target == GOLD
    assert [turn.text for turn in sample.scene.history] == ["one", "two"]
    assert [turn.emotion for turn in sample.scene.history] == [None, None]
    assert (sample.scene.responder, sample.scene.labels, sample.dropped) == ("Ben", LABELS, ())
    assert "hidden" not in repr(sample.scene)
    assert "film.mp4" not in repr(sample.scene)
    assert (sample.id, sample.dialogue_id) == ("d/3", "d")


@pytest.mark.parametrize(
    ("clip", "shown"),
    [
        (Clip(FILM, 0.0, 3.0), Clip(FILM, 0.0, 3.0)),
        (Clip(FILM, 4.0, 7.0), Clip(FILM, 4.0, 6.0)),
        (Clip(FILM, 4.0), Clip(FILM, 4.0, 6.0)),
        (Clip(FILM), Clip(FILM, None, 6.0)),
        (Clip(FILM, 6.0, 7.0), None),
        (Clip(OTHER, 4.0, 7.0), Clip(OTHER, 4.0, 7.0)),
    ],
)
def test_a_clip_of_the_targets_file_ends_where_the_target_starts(clip: Clip, shown: Clip | None) -> None:
    assert cut_clip(Turn("Ana", "one", None, clip)) == (shown, () if shown else (1,))


@pytest.mark.parametrize(
    ("start", "end", "shown"),
    [
        (95.0, 99.0, Clip(OTHER, None, 5.0)),  # the file may be longer than the turn
        (95.0, None, Clip(OTHER, None, 5.0)),
        (100.0, 104.0, None),
        (None, None, Clip(OTHER)),
    ],
)
def test_a_clip_on_the_same_clock_ends_where_the_target_starts(
    start: float | None, end: float | None, shown: Clip | None
) -> None:
    gold = Turn("Ben", "hidden", "joy", Clip(FILM), start=100.0, end=103.0)
    assert cut_clip(Turn("Ana", "one", None, Clip(OTHER), start, end), gold) == (shown, () if shown else (1,))


@pytest.mark.parametrize(
    ("clips", "shown"),
    [
        ([Clip(FILM, 0.0), Clip(FILM, 4.0)], [Clip(FILM, 0.0, 4.0), None]),
        ([Clip(FILM), Clip(FILM, 4.0, 5.0)], [Clip(FILM, None, 4.0), Clip(FILM, 4.0, 5.0)]),
        ([Clip(FILM), Clip(FILM)], [None, None]),
        ([Clip(FILM), Clip(OTHER)], [Clip(FILM), Clip(OTHER)]),
        ([Clip(FILM, 3.0)], [None]),
    ],
)
def test_a_clip_without_an_end_is_dropped_if_the_target_may_follow_in_its_file(
    clips: list[Clip], shown: list[Clip | None]
) -> None:
    history = tuple(Turn("Ana", "one", None, clip) for clip in clips)
    sample = cut_sample(Dialogue("d", (*history, Turn("Ben", "hidden"))), len(clips), LABELS)
    assert [turn.clip for turn in sample.scene.history] == shown


def test_a_clip_ends_with_its_turn_if_the_target_has_no_time() -> None:
    turn = Turn("Ana", "one", None, Clip(OTHER), 10.0, 12.0)
    assert cut_clip(turn, Turn("Ben", "hidden")) == (Clip(OTHER, None, 2.0), ())


SECONDS = st.one_of(st.none(), st.floats(0, 20))


@st.composite
def turns(draw: st.DrawFn) -> Turn:
    start, length = draw(SECONDS), draw(st.one_of(st.none(), st.floats(0.1, 5)))
    end = (start or 0.0) + length if length else None
    clip = draw(st.one_of(st.none(), st.just(Clip(FILM, start, end)), st.just(Clip(OTHER, start, end))))
    clock = draw(SECONDS)
    return Turn(draw(st.sampled_from("ab")), "words", "joy", clip, clock, clock + 2 if clock is not None else None)


@given(st.lists(turns(), min_size=2, max_size=6), st.data())
@settings(max_examples=50)
def test_no_clip_of_the_history_reaches_into_the_target(all_turns: list[Turn], data: st.DataObject) -> None:
    target = data.draw(st.integers(1, len(all_turns) - 1))
    sample = cut_sample(Dialogue("d", tuple(all_turns)), target, LABELS)
    gold = all_turns[target]
    for number, (turn, shown) in enumerate(zip(all_turns[:target], sample.scene.history, strict=True), start=1):
        assert (number in sample.dropped) == (turn.clip is not None and shown.clip is None)
        assert shown.emotion is None
        clip = shown.clip
        if clip is None or turn.clip is None:
            continue
        assert (clip.path, clip.start) == (turn.clip.path, turn.clip.start)
        assert clip.end is None or clip.end > (clip.start or 0.0)
        assert turn.clip.end is None or (clip.end is not None and clip.end <= turn.clip.end)
        if gold.clip and gold.clip.path == clip.path:
            assert gold.clip.start is not None
            assert clip.end is not None
            assert clip.end <= gold.clip.start
        if turn.start is not None and gold.start is not None and turn.end and turn.end > gold.start:
            assert clip.end is not None
            assert turn.start + clip.end - (clip.start or 0.0) <= gold.start + 1e-9

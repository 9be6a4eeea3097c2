"""Protocols: the selected targets, the reasons for skipped turns, and the description."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmerg.corpora.dialogue import Corpus, Dialogue, Sample, Turn
from mmerg.corpora.protocols import Selection, choose_samples, describe, select
from mmerg.errors import ConfigError
from mmerg.settings.model import ProtocolSettings
from tests.configs import build_protocol

LABELS = ("neutral", "joy", "anger")


def talk(name: str, *emotions: str | None, **more: Any) -> Dialogue:
    """A dialogue with a turn for each emotion, by Ana and Ben in turn."""
    turns = tuple(
        Turn("Ana" if index % 2 == 0 else "Ben", f"words {index + 1}", emotion)
        for index, emotion in enumerate(emotions)
    )
    return Dialogue(name, turns, **more)


def corpus(*dialogues: Dialogue) -> Corpus:
    return Corpus("made", "all", LABELS, dialogues, "f")


def sample_ids(selection: Selection) -> list[str]:
    return [sample.id for sample in selection.samples]


FOUR = talk("four", "joy", "neutral", None, "anger")
THREE = talk("three", "neutral", "joy", None)
ONE = talk("one", "joy")
OPEN = talk("open", "joy", "anger", respond_as="Ana")
SOME = corpus(FOUR, THREE, ONE, OPEN)


@pytest.mark.parametrize(
    ("rules", "selected", "skipped"),
    [
        (build_protocol(), ["four/4", "three/3", "open/3"], {"dialogues without a history": 1}),
        (
            build_protocol("all"),
            ["four/2", "four/3", "four/4", "three/2", "three/3", "open/2", "open/3"],
            {"dialogues without a history": 1},
        ),
        (
            build_protocol("labelled"),
            ["four/2", "four/4", "three/2", "open/2"],
            {"dialogues without a history": 1},
        ),
        (
            build_protocol("labelled", max_per_dialogue=1),
            ["four/4", "three/2", "open/2"],
            {"dialogues without a history": 1, "targets over max_per_dialogue": 1},
        ),
        (
            build_protocol("all", emotions="nonneutral"),
            ["four/4", "three/2", "open/2"],
            {"dialogues without a history": 1, "targets with other emotions": 4},
        ),
        (
            build_protocol("all", emotions=["joy", "anger"], max_per_dialogue=1),
            ["four/4", "three/2", "open/2"],
            {"dialogues without a history": 1, "targets with other emotions": 4},
        ),
    ],
)
def test_the_selected_targets(rules: ProtocolSettings, selected: list[str], skipped: dict[str, int]) -> None:
    selection = select(SOME, rules)
    assert sample_ids(selection) == selected
    assert selection.skipped == skipped


def test_a_dialogue_without_labels_has_no_labelled_target() -> None:
    selection = select(corpus(talk("d", None, None), talk("e", "joy", None, None)), build_protocol("labelled"))
    assert sample_ids(selection) == []
    assert selection.skipped == {"dialogues without a target": 2}


@pytest.mark.parametrize(
    ("targets", "selected", "without"),
    [
        ("last", ["even/4"], 2),
        ("all", ["even/2", "even/4", "odd/2"], 1),
        ("labelled", ["even/2", "even/4", "odd/2"], 1),
    ],
)
def test_only_responders_turns_are_targets(targets: Any, selected: list[str], without: int) -> None:
    even = talk("even", *["joy"] * 4, responders=("Ben",))
    odd = talk("odd", *["joy"] * 3, responders=("Ben",))
    nobody = talk("nobody", *["joy"] * 3, responders=("Cem",))
    selection = select(corpus(even, odd, nobody), build_protocol(targets))
    assert sample_ids(selection) == selected
    assert selection.skipped == {"dialogues without a target": without}


@pytest.mark.parametrize(("history", "shown"), [(None, 3), (1, 1), (9, 3)])
def test_history_limits_the_shown_turns(history: int | None, shown: int) -> None:
    (sample,) = select(corpus(FOUR), build_protocol(history=history)).samples
    assert [turn.text for turn in sample.scene.history] == [f"words {number}" for number in (1, 2, 3)][-shown:]
    assert sample.id == "four/4"


def test_drawn_samples_keep_the_order_and_depend_on_the_seed() -> None:
    many = corpus(*(talk(f"d{number}", "joy", "anger") for number in range(60)))
    order = sample_ids(select(many, build_protocol()))
    drawn = [sample_ids(select(many, build_protocol(sample=20, seed=seed))) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    for draw in drawn:
        assert len(draw) == 20
        assert draw == sorted(draw, key=order.index)
    assert select(many, build_protocol(sample=20)).skipped == {"targets not sampled": 40}


@pytest.mark.parametrize(
    ("rules", "description"),
    [
        (build_protocol(), "targets=last emotions=all, n=3, 1 dialogues without a history"),
        (
            build_protocol("all", ["joy", "anger"], max_per_dialogue=1, sample=2, seed=7, history=4),
            "targets=all emotions=joy+anger max_per_dialogue=1 sample=2 history=4 seed=7, n=2, "
            "1 dialogues without a history, 4 targets with other emotions, 1 targets not sampled",
        ),
    ],
)
def test_the_description_lists_the_settings_and_n(rules: ProtocolSettings, description: str) -> None:
    assert describe(rules, select(SOME, rules)) == description


@pytest.mark.parametrize(
    ("emotions", "labels", "what"),
    [
        (["joy", "hope", "awe"], LABELS, "hope, awe is not an emotion of made"),
        ("nonneutral", ("neu", "joy", "anger"), "neutral is not an emotion of made"),
    ],
)
def test_unknown_emotions_are_refused(emotions: Any, labels: tuple[str, ...], what: str) -> None:
    with pytest.raises(ConfigError) as caught:
        select(replace(SOME, labels=labels), build_protocol(emotions=emotions))
    assert (caught.value.what, caught.value.where) == (what, "protocol.emotions")
    assert ", ".join(labels) in caught.value.hint


def make_samples(count: int) -> list[Sample]:
    return list(
        select(corpus(*(talk(f"d{number}", "joy", "joy") for number in range(count))), build_protocol()).samples
    )


@pytest.mark.parametrize(
    ("ids", "limit", "chosen"),
    [
        (None, None, ["d0/2", "d1/2", "d2/2", "d3/2"]),
        (None, 2, ["d0/2", "d1/2"]),
        (["d3/2", "d1/2", "d3/2"], None, ["d1/2", "d3/2"]),
        (["d3/2", "d1/2"], 1, ["d1/2"]),
        ([], None, []),
    ],
)
def test_chosen_samples_keep_the_order_of_the_corpus(
    ids: list[str] | None, limit: int | None, chosen: list[str]
) -> None:
    assert [sample.id for sample in choose_samples(make_samples(4), ids, limit)] == chosen


def test_the_error_of_unknown_ids_shows_some_that_exist() -> None:
    with pytest.raises(ConfigError, match=r"no sample is called d0, e/2") as caught:
        choose_samples(make_samples(9), ["e/2", "d1/2", "d0"], 1)
    assert caught.value.hint == "ids look like d0/2, d1/2, d2/2"


EMOTION = st.sampled_from([*LABELS, None])
SPEAKER = st.sampled_from(["Ana", "Ben", "Cem"])


@st.composite
def corpora(draw: st.DrawFn) -> Corpus:
    dialogues = []
    for number in range(draw(st.integers(0, 5))):
        turns = draw(st.lists(st.builds(Turn, SPEAKER, st.just("words"), EMOTION), max_size=5))
        respond_as = draw(st.none() | SPEAKER)
        responders = tuple(draw(st.lists(SPEAKER, max_size=2, unique=True)))
        dialogues.append(Dialogue(f"d{number}", tuple(turns), respond_as, responders))
    return corpus(*dialogues)


def limits(most: int) -> st.SearchStrategy[int | None]:
    return st.none() | st.integers(1, most)


PROTOCOLS = st.builds(
    ProtocolSettings,
    targets=st.sampled_from(["last", "all", "labelled"]),
    emotions=st.one_of(st.sampled_from(["all", "nonneutral"]), st.lists(st.sampled_from(LABELS), min_size=1)),
    max_per_dialogue=limits(3),
    sample=limits(8),
    seed=st.integers(0, 3),
    history=limits(3),
)


@given(corpora(), PROTOCOLS)
@settings(max_examples=30)
def test_every_target_is_allowed_by_the_protocol(any_corpus: Corpus, rules: ProtocolSettings) -> None:
    by_id = {dialogue.id: dialogue for dialogue in any_corpus.dialogues}
    selection = select(any_corpus, rules)
    assert select(any_corpus, rules) == selection
    places = []
    for sample in selection.samples:
        dialogue, target = by_id[sample.dialogue_id], int(sample.id.rpartition("/")[2]) - 1
        places.append((any_corpus.dialogues.index(dialogue), target))
        assert 1 <= target <= len(dialogue.turns)
        assert sample.target == (dialogue.turns[target] if target < len(dialogue.turns) else None)
        emotion = sample.target.emotion if sample.target else None
        if target == len(dialogue.turns):
            assert sample.scene.responder == dialogue.respond_as
        assert not dialogue.responders or sample.scene.responder in dialogue.responders
        assert rules.targets != "labelled" or emotion
        assert rules.targets != "last" or target == len(dialogue.turns) - (dialogue.respond_as is None)
        assert rules.emotions != "nonneutral" or emotion in {"joy", "anger"}
        assert isinstance(rules.emotions, str) or emotion in rules.emotions
        assert len(sample.scene.history) == min(target, rules.history or target)
        assert all(turn.emotion is None for turn in sample.scene.history)
    assert places == sorted(set(places))
    assert len(places) <= (rules.sample or len(places))
    per_dialogue = Counter(position for position, _ in places)
    assert all(count <= (rules.max_per_dialogue or count) for count in per_dialogue.values())

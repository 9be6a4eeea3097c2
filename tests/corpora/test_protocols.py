"""Protocols: which turns are targets, what is left out and why, and the description."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmerg.corpora.dialogue import Corpus, Dialogue, Sample, Turn
from mmerg.corpora.protocols import Selection, chosen, describe, select
from mmerg.errors import ConfigError
from mmerg.settings.model import ProtocolSettings
from tests.composed import protocol

LABELS = ("neutral", "joy", "anger")


def talk(name: str, *emotions: str | None, **more: Any) -> Dialogue:
    """A dialogue of Ana and Ben in turn, Ana first, a turn for each emotion."""
    turns = tuple(Turn("Ana" if at % 2 == 0 else "Ben", f"words {at + 1}", one) for at, one in enumerate(emotions))
    return Dialogue(name, turns, **more)


def corpus(*dialogues: Dialogue) -> Corpus:
    return Corpus("made", "all", LABELS, dialogues, "f")


def ids(selection: Selection) -> list[str]:
    return [sample.id for sample in selection.samples]


FOUR = talk("four", "joy", "neutral", None, "anger")
THREE = talk("three", "neutral", "joy", None)
ONE = talk("one", "joy")
ASKED = talk("asked", "joy", "anger", respond_as="Ana")
SOME = corpus(FOUR, THREE, ONE, ASKED)


@pytest.mark.parametrize(
    ("asked", "taken", "left_out"),
    [
        (protocol(), ["four/4", "three/3", "asked/3"], {"dialogues without a history": 1}),
        (
            protocol("all"),
            ["four/2", "four/3", "four/4", "three/2", "three/3", "asked/2", "asked/3"],
            {"dialogues without a history": 1},
        ),
        (
            protocol("labelled"),
            ["four/2", "four/4", "three/2", "asked/2"],
            {"dialogues without a history": 1},
        ),
        (
            protocol("labelled", max_per_dialogue=1),
            ["four/4", "three/2", "asked/2"],
            {"dialogues without a history": 1, "targets over max_per_dialogue": 1},
        ),
        (
            protocol("all", emotions="nonneutral"),
            ["four/4", "three/2", "asked/2"],
            {"dialogues without a history": 1, "targets with other emotions": 4},
        ),
        (
            protocol("all", emotions=["joy", "anger"], max_per_dialogue=1),
            ["four/4", "three/2", "asked/2"],
            {"dialogues without a history": 1, "targets with other emotions": 4},
        ),
    ],
)
def test_what_is_taken(asked: ProtocolSettings, taken: list[str], left_out: dict[str, int]) -> None:
    selection = select(SOME, asked)
    assert ids(selection) == taken
    assert selection.left_out == left_out


def test_a_dialogue_whose_turns_carry_no_label_has_no_target() -> None:
    selection = select(corpus(talk("d", None, None), talk("e", "joy", None, None)), protocol("labelled"))
    assert ids(selection) == []
    assert selection.left_out == {"dialogues without a target": 2}


@pytest.mark.parametrize(
    ("targets", "taken", "without"),
    [
        ("last", ["even/4"], 2),
        ("all", ["even/2", "even/4", "odd/2"], 1),
        ("labelled", ["even/2", "even/4", "odd/2"], 1),
    ],
)
def test_only_responders_turns_are_targets(targets: Any, taken: list[str], without: int) -> None:
    even = talk("even", *["joy"] * 4, responders=("Ben",))
    odd = talk("odd", *["joy"] * 3, responders=("Ben",))
    nobody = talk("nobody", *["joy"] * 3, responders=("Cem",))
    selection = select(corpus(even, odd, nobody), protocol(targets))
    assert ids(selection) == taken
    assert selection.left_out == {"dialogues without a target": without}


@pytest.mark.parametrize(("history", "shown"), [(None, 3), (1, 1), (9, 3)])
def test_so_many_turns_are_shown(history: int | None, shown: int) -> None:
    (sample,) = select(corpus(FOUR), protocol(history=history)).samples
    assert [turn.text for turn in sample.scene.history] == [f"words {at}" for at in (1, 2, 3)][-shown:]
    assert sample.id == "four/4"


def test_a_draw_keeps_the_order_and_follows_the_seed() -> None:
    many = corpus(*(talk(f"d{number}", "joy", "anger") for number in range(60)))
    order = ids(select(many, protocol()))
    drawn = [ids(select(many, protocol(sample=20, seed=seed))) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    for taken in drawn:
        assert len(taken) == 20
        assert taken == sorted(taken, key=order.index)
    assert select(many, protocol(sample=20)).left_out == {"targets not drawn": 40}


@pytest.mark.parametrize(
    ("asked", "description"),
    [
        (protocol(), "targets=last emotions=all, n=3, 1 dialogues without a history"),
        (
            protocol("all", ["joy", "anger"], max_per_dialogue=1, sample=2, seed=7, history=4),
            "targets=all emotions=joy+anger max_per_dialogue=1 sample=2 history=4 seed=7, n=2, "
            "1 dialogues without a history, 4 targets with other emotions, 1 targets not drawn",
        ),
    ],
)
def test_the_description_names_the_settings_and_n(asked: ProtocolSettings, description: str) -> None:
    assert describe(asked, select(SOME, asked)) == description


@pytest.mark.parametrize(
    ("emotions", "labels", "what"),
    [
        (["joy", "hope", "awe"], LABELS, "hope, awe is not an emotion of made"),
        ("nonneutral", ("neu", "joy", "anger"), "neutral is not an emotion of made"),
    ],
)
def test_emotions_that_the_corpus_does_not_have(emotions: Any, labels: tuple[str, ...], what: str) -> None:
    with pytest.raises(ConfigError) as caught:
        select(replace(SOME, labels=labels), protocol(emotions=emotions))
    assert (caught.value.what, caught.value.where) == (what, "protocol.emotions")
    assert ", ".join(labels) in caught.value.hint


def samples_of(count: int) -> list[Sample]:
    return list(select(corpus(*(talk(f"d{number}", "joy", "joy") for number in range(count))), protocol()).samples)


@pytest.mark.parametrize(
    ("asked", "limit", "left"),
    [
        (None, None, ["d0/2", "d1/2", "d2/2", "d3/2"]),
        (None, 2, ["d0/2", "d1/2"]),
        (["d3/2", "d1/2", "d3/2"], None, ["d1/2", "d3/2"]),
        (["d3/2", "d1/2"], 1, ["d1/2"]),
        ([], None, []),
    ],
)
def test_chosen_keeps_the_order_of_the_corpus(asked: list[str] | None, limit: int | None, left: list[str]) -> None:
    assert [sample.id for sample in chosen(samples_of(4), asked, limit)] == left


def test_unknown_ids_are_named_with_some_that_there_are() -> None:
    with pytest.raises(ConfigError, match=r"no sample is called d0, e/2") as caught:
        chosen(samples_of(9), ["e/2", "d1/2", "d0"], 1)
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
def test_every_target_is_one_that_the_protocol_allows(made: Corpus, asked: ProtocolSettings) -> None:
    by_id = {dialogue.id: dialogue for dialogue in made.dialogues}
    selection = select(made, asked)
    assert select(made, asked) == selection
    places = []
    for sample in selection.samples:
        dialogue, target = by_id[sample.dialogue_id], int(sample.id.rpartition("/")[2]) - 1
        places.append((made.dialogues.index(dialogue), target))
        assert 1 <= target <= len(dialogue.turns)
        assert sample.target == (dialogue.turns[target] if target < len(dialogue.turns) else None)
        emotion = sample.target.emotion if sample.target else None
        if target == len(dialogue.turns):
            assert sample.scene.responder == dialogue.respond_as
        assert not dialogue.responders or sample.scene.responder in dialogue.responders
        assert asked.targets != "labelled" or emotion
        assert asked.targets != "last" or target == len(dialogue.turns) - (dialogue.respond_as is None)
        assert asked.emotions != "nonneutral" or emotion in {"joy", "anger"}
        assert isinstance(asked.emotions, str) or emotion in asked.emotions
        assert len(sample.scene.history) == min(target, asked.history or target)
        assert all(turn.emotion is None for turn in sample.scene.history)
    assert places == sorted(set(places))
    assert len(places) <= (asked.sample or len(places))
    each = Counter(place for place, _ in places)
    assert all(count <= (asked.max_per_dialogue or count) for count in each.values())

"""What `clean` removes from a reply, and what remains."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmerg.engine.clean import clean

NAMES = ("Rachel", "Dr. Green", "Ana", "Ana María", "李四", "")
NAME, QUOTES, DIRECTIONS = "name", "quotation marks", "stage directions"


@pytest.mark.parametrize(
    ("raw", "spoken", "removed"),
    [
        ('Rachel: "Oh my God!" *laughs*', "Oh my God!", {DIRECTIONS, NAME, QUOTES}),
        ("rachel : No.", "No.", {NAME}),
        ("4. **Rachel:** Hi.", "Hi.", {NAME}),
        ("Rachel Green: Hi.", "Hi.", {NAME}),
        ("Dr. Green: Fine.", "Fine.", {NAME}),
        ("Ana María (sighs): Fine.", "Fine.", {NAME}),
        ("Rachel: Rachel: Hi.", "Hi.", {NAME}),
        ("“It’s fine.”", "It’s fine.", {QUOTES}),
        ("‘I’m fine.’", "I’m fine.", {QUOTES}),
        ("'I'm fine.'", "I'm fine.", {QUOTES}),
        ("„Na gut.“", "Na gut.", {QUOTES}),
        ("«Bon.»", "Bon.", {QUOTES}),
        ('"?!"', "?!", {QUOTES}),
        ("(Softly) Hey. You okay?", "Hey. You okay?", {DIRECTIONS}),
        ("Oh no. *sighs* I'm sorry. (pauses)", "Oh no. I'm sorry.", {DIRECTIONS}),
        ("*sighs* *laughs* Hi.", "Hi.", {DIRECTIONS}),
        ("I [sighs], no.", "I, no.", {DIRECTIONS}),
        ("[LAUGHTER], well.", "well.", {DIRECTIONS}),
        ("Well. [smiles](waves)", "Well.", {DIRECTIONS}),
        ("[nods] Try [this](https://example.org).", "Try [this](https://example.org).", {DIRECTIONS}),
        ("*laughs*.", "", {DIRECTIONS}),
        ('Rachel: ""', "", {NAME, QUOTES}),
        ("[nods]", "", {DIRECTIONS}),
        ("李四（叹气）：「我很抱歉。」", "我很抱歉。", {NAME, QUOTES}),
        ("【微笑】别怕，我在这里。（轻声）", "别怕，我在这里。", {DIRECTIONS}),
        ("我在。（叹气）别怕！", "我在。别怕！", {DIRECTIONS}),
        ("〔ため息〕｢つらいね｡｣", "つらいね｡", {DIRECTIONS, QUOTES}),
        ("كيف حالك؟ (يتنهد)", "كيف حالك؟", {DIRECTIONS}),
        ("मुझे दुख है। (आह)", "मुझे दुख है।", {DIRECTIONS}),
        ("『大丈夫ですか？』", "大丈夫ですか？", {QUOTES}),
    ],
)
def test_names_quotation_marks_and_directions_are_removed(raw: str, spoken: str, removed: set[str]) -> None:
    rest, kinds = clean(raw, NAMES)
    assert (rest, set(kinds), len(kinds)) == (spoken, removed, len(removed))


@pytest.mark.parametrize(
    "words",
    [
        "Oh no.",
        "?!",
        "Rachel, can you?",
        "Joey: he is no one here.",
        "Anabel: nor is she.",
        "I said Rachel: no.",
        "Rachel said: no.",
        '"I know," she said, "but no."',
        'He said "no"',
        '"Unclosed',
        "'Cause I'm nothin'",
        "the boys' and the girls'",
        "I *really* mean it.",
        "*You* did that.",
        "No, *you*.",
        "**Never** again.",
        "I know (the old one) now.",
        "(I was there, too.) It hurts.",
        "2 * 3 * 4",
        "Call [the helpline](https://example.org/help) now.",
        "[Here](http://example.org).",
        '"',
        "",
    ],
)
def test_spoken_words_remain(words: str) -> None:
    assert clean(words, NAMES) == (words, ())


@pytest.mark.parametrize(
    "raw",
    ['Ana looks away, worried. "No. Not now."', "Ana smiles: “No. Not now.”", 'Ana: Ana says, "No. Not now."'],
)
def test_narration_about_the_responder_is_removed(raw: str) -> None:
    rest, removed = clean(raw, NAMES, "Ana")
    assert rest == "No. Not now."
    assert {DIRECTIONS, QUOTES} <= set(removed)


@pytest.mark.parametrize(
    "words", ['Rachel said, "No."', 'Ana is "fine"', 'Ana left. "No." She did.', 'Anabel nods. "No."', "Ana nods."]
)
def test_words_of_the_responder_remain(words: str) -> None:
    assert clean(words, NAMES, "Ana") == (words, ())


@given(st.text(st.sampled_from("Ana:. \"'“”()[]*!?\nx"), max_size=40))
def test_cleaning_is_idempotent(raw: str) -> None:
    rest, removed = clean(raw, NAMES)
    assert clean(rest, NAMES) == (rest, ())
    assert len(rest) <= len(raw)
    assert bool(removed) == (rest != raw.strip())

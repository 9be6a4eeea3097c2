"""Word by word, what changed: nothing is lost, and crumbs do not stand alone."""

from hypothesis import given
from hypothesis import strategies as st

from mmerg.reporting.diff import LONG, Span, diff, plain, rewritten

TEXTS = st.text(alphabet="ab ,.\n\u00e9", max_size=60)


def told(spans: tuple[Span, ...], *kinds: str) -> str:
    return "".join(span.text for span in spans if span.kind in kinds)


def test_a_word_that_was_put_in_is_marked() -> None:
    assert diff("It is quite fine now.", "It is not quite fine now.") == (
        Span("same", "It is "),
        Span("ins", "not"),
        Span("same", " "),
        Span("same", "quite fine now."),
    )


def test_a_word_that_was_taken_out_stays_apart_from_the_next() -> None:
    spans = diff("It is not quite fine now.", "It is quite fine now.")
    assert [(span.kind, span.text) for span in spans] == [
        ("same", "It is "),
        ("del", "not"),
        ("del", " "),
        ("same", "quite fine now."),
    ]


def test_what_was_replaced_stands_before_what_came() -> None:
    assert diff("joy", "sadness") == (Span("del", "joy"), Span("ins", "sadness"))


def test_white_space_does_not_count() -> None:
    assert diff("one  two\nthree", "one two three") == plain("one two three")
    assert {span.kind for span in diff("one two", "  one two\n")} == {"same"}
    assert {span.kind for span in diff("one two  ", "one two")} == {"same"}


def test_texts_that_share_little_stand_before_and_after() -> None:
    old, new = "That is fine then, let us go and eat.", "That must hurt. Do you want to talk about it?"
    assert rewritten(diff(old, new))
    assert diff(old, new) == (Span("del", old), Span("ins", new))
    assert not rewritten(diff("one two three four five", "one two three six seven"))
    assert not rewritten(diff("joy", "sadness"))  # labels stay on one line


def test_one_shared_word_between_changes_counts_as_changed() -> None:
    spans = diff("alpha beta it gamma delta", "one two it three four")
    assert spans == (Span("del", "alpha beta it gamma delta"), Span("ins", "one two it three four"))


@given(TEXTS, TEXTS)
def test_both_texts_can_be_read_back(old: str, new: str) -> None:
    spans = diff(old, new)
    assert told(spans, "same", "ins") == new
    assert "".join(told(spans, "same", "del").split()) == "".join(old.split())
    assert all(span.text for span in spans)
    for span in spans:
        assert span.kind == "same" or span.text == span.text.strip() or (span.kind == "del" and not span.text.strip())
    assert (old.split() == new.split()) <= all(span.kind == "same" for span in spans)


def test_a_very_long_text_is_replaced_as_a_whole() -> None:
    old, new = "a b " * LONG + "a", "c b " * LONG + "c"
    assert diff(old, new) == (Span("del", old), Span("ins", new))
    assert diff("", "") == ()

"""Events as lines of text."""

from mmerg.reporting.story import lines
from mmerg.runs import events


def test_what_a_source_of_the_users_gives_is_shown_field_by_field() -> None:
    item = {"text": "a fact", "similarity": 0.5}
    event = events.Supplied(sample="a/1", t=0, stage="one", symbol="N", content=(item,))
    assert [line.strip() for line in lines(event, prompts=False)] == [
        "N, supplied to one:",
        "text: a fact",
        "similarity: 0.5",
    ]

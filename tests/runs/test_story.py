"""The trace of a sample, by pass."""

from mmerg.runs.story import Story
from tests.reporting.parts import Told, events_of


def test_a_pass_keeps_the_outputs_of_earlier_stages() -> None:
    story = Story(events_of(Told("a", ("1011", "1101", "1111"))))
    assert [[(symbol, output.t) for symbol, output in this.outputs.items()] for this in story.passes.values()] == [
        [("E", 0), ("e", 0), ("P", 0), ("R", 0)],
        [("E", 0), ("e", 1), ("P", 1), ("R", 1)],
        [("E", 0), ("e", 1), ("P", 2), ("R", 2)],
    ]
    assert [[output.stage for output in this.made] for this in story.passes.values()] == [
        ["mpa", "caef", "psp", "sgrg"],
        ["caef", "psp", "sgrg"],
        ["psp", "sgrg"],
    ]
    assert [story.status(this) for this in story.passes.values()] == ["audited"] * 3


def test_a_live_story_may_be_unfinished() -> None:
    *trace, selected, done = events_of(Told("a", ("1101", "x")))
    story = Story()
    for event in trace:
        story.add(event)
    assert [story.status(this) for this in story.passes.values()] == ["audited", "unaudited"]
    assert story.why == ""
    story.add(selected)
    story.add(done)
    assert story.why.startswith("Pass 0 is the only one audited: psp failed")
    assert story.calls == Story(events_of(Told("a", ("1101", "x")))).calls

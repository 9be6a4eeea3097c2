"""The trace of a sample, by pass."""

from mmerg.runs.trace import SampleTrace
from tests.reporting.parts import SampleSpec, make_events


def test_a_pass_keeps_the_outputs_of_earlier_stages() -> None:
    trace = SampleTrace(make_events(SampleSpec("a", ("1011", "1101", "1111"))))
    assert [[(symbol, output.t) for symbol, output in this.outputs.items()] for this in trace.passes.values()] == [
        [("E", 0), ("e", 0), ("P", 0), ("R", 0)],
        [("E", 0), ("e", 1), ("P", 1), ("R", 1)],
        [("E", 0), ("e", 1), ("P", 2), ("R", 2)],
    ]
    assert [[output.stage for output in this.made] for this in trace.passes.values()] == [
        ["mpa", "caef", "psp", "sgrg"],
        ["caef", "psp", "sgrg"],
        ["psp", "sgrg"],
    ]
    assert [trace.status(this) for this in trace.passes.values()] == ["audited"] * 3


def test_a_live_story_may_be_unfinished() -> None:
    *earlier, selected, done = make_events(SampleSpec("a", ("1101", "x")))
    trace = SampleTrace()
    for event in earlier:
        trace.add(event)
    assert [trace.status(this) for this in trace.passes.values()] == ["audited", "unaudited"]
    assert trace.why == ""
    trace.add(selected)
    trace.add(done)
    assert trace.why.startswith("Pass 0 is the only one audited: psp failed")
    assert trace.calls == SampleTrace(make_events(SampleSpec("a", ("1101", "x")))).calls

"""Outputs as fields: evidence cites turns and frames, and changes are marked."""

from mmerg.reporting.changes import (
    OutputField,
    OutputLine,
    Span,
    as_unchanged,
    compare_fields,
    diff,
    is_rewritten,
)


def test_changed_words_are_marked() -> None:
    assert diff("It is fine.", "It is not fine.") == (
        *(Span("same", "It is "), Span("ins", "not "), Span("same", "fine.")),
    )
    assert diff("It is not quite fine now.", "It is quite fine now.") == (
        *(Span("same", "It is "), Span("del", "not "), Span("same", "quite fine now.")),
    )
    assert diff("joy", "sadness") == (Span("del", "joy"), Span("ins", "sadness"))


def test_texts_that_share_few_words_are_replaced_as_a_whole() -> None:
    old, new = "That is fine then, let us go and eat.", "That must hurt. Do you want to talk about it?"
    assert is_rewritten(diff(old, new))
    assert diff(old, new) == (Span("del", old), Span("ins", new))
    assert not is_rewritten(diff("one two three four five", "one two three six seven"))
    assert not is_rewritten(diff("joy", "sadness"))  # labels stay on one line


def test_evidence_cites_a_turn_or_a_frame() -> None:
    cues = {"textual_cues": [{"turn": 3, "cue": "fine"}], "visual_cues": [{"frame": 2, "cue": "sad"}]}
    assert compare_fields(cues) == (
        OutputField("textual_cues", (OutputLine(as_unchanged("fine"), turn=3),), many=True),
        OutputField("visual_cues", (OutputLine(as_unchanged("sad"), frame=2),), many=True),
    )
    [field] = compare_fields({"cues": [{"turn": True, "cue": "a"}, {"turn": "3", "cue": "b"}, "c"]})
    assert [(line.turn, line.text) for line in field.lines] == [
        *((None, "turn: yes · cue: a"), (None, "turn: 3 · cue: b"), (None, "c")),
    ]


def test_changes_since_the_previous_pass() -> None:
    [visual, emotion] = compare_fields({"visual": "sad", "emotion": "joy"}, {"visual": "sad", "emotion": "anger"})
    assert (visual.changed, emotion.changed, emotion.text) == (False, True, "joy")
    [removed] = compare_fields({"note": ""}, {"note": "hurry"})
    assert removed.lines == (OutputLine((Span("del", "hurry"),)),)
    old = {"cues": [{"turn": 1, "cue": "a"}, {"turn": 2, "cue": "b"}, {"turn": 3, "cue": "c"}]}
    [field] = compare_fields({"cues": [{"turn": 1, "cue": "a"}, {"turn": 3, "cue": "c"}, {"turn": 4, "cue": "d"}]}, old)
    assert [(line.turn, [tuple(span) for span in line.spans]) for line in field.lines] == [
        (1, [("same", "a")]),
        (2, [("del", "b")]),
        (3, [("same", "c")]),
        (4, [("ins", "d")]),
    ]
    assert [(field.name, field.changed) for field in compare_fields("words", {"a": "b"})] == [("", True), ("a", True)]

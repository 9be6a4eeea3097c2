"""Any output as fields: evidence points to turns and frames, and what changed is marked."""

from mmerg.reporting.changes import LONG, Field, Line, Span, diff, fields, plain, rewritten


def test_words_that_changed_are_marked() -> None:
    assert diff("It is fine.", "It is not fine.") == (
        *(Span("same", "It is "), Span("ins", "not "), Span("same", "fine.")),
    )
    assert diff("It is not quite fine now.", "It is quite fine now.") == (
        *(Span("same", "It is "), Span("del", "not "), Span("same", "quite fine now.")),
    )
    assert diff("joy", "sadness") == (Span("del", "joy"), Span("ins", "sadness"))


def test_texts_that_share_little_stand_before_and_after() -> None:
    old, new = "That is fine then, let us go and eat.", "That must hurt. Do you want to talk about it?"
    assert rewritten(diff(old, new))
    assert diff(old, new) == (Span("del", old), Span("ins", new))
    assert not rewritten(diff("one two three four five", "one two three six seven"))
    assert not rewritten(diff("joy", "sadness"))  # labels stay on one line
    long, other = "a b " * LONG + "a", "c b " * LONG + "c"
    assert diff(long, other) == (Span("del", long), Span("ins", other))


def test_evidence_points_to_the_turn_or_the_frame_it_names() -> None:
    cues = {"textual_cues": [{"turn": 3, "cue": "fine"}], "visual_cues": [{"frame": 2, "cue": "sad"}]}
    assert fields(cues) == (
        Field("textual_cues", (Line(plain("fine"), turn=3),), many=True),
        Field("visual_cues", (Line(plain("sad"), frame=2),), many=True),
    )
    [field] = fields({"cues": [{"turn": True, "cue": "a"}, {"turn": "3", "cue": "b"}, "c"]})
    assert [(line.turn, line.text) for line in field.lines] == [
        *((None, "turn: yes · cue: a"), (None, "turn: 3 · cue: b"), (None, "c")),
    ]


def test_changes_since_the_pass_before() -> None:
    [same, emotion] = fields({"visual": "sad", "emotion": "joy"}, {"visual": "sad", "emotion": "anger"})
    assert (same.changed, emotion.changed, emotion.text) == (False, True, "joy")
    [gone] = fields({"note": ""}, {"note": "hurry"})
    assert gone.lines == (Line((Span("del", "hurry"),)),)
    old = {"cues": [{"turn": 1, "cue": "a"}, {"turn": 2, "cue": "b"}, {"turn": 3, "cue": "c"}]}
    [field] = fields({"cues": [{"turn": 1, "cue": "a"}, {"turn": 3, "cue": "c"}, {"turn": 4, "cue": "d"}]}, old)
    assert [(line.turn, [tuple(span) for span in line.words]) for line in field.lines] == [
        (1, [("same", "a")]),
        (2, [("del", "b")]),
        (3, [("same", "c")]),
        (4, [("ins", "d")]),
    ]
    assert [(field.name, field.changed) for field in fields("words", {"a": "b"})] == [("", True), ("a", True)]

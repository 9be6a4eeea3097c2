"""Any output as fields: evidence points to turns and frames, and what changed is marked."""

from mmerg.reporting.diff import Span
from mmerg.reporting.values import Field, Line, fields


def test_evidence_points_to_the_turn_or_the_frame_it_names() -> None:
    [textual, visual] = fields(
        {"textual_cues": [{"turn": 3, "cue": "fine"}], "visual_cues": [{"frame": 2, "cue": "sad"}]}
    )
    assert textual == Field("textual_cues", (Line((Span("same", "fine"),), turn=3),), many=True)
    assert visual.lines == (Line((Span("same", "sad"),), frame=2),)


def test_a_number_that_is_no_number_points_nowhere() -> None:
    [field] = fields({"cues": [{"turn": True, "cue": "a"}, {"turn": "3", "cue": "b"}, "c"]})
    assert [(line.turn, line.words[0].text) for line in field.lines] == [
        (None, "turn: yes · cue: a"),
        (None, "turn: 3 · cue: b"),
        (None, "c"),
    ]


def test_whatever_a_system_gives_can_be_read() -> None:
    found = fields({"score": 0.5, "ok": False, "tree": {"a": [1, {"b": 2}]}, "none": None, "empty": [], "list": ["x"]})
    assert [(field.name, field.text, field.many) for field in found] == [
        ("score", "0.5", False),
        ("ok", "no", False),
        ("tree", 'a: [1, {"b": 2}]', True),
        ("list", "x", True),
    ]
    assert fields("a reply")[0].text == "a reply"
    assert fields([1, 2])[0].many
    assert fields("") == fields({}) == ()


def test_changes_since_the_pass_before() -> None:
    [same, emotion] = fields({"visual": "sad", "emotion": "joy"}, {"visual": "sad", "emotion": "anger"})
    assert not same.changed
    assert emotion.changed
    assert emotion.text == "joy"
    [gone] = fields({"note": ""}, {"note": "hurry"})
    assert gone.lines == (Line((Span("del", "hurry"),)),)


def test_a_cue_that_went_and_one_that_came() -> None:
    old = {"cues": [{"turn": 1, "cue": "a"}, {"turn": 2, "cue": "b"}, {"turn": 3, "cue": "c"}]}
    [field] = fields({"cues": [{"turn": 1, "cue": "a"}, {"turn": 3, "cue": "c"}, {"turn": 4, "cue": "d"}]}, old)
    assert [(line.turn, [(span.kind, span.text) for span in line.words]) for line in field.lines] == [
        (1, [("same", "a")]),
        (2, [("del", "b")]),
        (3, [("same", "c")]),
        (4, [("ins", "d")]),
    ]


def test_a_text_where_a_record_was() -> None:
    found = fields("words", {"a": "b"})
    assert [(field.name, field.changed) for field in found] == [("", True), ("a", True)]

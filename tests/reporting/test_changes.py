"""Any output as fields: evidence points to turns and frames, and what changed is marked."""

from hypothesis import given
from hypothesis import strategies as st

from mmerg.reporting.changes import LONG, Field, Line, Span, diff, fields, plain, rewritten

WORDS = st.lists(st.sampled_from(["it", "is", "not", "fine", "quite", ".", ",", "\n", "  ", "Ärger", "'"]), max_size=20)
TEXTS = st.one_of(WORDS.map(" ".join), WORDS.map("".join), st.text(max_size=40))


def read(spans: tuple[Span, ...], *kinds: str) -> str:
    return "".join(span.text for span in spans if span.kind in kinds)


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


@given(TEXTS, TEXTS)
def test_both_texts_can_be_read_back(old: str, new: str) -> None:
    spans = diff(old, new)
    assert read(spans, "same", "ins") == new
    assert "".join(read(spans, "same", "del").split()) == "".join(old.split())
    assert all(span.text for span in spans)
    assert (old.split() == new.split()) <= all(span.kind == "same" for span in spans)


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

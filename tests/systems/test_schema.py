"""Schemas of calls: the server's grammar, the prompt's outline and the validation agree."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from mmerg.backends.dry import Dry
from mmerg.backends.protocol import Message, Request, Sampling
from mmerg.errors import CompletionError, ConfigError, Failure
from mmerg.systems.audit import make_audit_class
from mmerg.systems.merg import schemas
from mmerg.systems.merg.schemas import Evidence, Forecast, Plan
from mmerg.systems.parsing import parse_output
from mmerg.systems.schema import Bounds, build_json_schema, digest_schema, find_vocabularies
from mmerg.systems.trace.schemas import Cause
from tests.engine.parts import STAGES, as_text, audit, merg, to_class_names

BOUNDS = Bounds(
    frozenset("DV"),
    {**merg().vocabulary, "emotion": ("neutral", "joy", "sadness")},
    {"turn": range(1, 4), "frame": range(1, 3)},
)
BLIND = Bounds(frozenset("D"), BOUNDS.choices, {"turn": range(1, 4), "frame": range(1, 1)})


def get_schema(cls: type[BaseModel], bounds: Bounds) -> Any:
    """The schema in a request."""
    return json.loads(build_json_schema(cls, bounds).text)


def get_fields(cls: type[BaseModel], bounds: Bounds) -> dict[str, Any]:
    """The schema of each field, by class name."""
    fields = get_schema(cls, bounds)["properties"]
    return dict(zip(to_class_names(fields), fields.values(), strict=True))


@pytest.mark.parametrize("cls", [Evidence, Forecast, Plan, make_audit_class(STAGES)])
def test_every_field_is_required_in_class_order(cls: Any) -> None:
    schema = get_schema(cls, BOUNDS)
    assert schema["required"] == list(schema["properties"])
    assert list(get_fields(cls, BOUNDS)) == list(cls.model_fields)
    assert schema["additionalProperties"] is False
    text = json.dumps(schema)
    for word in ("$ref", "$defs", "anyOf", "x-", "default", "title"):
        assert word not in text
    jsonschema.Draft202012Validator.check_schema(schema)


def test_the_bounds_of_the_sample_are_in_the_schema() -> None:
    evidence = get_schema(Evidence, BOUNDS)["properties"]
    assert evidence["textual_cues"]["items"]["properties"]["a_turn"]["maximum"] == 3
    assert evidence["visual_cues"]["items"]["properties"]["a_frame"]["maximum"] == 2
    assert get_fields(Forecast, BOUNDS)["emotion"]["enum"] == ["neutral", "joy", "sadness"]


def test_fields_about_frames_are_requested_only_with_frames() -> None:
    assert list(get_schema(Evidence, BLIND)["properties"]) == ["textual_cues"]
    assert list(get_schema(Forecast, BLIND)["properties"]) == ["a_textual", "b_reasoning", "c_emotion"]
    assert "frame" not in build_json_schema(Forecast, BLIND).outline


def forecast(**changes: Any) -> str:
    base = {"textual": "a", "visual": "b", "consistency": "agree", "reasoning": "c", "emotion": "joy"}
    return json.dumps({k: v for k, v in {**base, **changes}.items() if v != "absent"})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("CORRECT", "JSON"),
        (f"[{forecast()}]", "object"),
        (f"{forecast()} {forecast(reasoning='other')}", "several JSON objects that differ"),
        (f"Sure! {forecast(emotion='happy')}", "'happy' is not one of neutral, joy, sadness"),
        (forecast(emotion="happy"), "'happy' is not one of neutral, joy, sadness"),
        (forecast(emotion="absent"), "emotion: Field required"),
        (forecast(visual="absent"), '"b_visual" is missing'),
        (forecast(reasoning=""), "reasoning"),
        (forecast(extra=1), "extra"),
        (forecast(reasoning="x").replace('"x"', '"\\udde6"'), "surrogate"),
    ],
)
def test_an_invalid_completion_gets_an_exact_complaint(text: str, complaint: str) -> None:
    with pytest.raises(CompletionError) as caught:
        parse_output(Forecast, BOUNDS, text)
    assert caught.value.failure is Failure.SCHEMA_INVALID
    assert complaint in caught.value.what


@pytest.mark.parametrize(
    "around",
    ["```json\n{}\n```", "Sure! Here it is:\n{}", "<answer>{}</answer>", "\n {} \n"],
)
def test_words_around_an_object_are_removed(around: str) -> None:
    record, removed = parse_output(Forecast, BOUNDS, around.replace("{}", forecast()))
    assert record == parse_output(Forecast, BOUNDS, forecast())[0]
    assert removed == (("words around the JSON",) if around.strip() != "{}" else ())


def test_the_last_valid_object_is_used() -> None:
    draft, last = forecast(reasoning="a draft"), forecast(reasoning="the last")
    for text in (
        f"She is {{very}} sad.\n{draft}\n{last}",
        f'So: {draft}{last}\n{{"a": 1}}',
        f"{last} {last}",
        f"{{ {draft} so {last} }}",
    ):
        record, removed = parse_output(Forecast, BOUNDS, text)
        assert (record.reasoning, removed) == ("the last", ("words around the JSON",))


@pytest.mark.parametrize(
    ("text", "shortened"),
    [
        ("word " * 95 + "word", None),  # 479 characters
        ("It is so. " * 60, "It is so. " * 47 + "It is so."),
        ("It is so. " + "on and on " * 60, "It is so. " + "on and on " * 46 + "on and on"),
        ("on and on " * 48, "on and on " * 47 + "on and on"),
        ("on " * 159 + "one", "on " * 158 + "on"),  # 480 characters: a grammar may have stopped there
        ("x" * 500, "x" * 480),
    ],
)
def test_long_texts_are_shortened_to_sentences_or_words(text: str, shortened: str | None) -> None:
    record, removed = parse_output(Forecast, BOUNDS, forecast(reasoning=text))
    assert (record.reasoning, removed) == (
        (text, ()) if shortened is None else (shortened, ("the end of a long 'reasoning'",))
    )
    assert Forecast.model_validate_json(forecast(reasoning=text)).reasoning == text  # as it is read back


def test_lengths_are_in_words_and_the_grammar_leaves_room() -> None:
    assert get_fields(Forecast, BOUNDS)["reasoning"]["maxLength"] == 480
    outline = build_json_schema(Forecast, BOUNDS).outline
    assert '- "d_reasoning": text, at most 40 words (which' in outline
    assert "characters" not in outline


def test_an_incomplete_audit_is_invalid() -> None:
    cls = make_audit_class(STAGES)
    good = audit(dict.fromkeys(STAGES, True)).model_dump()
    parse_output(cls, BOUNDS, json.dumps(good))
    for broken in (
        {**good, "caef": {"reason": "r", "passed": False, "correction": " "}},
        {**good, "caef": {"reason": "r", "passed": "yes", "correction": ""}},
        {**good, "caef": {"reason": "r", "passed": 1, "correction": ""}},
        {name: good[name] for name in STAGES[:3]},
    ):
        with pytest.raises(CompletionError):
            parse_output(cls, BOUNDS, json.dumps(broken))


NAMES = dict(zip(Forecast.model_fields, get_schema(Forecast, BOUNDS)["properties"], strict=True))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["joy", "agree", "textual"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(list(Forecast.model_fields)), inner),
    max_leaves=8,
)


@given(JSON)
def test_the_parser_accepts_exactly_what_the_schema_allows(value: Any) -> None:
    if isinstance(value, dict):
        value = {NAMES[name]: one for name, one in value.items()}
    allowed = jsonschema.Draft202012Validator(get_schema(Forecast, BOUNDS)).is_valid(value)
    try:
        parse_output(Forecast, BOUNDS, json.dumps(value))
        accepted = True
    except CompletionError:
        accepted = False
    assert accepted == allowed


def test_the_outline_names_each_field_with_its_bounds() -> None:
    outline = build_json_schema(Evidence, BOUNDS).outline
    assert '- "textual_cues": list of 1 to 4, each an object with' in outline
    assert '  - "a_turn": number 1 to 3' in outline
    assert 'one of "neutral", "joy", "sadness"' in build_json_schema(Forecast, BOUNDS).outline


def test_fields_that_were_not_requested_are_invalid() -> None:
    with pytest.raises(CompletionError, match="consistency, visual: was not asked for"):
        parse_output(Forecast, BLIND, forecast())
    cues = {"textual_cues": [{"turn": 1, "cue": "a"}], "visual_cues": [{"frame": 1, "cue": "b"}]}
    sees_none = Bounds(frozenset("D"), BOUNDS.choices, BOUNDS.counts)
    with pytest.raises(CompletionError, match="visual_cues: was not asked for"):
        parse_output(Evidence, sees_none, json.dumps(cues))


class Scored(BaseModel):
    level: Annotated[int, Field(ge=1, le=5)]
    share: Annotated[float, Field(gt=0, lt=1)]
    even: Annotated[int, Field(multiple_of=2)]
    code: Annotated[str, Field(pattern="^[A-Z]{2}$")]
    digits: Annotated[str, Field(pattern=r"^\d+$")]
    when: int | None = None


def test_bounds_of_fields_are_in_schema_outline_and_parser() -> None:
    schema = get_fields(Scored, BOUNDS)
    assert schema["level"] == {"type": "integer", "minimum": 1, "maximum": 5}
    assert schema["share"] == {"type": "number", "exclusiveMinimum": 0.0, "exclusiveMaximum": 1.0}
    assert schema["even"] == {"type": "integer", "multipleOf": 2}
    assert schema["code"] == {"type": "string", "pattern": "^[A-Z]{2}$"}
    assert schema["digits"] == {"type": "string"}  # servers' grammars read \d otherwise
    assert build_json_schema(Scored, BOUNDS).outline.splitlines() == [
        '- "a_level": number 1 to 5',
        '- "b_share": number, over 0, under 1',
        '- "c_even": whole number, a multiple of 2',
        '- "d_code": text, of the form ^[A-Z]{2}$',
        r'- "e_digits": text, of the form ^\d+$',
        '- "f_when": whole number',
    ]
    good = {"level": 5, "share": 0.5, "even": 2, "code": "AB", "digits": "7", "when": 1}
    assert parse_output(Scored, BOUNDS, json.dumps(good))[0].level == 5
    for name, bad in {"level": 6, "share": 1.0, "even": 3, "code": "ABC", "digits": "x"}.items():
        with pytest.raises(CompletionError, match=name):
            parse_output(Scored, BOUNDS, json.dumps({**good, name: bad}))


class Tree(BaseModel):
    name: str
    children: list[Tree]


class Inner(BaseModel):
    several: int | str


class Outer(BaseModel):
    inner: tuple[Inner, ...]


class Pair(BaseModel):
    pair: tuple[int, str]


class Weights(BaseModel):
    weights: dict[str, float]


class Nothing(BaseModel):
    pass


class Holder(BaseModel):
    inner: Nothing


class Anything(BaseModel):
    value: Any


class Renamed(BaseModel):
    feeling: Annotated[str, Field(alias="theFeeling")]


class Called(BaseModel):
    call: Callable[[], int]


@pytest.mark.parametrize(
    ("cls", "place"),
    [
        (Tree, "Tree.children"),
        (Outer, "Outer.inner.several"),
        (Pair, "Pair.pair"),
        (Weights, "Weights.weights"),
        (Holder, "Holder.inner"),
        (Anything, "Anything.value"),
        (Renamed, "Renamed"),
        (Called, "Called"),
    ],
)
def test_an_unsupported_type_is_an_error(cls: type[BaseModel], place: str) -> None:
    with pytest.raises(ConfigError, match=f"{place} is of a type that no model can be asked for") as caught:
        find_vocabularies(cls)
    assert "list[X]" in caught.value.hint


class Word(StrEnum):
    """Not in digests."""

    YES = "yes"


class Documented(BaseModel):
    """Not in digests, either."""

    word: Word
    kind: Literal["a"]
    both: Literal["a", 1]


def test_docstrings_do_not_affect_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -OO` removes them."""
    source = Path(schemas.__file__).read_text(encoding="utf-8")
    optimised = ModuleType("optimised")
    monkeypatch.setitem(sys.modules, "optimised", optimised)  # where pydantic looks names up
    exec(compile(source, "optimised", "exec", optimize=2), vars(optimised))
    for name in ("Evidence", "Forecast", "Plan"):
        written, without = getattr(schemas, name), getattr(optimised, name)
        assert written.__doc__
        assert without.__doc__ is None
        assert digest_schema(written) == digest_schema(without)
    for documented in (Documented, Evidence):
        assert documented.__doc__
        assert documented.__doc__.splitlines()[0] not in digest_schema(documented)
    assert "Not in digests" not in digest_schema(Documented)


@pytest.mark.parametrize(
    ("turns", "offered"),
    [
        (("I failed again. It\u2019s over!", "Really?"), ["I failed again.", "Really?"]),
        (("No.  What?\nThat\u2019s great! ",), ["No. What? That\u2019s great!"]),
        (("I lost it, all of it... And now? And now this again!", "I lost it, all of it..."), [
            "I lost it, all of it...", "And now this again!"
        ]),
    ],
)  # fmt: skip
def test_a_grammar_offers_sentences_to_quote(turns: tuple[str, ...], offered: list[str]) -> None:
    bounds = Bounds(frozenset("D"), {"cause": ("loss",)}, {}, turns)
    assert get_fields(Cause, bounds)["trigger_spans"]["items"]["enum"] == offered
    for one in offered:
        answer = {"trigger_spans": [one], "global_cause_summary": "x", "cause_category": "loss"}
        assert parse_output(Cause, bounds, json.dumps(answer))[0].trigger_spans == (one,)
    completion = Dry().complete(Request((Message("user", "-"),), Sampling(), build_json_schema(Cause, bounds).text))
    assert parse_output(Cause, bounds, completion.text)[0].trigger_spans[0] in offered


def test_a_quote_must_come_from_the_other_speakers() -> None:
    said = ("I failed again. It\u2019s over!", "\U0001f62d", "Really?")
    bounds = Bounds(frozenset("D"), {"cause": ("loss",)}, {}, said)

    def cause(quote: str) -> str:
        return json.dumps({"trigger_spans": [quote], "global_cause_summary": "x", "cause_category": "loss"})

    for quote in ("I failed again.", "again: it's over", "I failed again. It's over!", *said[1:], "really"):
        assert parse_output(Cause, bounds, cause(quote))[0].trigger_spans == (quote,)
    for front in ("Ana: ", "12. Ana: "):
        cause_of, removed = parse_output(Cause, bounds, cause(f"{front}I failed again."))
        assert (cause_of.trigger_spans, removed) == (("I failed again.",), ("speaker's name before a quote",))
    for quote in ("Ana: I lost it all", "I failed again and again", "fail", "over, I failed", "!", "..."):
        with pytest.raises(CompletionError, match="is not a quote: copy from one turn") as caught:
            parse_output(Cause, bounds, cause(quote))
        assert caught.value.what.startswith("a_trigger_spans.0: ")
    for quote in ("I", "again.", "failed again", "- - I", "it's over"):
        with pytest.raises(CompletionError, match="is under 3 words: copy more of that turn"):
            parse_output(Cause, bounds, cause(quote))
    jsonschema.validate(json.loads(as_text(cause_of)), get_schema(Cause, bounds))
    unspaced = Bounds(frozenset("D"), {"cause": ("loss",)}, {}, ("昨日、仕事をクビになった。", "我丢了工作,很难过。"))
    for quote in ("仕事をクビになった", "昨日、仕事", "我丢了", "ｸﾋﾞになった", "很难过。"):
        assert parse_output(Cause, unspaced, cause(quote))[0].trigger_spans == (quote,)
    for quote, complaint in (
        ("仕事", "is under 3 words"),
        ("仕事がなくなった", "is not a quote"),
        ("丢了了", "is not a quote"),
    ):
        with pytest.raises(CompletionError, match=complaint):
            parse_output(Cause, unspaced, cause(quote))
    assert Cause.model_validate_json(cause("read back from a file, it is not checked again"))

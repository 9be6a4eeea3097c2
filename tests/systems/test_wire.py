"""Wire names: models write fields in the order of the class, also on servers that sort names."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, create_model

from mmerg.backends.dry import build_smallest
from mmerg.errors import CompletionError
from mmerg.experiment.launch import launch
from mmerg.judging.schemas import Preference
from mmerg.runs.events import Called, Produced
from mmerg.systems.audit import make_audit_class
from mmerg.systems.baselines.schemas import Feedback
from mmerg.systems.esc.schemas import Proposals
from mmerg.systems.merg.schemas import Plan
from mmerg.systems.parsing import parse_output, validate_output
from mmerg.systems.schema import Bounds, build_json_schema
from mmerg.systems.wire import as_written, wire_names
from tests.configs import parse_settings
from tests.engine.parts import STAGES, audit, merg
from tests.run_folders import read_all_events
from tests.scripted_ollama import merg_answer, scripted_ollama

UNBOUND = Bounds(frozenset(), {}, {})
BOUNDS = Bounds(frozenset(), merg().vocabulary, {})
NAMES = st.text("abzABZ09_é", min_size=1, max_size=4).filter(lambda name: name[0].isalpha() and name.isidentifier())


def as_sorted(schema: Any) -> Any:
    """A JSON schema as Ollama 0.34 reads it, with sorted keys."""
    return json.loads(json.dumps(schema, sort_keys=True))


def make_class(fields: dict[str, Any]) -> type[BaseModel]:
    made: dict[str, Any] = {name: (kind, ...) for name, kind in fields.items()}
    model: type[BaseModel] = create_model("Made", **made)
    return model


FIELDS = partial(st.dictionaries, NAMES, min_size=1, max_size=12)
CLASSES = FIELDS(
    st.recursive(
        st.sampled_from([int, str, bool]),
        lambda kind: FIELDS(kind).map(make_class) | kind.map(lambda one: list[one]),  # type: ignore[valid-type]
        max_leaves=8,
    )
).map(make_class)


@settings(max_examples=15)
@given(CLASSES)
def test_a_server_that_sorts_names_gives_equal_records(cls: type[BaseModel]) -> None:
    schema = json.loads(build_json_schema(cls, UNBOUND).text)
    completion = json.dumps(build_smallest(as_sorted(schema), 0))
    assert completion == json.dumps(build_smallest(schema, 0))
    record, removed = parse_output(cls, UNBOUND, completion)
    assert not removed
    assert list(record.model_dump()) == list(cls.model_fields)
    assert parse_output(cls, UNBOUND, record.model_dump_json()) == (record, ())  # without a grammar
    assert parse_output(cls, UNBOUND, as_written(record)) == (record, ())
    assert validate_output(cls, UNBOUND, record.model_dump()) == record


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        (["emotion", "response"], ["emotion", "response"]),
        (["reason", "passed", "correction"], ["a_reason", "b_passed", "c_correction"]),
        ([*"jabcdefghi"], ["a_j", "b_a", "c_b", "d_c", "e_d", "f_e", "g_f", "h_g", "i_h", "j_i"]),
        (["a", "B"], ["a_a", "b_B"]),  # capitals sort first
        ([*map(str, range(27))], ["aa_0", *(f"a{chr(97 + n)}_{n}" for n in range(1, 26)), "ba_26"]),
        ([], []),
    ],
)
def test_names_get_letters_unless_they_are_sorted(fields: list[str], names: list[str]) -> None:
    assert wire_names(fields) == dict(zip(fields, names, strict=True))


def test_schema_and_outline_have_the_same_names() -> None:
    asked = build_json_schema(make_audit_class(STAGES), UNBOUND)
    schema = json.loads(asked.text)
    assert list(schema["properties"]) == schema["required"] == ["a_mpa", "b_caef", "c_psp", "d_sgrg"]
    finding = schema["properties"]["b_caef"]
    assert list(finding["properties"]) == finding["required"] == ["a_reason", "b_passed", "c_correction"]
    assert asked.outline.splitlines()[:2] == [
        '- "a_mpa", "b_caef", "c_psp", "d_sgrg": each an object with',
        '  - "a_reason": text, at most 30 words (what you checked and what you found)',
    ]
    items = json.loads(build_json_schema(Proposals, Bounds(frozenset(), {"strategy": ("ask",)}, {})).text)["properties"]
    assert list(items["proposals"]["items"]["properties"]) == ["a_reasoning", "b_strategy", "c_reply"]
    assert list(json.loads(build_json_schema(Feedback, UNBOUND).text)["properties"])[-1] == "l_good_enough"


PLAN = {"goal": "comfort", "stance": "warm", "tactic": "question", "tone": "gentle", "reasoning": "r"}
WRITTEN = {wire: PLAN[name] for name, wire in wire_names(PLAN).items()}
AUDIT = json.loads(as_written(audit(dict.fromkeys(STAGES, True))))


@pytest.mark.parametrize(
    ("cls", "completion", "complaint"),
    [
        (Plan, {**WRITTEN, "goal": "comfort"}, '"goal" must be named "a_goal", as the other fields are'),
        (Plan, {**WRITTEN, "a_goal": "win"}, "a_goal: 'win' is not one of"),
        (Plan, {**PLAN, "c_goal": "comfort"}, "c_goal: Extra inputs are not permitted"),
        (
            make_audit_class(STAGES),
            {**AUDIT, "d_sgrg": {"a_reason": "r", "b_passed": True}},
            "d_sgrg.c_correction: Field",
        ),
        (
            make_audit_class(STAGES),
            {**AUDIT, "d_sgrg": {"a_reason": "r", "b_passed": False, "c_correction": ""}},
            "d_sgrg: a check that fails needs a correction",
        ),
        (make_audit_class(STAGES), {"a_mpa": AUDIT["a_mpa"]}, "b_caef: Field required; c_psp: Field required"),
    ],
)
def test_a_completion_with_mixed_names_is_invalid(cls: type[BaseModel], completion: Any, complaint: str) -> None:
    with pytest.raises(CompletionError) as caught:
        parse_output(cls, BOUNDS, json.dumps(completion))
    assert complaint in caught.value.what


@pytest.mark.parametrize("name", ["a_reason", "reason"])
def test_a_completion_with_a_name_twice_is_invalid(name: str) -> None:
    with pytest.raises(CompletionError, match=f'"{name}" appears twice'):
        parse_output(Preference, UNBOUND, f'{{"{name}": "a", "{name}": "b", "b_better": "tie"}}')


def test_runs_are_equal_on_servers_that_sort_names(tmp_path: Path) -> None:
    def sorting(body: dict[str, Any]) -> str:
        return json.dumps(build_smallest(as_sorted(body["format"]), 0)) if "format" in body else merg_answer(body)

    def keeping(body: dict[str, Any]) -> str:
        return json.dumps(build_smallest(body["format"], 0)) if "format" in body else merg_answer(body)

    outputs, completions = [], []
    for name, answer in (("sorts", sorting), ("keeps", keeping)):
        with scripted_ollama(answer=answer) as server:
            where = ("backend=ollama", f"backend.hosts=[{server.url}]", f"runs={tmp_path / name}", "memory=none")
            ended = launch(parse_settings("dataset=demo", "backbone=qwen2.5vl-7b", "frames=none", "limit=1", *where))
        assert ended.failed == 0
        events = list(read_all_events(Path(ended.run)))
        outputs.append([event.output for event in events if isinstance(event, Produced)])
        completions.append([event.completion.text for event in events if isinstance(event, Called)])
    assert outputs[0] == outputs[1]
    assert completions[0] == completions[1]
    assert list(json.loads(completions[0][1])) == ["a_textual", "b_reasoning", "c_emotion"]
    assert list(json.loads(completions[0][-1])["a_mpa"]) == ["a_reason", "b_passed", "c_correction"]

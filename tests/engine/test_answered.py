"""A stage that a class answers: its output is held to the schema, its mistakes cost the sample and are named."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmerg.backends.scripted import Scripted
from mmerg.engine.prompts import Prompts
from mmerg.errors import ConfigError, Failure
from mmerg.runs.identity import combined
from mmerg.settings.model import SystemSettings
from mmerg.settings.problems import read_settings
from mmerg.systems.build import build
from mmerg.systems.system import StageInput, System
from tests.engine.parts import ROOT, SCENE
from tests.engine.test_experiment import Lab
from tests.outside.outside_parts import Classifier, Label

MODULE = Classifier.__module__
RESULT = {"response": "R", "emotion": "e.emotion"}


def labelled(by: dict[str, Any] | None = None, result: dict[str, str] = RESULT, **stage: Any) -> System:
    sem = {
        **{"sees": ["D"], "gives": "e", "output": f"{MODULE}.Label"},
        "function": by or {"_target_": f"{MODULE}.Classifier", "word": "fine"},
        **stage,
    }
    config = {
        "name": "own",
        "prompts": str(ROOT / "tests" / "outside" / "system" / "plain"),
        "stages": {"sem": sem, "reply": {"sees": ["D"] if stage.get("output") else ["D", "e"], "gives": "R"}},
        "result": result,
    }
    return build(read_settings(SystemSettings, config, "system=own"))


def answering(answer: object) -> dict[str, Any]:
    return {"_target_": f"{MODULE}.Classifier", "word": "", "answer": answer}


def test_its_output_is_that_of_any_stage(tmp_path: Path) -> None:
    lab, backend = Lab(tmp_path, labelled()), Scripted(["Oh no."])
    result = lab(backend)
    assert (result.status, result.emotion, result.response, result.calls) == ("ok", "neutral", "Oh no.", 1)
    assert lab.kinds() == [
        *("sample_started", "frames_taken", "produced", "called", "produced", "selected", "sample_done")
    ]
    [produced] = [event for event in lab.events if event.kind == "produced" and event.stage == "sem"]
    assert produced.output == {"emotion": "neutral", "turn": 3}
    assert "It carries neutral." in backend.requests[0].messages[1].text


def test_it_is_shown_what_its_stage_sees_and_nothing_of_the_target(tmp_path: Path) -> None:
    noted: list[StageInput] = []

    def by(asked: StageInput) -> object:
        noted.append(asked)
        return Label.model_construct({"emotion", "turn"}, emotion="joy", turn=2)

    system = labelled()
    stages = tuple(stage if stage.function is None else replace(stage, function=by) for stage in system.stages)
    lab = Lab(tmp_path, replace(system, stages=stages))
    assert lab(Scripted(["Hm."])).emotion == "joy"
    [one] = noted
    assert (one.sample, one.t, one.stage, one.responder, one.labels) == ("d1/4", 0, "sem", "Ben", SCENE.labels)
    assert set(one.inputs) == {"D"}
    assert (one.previous, one.instruction, one.images) == (None, "", ())
    assert "SECRET" not in repr(one)


@pytest.mark.parametrize(
    ("answer", "failure", "message"),
    [
        ({"emotion": "rage", "turn": 1}, Failure.SCHEMA_INVALID, "'rage' is not one of joy, sadness, neutral"),
        ({"emotion": "joy", "turn": 4}, Failure.SCHEMA_INVALID, "there is no turn 4"),
        ({"emotion": "joy"}, Failure.SCHEMA_INVALID, "turn: Field required"),
        ("joy", Failure.SCHEMA_INVALID, "Input should be an object"),
        ([{1, 2}], Failure.SCHEMA_INVALID, "it returned list, which JSON cannot hold"),
        (Label.model_construct({"turn"}, turn=object()), Failure.SCHEMA_INVALID, "which JSON cannot hold"),
        (Label.model_construct({"emotion"}, emotion="\ud800"), Failure.SCHEMA_INVALID, "Invalid JSON"),
        ("raise", Failure.CODE_ERROR, "KeyError: 'no such weight'"),
    ],
)
def test_what_does_not_hold_costs_the_sample(answer: object, failure: Failure, message: str, tmp_path: Path) -> None:
    system = labelled()
    [sem] = [stage for stage in system.stages if stage.function]
    assert isinstance(sem.function, Classifier)
    sem.function.answer = answer
    result = Lab(tmp_path, system)(Scripted(["Hm."]))
    assert (result.status, result.failure, result.calls) == ("failed", failure, 0)
    text = result.failure_text or ""
    assert message in text
    assert f"sem, pass 0, {MODULE}.Classifier" in text
    if failure is Failure.CODE_ERROR:
        lines = (ROOT / "tests/outside/outside_parts.py").read_text(encoding="utf-8").splitlines()
        [number] = [number for number, line in enumerate(lines, 1) if "no such weight" in line]
        assert f"outside_parts.py, line {number}" in text


def test_a_text_is_wanted_of_a_stage_that_gives_one(tmp_path: Path) -> None:
    for answer, failure in (("Hello.", None), (" ", Failure.EMPTY), (3, Failure.SCHEMA_INVALID)):
        system = labelled(answering(answer), {"response": "e"}, output="text")
        result = Lab(tmp_path, system)(Scripted(["Hm."]))
        assert (result.failure, result.response) == (failure, None if failure else "Hello.")


@pytest.mark.parametrize(
    ("by", "stage", "message"),
    [
        ({"_target_": f"{MODULE}.Nothing"}, {}, "Nothing"),
        ({"_target_": "nowhere.Nothing"}, {}, "nowhere"),
        ({"_target_": f"{MODULE}.Classifier"}, {}, "missing 1 required positional argument: 'word'"),
        ({"_target_": f"{MODULE}.Classifier", "wrod": "x"}, {}, "unexpected keyword argument 'wrod'"),
        ({"_target_": f"{MODULE}.Label", "emotion": "joy", "turn": 1}, {}, "cannot be called"),
        ({"_target_": f"{MODULE}.Classifier", "word": "x"}, {"sampling": {"top_k": 1}}, "sampling has no effect"),
        ({"_target_": f"{MODULE}.Classifier", "word": "x"}, {"logprobs": True}, "logprobs has no effect"),
    ],
)
def test_what_cannot_answer_is_refused_before_anything_is_asked(
    by: dict[str, Any], stage: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        labelled(by, **stage)
    assert message in str(caught.value)
    assert "sem" in str(caught.value)


def test_its_file_or_its_digest_is_a_part_of_what_decides_a_run() -> None:
    def digest(word: str) -> str:
        system = labelled()
        [sem] = [stage for stage in system.stages if stage.function]
        assert sem.function
        if word:
            sem.function.digest = word  # type: ignore[attr-defined]
        return combined(Prompts(system).digests())

    assert digest("") == digest("")
    assert len({digest(""), digest("one"), digest("two")}) == 3

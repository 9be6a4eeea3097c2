"""User code: functions of stages, sources, loops, validators and templates. Errors name the place."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, field_validator

from mmerg.backends.scripted import Scripted
from mmerg.engine.loops.loop import Ask, Outcome
from mmerg.engine.prompts import Prompts
from mmerg.engine.sources import SourceOutput
from mmerg.engine.state import Pass, State
from mmerg.errors import ConfigError, Failure, SampleError
from mmerg.runs.identity import combine_digests, name_files
from mmerg.settings.kinds import ClassSpec
from mmerg.settings.model import SystemSettings
from mmerg.settings.problems import read_settings
from mmerg.systems.build import build_system
from mmerg.systems.instantiate import import_name, instantiate
from mmerg.systems.parsing import parse_output
from mmerg.systems.schema import Bounds
from mmerg.systems.system import StageInput, System
from tests.engine.parts import ROOT, SCENE
from tests.engine.test_experiment import Lab
from tests.outside.outside_parts import Classifier, Label

PROMPTS = str(ROOT / "tests" / "outside" / "system" / "plain")
MODULE = Classifier.__module__
RESULT = {"response": "R", "emotion": "e.emotion"}


def own_system(*given: str, **node: Any) -> System:
    return build_system(
        read_settings(SystemSettings, {"name": "own", "prompts": PROMPTS, **node}, "system=own"), sources=given
    )


def with_function(function: dict[str, Any] | None = None, result: dict[str, str] = RESULT, **stage: Any) -> System:
    """A system whose first stage is a function."""
    sem = {
        **{"sees": ["D"], "gives": "e", "output": f"{MODULE}.Label"},
        "function": function or {"_target_": f"{MODULE}.Classifier", "word": "fine"},
        **stage,
    }
    reply = {"sees": ["D"] if stage.get("output") else ["D", "e"], "gives": "R"}
    return own_system(stages={"sem": sem, "reply": reply}, result=result)


def with_source(**changes: Any) -> System:
    """A system with a source F."""
    return own_system("F", stages={"reply": {"sees": ["D", "F"], "gives": "R"}}, result={"response": "R"}, **changes)


def classifier(system: System) -> Classifier:
    [sem] = [stage for stage in system.stages if stage.function]
    assert isinstance(sem.function, Classifier)
    return sem.function


def test_a_function_computes_the_output_of_a_stage(tmp_path: Path) -> None:
    lab, backend = Lab(tmp_path, with_function()), Scripted(["Oh no."])
    result = lab(backend)
    assert (result.status, result.emotion, result.response, result.calls) == ("ok", "neutral", "Oh no.", 1)
    assert lab.kinds() == [
        *("sample_started", "frames_taken", "produced", "called", "produced", "selected", "sample_done")
    ]
    [produced] = [event for event in lab.events if event.kind == "produced" and event.stage == "sem"]
    assert produced.output == {"emotion": "neutral", "turn": 3}
    assert "It carries neutral." in backend.requests[0].messages[1].text


def test_a_function_gets_the_inputs_of_its_stage_but_no_target(tmp_path: Path) -> None:
    noted: list[StageInput] = []

    def function(asked: StageInput) -> object:
        noted.append(asked)
        return Label.model_construct({"emotion", "turn"}, emotion="joy", turn=2)

    system = with_function()
    stages = tuple(replace(stage, function=function) if stage.function else stage for stage in system.stages)
    assert Lab(tmp_path, replace(system, stages=stages))(Scripted(["Hm."])).emotion == "joy"
    [one] = noted
    assert (one.sample, one.t, one.stage, one.responder, one.labels) == ("d1/4", 0, "sem", "Ben", SCENE.labels)
    assert set(one.inputs) == {"D"}
    assert (one.previous, one.instruction, one.images) == (None, "", ())
    assert "SECRET" not in repr(one)


@pytest.mark.parametrize(
    ("answer", "failure", "message"),
    [
        ({"emotion": "rage", "turn": 1}, Failure.SCHEMA_INVALID, "'rage' is not one of joy, sadness, neutral"),
        ({"emotion": "joy"}, Failure.SCHEMA_INVALID, "turn: Field required"),
        ("joy", Failure.SCHEMA_INVALID, "Input should be an object"),
        ([{1, 2}], Failure.CODE_ERROR, "set is not JSON serializable"),
        ("raise", Failure.CODE_ERROR, "KeyError: 'no such weight'"),
    ],
)
def test_an_invalid_output_fails_the_sample(answer: object, failure: Failure, message: str, tmp_path: Path) -> None:
    system = with_function()
    classifier(system).answer = answer
    result = Lab(tmp_path, system)(Scripted(["Hm."]))
    assert (result.status, result.failure, result.calls) == ("failed", failure, 0)
    text = result.failure_text or ""
    assert message in text
    assert f"sem, pass 0, {MODULE}.Classifier" in text
    if answer == "raise":
        lines = (ROOT / "tests/outside/outside_parts.py").read_text(encoding="utf-8").splitlines()
        [number] = [number for number, line in enumerate(lines, 1) if "no such weight" in line]
        assert f"outside_parts.py, line {number}" in text


def test_a_stage_with_text_output_needs_a_text(tmp_path: Path) -> None:
    for answer, failure in (("Hello.", None), (" ", Failure.EMPTY), (3, Failure.SCHEMA_INVALID)):
        function = {"_target_": f"{MODULE}.Classifier", "word": "", "answer": answer}
        result = Lab(tmp_path, with_function(function, {"response": "e"}, output="text"))(Scripted(["Hm."]))
        assert (result.failure, result.response) == (failure, None if failure else "Hello.")


@pytest.mark.parametrize(
    ("function", "stage", "message"),
    [
        ({"_target_": f"{MODULE}.Nothing"}, {}, "Nothing"),
        ({"_target_": f"{MODULE}.Classifier"}, {}, "missing 1 required positional argument: 'word'"),
        ({"_target_": f"{MODULE}.Label", "emotion": "joy", "turn": 1}, {}, "cannot be called"),
        ({"_target_": f"{MODULE}.Classifier", "word": "x"}, {"sampling": {"top_k": 1}}, "sampling has no effect"),
    ],
)
def test_a_function_that_does_not_fit_is_an_error(
    function: dict[str, Any], stage: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        with_function(function, **stage)
    assert message in str(caught.value)
    assert "sem" in str(caught.value)


def test_the_digest_or_the_file_of_a_function_is_part_of_the_identity() -> None:
    def digest(own: str) -> str:
        system = with_function()
        if own:
            classifier(system).digest = own  # type: ignore[attr-defined]
        return combine_digests(Prompts(system).compute_digests())

    assert digest("") == digest("")
    assert len({digest(""), digest("one"), digest("two")}) == 3


def raises(*_: object) -> object:
    raise KeyError("no such fact")


@dataclass
class Source:
    give: Callable[..., Any]
    digest: str = "1"

    def supply(self, *given: object) -> SourceOutput:
        supply: SourceOutput = self.give(*given)
        return supply


@pytest.mark.parametrize(
    ("give", "message"),
    [
        (raises, "KeyError: 'no such fact'"),
        (lambda *_: sys.exit("no facts"), "SystemExit: no facts"),
        (lambda *_: None, "'NoneType' object has no attribute 'content'"),
        (lambda *_: SourceOutput("abc"), "ValueError"),  # type: ignore[arg-type]
        (lambda *_: SourceOutput(({"fact": object()},)), "object"),
    ],
)
def test_an_error_in_a_source_fails_the_sample(give: Callable[..., Any], message: str, tmp_path: Path) -> None:
    lab = Lab(tmp_path, with_source())
    lab.experiment = replace(lab.experiment, sources={"F": Source(give)})
    result = lab(Scripted(["Oh no."]))
    assert (result.status, result.failure) == ("failed", Failure.CODE_ERROR)
    assert message in str(result.failure_text)
    assert "reply, pass 0, sources.F, " in str(result.failure_text)


class Picky(BaseModel):
    model_config = ConfigDict(frozen=True)
    word: str

    @field_validator("word")
    @classmethod
    def _looks_it_up(cls, word: str) -> str:
        return {"fine": word}[word]


def odd_outcome(_: System, state: State, *__: object) -> Outcome:
    """Its response is no text."""
    only = Pass(0, state.with_output("R", Picky(word="fine")))
    return Outcome((only,), only, "done")


def silent(system: System, state: State, ask: Ask, _: object) -> Outcome:
    """Emits no event."""
    only = Pass(0, state.with_output("R", ask(system.stages[0], state, 0)))
    return Outcome((only,), only, "done")


@pytest.mark.parametrize(
    ("loop", "message"),
    [
        ("raises", "no such fact"),
        ("silent", "it emitted no Selected event"),
        ("odd_outcome", "response\n  Input should be a valid string"),
    ],
)
def test_an_error_in_a_loop_fails_the_sample(loop: str, message: str, tmp_path: Path) -> None:
    result = Lab(tmp_path, with_source(loop=f"{__name__}.{loop}"))(Scripted(["Oh no."]))
    assert (result.status, result.failure) == ("failed", Failure.CODE_ERROR)
    assert message in str(result.failure_text)
    assert f"loop {__name__}.{loop}, " in str(result.failure_text)


def test_an_error_in_a_validator_fails_the_sample() -> None:
    with pytest.raises(SampleError, match="Picky raised KeyError: 'bad'") as raised:
        parse_output(Picky, Bounds(frozenset(), {}, {}), '{"word": "bad"}')
    assert raised.value.failure is Failure.CODE_ERROR
    assert __file__ in raised.value.where


class Reads:
    """Reads a file and has no digest."""

    def __init__(self, file: str = "") -> None:
        self.file = file


def test_a_file_is_identified_by_its_content(tmp_path: Path) -> None:
    for folder, text in (("a", "one"), ("b", "two"), ("c", "one")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "m.json").write_text(text, encoding="utf-8")
    nodes = [{"_target_": f"{__name__}.Reads", "in": [{"file": f"{tmp_path}/{name}/m.json"}]} for name in "abc"]
    found: list[dict[str, str]] = [{}, {}, {}]
    named = [name_files(node, Reads(), digests) for node, digests in zip(nodes, found, strict=True)]
    assert named == [{"_target_": f"{__name__}.Reads", "in": [{"file": "m.json"}]}] * 3
    assert found[0] == found[2] != found[1]
    kept = {"folder": f"{tmp_path}/a", "none": "/a/END", "long": "x" * 5000, "n": 1, "null": "\0"}
    assert name_files(kept, Reads(), {}) == kept


def test_a_class_with_a_digest_is_not_identified_by_its_files(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text("one", encoding="utf-8")
    given = {"file": f"{tmp_path}/m.json", "folder": f"{tmp_path}", "none": "/a/END"}
    digests: dict[str, str] = {}
    named = name_files(given, Source(raises), digests)
    assert named == {"file": "m.json", "folder": tmp_path.name, "none": "/a/END"}
    assert digests == {}


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ 1 / 0 }}", "ZeroDivisionError: division by zero"),
        ("{% include 'none.j2' %}", "TemplateNotFound: none.j2"),
    ],
)
def test_an_error_in_a_template_is_a_config_error(template: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "reply.j2").write_text("{% if F is defined %}{% endif %}" + template, encoding="utf-8")
    system = with_source(prompts=str(tmp_path))
    with pytest.raises(ConfigError, match=f"the prompt reply.j2 cannot be rendered: {message}"):
        Prompts(system).render_messages(system.stages[0], State(SCENE), {}, "", None)


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ({"_target_": "no_such_module.Thing"}, "No module named 'no_such_module'"),
        ({"_target_": f"{__name__}.raises"}, "raises cannot be made: KeyError: 'no such fact'"),
        ({"_target_": "sys.exit"}, "sys.exit cannot be made: SystemExit"),
    ],
)
def test_a_class_that_cannot_be_made_is_a_config_error(node: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=r"cannot be (made|imported)") as raised:
        instantiate(ClassSpec.model_validate(node), "sources.F")
    assert message in raised.value.what
    assert raised.value.where == "sources.F" or __file__ in raised.value.where


@pytest.mark.parametrize(
    ("arguments", "what", "hint"),
    [
        ({"root": ".", "split": "tset"}, "dataset.split is 'tset'", "one of train, dev, test; did you mean test?"),
        ({"root": ".", "clips": "maybe"}, "dataset.reader.clips is 'maybe'", "it must be a valid boolean"),
    ],
)
def test_an_argument_of_a_reader_is_named_by_its_setting(arguments: dict[str, Any], what: str, hint: str) -> None:
    with pytest.raises(ConfigError) as raised:
        instantiate(ClassSpec.model_validate({"_target_": "mmerg.corpora.meld.Meld", **arguments}), "dataset.reader")
    assert raised.value.what == what
    assert raised.value.hint.startswith(hint)


def test_a_module_that_exits_while_it_is_imported_is_a_config_error(tmp_path: Path) -> None:
    file = tmp_path / "reader.py"
    file.write_text("import sys\nsys.exit(0)\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="cannot be imported: SystemExit: 0") as raised:
        import_name(f"{file}:Reader", "dataset.reader", "")
    assert f"{file}, line 2" in raised.value.where

"""Sources, loops, validators and templates of the user's own that raise: the error names the place, no traceback."""

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
from mmerg.runs.identity import name_files
from mmerg.settings.kinds import ClassSpec
from mmerg.settings.model import SystemSettings
from mmerg.settings.problems import read_settings
from mmerg.systems.build import build
from mmerg.systems.instantiate import instantiate
from mmerg.systems.schema import Bounds, parse
from mmerg.systems.system import System
from tests.engine.parts import ROOT, SCENE
from tests.engine.test_experiment import Lab

PROMPTS = ROOT / "tests" / "outside" / "system" / "plain"


def system_of(**changes: Any) -> System:
    node = {
        "name": "own",
        "prompts": str(PROMPTS),
        "stages": {"reply": {"sees": ["D", "F"], "gives": "R"}},
        "result": {"response": "R"},
        **changes,
    }
    return build(read_settings(SystemSettings, node, "system=own"), given=["F"])


def raises(*_: object) -> object:
    raise KeyError("no such fact")


def leaves(*_: object, **__: object) -> object:
    sys.exit("no weights")


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
        (leaves, "SystemExit: no weights"),
        (lambda *_: None, "it returned NoneType, not a SourceOutput"),
        (lambda *_: SourceOutput("abc"), "ValueError"),  # type: ignore[arg-type]
        (lambda *_: SourceOutput(({"fact": object()},)), "object"),
        (lambda only: only, "TypeError"),
    ],
)
def test_a_source_that_goes_wrong_costs_the_sample(give: Callable[..., Any], message: str, tmp_path: Path) -> None:
    lab = Lab(tmp_path, system_of())
    lab.experiment = replace(lab.experiment, sources={"F": Source(give)})
    result = lab(Scripted(["Oh no."]))
    assert (result.status, result.failure) == ("failed", Failure.CODE_ERROR)
    assert message in str(result.failure_text)
    assert "reply, pass 0, sources.F, " in str(result.failure_text)


def no_outcome(*_: object) -> object:
    return None


def odd_outcome(_: System, state: State, *__: object) -> Outcome:
    """One whose response is no text."""
    only = Pass(0, state.with_("R", Picky(word="fine")))
    return Outcome((only,), only, "done")


def silent(system: System, state: State, ask: Ask, _: object) -> Outcome:
    """One that emits no event."""
    only = Pass(0, state.with_("R", ask(system.stages[0], state, 0)))
    return Outcome((only,), only, "done")


@pytest.mark.parametrize(
    ("loop", "message"),
    [
        *(
            ("raises", "no such fact"),
            ("leaves", "SystemExit: no weights"),
            ("no_outcome", "not an Outcome"),
            ("Source", "Source"),
        ),
        ("silent", "it emitted no Selected event"),
        ("odd_outcome", "response\n  Input should be a valid string"),
    ],
)
def test_a_loop_that_goes_wrong_costs_the_sample(loop: str, message: str, tmp_path: Path) -> None:
    result = Lab(tmp_path, system_of(loop=f"{__name__}.{loop}"))(Scripted(["Oh no."]))
    assert (result.status, result.failure) == ("failed", Failure.CODE_ERROR)
    assert message in str(result.failure_text)
    assert f"loop {__name__}.{loop}, " in str(result.failure_text)


class Picky(BaseModel):
    model_config = ConfigDict(frozen=True)
    word: str

    @field_validator("word")
    @classmethod
    def _looks_it_up(cls, word: str) -> str:
        return {"fine": word}[word]


def test_a_validator_that_raises_what_is_no_value_error_costs_the_sample() -> None:
    with pytest.raises(SampleError, match="Picky raised KeyError: 'bad'") as raised:
        parse(Picky, Bounds(frozenset(), {}, {}), '{"word": "bad"}')
    assert raised.value.failure is Failure.CODE_ERROR
    assert __file__ in raised.value.where


class Reads:
    """A class that reads a file, and says nothing of it."""

    def __init__(self, file: str = "") -> None:
        self.file = file


def test_a_file_counts_by_what_it_holds_wherever_it_lies(tmp_path: Path) -> None:
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


def test_a_digest_of_its_own_stands_for_what_a_class_reads(tmp_path: Path) -> None:
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
        ("{% include 'reply.j2' %}", "RecursionError"),
        ("{% include 'none.j2' %}", "there is no none.j2"),
    ],
)
def test_a_template_that_cannot_be_rendered_is_refused(template: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "reply.j2").write_text("{% if F is defined %}{% endif %}" + template, encoding="utf-8")
    system = system_of(prompts=str(tmp_path))
    with pytest.raises(ConfigError, match=f"the prompt reply.j2 cannot be rendered: {message}"):
        Prompts(system).messages(system.stages[0], State(SCENE), {}, "", None)


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ({"_target_": "no_such_module.Thing"}, "No module named 'no_such_module'"),
        ({"_target_": f"{__name__}.Source"}, "missing 1 required positional argument: 'give'"),
        ({"_target_": "mmerg.corpora.folder.Folder", "root": ".", "file": 5}, "file is 5: "),
        ({"_target_": f"{__name__}.leaves"}, "leaves cannot be made: SystemExit: no weights"),
    ],
)
def test_what_cannot_be_made_is_told_without_what_makes_it(node: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=r"cannot be (made|imported)") as raised:
        instantiate(ClassSpec.model_validate(node), "sources.F")
    assert message in raised.value.what
    assert "HYDRA" not in raised.value.what
    assert raised.value.where == "sources.F" or __file__ in raised.value.where

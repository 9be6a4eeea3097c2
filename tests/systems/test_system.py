"""Systems from YAML: MERG as the paper has it, and clear errors for one that does not hold."""

from copy import deepcopy
from typing import Any

import pytest
import yaml
from pydantic import RootModel

from mmerg.errors import ConfigError
from mmerg.settings.model import SystemSettings
from mmerg.settings.problems import read_settings
from mmerg.systems.build import build
from tests.engine.parts import ROOT, merg, system_of

MERG: dict[str, Any] = yaml.safe_load((ROOT / "conf/system/merg.yaml").read_text(encoding="utf-8"))


def test_merg_is_as_in_the_paper() -> None:
    system = merg()
    assert {stage.name: stage.sees for stage in system.stages} == {
        "mpa": ("D", "V"),
        "caef": ("D", "V", "E"),
        "psp": ("D", "E", "e"),
        "sgrg": ("D", "E", "e", "P", "M"),
    }
    assert system.auditor is not None
    assert system.auditor.sees == ("D", "V", "E", "e", "P", "R")
    assert system.max_iterations == 2
    assert [stage.name for stage in system.stages if stage.output is None] == ["sgrg"]
    assert [stage.name for stage in system.stages if stage.logprobs] == ["sgrg"]


def changed(**paths: Any) -> dict[str, Any]:
    config = deepcopy(MERG)
    for path, value in paths.items():
        *parents, last = path.split("__")
        node = config
        for name in parents:
            node = node[name]
        node[last] = value
    return config


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (changed(stages__mpa__sees=["D", "P"]), "stage mpa sees P, which nothing before it gives"),
        (changed(stages__psp__gives="E"), "stage psp gives E, which is already taken"),
        (changed(stages__mpa__output="mmerg.nowhere.X"), "cannot be imported"),
        (changed(stages__mpa__output="mmerg.errors.MmergError"), "is not a pydantic class with fields"),
        (changed(stages__mpa__output="X"), "cannot be imported"),
        (changed(stages__mpa__sampling={"temprature": 1}), "did you mean stages.mpa.sampling.temperature?"),
        (changed(stages={}), "stages is {}\n"),
        (changed(prompts="nowhere"), "there is no folder nowhere"),
        (changed(stages__mpa__sampling={"stop": 3}), "stages.mpa.sampling.stop is 3"),
        (changed(result={"response": "X"}), "result.response is 'X', which no stage gives"),
        (changed(result={"emotion": "e.emo"}), "result.emotion is 'e.emo', which caef does not give"),
        (changed(result={"cause": "E"}), "result.cause is not kept"),
        (changed(stages__mpa={"sees": ["D"]}), "stages.mpa.gives has no value"),
        (changed(vocabulary={"goal": []}), "vocabulary.goal is []"),
        (changed(vocabulary={"goal": ["comfort"]}), "chooses from stance, tactic, tone, for which there are no words"),
        (changed(stages__sgrg__sees=["D", "N"]), "another is supplied by sources.N={_target_: …}"),
        (changed(stages__mpa__sees="DV"), "stages.mpa.sees is 'DV'\n"),
        (changed(stages__mpa__sees=[1]), "stages.mpa.sees.0 is 1\n"),
        (changed(stages__mpa__output=5), "stages.mpa.output"),
        (changed(stages__mpa__output="pydantic.BaseModel"), "not a pydantic class with fields"),
        (changed(stages__mpa__output=f"{__name__}.Cues"), "is a RootModel, which has no fields of its own"),
        (changed(stages__mpa__logprobs="maybe"), "stages.mpa.logprobs"),
        (changed(stages__mpa__sampling=None), "stages.mpa.sampling"),
        (changed(stages__mpa__samplng={}), "did you mean stages.mpa.sampling?"),
        (changed(auditor__name="mpa"), "the auditor has the name of a stage, mpa"),
        (changed(vocabulary={"goal": [""]}), "vocabulary.goal.0"),
        (changed(result={"response": "P"}), "result.response is 'P', which is no text"),
        (changed(result={"plan": "E.textual_cues"}), "which is no text"),
        (changed(loop="refine", auditor__output="text", stages__mpa__form="code"), "and stage mpa has a form of check"),
    ],
)
def test_a_system_that_does_not_hold_is_refused(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        system_of(config)
    assert message in str(caught.value)


class Cues(RootModel[list[str]]):
    """No object, as a reply is."""


@pytest.mark.parametrize(
    ("symbol", "hint"), [("m", "did you mean sources.M?"), ("facts", "stages see D, E, M, P, R, V, e")]
)
def test_a_source_that_no_stage_sees_is_refused(symbol: str, hint: str) -> None:
    node = read_settings(SystemSettings, MERG, "system=merg")
    with pytest.raises(ConfigError, match=f"sources.{symbol} is set, but no stage sees {symbol}") as caught:
        build(node, given=["M", symbol])
    assert caught.value.hint == hint


def test_a_source_of_a_stage_that_is_left_out_is_idle() -> None:
    config = changed(stages__psp__sees=["D", "E", "e", "N"], without=["psp"])
    assert not build(read_settings(SystemSettings, config, "system=merg"), given=["M", "N"]).sees("N")
    assert not build(read_settings(SystemSettings, changed(stages__sgrg__sees=["D"]), "system=merg"), ["M"]).sees("M")


def test_the_audit_asks_of_the_stages_there_are() -> None:
    config = changed(stages__psp__sees=["D", "E", "e"])
    del config["stages"]["psp"]
    config["stages"]["sgrg"]["sees"] = ["D", "E", "e"]
    config["auditor"]["sees"] = ["D", "V", "E", "e", "R"]
    del config["result"]["plan"]
    auditor = system_of(config).auditor
    assert auditor is not None
    assert auditor.output is not None
    assert list(auditor.output.model_fields) == ["mpa", "caef", "sgrg"]

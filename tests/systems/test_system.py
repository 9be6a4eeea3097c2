"""Systems from YAML: MERG as in the paper, its ablations, and errors for settings that do not fit."""

from typing import Any

import pytest

from mmerg.errors import ConfigError
from mmerg.settings.model import SystemSettings
from mmerg.settings.problems import read_settings
from mmerg.systems.build import build_system
from tests.engine.parts import MERG, build_from_config, merg, merg_config

SYMBOL = {"mpa": "E", "caef": "e", "psp": "P"}


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


@pytest.mark.parametrize("name", SYMBOL)
def test_a_removed_stage_is_absent_from_every_list(name: str) -> None:
    system = build_from_config(merg_config(without=[name]))
    assert name not in [stage.name for stage in system.stages]
    assert all(SYMBOL[name] not in agent.sees for agent in system.agents)
    assert system.auditor is not None
    assert system.auditor.output is not None
    assert list(system.auditor.output.model_fields) == [stage.name for stage in system.stages]
    assert all(path.split(".")[0] != SYMBOL[name] for path in system.result.values())


def test_independent_stages_see_no_output_and_the_auditor_sees_all() -> None:
    system = build_from_config(merg_config(organization="independent"))
    assert {stage.name: stage.sees for stage in system.stages} == {
        "mpa": ("D", "V"),
        "caef": ("D", "V"),
        "psp": ("D",),
        "sgrg": ("D", "M"),
    }
    assert system.auditor == merg().auditor
    assert system.result == merg().result


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (merg_config(stages__mpa__sees=["D", "P"]), "stage mpa sees P, which nothing before it gives"),
        (merg_config(stages__sgrg__sees=["D", "N"]), "for another input, set sources.N={_target_: …}"),
        (merg_config(stages__psp__gives="E"), "stage psp gives E, which the sample, a source or another stage gives"),
        (merg_config(stages__mpa__output="mmerg.nowhere.X"), "cannot be imported"),
        (merg_config(stages__mpa__output="mmerg.errors.MmergError"), "is not a pydantic class"),
        (merg_config(stages__mpa__sampling={"temprature": 1}), "did you mean stages.mpa.sampling.temperature?"),
        (merg_config(stages__mpa={"sees": ["D"]}), "stages.mpa.gives has no value"),
        (merg_config(stages={}), "stages is {}\n"),
        (merg_config(prompts="nowhere"), "there is no such folder"),
        (merg_config(result={"response": "X"}), "result.response is 'X', which no stage gives"),
        (merg_config(result={"emotion": "e.emo"}), "result.emotion is 'e.emo', which caef does not give"),
        (merg_config(result={"cause": "E"}), "result.cause is unknown"),
        (merg_config(result={"response": "P"}), "result.response is 'P', which is not a text"),
        (merg_config(vocabulary={"goal": ["comfort"]}), "chooses from stance, tactic, tone, which is not a vocabulary"),
        (merg_config(without=["mpaa"]), "did you mean mpa"),
        (merg_config(without=["sgrg"]), "without sgrg no stage writes the response"),
        (merg_config(stages__psp__sees=["E"], without=["mpa"]), "stage psp would have no input"),
    ],
)
def test_a_system_that_does_not_fit_is_an_error(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_from_config(config)
    assert message in str(caught.value)


def test_a_source_that_no_stage_sees_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"sources.m is set, but no stage sees m[^$]*stages see D, E, M, P"):
        build_system(read_settings(SystemSettings, MERG, "system=merg"), sources=["M", "m"])
    config = merg_config(stages__psp__sees=["D", "E", "e", "N"], without=["psp"])
    assert not build_system(read_settings(SystemSettings, config, "system=merg"), sources=["M", "N"]).sees("N")

"""Ablations as configuration: what is taken out is gone everywhere, and what makes no sense is refused."""

from copy import deepcopy
from typing import Any

import pytest
import yaml

from mmerg.errors import ConfigError
from mmerg.systems.system import System
from tests.engine.parts import ROOT, system_of

MERG: dict[str, Any] = yaml.safe_load((ROOT / "conf/system/merg.yaml").read_text(encoding="utf-8"))
SYMBOL = {"mpa": "E", "caef": "e", "psp": "P"}


def ablation(**changes: Any) -> System:
    return system_of({**deepcopy(MERG), **changes})


@pytest.mark.parametrize("name", SYMBOL)
def test_an_absent_stage_is_absent_from_every_list(name: str) -> None:
    system = ablation(without=[name])
    assert name not in [stage.name for stage in system.stages]
    assert all(SYMBOL[name] not in agent.sees for agent in system.agents)
    assert system.auditor is not None
    assert system.auditor.output is not None
    assert name not in system.auditor.output.model_fields
    assert all(path.split(".")[0] != SYMBOL[name] for path in system.result.values())


def test_no_stage_sees_another_when_they_are_independent_and_the_auditor_sees_all() -> None:
    system = ablation(organization="independent")
    assert {stage.name: stage.sees for stage in system.stages} == {
        "mpa": ("D", "V"),
        "caef": ("D", "V"),
        "psp": ("D",),
        "sgrg": ("D", "M"),
    }
    assert system.auditor == system_of(MERG).auditor
    assert system.result == system_of(MERG).result


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"without": ["mpx"]}, "mpx is no agent of this system"),
        ({"without": ["mpaa"]}, "did you mean mpa"),
        ({"without": ["sgrg"]}, "without sgrg no stage writes the response"),
        ({"result": {"response": "P.reasoning"}, "without": ["psp"]}, "without psp no stage writes the response"),
        ({"without": ["gra"], "final_selection": "last"}, "last needs several passes with ranks"),
        ({"max_iterations": 0, "final_selection": "last"}, "last needs several passes with ranks"),
        (
            {"loop": "refine", "auditor": {**MERG["auditor"], "output": "text"}, "final_selection": "last"},
            "last needs several passes with ranks",
        ),
        ({"without": ["mpa", "caef", "psp", "sgrg"]}, "without sgrg no stage writes the response"),
        (
            {"stages": MERG["stages"] | {"psp": MERG["stages"]["psp"] | {"sees": ["E"]}}, "without": ["mpa"]},
            "stage psp",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ablation(**changes)
    assert message in str(caught.value)

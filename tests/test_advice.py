"""What the hint of an error advises can be typed as it stands."""

import re
from pathlib import Path

import pytest

from mmerg.errors import ConfigError
from mmerg.experiment.backbone import BackbonePlan
from mmerg.experiment.plan import plan_prompts, refuse_idle_seeds
from mmerg.settings.model import RunSettings
from tests.configs import BASE, parse_settings

COLD = "backbone.sampling.temperature=0"


def refuse(settings: RunSettings) -> None:
    sampling = BackbonePlan.from_settings(settings).sampling(settings.seed)
    refuse_idle_seeds(settings.repeats, plan_prompts(settings).system, sampling)


@pytest.mark.parametrize("cold", [COLD, f"~{COLD.removesuffix('=0')}"])
@pytest.mark.parametrize("backbone", ["qwen3.5-27b", "smollm2-135m"])
def test_a_temperature_for_repeats_composes_with_every_backbone(backbone: str, cold: str) -> None:
    given = (*BASE, f"backbone={backbone}", "repeats=2", cold)
    with pytest.raises(ConfigError, match="the same replies each time") as caught:
        refuse(parse_settings(*given))
    advised = caught.value.hint.split(",")[0]
    refuse(parse_settings(*given, advised))


def test_a_temperature_for_draws_is_that_of_the_stage_which_has_one() -> None:
    given = (*BASE, "system=best_of_n", "system.stages.answer.sampling.temperature=0")
    with pytest.raises(ConfigError, match=r"system\.n=10 would give the same replies each time") as caught:
        refuse(parse_settings(*given))
    for advised in caught.value.hint.split(", or "):
        refuse(parse_settings(*given, advised))


@pytest.mark.parametrize("backbone", ["qwen3.5-27b", "smollm2-135m"])
def test_the_temperature_of_the_page_on_reproduction_composes_with_every_backbone(backbone: str) -> None:
    page = (Path(__file__).parents[1] / "docs/reproduce.md").read_text(encoding="utf-8")
    [advised] = re.findall(r"`(\S*sampling\.temperature=\S*)`", page)
    refuse(parse_settings(*BASE, f"backbone={backbone}", "repeats=2", advised))

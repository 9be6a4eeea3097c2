"""Settings that the hint of an error advises can be used as they are."""

import re
from pathlib import Path

import pytest

from mmerg.errors import ConfigError
from mmerg.experiment.backbone import BackbonePlan
from mmerg.experiment.plan import plan_prompts, refuse_idle_seeds
from mmerg.settings.model import RunSettings
from tests.configs import BASE, parse_settings

COLD = "backbone.sampling.temperature=0"


def check_seeds(settings: RunSettings) -> None:
    """Raises ConfigError if seeds would not change the replies."""
    sampling = BackbonePlan.from_settings(settings).sampling(settings.seed)
    refuse_idle_seeds(settings.repeats, plan_prompts(settings).system, sampling)


@pytest.mark.parametrize("cold", [COLD, f"~{COLD.removesuffix('=0')}"])
@pytest.mark.parametrize("backbone", ["qwen3.5-27b", "smollm2-135m"])
def test_a_temperature_for_repeats_composes_with_every_backbone(backbone: str, cold: str) -> None:
    overrides = (*BASE, f"backbone={backbone}", "repeats=2", cold)
    with pytest.raises(ConfigError, match="the same replies each time") as error:
        check_seeds(parse_settings(*overrides))
    advised = error.value.hint.split(",")[0]
    check_seeds(parse_settings(*overrides, advised))


def test_the_temperature_for_candidates_is_advised_for_the_stage_that_sets_one() -> None:
    overrides = (*BASE, "system=best_of_n", "system.stages.answer.sampling.temperature=0")
    with pytest.raises(ConfigError, match=r"system\.n=10 would give the same replies each time") as error:
        check_seeds(parse_settings(*overrides))
    for advised in error.value.hint.split(", or "):
        check_seeds(parse_settings(*overrides, advised))


@pytest.mark.parametrize("backbone", ["qwen3.5-27b", "smollm2-135m"])
def test_the_temperature_in_docs_composes_with_every_backbone(backbone: str) -> None:
    page = (Path(__file__).parents[1] / "docs/reproduce.md").read_text(encoding="utf-8")
    [advised] = re.findall(r"`(\S*sampling\.temperature=\S*)`", page)
    check_seeds(parse_settings(*BASE, f"backbone={backbone}", "repeats=2", advised))

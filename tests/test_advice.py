"""Settings that the hint of an error advises can be used as they are."""

import pytest

from mmerg.errors import ConfigError
from mmerg.experiment.backbone import BackbonePlan
from mmerg.experiment.plan import plan_prompts, refuse_idle_seeds
from mmerg.settings.model import RunSettings
from tests.configs import BASE, parse_settings


def check_seeds(settings: RunSettings) -> None:
    """Raises ConfigError if seeds would not change the replies."""
    sampling = BackbonePlan.from_settings(settings).sampling(settings.seed)
    refuse_idle_seeds(plan_prompts(settings).system, sampling)


def test_the_temperature_for_candidates_is_advised_for_the_stage_that_sets_one() -> None:
    overrides = (*BASE, "system=best_of_n", "system.stages.answer.sampling.temperature=0")
    with pytest.raises(ConfigError, match=r"system\.n=10 would give the same replies each time") as error:
        check_seeds(parse_settings(*overrides))
    for advised in error.value.hint.split(", or "):
        check_seeds(parse_settings(*overrides, advised))

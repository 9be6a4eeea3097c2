"""The agents of a run by its config: what each gives, with ablations."""

import pytest

from mmerg.reporting.agents import Agents
from tests.composed import settings_of
from tests.scoring.run_builder import manifest_of


@pytest.mark.parametrize(
    ("ablation", "stages", "auditor"),
    [
        ("full", ["mpa", "caef", "psp", "sgrg"], "gra"),
        ("without_caef", ["mpa", "psp", "sgrg"], "gra"),
        ("without_gra", ["mpa", "caef", "psp", "sgrg"], ""),
    ],
)
def test_an_ablation_leaves_out_its_agents(ablation: str, stages: list[str], auditor: str) -> None:
    settings = settings_of("+experiment=ablations", "dataset=demo", f"ablation={ablation}")
    agents = Agents(manifest_of([], config=settings.plain()))
    assert (list(agents.titles), agents.auditor) == (stages, auditor)

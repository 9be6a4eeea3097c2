"""The agents of a run by its config: what each gives and is shown, with ablations, in words where there are any."""

from typing import Any

import pytest
import yaml

from mmerg.experiment.wiring import prompts_of
from mmerg.reporting.stages import Stages
from mmerg.runs.manifest import Manifest
from tests.composed import settings_of
from tests.engine.parts import ROOT
from tests.scoring.run_builder import manifest_of


def manifest(frames: str = "paper", **system: Any) -> Manifest:
    """That of a run of MERG with these settings of its system."""
    made = manifest_of([]).settings["system"] | system
    return manifest_of([], config={"system": made, "frames": {"seen_by": frames}})


def seen(found: Manifest) -> dict[str, str]:
    stages = Stages(found)
    return {name: " ".join(agent.sees) for name, agent in stages.named.items()} | {
        stages.auditor: " ".join(stages.audits)
    }


def test_each_agent_sees_what_the_config_says() -> None:
    assert seen(manifest()) == {
        "mpa": "D V",
        "caef": "D V E",
        "psp": "D E e",
        "sgrg": "D E e P M",
        "gra": "D V E e P R",
    }


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"without": ["mpa"]}, {"caef": "D V", "psp": "D e", "sgrg": "D e P M", "gra": "D V e P R"}),
        (
            {"organization": "independent"},
            {"mpa": "D V", "caef": "D V", "psp": "D", "sgrg": "D M", "gra": "D V E e P R"},
        ),
        (
            {"frames": "all"},
            {"mpa": "D V", "caef": "D V E", "psp": "D V E e", "sgrg": "D V E e P M", "gra": "D V E e P R"},
        ),
        (
            {"frames": "none", "without": ["gra"]},
            {"mpa": "D", "caef": "D E", "psp": "D E e", "sgrg": "D E e P M", "": ""},
        ),
    ],
)
def test_ablations_take_away_what_is_not_made_or_shown(settings: dict[str, Any], told: dict[str, str]) -> None:
    assert seen(manifest(**settings)) == told


ROWS = yaml.safe_load((ROOT / "conf/experiment/ablations.yaml").read_text(encoding="utf-8"))["rows"]


@pytest.mark.parametrize("frames", ["paper", "all", "none"])
@pytest.mark.parametrize("row", ROWS)
def test_what_is_told_of_a_config_is_what_its_system_does(row: str, frames: str) -> None:
    """A report reads manifests, older ones too, and builds no system: this holds the two readings together. Pages name
    symbols in an order of their own."""
    settings = settings_of("+experiment=ablations", "dataset=demo", f"row={row}", f"frames={frames}")
    system = prompts_of(settings).system
    stages = Stages(manifest_of([], config=settings.plain()))
    assert [(name, agent.symbol, sorted(agent.sees)) for name, agent in stages.named.items()] == [
        (stage.name, stage.gives, sorted(stage.sees)) for stage in system.stages
    ]
    audits = (system.auditor.name, sorted(system.auditor.sees)) if system.auditor else ("", [])
    assert (stages.auditor, sorted(stages.audits)) == audits


def test_symbols_have_a_meaning_where_somebody_gives_them_one() -> None:
    stages = Stages(manifest())
    assert [stages.told(symbol) for symbol in ("D", "V", "M", "E", "R", "K")] == [
        *("dialogue", "keyframes", "exemplars", "evidence", "response"),
        "K",
    ]
    other = Stages(
        manifest_of([], config={"system": {"stages": {"a": {"gives": "D", "output": "mine.Draft"}, "b": {}}}})
    )
    assert (other.told("D"), other.named["b"].sees) == ("draft", ())


def test_a_manifest_without_a_system_names_no_agent() -> None:
    found = Stages(manifest_of([], config={"system": {}}))
    assert (found.named, found.auditor) == ({}, "")

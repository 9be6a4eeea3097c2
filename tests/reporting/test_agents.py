"""The agents of a run by its config: what each gives and is shown, with ablations, in words where there are any."""

import pytest

from mmerg.experiment.wiring import prompts_of
from mmerg.reporting.agents import Agents
from tests.composed import settings_of
from tests.engine.parts import ROOT
from tests.scoring.run_builder import manifest_of

ABLATIONS = sorted(file.stem for file in (ROOT / "conf/ablation").glob("*.yaml"))


@pytest.mark.parametrize("frames", ["paper", "all", "none"])
@pytest.mark.parametrize("ablation", ABLATIONS)
def test_what_is_told_of_a_config_is_what_its_system_does(ablation: str, frames: str) -> None:
    """A report reads manifests and builds no system: this holds the two readings together. Pages name
    symbols in an order of their own."""
    settings = settings_of("+experiment=ablations", "dataset=demo", f"ablation={ablation}", f"frames={frames}")
    system = prompts_of(settings).system
    agents = Agents(manifest_of([], config=settings.plain()))
    assert [(name, agent.symbol, sorted(agent.sees)) for name, agent in agents.named.items()] == [
        (stage.name, stage.gives, sorted(stage.sees)) for stage in system.stages
    ]
    audits = (system.auditor.name, sorted(system.auditor.sees)) if system.auditor else ("", [])
    assert (agents.auditor, sorted(agents.audits)) == audits


def test_symbols_have_a_meaning_where_somebody_gives_them_one() -> None:
    agents = Agents(manifest_of([]))
    assert [agents.meaning(symbol) for symbol in "DVMERK"] == [
        *("dialogue", "keyframes", "exemplars", "evidence", "response", "K"),
    ]
    config = {"system": {"stages": {"a": {"gives": "D", "output": "mine.Draft"}, "b": {}}}}
    other = Agents(manifest_of([], config=config))
    assert (other.meaning("D"), other.named["b"].sees) == ("draft", ())
    none = Agents(manifest_of([], config={"system": {}}))
    assert (none.named, none.auditor, none.audits) == ({}, "", ())

"""Sources, and the forecasts that they get."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from mmerg.backends.scripted import Scripted
from mmerg.corpora.dialogue import Sample
from mmerg.engine.sample import Experiment
from mmerg.engine.sources import SourceOutput
from mmerg.engine.state import State
from mmerg.errors import ConfigError
from mmerg.settings.model import SystemSettings
from mmerg.settings.problems import read_settings
from mmerg.sources.exemplars import FromMemory
from mmerg.systems.build import build_system
from mmerg.systems.system import System
from tests.engine.parts import ROOT
from tests.engine.test_experiment import Lab
from tests.memory.parts import Letters, corpus, dialogue
from tests.outside.outside_parts import Label


def two_stages(*early: str, late: tuple[str, ...] = ("e",)) -> System:
    """A stage that gives the emotion, and one that replies and sees M."""
    label = f"{Label.__module__}.Label"
    stages = {
        "asi": {"sees": ["D", *early], "gives": "e", "output": label},
        "ers": {"sees": ["D", *late, "M", "N"], "gives": "R"},
    }
    prompts = str(ROOT / "tests" / "outside" / "system" / "plain")
    node = {"name": "own", "prompts": prompts, "stages": stages, "result": {"response": "R", "emotion": "e.emotion"}}
    return build_system(read_settings(SystemSettings, node, "system=own"), sources=["M", "N"])


@dataclass
class RecordingSource:
    """Records the forecasts that it gets."""

    digest: str = "1"
    asked: list[str | None] = field(default_factory=list)

    def supply(self, sample: Sample, state: State, forecast: str | None) -> SourceOutput:
        self.asked.append(forecast)
        return SourceOutput(())


@pytest.mark.parametrize(
    ("early", "late", "forecasts"),
    [(("M",), ("e",), [None, "joy"]), ((), ("e",), ["joy"]), (("M",), (), [None, None])],
)
def test_a_source_gets_the_forecast_that_the_stage_sees(
    early: tuple[str, ...], late: tuple[str, ...], forecasts: list[str | None], tmp_path: Path
) -> None:
    system = two_stages(*early, late=late)
    for name in ("asi", "ers"):
        (tmp_path / f"{name}.j2").write_text("{{ M is defined }} {{ N is defined }}", encoding="utf-8")
    lab = Lab(tmp_path, replace(system, prompts=(tmp_path, *system.prompts)))
    one, other = RecordingSource(), RecordingSource()
    lab.experiment = replace(lab.experiment, sources={"M": one, "N": other})
    assert isinstance(lab.experiment, Experiment)
    assert lab(Scripted(['{"emotion": "joy", "turn": 1}', "Oh."])).status == "ok"
    assert (one.asked, other.asked) == (forecasts, forecasts[-1:])


MEMORY = corpus(dialogue("m1", "A: one", "B [joy]: glad words"))


def prepare(system: System, **settings: Any) -> object:
    source = FromMemory(embedder=Letters(), **settings)
    return source.prepare("M", system, MEMORY, lambda: MEMORY, Path("nowhere"))


def test_exemplars_by_emotion_need_a_stage_that_sees_the_forecast() -> None:
    assert prepare(two_stages("M"), emotion="require_or_any")
    message = r"memory\.emotion=require_or_any needs the forecast emotion, and asi, ers sees none"
    with pytest.raises(ConfigError, match=message):
        prepare(two_stages("M", late=()), emotion="require_or_any")


def test_invalid_settings_of_a_memory() -> None:
    for wrong, message in (({"topk": 3}, "topk"), ({"emotion": "requre"}, "require_or_any"), ({"top_k": 51}, "50")):
        with pytest.raises(ConfigError, match=message):
            FromMemory(embedder=Letters(), **wrong)
    assert prepare(two_stages("M"), top_k=0) is None

"""Parts that engine tests share: a scene, keyframes, the real MERG system, and outputs for each stage."""

import json
import re
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from mmerg.backends.protocol import Image, Request
from mmerg.corpora.dialogue import Scene, Turn
from mmerg.engine.state import State
from mmerg.frames.store import Frame, Keyframe
from mmerg.settings.model import SystemSettings
from mmerg.settings.problems import read_settings
from mmerg.systems.audit import make_audit_class
from mmerg.systems.build import build_system
from mmerg.systems.merg.schemas import Evidence, Forecast, Plan, TextualCue, VisualCue
from mmerg.systems.system import System
from mmerg.systems.wire import as_written

ROOT = Path(__file__).parents[2]
STAGES = ("mpa", "caef", "psp", "sgrg")
TASKS = {
    "mpa": "Your step: perception",
    "caef": "Your step: emotion forecast",
    "psp": "Your step: the plan",
    "sgrg": "Your step: write the next turn",
    "gra": "Your step: the audit",
}
SCENE = Scene(
    "d1/4",
    (Turn("Ana", "I did not get the job."), Turn("Ben", "Oh no."), Turn("Ana", "It's fine. Really.")),
    "Ben",
    ("neutral", "joy", "sadness"),
)


MERG: dict[str, Any] = yaml.safe_load((ROOT / "conf/system/merg.yaml").read_text(encoding="utf-8"))


def merg_config(**paths: Any) -> dict[str, Any]:
    """Returns MERG's config with other values: stages__psp__form="odds"."""
    config = deepcopy(MERG)
    for path, value in paths.items():
        *parents, last = path.split("__")
        node = config
        for name in parents:
            node = node[name]
        node[last] = value
    return config


def build_from_config(config: Mapping[str, object]) -> System:
    """Builds the system of a config, as a run does, with a source for M."""
    return build_system(read_settings(SystemSettings, config, f"system={config['name']}"), sources=["M"])


@cache
def _merg() -> System:
    return build_from_config(MERG)


def merg(**changes: Any) -> System:
    return replace(_merg(), **changes)


def make_keyframes(count: int, described: bool = False) -> tuple[Keyframe, ...]:
    return tuple(
        Keyframe(3, Frame(sha256=f"{n:064x}", source="c.mp4", time=n / 2, width=64, height=48), "dark." * described)
        for n in range(1, count + 1)
    )


def state_with_images() -> State:
    frames = make_keyframes(2)
    return State(SCENE, frames, tuple(Image(k.frame.sha256, b"jpeg") for k in frames))


def outputs(mark: str = "") -> dict[str, BaseModel | str]:
    """Returns a valid output for each stage; `mark` distinguishes passes."""
    return {
        "mpa": Evidence(
            textual_cues=(TextualCue(turn=3, cue=f"says fine twice{mark}"),),
            visual_cues=(VisualCue(frame=1, cue=f"looks down{mark}"),),
        ),
        "caef": Forecast(
            textual="calm", visual="sad", consistency="conflict", reasoning=f"face wins{mark}", emotion="sadness"
        ),
        "psp": Plan(reasoning=f"needs comfort{mark}", goal="comfort", stance="warm", tactic="question", tone="gentle"),
        "sgrg": f"That must hurt.{mark}",
    }


def audit(checks: Mapping[str, bool]) -> BaseModel:
    findings = {
        name: {"reason": f"{name} looked at", "passed": passed, "correction": "" if passed else f"mend {name}"}
        for name, passed in checks.items()
    }
    return make_audit_class(tuple(checks)).model_validate(findings)


def find_stage(request: Request) -> str:
    """Finds the stage that makes a request, by its part of the prompt."""
    [user] = [message for message in request.messages if message.role == "user"][:1]
    [name] = [name for name, task in TASKS.items() if task in user.text]
    return name


def as_text(output: BaseModel | str) -> str:
    """Formats an output as a model writes it."""
    return as_written(output)


def to_class_names(names: Iterable[str]) -> list[str]:
    """Returns the class names of fields with wire names."""
    return [re.sub(r"^[a-z]_", "", name) for name in names]


def fill_schema(values: Mapping[str, object], schema: Mapping[str, Any]) -> str:
    """Fills a schema. values: by class name."""
    names = list(schema["properties"])
    return json.dumps({name: values[own] for name, own in zip(names, to_class_names(names), strict=True)})

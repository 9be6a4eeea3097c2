"""Ablations end to end: every prompt as rendered (a golden file an ablation), and the transitions of the loop."""

from __future__ import annotations

import os
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from mmerg.backends.protocol import Request, Sampling
from mmerg.backends.scripted import Scripted
from mmerg.engine.ask import Asker
from mmerg.engine.prompts import Prompts
from mmerg.engine.refine import Outcome, refine
from mmerg.records import events
from mmerg.systems.system import build
from tests.engine.parts import ROOT, STAGES, as_text, audit, outputs, stage_of, with_images

GOLDEN = Path(__file__).parent / "golden" / "ablations"
MERG: dict[str, Any] = yaml.safe_load((ROOT / "conf/system/merg.yaml").read_text(encoding="utf-8"))
ABLATIONS: dict[str, dict[str, Any]] = {
    "without-mpa": {"without": ["mpa"]},
    "without-caef": {"without": ["caef"]},
    "without-psp": {"without": ["psp"]},
    "without-gra": {"without": ["gra"]},
    "independent": {"organization": "independent"},
}
MARKS = {
    "without-mpa": ("Evidence", "evidence", "mpa", "cue"),
    "without-caef": ("Emotion of the next turn", "carries", "caef"),
    "without-psp": ("Plan for", "plan", "psp"),
    "without-gra": ("Your step: the audit",),
}


class Played:
    """An ablation run on one scene by a model whose audits find the given stages at fault, pass by pass."""

    def __init__(self, changes: dict[str, Any], *faults: str) -> None:
        system = build({**deepcopy(MERG), **changes})
        audits = iter([*faults, ""])
        checked = [stage.name for stage in system.stages]

        def answer(request: Request) -> str:
            name = stage_of(request)
            if name != "gra":
                return as_text(outputs()[name])
            fault = next(audits)
            return as_text(audit({stage: stage != fault for stage in checked}))

        self.backend, self.events = Scripted(answer), list[events.Event]()
        asker = Asker(Prompts(system), self.backend, Sampling(), self.events.append)
        self.outcome: Outcome = refine(system, with_images(), asker, self.events.append)

    @property
    def asked(self) -> list[str]:
        return [stage_of(request) for request in self.backend.requests]

    @property
    def prompts(self) -> str:
        return "".join(
            f"=== {stage_of(request)}, {message.role}, {len(message.images)} images\n{message.text}\n"
            for request in self.backend.requests
            for message in request.messages[1:]
        )


@pytest.mark.parametrize("name", ABLATIONS)
def test_the_prompts_are_as_in_the_golden_file(name: str) -> None:
    told, file = Played(ABLATIONS[name]).prompts, GOLDEN / f"{name}.txt"
    if os.environ.get("MMERG_WRITE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(told, encoding="utf-8")
    assert told == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", MARKS)
def test_what_is_absent_leaves_no_word(name: str) -> None:
    told = Played(ABLATIONS[name]).prompts
    assert not [mark for mark in MARKS[name] if mark in told]


def test_independent_stages_are_told_nothing_of_each_other() -> None:
    played = Played(ABLATIONS["independent"])
    for stage, request in zip(played.asked, played.backend.requests, strict=True):
        shared = request.messages[1].text.split("Your step")[0]
        told = [mark for mark in ("Evidence:", "Emotion of", "Plan for", "as written:") if mark in shared]
        assert bool(told) == (stage == "gra")


@pytest.mark.parametrize(
    ("changes", "faults", "asked"),
    [
        ({}, ["caef"], [*STAGES, "gra", "caef", "psp", "sgrg", "gra"]),
        ({"without": ["mpa"]}, ["caef"], ["caef", "psp", "sgrg", "gra", "caef", "psp", "sgrg", "gra"]),
        ({"without": ["caef"]}, ["psp"], ["mpa", "psp", "sgrg", "gra", "psp", "sgrg", "gra"]),
        ({"without": ["psp"]}, ["sgrg"], ["mpa", "caef", "sgrg", "gra", "sgrg", "gra"]),
        ({"without": ["gra"]}, [], list(STAGES)),
        ({"organization": "independent"}, ["psp"], [*STAGES, "gra", "psp", "sgrg", "gra"]),
        ({"max_iterations": 0}, ["mpa"], [*STAGES, "gra"]),
    ],
)
def test_the_loop_goes_on_from_the_fault_among_the_stages_there_are(
    changes: dict[str, Any], faults: list[str], asked: list[str]
) -> None:
    assert Played(changes, *faults).asked == asked


@pytest.mark.parametrize(("final_selection", "selected"), [("lexicographic", 1), ("last", 2)])
def test_the_response_comes_from_the_best_pass_or_from_the_last(final_selection: str, selected: int) -> None:
    played = Played({"final_selection": final_selection}, "mpa", "sgrg", "psp")
    assert (len(played.outcome.passes), played.outcome.selected.t) == (3, selected)
    [told] = [event for event in played.events if isinstance(event, events.Selected)]
    assert (told.t, told.by) == (selected, final_selection)

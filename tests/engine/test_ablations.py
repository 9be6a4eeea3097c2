"""Ablations: golden files of every prompt, and the order of the stages."""

import json
import os
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from mmerg.backends.protocol import Request, Sampling
from mmerg.backends.scripted import Scripted
from mmerg.engine.ask import Asker
from mmerg.engine.loops.audit import audit as audited
from mmerg.engine.loops.loop import Outcome
from mmerg.engine.prompts import Prompts
from mmerg.engine.sources import SourceOutput
from mmerg.runs import events
from tests.engine.parts import (
    MERG,
    STAGES,
    as_text,
    audit,
    build_from_config,
    fill_schema,
    find_stage,
    outputs,
    state_with_images,
)

GOLDEN = Path(__file__).parent / "golden" / "ablations"
ABLATIONS: dict[str, dict[str, Any]] = {
    "full": {},
    "without-mpa": {"without": ["mpa"]},
    "without-caef": {"without": ["caef"]},
    "without-psp": {"without": ["psp"]},
    "without-gra": {"without": ["gra"]},
    "response-alone": {"without": ["mpa", "caef", "psp"]},
    "faulty-alone": {"retain": "faulty"},
    "independent": {"organization": "independent"},
    "last-pass": {"final_selection": "last"},
    "max-iterations-0": {"max_iterations": 0},
    "frames-all": {"seen_by": "all"},
    "frames-none": {"seen_by": "none"},
    "top-k-0": {"top_k": 0},
    "top-k-3": {"top_k": 3},
}
SEES_FRAMES = ("mpa", "caef", "gra")
SAME_PROMPTS = ("last-pass", "faulty-alone", "max-iterations-0", "top-k-0")  # those of the full system
MARKS = {
    "without-mpa": ("Evidence", "evidence", "mpa", "cue"),
    "without-caef": ("Emotion of the next turn", "carries", "caef"),
    "without-psp": ("Plan for", "plan", "psp", "decided"),
    "response-alone": ("Evidence", "Emotion of", "Plan for", "plan", "decided", "emotion"),
    "without-gra": ("Your step: the audit", "The audit found"),
    "frames-none": ("Keyframes", "frame", "Frame", "visual"),
    "top-k-0": ("similar conversations",),
}


class Played:
    """Runs an ablation on one scene. faults: the stage that fails the audit, by pass. changes: `seen_by` and `top_k`
    are settings of frames and memory, all others of the system."""

    def __init__(self, changes: dict[str, Any], *faults: str) -> None:
        own = {name: value for name, value in changes.items() if name not in ("seen_by", "top_k")}
        system = build_from_config({**deepcopy(MERG), **own}).with_frames_shown_to(changes.get("seen_by", "paper"))
        before = {"history": [{"speaker": "Eve", "text": "I failed."}], "emotion": "sadness"}
        count = changes.get("top_k", 0)
        exemplars = SourceOutput(tuple({**before, "reply": f"Reply number {k}."} for k in range(1, count + 1)))
        audits = iter([*faults, ""])
        checked = [stage.name for stage in system.stages]

        def answer(request: Request) -> str:
            name = find_stage(request)
            if name != "gra":
                return output_of(name, request)
            fault = next(audits)
            return as_text(audit({stage: stage != fault for stage in checked}))

        self.backend, self.events = Scripted(answer), list[events.Event]()
        asker = Asker(Prompts(system), self.backend, Sampling(), self.events.append, {"M": lambda *_: exemplars})
        self.outcome: Outcome = audited(system, state_with_images(), asker, self.events.append)

    @property
    def asked(self) -> list[str]:
        return [find_stage(request) for request in self.backend.requests]

    @property
    def prompts(self) -> str:
        return "".join(
            f"=== {find_stage(request)}, {message.role}, {len(message.images)} images\n{message.text}\n"
            for request in self.backend.requests
            for message in request.messages[1:]
        )


def output_of(name: str, request: Request) -> str:
    """A valid output of a stage, with the fields of its schema."""
    output = outputs()[name]
    return output if isinstance(output, str) else fill_schema(output.model_dump(), json.loads(request.schema))


@pytest.mark.parametrize("name", [name for name in ABLATIONS if name not in SAME_PROMPTS])
def test_prompts_match_the_golden_file(name: str) -> None:
    prompts, file = Played(ABLATIONS[name]).prompts, GOLDEN / f"{name}.txt"
    if os.environ.get("MMERG_WRITE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(prompts, encoding="utf-8")
    assert prompts == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", MARKS)
def test_removed_parts_are_in_no_prompt(name: str) -> None:
    """This holds for the first pass and for a rerun from the first stage."""
    first = next(stage for stage in STAGES if stage not in ABLATIONS[name].get("without", ()))
    played = Played(ABLATIONS[name], first)
    schemas = "".join(request.schema for request in played.backend.requests)
    assert not [mark for mark in MARKS[name] if mark in played.prompts + schemas]
    assert [request for request in played.backend.requests if request.messages[1].images] == [
        request for request in played.backend.requests if name != "frames-none" and find_stage(request) in SEES_FRAMES
    ]


@pytest.mark.parametrize(
    ("changes", "faults", "asked"),
    [
        ({}, ["caef"], [*STAGES, "gra", "caef", "psp", "sgrg", "gra"]),
        ({"without": ["mpa"]}, ["caef"], ["caef", "psp", "sgrg", "gra", "caef", "psp", "sgrg", "gra"]),
        ({"without": ["gra"]}, [], list(STAGES)),
        ({"organization": "independent"}, ["psp"], [*STAGES, "gra", "psp", "sgrg", "gra"]),
        ({"max_iterations": 0}, ["mpa"], [*STAGES, "gra"]),
    ],
)
def test_the_loop_continues_from_the_fault(changes: dict[str, Any], faults: list[str], asked: list[str]) -> None:
    assert Played(changes, *faults).asked == asked


@pytest.mark.parametrize(
    ("changes", "shown"),
    [({}, ["caef", "psp", "sgrg"]), ({"retain": "faulty"}, ["caef"]), ({"organization": "independent"}, ["caef"])],
)
def test_a_rerun_shows_agents_their_previous_output_if_their_inputs_changed(
    changes: dict[str, Any], shown: list[str]
) -> None:
    requests = Played(changes, "caef").backend.requests
    again = [request for request in requests if "Your previous answer was" in request.messages[1].text]
    assert [find_stage(request) for request in again] == shown
    assert ["mend caef" in request.messages[1].text for request in again] == [True, *[False] * (len(shown) - 1)]


@pytest.mark.parametrize(("final_selection", "selected"), [("lexicographic", 1), ("last", 2)])
def test_the_response_comes_from_the_best_pass_or_the_last(final_selection: str, selected: int) -> None:
    played = Played({"final_selection": final_selection}, "mpa", "sgrg", "psp")
    assert (len(played.outcome.passes), played.outcome.selected.t) == (3, selected)
    [selection] = [event for event in played.events if isinstance(event, events.Selected)]
    assert (selection.t, selection.by) == (selected, final_selection)

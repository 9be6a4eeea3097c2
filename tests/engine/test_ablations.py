"""Ablations end to end: every prompt as rendered (a golden file an ablation), and the transitions of the loop."""

import json
import os
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from mmerg.backends.protocol import Request, Sampling
from mmerg.backends.scripted import Scripted
from mmerg.engine.ask import Asker
from mmerg.engine.loops.audit import audit as audited
from mmerg.engine.loops.loop import Outcome
from mmerg.engine.prompts import Prompts
from mmerg.engine.sources import SourceOutput
from mmerg.runs import events
from tests.engine.parts import (
    ROOT,
    STAGES,
    as_text,
    asked_of,
    audit,
    class_names,
    outputs,
    stage_of,
    system_of,
    with_images,
)

GOLDEN = Path(__file__).parent / "golden" / "ablations"
MERG: dict[str, Any] = yaml.safe_load((ROOT / "conf/system/merg.yaml").read_text(encoding="utf-8"))
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
    **{f"top-k-{k}": {"top_k": k} for k in range(6)},
}
SEES_FRAMES = ("mpa", "caef", "gra")
SAME_PROMPTS = ("last-pass", "faulty-alone", "max-iterations-0", "top-k-0")  # as those of the full system
OTHER_K = ("top-k-1", "top-k-2", "top-k-4", "top-k-5")  # as those of top-k-3, but for as many exemplars
MARKS = {
    "without-mpa": ("Evidence", "evidence", "mpa", "cue"),
    "without-caef": ("Emotion of the next turn", "carries", "caef"),
    "without-psp": ("Plan for", "plan", "psp", "decided"),
    "response-alone": ("Evidence", "Emotion of", "Plan for", "plan", "decided", "emotion"),
    "without-gra": ("Your step: the audit", "The audit found"),
    "frames-none": ("Keyframes", "frame", "Frame", "visual"),
    "top-k-0": ("similar conversations",),
}
RERUNS = {name: [stage for stage in STAGES if stage not in ABLATIONS[name].get("without", ())] for name in MARKS}
RERUNS["without-gra"] = []


class Played:
    """An ablation run on one scene by a model whose audits find the given stages at fault, pass by pass. `seen_by` and
    `top_k` are settings of frames and memory, the rest of the system."""

    def __init__(self, changes: dict[str, Any], *faults: str) -> None:
        own = {name: value for name, value in changes.items() if name not in ("seen_by", "top_k")}
        system = system_of({**deepcopy(MERG), **own}).showing_frames_to(changes.get("seen_by", "paper"))
        before = {"history": [{"speaker": "Eve", "text": "I failed."}], "emotion": "sadness"}
        count = changes.get("top_k", 0)
        exemplars = SourceOutput(tuple({**before, "reply": f"Reply number {k}."} for k in range(1, count + 1)))
        audits = iter([*faults, ""])
        checked = [stage.name for stage in system.stages]

        def answer(request: Request) -> str:
            name = stage_of(request)
            if name != "gra":
                return said(name, request)
            fault = next(audits)
            return as_text(audit({stage: stage != fault for stage in checked}))

        self.backend, self.events = Scripted(answer), list[events.Event]()
        asker = Asker(Prompts(system), self.backend, Sampling(), self.events.append, {"M": lambda *_: exemplars})
        self.outcome: Outcome = audited(system, with_images(), asker, self.events.append)

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


def said(name: str, request: Request) -> str:
    """A valid output of a stage, without what its schema does not ask for."""
    output = outputs()[name]
    return output if isinstance(output, str) else asked_of(output.model_dump(), json.loads(request.schema))


@pytest.mark.parametrize("name", [name for name in ABLATIONS if name not in (*SAME_PROMPTS, *OTHER_K)])
def test_the_prompts_are_as_in_the_golden_file(name: str) -> None:
    prompts, file = Played(ABLATIONS[name]).prompts, GOLDEN / f"{name}.txt"
    if os.environ.get("MMERG_WRITE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(prompts, encoding="utf-8")
    assert prompts == file.read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "fault"), [(name, fault) for name in MARKS for fault in (*RERUNS[name], "")])
def test_what_is_absent_leaves_no_word_in_any_pass(name: str, fault: str) -> None:
    played = Played(ABLATIONS[name], fault)
    schemas = "".join(request.schema for request in played.backend.requests)
    assert not [mark for mark in MARKS[name] if mark in played.prompts + schemas]
    assert [request for request in played.backend.requests if request.messages[1].images] == [
        request for request in played.backend.requests if name != "frames-none" and stage_of(request) in SEES_FRAMES
    ]


@pytest.mark.parametrize("name", ABLATIONS)
def test_an_audit_has_a_check_for_each_stage_there_is(name: str) -> None:
    played = Played(ABLATIONS[name])
    asked = played.asked
    for stage, request in zip(asked, played.backend.requests, strict=True):
        if stage == "gra":
            checks = class_names(json.loads(request.schema)["properties"])
            assert checks == [other for other in STAGES if other in asked]


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
        ({"final_selection": "last"}, ["psp"], [*STAGES, "gra", "psp", "sgrg", "gra"]),
        ({"seen_by": "all"}, ["sgrg"], [*STAGES, "gra", "sgrg", "gra"]),
        ({"seen_by": "none"}, ["mpa"], [*STAGES, "gra", *STAGES, "gra"]),
        ({"top_k": 0}, ["sgrg"], [*STAGES, "gra", "sgrg", "gra"]),
        ({"top_k": 5}, ["sgrg"], [*STAGES, "gra", "sgrg", "gra"]),
    ],
)
def test_the_loop_goes_on_from_the_fault_among_the_stages_there_are(
    changes: dict[str, Any], faults: list[str], asked: list[str]
) -> None:
    assert Played(changes, *faults).asked == asked


@pytest.mark.parametrize(
    ("changes", "shown"),
    [({}, ["caef", "psp", "sgrg"]), ({"retain": "faulty"}, ["caef"]), ({"organization": "independent"}, ["caef"])],
)
def test_a_rerun_shows_agents_their_last_output_where_what_they_see_is_new(
    changes: dict[str, Any], shown: list[str]
) -> None:
    requests = Played(changes, "caef").backend.requests
    again = [request for request in requests if "Your previous answer was" in request.messages[1].text]
    assert [stage_of(request) for request in again] == shown
    assert ["mend caef" in request.messages[1].text for request in again] == [True, *[False] * (len(shown) - 1)]


@pytest.mark.parametrize(("final_selection", "selected"), [("lexicographic", 1), ("last", 2)])
def test_the_response_comes_from_the_best_pass_or_from_the_last(final_selection: str, selected: int) -> None:
    played = Played({"final_selection": final_selection}, "mpa", "sgrg", "psp")
    assert (len(played.outcome.passes), played.outcome.selected.t) == (3, selected)
    [selection] = [event for event in played.events if isinstance(event, events.Selected)]
    assert (selection.t, selection.by) == (selected, final_selection)

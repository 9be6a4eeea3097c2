"""Passes that repeat the one before: found in events, counted over results, and reported by commands."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mmerg.engine.loops.audit import audit as refine
from mmerg.engine.state import Candidate, Correction, Output, State
from mmerg.experiment.launch import launch
from mmerg.runs import events
from mmerg.runs.folder import read_results
from mmerg.runs.trace import SampleTrace
from mmerg.settings.model import RunSettings
from mmerg.settings.parse import parse
from mmerg.show import main
from mmerg.systems.system import Stage
from tests.configs import compose_config
from tests.engine.parts import SCENE, STAGES, TASKS, as_text, audit, merg, outputs
from tests.scripted_ollama import ScriptedOllama, merg_answer, scripted_ollama
from tests.test_run import corpus_in


@dataclass
class Answers:
    """In pass t, the audit blames `faults[t]` and agents say `says[t]`."""

    faults: Sequence[str]
    says: Sequence[Mapping[str, int]]

    def __call__(
        self,
        stage: Stage,
        state: State,
        t: int,
        correction: Correction | None = None,
        candidate: Candidate | None = None,
    ) -> Output:
        if stage.name == "gra":
            return audit({name: name != self.faults[t] for name in STAGES})
        return outputs(f" {self.says[t][stage.name]}")[stage.name]


def refined(answers: Answers) -> list[events.Event]:
    emitted: list[events.Event] = []
    refine(merg(max_iterations=len(answers.faults) - 1), State(SCENE), answers, emitted.append)
    return emitted


def repeated(emitted: Sequence[events.Event]) -> dict[int, str]:
    return SampleTrace(emitted).repeated


def all_say(*what: int) -> list[dict[str, int]]:
    return [dict.fromkeys(STAGES, said) for said in what]


def test_a_pass_with_the_same_outputs_repeats_the_pass_before() -> None:
    assert repeated(refined(Answers(["mpa"] * 4, all_say(0, 1, 1, 1)))) == {2: "mpa", 3: "mpa"}


def stubborn(body: dict[str, Any]) -> str:
    """Perception is always at fault, and answers the same to every correction."""
    prompt = next(message["content"] for message in body["messages"] if message["role"] == "user")
    if TASKS["gra"] in prompt:
        return as_text(audit({name: name != "mpa" for name in STAGES}))
    if TASKS["mpa"] in prompt:
        return json.dumps({"textual_cues": [{"turn": 1, "cue": "keys are lost"}]})
    return merg_answer(body)


def test_run_and_show_report_repeated_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with scripted_ollama(answer=stubborn) as server:
        ended = launch(parse(compose_config(*_settings(tmp_path, server), "system.retain=faulty"), RunSettings))
    told = "2 of 2 passes after the first repeat the one before: the faulty agent gave the same output"
    assert told in capsys.readouterr().out
    results = read_results(Path(ended.run)).values()
    # At temperature 0 all that follows would be asked and answered as before, so the loop ends there.
    assert [(found.passes, found.calls, found.ended) for found in results] == [(2, 5 + 1, "idle")] * 2
    assert main([ended.run]) == 0
    shown = capsys.readouterr().out
    assert told in shown
    assert main([ended.run, "d0/4"]) == 0
    shown = capsys.readouterr().out
    assert "  repeats: 'pass 0: mpa answered as before'\n" in shown


def _settings(folder: Path, server: ScriptedOllama) -> list[str]:
    here = [f"dataset.root={corpus_in(folder)}", f"runs={folder}/runs", f"backend.hosts=[{server.url}]"]
    return ["dataset=folder", "backbone=qwen2.5vl-7b", "memory=none", "limit=2", *here]

"""The command `show`: the table of a run and the trace of a sample."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from mmerg.experiment.launch import launch
from mmerg.runs.folder import read_results
from mmerg.settings.model import RunSettings
from mmerg.settings.parse import parse
from mmerg.show import main
from tests.configs import compose_config
from tests.engine.parts import STAGES, TASKS, as_text, audit
from tests.frames.clips import numbered
from tests.scripted_ollama import merg_answer, scripted_ollama

TURNS = [
    {"speaker": "Ana", "text": "I lost my keys.", "clip": "one.avi"},
    {"speaker": "Ben [bold]", "text": "Again?\u202e \x1b[31m"},
    {"speaker": "Ana", "text": "Again.", "clip": "bad.avi"},
    {"speaker": "Ben", "text": "SECRET words", "emotion": "sadness"},
]


class Answers:
    """Gives valid completions, with three exceptions: the first plan fails its audit, plans of the dialogue ILL cannot
    be read, and audits of the dialogue MUTE cannot be read."""

    def __init__(self) -> None:
        self.plans = 0

    def __call__(self, body: dict[str, Any]) -> str:
        prompt = body["messages"][1]["content"]
        if ("ILL" in prompt and TASKS["psp"] in prompt) or ("MUTE" in prompt and TASKS["gra"] in prompt):
            return "all CORRECT"
        if TASKS["gra"] in prompt:
            return as_text(audit({name: name != "psp" or self.plans > 1 for name in STAGES}))
        self.plans += TASKS["psp"] in prompt
        text = merg_answer(body)
        return f"{text} [/red]" if TASKS["sgrg"] in prompt else text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three samples: one is rerun from its plan, one fails, and the audit of one cannot be read."""
    data = tmp_path_factory.mktemp("show")
    numbered(data / "one.avi", 20, "MJPG")
    (data / "bad.avi").write_bytes(b"no video")
    ill, mute = ([{**TURNS[0], "text": text}, TURNS[-1]] for text in ("ILL", "MUTE"))
    lines = [{"id": name, "turns": turns} for name, turns in (("story", TURNS), ("ill", ill), ("mute", mute))]
    (data / "dialogues.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with scripted_ollama(answer=Answers()) as server:
        settings = [
            f"backend.hosts=[{server.url}]",
            f"runs={data}/runs",
            "backbone=qwen2.5vl-7b",
            "frames.per_clip=2",
            "frames.last_turns=3",
        ]
        ended = launch(parse(compose_config("dataset=folder", f"dataset.root={data}", *settings), RunSettings))
        assert ended.code == 1
    [run] = (data / "runs").glob("folder-*")
    return run


def test_the_trace_of_a_sample_shows_its_passes_in_order(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(folder), "story/4"]) == 0
    shown = capsys.readouterr().out
    result = read_results(folder)["story/4"]
    order = [
        "responder: Ben",
        "Ana: I lost my keys.",
        "one.avi",
        "pass: 0",
        "mpa",
        "words ",  # a cue of E
        "a face ",
        "caef",
        f"emotion: {result.emotion}",
        "psp",
        "tactic: question",
        "sgrg",
        "I hear you",
        "first fault: psp",
        "reason: psp looked at",
        "passed: false",
        "correction: mend psp",
        "pass: 1",
        "from: psp",
        "correction: mend psp",
        "tactic: question",
        "passed: true",
        "selected: 'Pass 1 won: it passed the check of psp, which pass 0 did not; the loop ended: all checks passed",
        "never shown to the model",
        "SECRET words",
        "emotion: sadness",
    ]
    end = 0
    for part in order:
        start = shown.find(part, end)
        assert start >= 0, f"{part!r} is missing after {shown[max(0, end - 200) : end]!r}\n{shown}"
        end = start + len(part)
    assert result.selected_pass == 1
    assert str(result.response) in shown


def test_prompts_are_shown_only_on_request(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(folder), "story/4"])
    without = capsys.readouterr().out
    assert len(re.findall(r"cost: \d+ \+ \d+ tokens, \d+\.\d\d s, on http://127", without)) == 8
    assert main([str(folder), "story/4", "--prompts"]) == 0
    shown = capsys.readouterr().out
    assert "Your step: perception" not in without
    [first, *_] = yaml.safe_load(shown)["passes"]
    [call] = first["mpa"]["calls"]
    assert [message["role"] for message in call["messages"]] == ["system", "user"]
    assert len(call["messages"][1]["images"]) == 2
    assert "textual_cues" in call["completion"]
    assert "Your step: the audit" in first["gra"]["calls"][0]["messages"][1]["text"]
    before_the_reveal = shown[: shown.index("never shown to the model")]
    assert "SECRET" not in before_the_reveal


def test_a_failed_sample_and_an_unreadable_audit_are_explained(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(folder), "ill/2"]) == 0
    shown = capsys.readouterr().out
    story = yaml.safe_load(shown)
    assert [call["refused"]["failure"] for call in story["passes"][0]["psp"]["calls"]] == ["schema_invalid"] * 3
    assert story["failed"]["what"].startswith("Invalid JSON")
    assert "selected" not in story
    assert main([str(folder), "mute/2"]) == 0
    shown = capsys.readouterr().out
    story = yaml.safe_load(shown)
    [only] = story["passes"]
    assert [call["refused"]["failure"] for call in only["gra"]["calls"]] == ["schema_invalid"] * 3
    assert only["unaudited"]["what"].startswith("Invalid JSON")
    assert only["unaudited"]["hint"] == "see the raw completions: mmerg show RUN SAMPLE --prompts"
    assert story["selected"] == "Pass 0 is the only one: an audit could not be read"


def test_a_run_is_shown_as_a_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(folder)]) == 0
    shown = capsys.readouterr().out
    assert f"{folder}: qwen2.5vl:7b on ollama 0.24.0" in shown.replace("\n", "")
    assert "3 samples: 2 ok (1 unaudited), 1 failed" in shown
    assert "unaudited: in 1 sample an audit could not be read" in shown
    assert re.search(r"story/4 .*│ 2 +│ 1 +│", shown)
    assert "1 failed" in shown
    assert re.search(r"│ schema_invalid │ +1 │ ill/2: Invalid JSON", shown)


def test_an_unknown_sample_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(folder), "story/9"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "the run has no sample 'story/9'" in shown.err
    assert "samples: story/4, ill/2" in shown.err


def test_other_folders_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert "this is not a run folder" in capsys.readouterr().err
    (tmp_path / "manifest.json").write_text("{", encoding="utf-8")
    assert main([str(tmp_path), "story/4"]) == 2
    assert "the manifest is damaged or of another version" in capsys.readouterr().err

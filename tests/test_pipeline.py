"""The whole pipeline on real models: clips, keyframes, prompts, validated outputs, and a run folder.

The models have random weights, so a sample may fail with a named failure.
"""

import json
import re
import sys
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path

import jsonschema
import pytest

from mmerg.backends.protocol import Finish
from mmerg.console.terminal import plural
from mmerg.errors import Failure
from mmerg.reporting.text import to_yaml
from mmerg.runs.events import Called, FramesTaken, Produced
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import read_manifest
from mmerg.runs.result import Result
from mmerg.runs.trace import SampleTrace
from tests import tiny_text
from tests.engine.parts import ROOT
from tests.frames.clips import numbered
from tests.ollama_server import TEXT_MODEL, VISION_MODEL, Server
from tests.processes import in_process
from tests.run_folders import comparable, read_all_events

MELD = ROOT.parent / "shared" / "data" / "meld"
WORDS_THAT_END = (  # random letters continue until one of these
    "system.stages.sgrg.sampling.stop=['o','A','d']",
    "+system.stages.sgrg.sampling.temperature=1.0",
)
QUICK = ("system.max_iterations=0", "+backbone.load.num_thread=1", "frames.per_clip=2")
VISION = (
    *("backbone=qwen2.5vl-7b", f"backbone.model={VISION_MODEL}", "backbone.image_side=112"),
    *(
        *QUICK,
        *WORDS_THAT_END,
        "system.stages.mpa.sampling.num_predict=4000",
        "system.without=[caef,psp,gra]",
        "limit=1",
    ),
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two dialogues, each with two clips of under a second."""
    root = tmp_path_factory.mktemp("corpus")
    numbered(root / "one.mp4", 20)
    numbered(root / "two.mp4", 20, scene=lambda number: 1 + number // 10)
    dialogues = []
    for name, thing in (("d0", "keys"), ("d1", "phone")):
        turns = [
            {"speaker": "Ana", "text": f"I lost my {thing}.", "clip": "one.mp4"},
            {"speaker": "Ben", "text": "Again?", "clip": "two.mp4"},
            {"speaker": "Ana", "text": "SECRET", "emotion": "sadness"},
        ]
        dialogues.append(json.dumps({"id": name, "turns": turns}) + "\n")
    (root / "dialogues.jsonl").write_text("".join(dialogues), encoding="utf-8")
    return root


class FinishedRun:
    """A finished command, its run folder, results and events."""

    def __init__(self, runs: Path, *settings: str) -> None:
        done = in_process([sys.executable, "-m", "mmerg.run", f"runs={runs}", *settings], cwd=runs.parent)
        self.printed = done.stdout + done.stderr
        assert done.returncode in (0, 1), self.printed
        assert "Traceback" not in self.printed
        self.folder = Path(done.stdout.splitlines()[-1].removeprefix("run: "))
        self.results: list[Result] = list(read_results(self.folder).values())
        failed = [result for result in self.results if result.status == "failed"]
        assert done.returncode == int(bool(failed))
        count = len(self.results)
        ended = rf"{plural(count, 'sample')}: {count - len(failed)} ok( \(\d unaudited\))?, {len(failed)} failed"
        assert re.search(ended, self.printed)
        self.events = list(read_all_events(self.folder))

    @property
    def calls(self) -> list[Called]:
        return [event for event in self.events if isinstance(event, Called)]

    @property
    def frames(self) -> list[FramesTaken]:
        return [event for event in self.events if isinstance(event, FramesTaken)]

    def images(self) -> dict[str, set[tuple[str, ...]]]:
        """The images sent, by stage."""
        images: dict[str, set[tuple[str, ...]]] = defaultdict(set)
        for call in self.calls:
            images[call.stage].add(tuple(image for message in call.messages for image in message.images))
        return dict(images)


def check_run(run: FinishedRun, ids: list[str], stages: tuple[str, ...] = ()) -> None:
    """Checks that completions match their schemas, counts are sums, and the target is not sent."""
    assert [result.id for result in run.results] == ids
    for result in run.results:
        calls = [call for call in run.calls if call.sample == result.id]
        assert result.calls == len(calls) > 0
        assert result.response_tokens == sum(call.completion.response_tokens for call in calls)
        assert (result.failure is None) == (result.status == "ok")
        assert result.failure in {None, Failure.TRUNCATED, Failure.EMPTY, Failure.SCHEMA_INVALID}
        if result.status == "ok":
            assert result.response
            assert result.unaudited or set(result.audit or {}) == set(stages)
    gold_of = {result.id: result.gold_response for result in run.results}
    for call in run.calls:
        if call.answer_schema and call.completion.finish is Finish.STOP:
            jsonschema.validate(json.loads(call.completion.text), json.loads(call.answer_schema))
        assert bool(call.answer_schema) == (call.stage != "sgrg")
        assert bool(call.completion.logprobs) == (call.stage == "sgrg" and call.completion.text != "")
        gold = gold_of[call.sample]
        assert not any(gold and gold in message.text for message in call.messages)
    for result in run.results:
        trace = SampleTrace(event for event in run.events if event.sample == result.id)
        assert result.calls == to_yaml(trace, True, {}).count("cost: ")


def check_replay(run: FinishedRun, runs: Path, *settings: str) -> None:
    """The same command in an empty folder gives the same results from the cache."""
    run.folder.rename(runs.parent / "before")
    again = FinishedRun(runs, *settings, "cache=read")
    assert again.folder == run.folder
    assert [comparable(result) for result in again.results] == [comparable(result) for result in run.results]
    assert all(call.completion.cached for call in again.calls)
    assert [call.digest for call in again.calls] == [call.digest for call in run.calls]


@pytest.mark.slow
def test_a_vision_model_sees_the_keyframes(corpus: Path, each_ollama: Server, tmp_path: Path) -> None:
    settings = ("dataset=folder", f"dataset.root={corpus}", f"backend.hosts=[{each_ollama.host}]", *VISION)
    run = FinishedRun(tmp_path / "runs", *settings)
    check_run(run, ["d0/3"])
    assert read_manifest(run.folder).engine.model == VISION_MODEL
    assert [event.form for event in run.frames] == ["images"]
    keyframes = tuple(frame.sha256 for turn in run.frames[0].turns for frame in turn.frames)
    assert len(set(keyframes)) == 4
    assert run.images() == {"mpa": {keyframes}, "sgrg": {()}}
    assert {file.stem for file in (run.folder / "frames").iterdir()} == set(keyframes)
    [first, *_] = [event for event in run.events if isinstance(event, Produced)]
    assert all(cue["frame"] in (1, 2, 3, 4) for cue in first.output["visual_cues"])
    check_replay(run, tmp_path / "runs", *settings)


def test_a_model_that_takes_one_image_sees_a_grid(corpus: Path, ollama_host: str, tmp_path: Path) -> None:
    settings = ("dataset=folder", f"dataset.root={corpus}", f"backend.hosts=[{ollama_host}]", *VISION)
    run = FinishedRun(tmp_path / "runs", *settings, "backbone.max_images=1", "system.max_repairs=0")
    check_run(run, ["d0/3"])
    assert [event.form for event in run.frames] == ["montage"]
    [sent] = run.images()["mpa"]
    keyframes = {frame.sha256 for turn in run.frames[0].turns for frame in turn.frames}
    assert (len(sent), len(keyframes), set(sent) & keyframes) == (1, 4, set())
    assert {file.stem for file in (run.folder / "frames").iterdir()} == keyframes | set(sent)


def test_a_text_model_reads_measured_descriptions(corpus: Path, ollama_host: str, tmp_path: Path) -> None:
    settings = (
        *("dataset=folder", f"dataset.root={corpus}", "limit=1", f"backend.hosts=[{ollama_host}]"),
        *("backbone=smollm2-135m", f"backbone.model={TEXT_MODEL}", *QUICK, "system.max_repairs=0", "frames.per_clip=1"),
        "system.without=[caef,psp]",
    )
    run = FinishedRun(tmp_path / "runs", *settings)
    check_run(run, ["d0/3"], ("mpa", "sgrg"))
    assert "this model has no vision" in run.printed
    [event] = run.frames
    assert event.form == "descriptions"
    descriptions = [text for turn in event.turns for text in turn.descriptions]
    assert len(descriptions) == 2
    prompts = {call.stage: call.messages[1].text for call in run.calls}
    for stage, prompt in prompts.items():
        assert [text in prompt for text in descriptions] == [stage in ("mpa", "gra")] * 2
    assert "mpa" in prompts
    assert set.union(*run.images().values()) == {()}
    check_replay(run, tmp_path / "runs", *settings)


def test_a_system_that_sees_only_the_dialogue_opens_no_clip(corpus: Path, ollama_host: str, tmp_path: Path) -> None:
    run = FinishedRun(
        *(tmp_path / "runs", f"--config-dir={ROOT / 'tests' / 'outside'}", "system=labelled"),
        *("dataset=folder", f"dataset.root={corpus}", "limit=1", f"backend.hosts=[{ollama_host}]"),
        *("backbone=smollm2-135m", f"backbone.model={TEXT_MODEL}", "+backbone.load.num_thread=1"),
        *("++backbone.sampling.num_predict=16", "++system.max_repairs=0", f"cache_dir={tmp_path / 'cache'}"),
    )
    assert "no vision" not in run.printed
    assert [(event.form, event.turns) for event in run.frames] == [("none", ())]
    assert (tmp_path / "cache" / "completions.sqlite").is_file()
    assert not [file for file in (tmp_path / "cache" / "frames").rglob("*") if file.is_file()]


def test_a_dialogue_of_meld_without_a_server(tmp_path: Path) -> None:
    if not (MELD / "test_sent_emo.csv").is_file():
        pytest.skip("MELD's test_sent_emo.csv is not at hand")
    if find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed")
    tiny = f"backbone.gguf={tiny_text.write(tmp_path / 'tiny.gguf')}"
    settings = ("dataset=meld", f"dataset.root={MELD}", "memory=none", "limit=1", "backend=embedded", tiny)
    run = FinishedRun(tmp_path / "runs", *settings, "backbone.workers=[one]", "system.without=[mpa,caef,psp,gra]")
    assert "meld test: 280 dialogues" in run.printed
    assert "protocol: targets=last emotions=all, n=268, 12 dialogues without a history; 1 selected" in run.printed
    check_run(run, ["test_dia0/3"])
    assert [event.form for event in run.frames] == ["none"]
    assert {call.completion.host for call in run.calls} == {"one"}

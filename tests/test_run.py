"""Whole runs of the command against a scripted server: resume, crash, full disk, exit codes."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from mmerg.runs.folder import read_results
from mmerg.runs.manifest import read_manifest
from mmerg.runs.result import Result
from tests.engine.parts import TASKS
from tests.frames.clips import numbered
from tests.processes import in_process, start_command
from tests.run_folders import comparable, read_all_events
from tests.scripted_ollama import ScriptedOllama, merg_answer, scripted_ollama

DIALOGUES = 4


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return corpus_in(tmp_path)


def corpus_in(folder: Path) -> Path:
    root = folder / "corpus"
    root.mkdir()
    lines = []
    for number in range(DIALOGUES):
        turns = [
            {"speaker": "Ana", "text": f"I lost my keys {number}."},
            {"speaker": "Ben", "text": "Again?"},
            {"speaker": "Ana", "text": "Again.", "clip": "missing.mp4"},
            {"speaker": "Ben", "text": f"SECRET {number}", "emotion": "sadness"},
        ]
        lines.append(json.dumps({"id": f"d{number}", "turns": turns}))
    (root / "dialogues.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return root


class Runner:
    """Starts the command on one corpus and one folder of runs."""

    def __init__(self, corpus: Path, runs: Path, url: str) -> None:
        self.corpus, self.runs, self.url = corpus, runs, url

    def arguments(self, *more: str) -> list[str]:
        return [
            *(sys.executable, "-m", "mmerg.run", "dataset=folder", f"dataset.root={self.corpus}"),
            *("backbone=qwen2.5vl-7b", f"backend.hosts=[{self.url}]", f"runs={self.runs}", *more),
        ]

    def __call__(self, *more: str) -> subprocess.CompletedProcess[str]:
        return in_process(self.arguments(*more), cwd=self.corpus)

    def folder(self) -> Path:
        [path] = [path for path in self.runs.iterdir() if path.name.startswith("folder-merg-")]
        return path

    def results(self) -> list[Result]:
        return list(read_results(self.folder()).values())


@pytest.fixture
def server() -> Iterator[ScriptedOllama]:
    with scripted_ollama() as made:
        yield made


@pytest.fixture
def run(corpus: Path, tmp_path: Path, server: ScriptedOllama) -> Runner:
    return Runner(corpus, tmp_path / "runs", server.url)


def test_a_run_writes_its_folder_and_prints_its_path_last(run: Runner) -> None:
    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == f"run: {run.folder()}"
    results = run.results()
    assert [result.id for result in results] == [f"d{n}/4" for n in range(DIALOGUES)]
    assert {result.status for result in results} == {"ok"}
    assert max(result.passes for result in results) > 1
    assert "clips_missing 4" in done.stdout
    manifest = read_manifest(run.folder())
    assert manifest.engine.version == "0.24.0"
    assert manifest.settings["system"]["max_iterations"] == 2
    prompts = [m.text for e in read_all_events(run.folder()) if e.kind == "called" for m in e.messages]
    assert prompts
    assert not any("SECRET" in text for text in prompts)


def test_clips_that_vanish_during_a_run_fail_their_samples_until_they_are_back(tmp_path: Path) -> None:
    root = corpus_in(tmp_path)
    written = (root / "dialogues.jsonl").read_text(encoding="utf-8").splitlines()
    lines = [line.replace("missing.mp4", f"clip{number}.mp4") for number, line in enumerate(written)]
    (root / "dialogues.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    clips = [numbered(root / f"clip{number}.mp4", 10) for number in range(DIALOGUES)]
    away = tmp_path / "away"
    away.mkdir()

    def vanish(call: int) -> None:
        for clip in clips[1:] if call == 1 else ():
            clip.rename(away / clip.name)

    with scripted_ollama(vanish) as server:
        run = Runner(root, tmp_path / "runs", server.url)
        done = run("backbone.concurrency=1")
        assert done.returncode == 1, done.stdout + done.stderr
        assert [result.status for result in run.results()] == ["ok", "failed", "failed", "failed"]
        assert {result.failure for result in run.results()[1:]} == {"clip_gone"}
        for clip in clips[1:]:
            (away / clip.name).rename(clip)
        again = run("backbone.concurrency=1")
        assert again.returncode == 0, again.stdout + again.stderr
        assert {result.status for result in run.results()} == {"ok"}


@pytest.mark.slow
def test_the_same_command_keeps_finished_samples(run: Runner, server: ScriptedOllama) -> None:
    run("limit=2")
    first = server.calls
    bytes_of_two = (run.folder() / "results.jsonl").read_bytes()
    done = run("limit=2")
    assert server.calls == first
    assert "2 samples are already finished" in done.stdout
    run()
    assert server.calls > first
    assert (run.folder() / "results.jsonl").read_bytes().startswith(bytes_of_two)
    assert len(run.results()) == DIALOGUES


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    folder = tmp_path_factory.mktemp("whole_run")
    with scripted_ollama() as server:
        whole = Runner(corpus_in(folder), folder / "runs", server.url)
        assert whole("cache=off").returncode == 0
    return whole.results()


# The first call of the second sample, and late.
@pytest.mark.parametrize("fatal", [6, 20])
@pytest.mark.slow
def test_a_killed_run_resumes_to_the_results_of_a_whole_one(
    corpus: Path, tmp_path: Path, whole_run: list[Result], fatal: int
) -> None:
    killed: list[BaseProcess] = []

    def kill(number: int) -> None:
        if number == fatal:
            killed[0].kill()

    with scripted_ollama(on_call=kill) as server:
        broken = Runner(corpus, tmp_path / "broken", server.url)
        killed.append(start_command(broken.arguments("cache=off"), tmp_path, cwd=corpus))
        killed[0].join()
        assert killed[0].exitcode == -signal.SIGKILL
        ended_before = len(read_results(broken.folder()))
        calls_before = server.calls
        assert broken("cache=off").returncode == 0
        lost = calls_before - sum(result.calls for result in whole_run[:ended_before])
    assert 0 <= lost <= 15  # at most the calls of the one sample in flight
    assert [comparable(result) for result in broken.results()] == [comparable(result) for result in whole_run]


@pytest.mark.slow
def test_one_failed_sample_costs_one_sample_and_can_be_retried(corpus: Path, tmp_path: Path) -> None:
    ill = [True]

    def answer(body: dict[str, Any]) -> str:
        if ill[0] and "keys 2" in body["messages"][1]["content"] and TASKS["psp"] in body["messages"][1]["content"]:
            return "comfort her"
        return merg_answer(body)

    with scripted_ollama(answer=answer) as server:
        run = Runner(corpus, tmp_path / "runs", server.url)
        done = run("cache=off")
        assert done.returncode == 1
        [failed] = [result for result in run.results() if result.status == "failed"]
        assert (failed.id, failed.failure) == ("d2/4", "schema_invalid")
        assert "schema_invalid" in done.stdout
        ill[0] = False
        again = run("cache=off")
        assert again.returncode == 0
        assert "3 samples are already finished\nretrying 1 failed sample\n" in again.stdout
        assert [result.id for result in run.results()] == [f"d{n}/4" for n in range(DIALOGUES)]
        assert {result.status for result in run.results()} == {"ok"}


def contents(folder: Path) -> dict[str, bytes]:
    """All files below `folder`, but for the completion cache's own."""
    files = [path for path in folder.rglob("*") if path.is_file() and ".cache" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_finished_run_makes_no_call_and_writes_nothing(run: Runner, server: ScriptedOllama) -> None:
    done = run("limit=1")
    assert "no clip was found, not even missing.mp4: samples run as text only" in done.stdout
    before, calls = contents(run.runs), server.calls
    done = run("limit=1")
    assert done.returncode == 0, done.stderr
    assert "1 sample is already finished" in done.stdout
    assert done.stdout.splitlines()[-1] == f"run: {run.folder()}"
    assert (contents(run.runs), server.calls) == (before, calls)


def test_ctrl_c_exits_with_130_and_keeps_finished_samples(corpus: Path, tmp_path: Path) -> None:
    started: list[BaseProcess] = []

    def interrupt(number: int) -> None:
        if number == 20:
            os.kill(started[0].pid or 0, signal.SIGINT)

    with scripted_ollama(on_call=interrupt) as server:
        run = Runner(corpus, tmp_path / "runs", server.url)
        started.append(start_command(run.arguments("cache=off"), tmp_path, cwd=corpus))
        started[0].join()
        errors = (tmp_path / "2").read_text(encoding="utf-8")
        assert started[0].exitcode == 130
        assert "the same command resumes" in errors
        assert "Traceback" not in errors
        assert run("cache=off").returncode == 0
        assert len(run.results()) == DIALOGUES


WRONG = {
    "ids=[d9/4]": "no sample is called d9/4",
    "backend.hosts=[http://127.0.0.1:9]": "127.0.0.1:9",
    "backbone=gemma3-12b": "ollama pull gemma3:12b",
    "runs=dialogues.jsonl": "dialogues.jsonl",
}


def test_errors_are_printed_without_a_traceback(run: Runner) -> None:
    """In this process: the test would get an exception that nothing catches."""
    for word, message in WRONG.items():
        done = run(word, "backend.attempts=1", "cache=off")
        assert (done.returncode, message in done.stdout + done.stderr) == (2, True), word


@pytest.mark.slow
def test_a_full_disk_ends_the_run_and_the_same_command_resumes(corpus: Path, tmp_path: Path) -> None:
    """The last sample's file is by far the largest, and the limit lies between it and the next."""
    dialogues = corpus / "dialogues.jsonl"
    text = dialogues.read_text(encoding="utf-8")
    dialogues.write_text(text.replace("keys 3.", "keys 3. " + "Where are they? " * 200), encoding="utf-8")
    limited: dict[int, int] = {}  # by process: bytes that a file may have

    def limit(_: int) -> None:
        for process, most in limited.items():
            resource.prlimit(process, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

    with scripted_ollama(on_call=limit) as server:
        run = Runner(corpus, tmp_path / "runs", server.url)
        assert run("cache=off", "name=whole").returncode == 0
        *_, less, most = sorted(file.stat().st_size for file in run.runs.glob("whole-*/samples/*"))
        process = start_command(run.arguments("cache=off"), tmp_path, cwd=corpus)
        limited[process.pid or 0] = (less + most) // 2
        process.join()
        limited.clear()
        errors = (tmp_path / "2").read_text(encoding="utf-8")
        assert process.exitcode == 2, errors
        assert "the disk is full" in errors
        assert f"{run.folder()}/samples/" in errors
        assert "Traceback" not in errors
        finished = run.results()
        assert 0 < len(finished) < DIALOGUES
        assert run("cache=off").returncode == 0
        assert len(run.results()) == DIALOGUES
        assert run.results()[: len(finished)] == finished  # not done again

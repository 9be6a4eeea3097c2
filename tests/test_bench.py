"""`bench` as a whole: the same subset for all, going on, what is skipped or fails, and real engines."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from mmerg.bench import main
from mmerg.benching.rows import Bench, Row
from mmerg.records.run import read_results
from tests.ollama_server import TEXT_MODEL, VISION_MODEL
from tests.scripted_ollama import SIZE, ScriptedOllama, merg_answer, scripted_ollama
from tests.test_run import DIALOGUES, corpus_in

MODELS = ("qwen2.5vl:7b", "gemma3:12b", "own/model:1b")
TWO = ("qwen2.5vl:7b", "gemma3-12b")
QUICK = ("system.without=[mpa,caef,psp,gra]", "memory=none", "frames=none")
NOWHERE = "backend.hosts=[http://127.0.0.1:9]"


def answer(body: dict[str, Any]) -> str:
    """One model says nothing where dialogue 0 is asked about."""
    silent = body["model"] == MODELS[2] and "keys 0" in json.dumps(body)
    return "" if silent else merg_answer(body)


@pytest.fixture
def server() -> Iterator[ScriptedOllama]:
    with scripted_ollama(answer=answer, models=MODELS, on_gpu=0.75) as made:
        yield made


class Bencher:
    """Runs the command in this process on one corpus and one folder of runs."""

    def __init__(self, folder: Path, host: str) -> None:
        self.runs = folder / "runs"
        self.corpus = corpus_in(folder)
        self.settings = [f"runs={self.runs}", f"dataset.root={self.corpus}", f"backend.hosts=[{host}]"]

    def __call__(self, backbones: tuple[str, ...], *more: str, n: int = 3) -> int:
        return main(["--backbones", *backbones, "--dataset", "folder", "--n", str(n), *self.settings, *more])

    @property
    def folder(self) -> Path:
        return self.runs / ".bench" / "folder-3"

    def read(self) -> Bench:
        return Bench.model_validate_json((self.folder / "bench.json").read_bytes())


@pytest.fixture
def bench(tmp_path: Path, server: ScriptedOllama) -> Bencher:
    return Bencher(tmp_path, server.url)


def samples(row: Row) -> list[str]:
    return list(read_results(Path(row.run)))


def test_all_run_the_same_subset_and_stand_side_by_side(
    bench: Bencher, server: ScriptedOllama, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(TWO) == 0
    found = bench.read()
    assert [row.name for row in found.rows] == ["qwen2.5vl-7b", "gemma3-12b"]
    assert samples(found.rows[0]) == samples(found.rows[1])
    assert len(samples(found.rows[0])) == 3 < DIALOGUES
    for row in found.rows:
        assert row.engine.mark == "a"
        assert row.protocol.startswith("targets=last emotions=all sample=3 seed=0, n=3")
        assert row.scores["acc"].n == 3
        assert row.scores["acc"].interval
        assert (row.speed.calls, row.cached_calls) == (row.calls, 0)
        assert row.speed.seconds
        assert row.memory
        assert (row.memory.size, row.memory.on_gpu, row.memory.context) == (SIZE, SIZE * 3 // 4, 16384)
        assert row.paper["acc"] in (67.74, 83.87)
    assert server.calls == sum(row.calls for row in found.rows)
    shown = capsys.readouterr().out
    assert "25 %" in shown
    assert "the paper's" in shown
    for ending in ("json", "md", "png", "svg"):
        assert (bench.folder / f"bench.{ending}").stat().st_size
        assert f"bench.{ending}" in shown


def test_a_second_call_goes_on_and_keeps_what_was_measured(bench: Bencher, server: ScriptedOllama) -> None:
    assert bench(TWO) == 0
    first, calls = bench.read(), server.calls
    assert bench((*TWO, MODELS[2])) in (0, 1)
    again = bench.read()
    assert server.calls == calls + again.rows[2].calls
    assert [row.speed for row in again.rows[:2]] == [row.speed for row in first.rows]
    assert [row.scores for row in again.rows[:2]] == [row.scores for row in first.rows]


def test_a_replay_says_that_it_has_no_speed(
    bench: Bencher, server: ScriptedOllama, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(TWO[:1]) == 0
    calls = server.calls
    shutil.rmtree(bench.read().rows[0].run)
    for file in bench.folder.iterdir():
        file.unlink()
    assert bench(TWO[:1]) == 0
    [row] = bench.read().rows
    assert (server.calls, row.cached_calls, row.speed.seconds) == (calls, row.calls, None)
    assert "speed: every call came from the reply cache" in capsys.readouterr().out
    assert not (bench.folder / "bench.png").exists()


def test_a_backbone_that_is_not_pulled_is_told_and_skipped(bench: Bencher, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(("llava:13b", *TWO[:1])) == 1
    found = bench.read()
    assert [row.name for row in found.rows] == ["qwen2.5vl-7b"]
    assert [(one.name, one.next) for one in found.skipped] == [("llava-13b", "ollama pull llava:13b")]
    assert "left out: llava-13b: llava:13b is not pulled; ollama pull llava:13b" in capsys.readouterr().out


def test_of_the_default_those_are_run_that_are_pulled(bench: Bencher) -> None:
    assert main(["--dataset", "folder", "--n", "3", *bench.settings]) == 0
    found = bench.read()
    assert {row.name for row in found.rows} == {"qwen2.5vl-7b", "gemma3-12b"}
    assert len(found.skipped) == 4


def test_nothing_to_run_is_an_error(bench: Bencher, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(("llava:13b",)) == 2
    assert "ollama pull llava:13b" in capsys.readouterr().err
    assert bench(TWO, NOWHERE) == 2
    assert "none of the backbones can be run" in capsys.readouterr().err
    assert not bench.folder.exists()


def test_a_backbone_that_fails_does_not_stop_the_rest(bench: Bencher, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(TWO) == 0
    manifest = Path(bench.read().rows[0].run) / "manifest.json"
    manifest.write_text("{}", encoding="utf-8")
    capsys.readouterr()
    assert bench(TWO) == 1
    found = bench.read()
    assert [row.name for row in found.rows] == ["gemma3-12b"]
    assert [one.name for one in found.skipped] == ["qwen2.5vl-7b"]
    assert "left out: qwen2.5vl-7b: the manifest is not one of a run" in capsys.readouterr().out


def test_a_model_without_a_page_runs_and_its_failures_are_counted(bench: Bencher) -> None:
    assert bench((MODELS[2],), n=DIALOGUES) == 1
    [row] = Bench.model_validate_json((bench.runs / ".bench/folder-4/bench.json").read_bytes()).rows
    assert (row.name, row.engine.model, row.engine.num_ctx) == ("own-model-1b", MODELS[2], 16384)
    assert (row.samples, row.failed, row.failures) == (DIALOGUES, 1, {"empty": 1})
    assert row.paper == {}


def test_repeats_are_rows_of_their_own(bench: Bencher) -> None:
    assert bench(TWO[:1], "repeats=2", "backbone.sampling.temperature=0.5") == 0
    assert [row.name for row in bench.read().rows] == ["qwen2.5vl-7b 1", "qwen2.5vl-7b 2"]


@pytest.mark.parametrize("wrong", [["--n", "0"], ["--n", "x"], ["word"], ["--backbones"]])
def test_wrong_options_end_with_2(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main([*wrong, NOWHERE, "limit=0"])  # which no run takes
    except SystemExit as stop:
        code = int(stop.code or 0)
    assert code == 2
    assert capsys.readouterr().err


@pytest.mark.skipif(find_spec("xllamacpp") is None, reason="the embedded backend is not installed")
def test_without_a_server_the_small_model_runs_in_this_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--n", "1", *QUICK, f"runs={tmp_path}", NOWHERE, "backbone.load.num_ctx=2048"]) == 0
    shown = capsys.readouterr().out
    assert "smollm2-135m runs in this process in their place" in shown
    [row] = Bench.model_validate_json((tmp_path / ".bench/demo-1/bench.json").read_bytes()).rows
    assert (row.engine.backend, row.samples, row.failed) == ("embedded", 1, 0)
    assert row.speed.prompt_tokens_s
    assert row.speed.reply_tokens_s
    assert row.memory
    assert row.memory.size > 100 * 2**20


def test_a_real_server_with_two_models(ollama_host: str, tmp_path: Path) -> None:
    settings = (*QUICK, f"backend.hosts=[{ollama_host}]", f"runs={tmp_path}", "+backbone.load.num_thread=1")
    code = main(
        [
            *("--backbones", TEXT_MODEL, VISION_MODEL, "smollm2-135m", "--dataset", "demo", "--n", "2"),
            *(*settings, "backbone.load.num_ctx=4096", "backend=ollama"),
        ]
    )
    found = Bench.model_validate_json((tmp_path / ".bench/demo-2/bench.json").read_bytes())
    assert [row.name for row in found.rows] == [TEXT_MODEL, VISION_MODEL]
    assert [one.next for one in found.skipped] == ["ollama pull smollm2:135m"]
    assert code == 1
    text, vision = found.rows
    assert samples(text) == samples(vision)
    assert text.engine.digest != vision.engine.digest
    for row in found.rows:
        assert row.engine.version == "0.24.0"
        assert row.engine.mark == "a"
        assert row.speed.calls
        assert row.speed.prompt_tokens_s
        assert row.speed.reply_tokens_s
        assert row.memory
        assert row.memory.size > 2**20
        assert row.memory.on_gpu == 0
        assert row.memory.context == 4096

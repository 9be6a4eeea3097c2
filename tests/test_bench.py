"""`bench` as a whole: the same subset for all, going on, what is skipped or fails, and real engines."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from mmerg.bench import main
from mmerg.benching.rows import Bench, Row
from mmerg.records.run import read_results
from mmerg.scoring.files import read
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
        """The one table that there is."""
        [found] = (self.runs / ".bench").iterdir()
        return found

    def read(self) -> Bench:
        return read(self.folder / "bench.json", Bench)


@pytest.fixture
def bench(tmp_path: Path, server: ScriptedOllama) -> Bencher:
    return Bencher(tmp_path, server.url)


def only_table(runs: Path) -> Path:
    [found] = (runs / ".bench").glob("demo-*/bench.json")
    return found


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
    assert not (bench.runs / ".bench").exists()


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
    [row] = bench.read().rows
    assert (row.name, row.engine.model, row.engine.num_ctx) == ("own-model-1b", MODELS[2], 16384)
    assert (row.samples, row.failed, row.failures) == (DIALOGUES, 1, {"empty": 1})
    assert row.paper == {}


def test_repeats_are_rows_of_their_own_with_a_mean(bench: Bencher, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(TWO[:1], "repeats=3", "backbone.sampling.temperature=0.5") == 0
    found = bench.read()
    assert [(row.name, row.seed) for row in found.rows] == [(f"qwen2.5vl-7b seed {seed}", seed) for seed in range(3)]
    [mean] = found.means
    assert (mean.backbone, mean.seeds) == ("qwen2.5vl-7b", (0, 1, 2))
    accuracies = [float(row.scores["acc"].value or 0) for row in found.rows]
    assert mean.figures["acc"].mean == pytest.approx(fmean(accuracies))
    assert mean.figures["acc"].sd == pytest.approx(stdev(accuracies))
    assert {"seconds_median", "seconds_p95", "reply_tokens_s"} <= set(mean.figures)
    assert "mean of 3 (a)" in capsys.readouterr().out
    assert "mean of 3 (a)" in (bench.folder / "bench.md").read_text(encoding="utf-8")


def test_other_settings_are_another_table(bench: Bencher) -> None:
    assert bench(TWO[:1]) == 0
    first = bench.folder
    assert bench(TWO[:1], "memory=none") == 0
    assert bench(TWO[:1], n=2) == 0
    assert bench((*TWO[:1], "--level", "response")) == 0
    tables = [read(folder / "bench.json", Bench) for folder in sorted((bench.runs / ".bench").iterdir())]
    assert first in (bench.runs / ".bench").iterdir()
    assert sorted((made.asked, "memory=none" in made.settings, made.figures) for made in tables) == [
        (2, False, ()),
        (3, False, ()),
        (3, False, ("--level response",)),
        (3, True, ()),
    ]
    by_option = next(made for made in tables if made.figures)
    assert "level:response" in by_option.rows[0].scores["dist1"].signature


def test_figures_that_were_not_asked_for_stay_out_of_the_table(bench: Bencher) -> None:
    assert bench(TWO[:1]) == 0
    file = Path(bench.read().rows[0].run) / "scores.json"
    before = json.loads(file.read_bytes())
    before["scores"]["bert_f1"] = before["scores"]["acc"] | {"name": "bert_f1"}  # as `score --bert` leaves it
    file.write_text(json.dumps(before), encoding="utf-8")
    assert bench(TWO[:1]) == 0
    assert "bert_f1" not in bench.read().rows[0].scores
    assert "bert_f1" in json.loads(file.read_bytes())["scores"]


def test_another_backbone_joins_the_table(bench: Bencher, server: ScriptedOllama) -> None:
    assert bench(TWO[:1]) == 0
    calls = server.calls
    assert bench(TWO[1:]) == 0
    found = bench.read()
    assert [row.name for row in found.rows] == ["qwen2.5vl-7b", "gemma3-12b"]
    assert found.earlier == ("qwen2.5vl-7b",)
    assert server.calls == calls + found.rows[1].calls
    assert "as an earlier call left them: qwen2.5vl-7b" in (bench.folder / "bench.md").read_text(encoding="utf-8")


def test_the_table_is_written_before_the_next_backbone_runs(tmp_path: Path) -> None:
    there: dict[str, list[str]] = {}

    def told(body: dict[str, Any]) -> str:
        tables = (tmp_path / "runs" / ".bench").glob("*/bench.json")
        there.setdefault(body["model"], [row.name for table in tables for row in read(table, Bench).rows])
        return merg_answer(body)

    with scripted_ollama(answer=told, models=MODELS) as server:
        assert Bencher(tmp_path, server.url)(TWO) == 0
    assert there == {"qwen2.5vl:7b": [], "gemma3:12b": ["qwen2.5vl-7b"]}


def test_what_ran_before_an_interruption_is_in_the_table(tmp_path: Path) -> None:
    def interrupts(body: dict[str, Any]) -> str:
        if body["model"] == "gemma3:12b":
            signal.raise_signal(signal.SIGINT)  # as Ctrl-C, whichever thread it comes to
        return merg_answer(body)

    with scripted_ollama(answer=interrupts, models=MODELS) as server:
        bench = Bencher(tmp_path, server.url)
        assert bench(TWO) == 130
    [row] = bench.read().rows
    assert (row.name, row.scores["acc"].n) == ("qwen2.5vl-7b", 3)


WRONG = [
    ["--bert", "--bert-model", "/nowhere/at/all", "--bert-layers", "2"],
    ["--bert", "--bert-model", "/nowhere/at/all"],
    ["--bert-layers", "2"],
    ["--ref-ppl", "/nowhere/at/all"],
    ["--ref-context"],
    ["--vocabulary", "0"],
    ["--out", "FILE/x"],
]


@pytest.mark.parametrize("wrong", WRONG, ids=" ".join)
def test_a_wrong_option_is_told_before_the_first_run(
    wrong: list[str], bench: Bencher, server: ScriptedOllama, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "FILE").touch()
    options = [option.replace("FILE", str(tmp_path / "FILE")) for option in wrong]
    assert bench(TWO, *options) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert server.calls == 0
    assert not bench.runs.exists()


@pytest.mark.parametrize("wrong", ["seed=x", "frames.per_clip=0", "dataset.root=null", "backend.hosts=[]", "nothing=1"])
def test_a_wrong_setting_is_told_before_the_first_run(
    wrong: str, bench: Bencher, server: ScriptedOllama, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(TWO, wrong) == 2
    assert wrong.partition("=")[0] in capsys.readouterr().err
    assert server.calls == 0


def test_a_scoring_that_fails_costs_its_quality_columns_alone(
    bench: Bencher, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(TWO) == 0
    whole = bench.read().rows
    scores = Path(whole[0].run) / "scores.json"
    scores.unlink()
    scores.mkdir()
    capsys.readouterr()
    assert bench(TWO) == 1
    first, second = bench.read().rows
    assert (first.scores, first.speed, first.memory) == ({}, whole[0].speed, whole[0].memory)
    assert first.scores_why.startswith("this cannot be written: Is a directory")
    assert second == whole[1]
    assert "qwen2.5vl-7b: no quality: this cannot be written" in capsys.readouterr().out


def test_a_corpus_that_cannot_be_read_is_told_once(bench: Bencher, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(TWO, f"dataset.root={bench.runs}/nowhere") == 2
    told = capsys.readouterr()
    assert told.err.count("nowhere does not exist") == 1
    assert "left out" not in told.out


def test_hosts_for_the_model_in_this_process_are_refused(bench: Bencher, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(("smollm2-135m",)) == 2
    assert "backend.hosts has no effect on the embedded backend" in capsys.readouterr().err


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
    [row] = read(only_table(tmp_path), Bench).rows
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
    found = read(only_table(tmp_path), Bench)
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

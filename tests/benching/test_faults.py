"""What is wrong with a bench: told before the first run where it can be, and no more lost than what failed."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmerg.bench import main
from tests.benching.bencher import MODELS, NOWHERE, TWO, Bencher
from tests.scripted_ollama import ScriptedOllama, merg_answer, scripted_ollama


@pytest.fixture
def server() -> Iterator[ScriptedOllama]:
    with scripted_ollama(models=MODELS, on_gpu=0.75) as made:
        yield made


@pytest.fixture
def bench(tmp_path: Path, server: ScriptedOllama) -> Bencher:
    return Bencher(tmp_path, server.url)


def test_a_backbone_that_is_not_pulled_is_told_and_skipped(bench: Bencher, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(("llava:13b", *TWO[:1])) == 1
    assert list(bench.figures) == ["qwen2.5vl-7b"]
    told = "left out: llava-13b: llava:13b is not pulled; ollama pull llava:13b"
    assert told in capsys.readouterr().out
    assert told in bench.markdown


def test_nothing_to_run_is_an_error(bench: Bencher, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(("llava:13b",)) == 2
    assert "ollama pull llava:13b" in capsys.readouterr().err
    assert bench(TWO, NOWHERE) == 2
    assert "none of the backbones can be run" in capsys.readouterr().err
    assert not (bench.runs / ".bench").exists()


def test_a_backbone_that_cannot_be_loaded_costs_one_call_and_is_skipped(
    bench: Bencher, server: ScriptedOllama, capsys: pytest.CaptureFixture[str]
) -> None:
    server.unloadable = {MODELS[1]}
    assert bench(TWO[1:]) == 2
    assert server.calls == 1
    assert bench(TWO) == 1
    assert list(bench.figures) == ["qwen2.5vl-7b"]
    assert "left out: gemma3-12b: no host can load the model: ollama 0.24.0, gemma3:12b" in capsys.readouterr().out
    assert "a version of Ollama that can load this model (llama3.2-vision: 0.24 to 0.29)" in bench.markdown


def break_run(run: Path) -> None:
    (run / "manifest.json").write_text("{}", encoding="utf-8")


def test_a_backbone_that_fails_does_not_stop_the_rest(bench: Bencher, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(TWO) == 0
    break_run(bench.run("qwen2.5vl-7b"))
    capsys.readouterr()
    assert bench(TWO) == 1
    assert list(bench.figures) == ["gemma3-12b"]
    told = "left out: qwen2.5vl-7b: this folder was made by another version of mmerg"
    assert told in capsys.readouterr().out
    assert told in bench.markdown
    before = bench.markdown
    assert bench(TWO[:1]) == 2
    assert "no backbone could be run: this folder was made by another version of mmerg" in capsys.readouterr().err
    assert bench.markdown == before


def test_a_seed_that_fails_costs_no_seed_that_ran(bench: Bencher) -> None:
    seeds = ("repeats=3", "backbone.sampling.temperature=0.5")
    assert bench(TWO[:1], *seeds) == 0
    break_run(bench.run("qwen2.5vl-7b seed 2"))
    assert bench(TWO[:1], *seeds) == 1
    assert list(bench.figures) == ["qwen2.5vl-7b seed 0", "qwen2.5vl-7b seed 1"]
    assert "mean ± standard deviation over 2 seeds" in bench.markdown
    assert "left out: qwen2.5vl-7b: this folder was made by another version of mmerg" in bench.markdown


def test_what_ran_before_an_interruption_is_in_the_table(tmp_path: Path) -> None:
    def interrupts(body: dict[str, Any]) -> str:
        if body["model"] == "gemma3:12b":
            signal.raise_signal(signal.SIGINT)  # as Ctrl-C, whichever thread it comes to
        return merg_answer(body)

    with scripted_ollama(answer=interrupts, models=MODELS) as server:
        bench = Bencher(tmp_path, server.url)
        assert bench(TWO) == 130
    assert [(name, row["acc"]["n"]) for name, row in bench.figures.items()] == [("qwen2.5vl-7b", "3")]


def test_a_name_that_is_close_to_a_pages_is_asked_about(bench: Bencher, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(("qwen2.5vl-7",)) == 2
    assert "ollama pull qwen2.5vl-7; or did you mean qwen2.5vl-7b?" in capsys.readouterr().err
    assert bench(("qwen2.5vl:3b",)) == 2
    assert "did you mean" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong", [["--ref-ppl", "/nowhere/at/all"], ["--ref-context"], ["--out", "FILE/x"]], ids=" ".join
)
def test_a_wrong_option_is_told_before_the_first_run(
    wrong: list[str], bench: Bencher, server: ScriptedOllama, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "FILE").touch()
    assert bench(TWO, *(option.replace("FILE", str(tmp_path / "FILE")) for option in wrong)) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert server.calls == 0
    assert not bench.runs.exists()


@pytest.mark.parametrize("wrong", ["seed=x", "dataset.root=null", "backend.hosts=[]", "limt=3"])
def test_a_wrong_setting_is_told_before_the_first_run(
    wrong: str, bench: Bencher, server: ScriptedOllama, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(TWO, wrong) == 2
    assert wrong.partition("=")[0] in capsys.readouterr().err
    assert server.calls == 0


def test_a_wrong_dataset_is_told_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--backbones", *TWO, "--dataset", "mled", NOWHERE]) == 2
    assert "one of demo, empathetic, folder, iemocap, meld" in capsys.readouterr().err


def test_scores_that_cannot_be_kept_are_told_and_cost_no_figure(bench: Bencher) -> None:
    assert bench(TWO[:1]) == 0
    scores = bench.run("qwen2.5vl-7b") / "scores.json"
    scores.unlink()
    scores.mkdir()
    before = bench.figures
    assert bench(TWO[:1]) == 1
    assert bench.figures == before
    assert "qwen2.5vl-7b: its scores are not kept: this cannot be written: Is a directory" in bench.markdown


def test_a_corpus_that_cannot_be_read_is_told_once(bench: Bencher, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(TWO, f"dataset.root={bench.runs}/nowhere") == 2
    told = capsys.readouterr()
    assert told.err.count("nowhere does not exist") == 1
    assert "left out" not in told.out


@pytest.mark.parametrize("wrong", [["--n", "0"], ["--n", "x"], ["word"], ["--backbones"]])
def test_wrong_options_end_with_2(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main([*wrong, NOWHERE, "limit=0"])  # which no run takes
    except SystemExit as stop:
        code = int(stop.code or 0)
    assert code == 2
    assert capsys.readouterr().err

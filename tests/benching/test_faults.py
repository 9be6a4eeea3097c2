"""What is wrong with a bench: told before the first run where it can be, and no more lost than what failed."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmerg.bench import main
from mmerg.benching.drawn import Bench, means
from mmerg.scoring.files import read
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
    found = bench.read()
    assert [row.name for row in found.rows] == ["qwen2.5vl-7b"]
    assert [(one.name, one.next) for one in found.skipped] == [("llava-13b", "ollama pull llava:13b")]
    assert "left out: llava-13b: llava:13b is not pulled; ollama pull llava:13b" in capsys.readouterr().out


def test_nothing_to_run_is_an_error(bench: Bencher, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(("llava:13b",)) == 2
    assert "ollama pull llava:13b" in capsys.readouterr().err
    assert bench(TWO, NOWHERE) == 2
    assert "none of the backbones can be run" in capsys.readouterr().err
    assert not (bench.runs / ".bench").exists()


def test_a_backbone_that_fails_does_not_stop_the_rest(bench: Bencher, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(TWO) == 0
    break_run(bench.read().rows[0].run)
    capsys.readouterr()
    assert bench(TWO) == 1
    found = bench.read()
    assert [row.name for row in found.rows] == ["gemma3-12b"]
    assert [one.name for one in found.skipped] == ["qwen2.5vl-7b"]
    assert "left out: qwen2.5vl-7b: this folder was made by another version of mmerg" in capsys.readouterr().out


def test_a_run_that_an_updated_server_cannot_go_on_with_keeps_its_row(
    bench: Bencher, server: ScriptedOllama, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(TWO) == 0
    before = bench.read()
    server.version = "9.9.9"
    [folder] = bench.runs.glob("folder-merg-qwen2.5vl-7b-*")
    next((folder / "samples").iterdir()).unlink()  # else it is finished, and asks nobody
    capsys.readouterr()
    code = bench(TWO[:1])
    told = capsys.readouterr()
    found = bench.read()
    assert code == 2, told.err
    assert "no backbone could be run" in told.err
    assert found.rows == before.rows
    assert ([one.name for one in found.skipped], len(found.earlier)) == (["qwen2.5vl-7b"], 2)


def test_a_wrong_dataset_is_told_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--backbones", *TWO, "--dataset", "mled", NOWHERE]) == 2
    assert "one of demo, empathetic, folder, iemocap, meld" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("setting", "meant"), [("limt=3", "limit"), ("system.max_iteration=1", "system.max_iterations")]
)
def test_a_misspelt_setting_is_told_with_what_was_meant(
    setting: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--backbones", *TWO, setting, NOWHERE]) == 2
    assert f"did you mean {meant}?" in capsys.readouterr().err


def test_a_name_that_is_close_to_a_pages_is_asked_about(bench: Bencher, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(("qwen2.5vl-7",)) == 2
    assert "ollama pull qwen2.5vl-7; or did you mean qwen2.5vl-7b?" in capsys.readouterr().err
    assert bench(("qwen2.5vl:3b",)) == 2
    assert "did you mean" not in capsys.readouterr().err


SEEDS = ("repeats=3", "backbone.sampling.temperature=0.5")


def break_run(run: str) -> None:
    (Path(run) / "manifest.json").write_text("{}", encoding="utf-8")


def test_a_seed_that_fails_costs_no_seed_that_ran(bench: Bencher, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(TWO[:1], *SEEDS) == 0
    break_run(bench.read().rows[2].run)
    capsys.readouterr()
    assert bench(TWO[:1], *SEEDS) == 1
    found = bench.read()
    assert ([row.seed for row in found.rows], found.earlier) == ([0, 1], ())
    assert [[row.seed for row in mean.rows] for mean in means(found.rows)] == [[0, 1]]
    assert [one.name for one in found.skipped] == ["qwen2.5vl-7b"]
    assert "left out: qwen2.5vl-7b: this folder was made by another version of mmerg" in capsys.readouterr().out


def test_where_nothing_ran_the_table_of_before_is_no_longer_so(
    bench: Bencher, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(TWO[:1]) == 0
    break_run(bench.read().rows[0].run)
    capsys.readouterr()
    assert bench(TWO[:1]) == 2
    assert "no backbone could be run: this folder was made by another version of mmerg" in capsys.readouterr().err
    found = bench.read()
    assert (found.rows, [one.name for one in found.skipped]) == ((), ["qwen2.5vl-7b"])
    assert not (bench.folder / "bench.png").exists()


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

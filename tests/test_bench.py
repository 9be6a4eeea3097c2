"""The command `bench`: the same samples for all backbones, missing models, and one table with speed and memory."""

import csv
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from mmerg.bench import main
from mmerg.runs.folder import read_results
from tests import tiny_text
from tests.ollama_server import TEXT_MODEL, VISION_MODEL
from tests.scripted_ollama import SIZE, ScriptedOllama, merg_answer, scripted_ollama
from tests.test_run import DIALOGUES, corpus_in

MODELS = ("qwen2.5vl:7b", "gemma3:12b", "own/model:1b")
TWO = ("qwen2.5vl:7b", "gemma3-12b")
QUICK = ("system.without=[mpa,caef,psp,gra]", "memory=none", "frames=none")
SHORT = ("system.without=[mpa,psp,gra]", *QUICK[1:])  # one call for the emotion, one for the reply

Table = dict[str, dict[str, dict[str, str]]]


def read_table(file: Path) -> Table:
    """Reads the rows of the CSV file, by the name of the row and by metric."""
    table: Table = {}
    with file.open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows):
            table.setdefault(row["row"], {})[row["metric"]] = row
    return table


class Bencher:
    """Runs the command, always with the same corpus and folder of runs, and reads its table."""

    def __init__(self, folder: Path, host: str) -> None:
        self.file = folder / "bench.csv"
        self.runs = folder / "runs"
        hosts = f"backend.hosts=[{host}]"
        self.settings = [*SHORT, f"runs={self.runs}", f"dataset.root={corpus_in(folder)}", hosts]

    def __call__(self, *arguments: str, n: int = 3) -> int:
        self.file.unlink(missing_ok=True)
        table = ["--format", "csv", "--out", str(self.file), "--resamples", "20"]
        return main(["--dataset", "folder", "--n", str(n), *table, *self.settings, *arguments])

    @property
    def table(self) -> Table:
        return read_table(self.file)

    def run(self, name: str) -> Path:
        """The run folder of a row."""
        return self.runs / self.table[name]["acc"]["run"]


@pytest.fixture
def server() -> Iterator[ScriptedOllama]:
    with scripted_ollama(answer=merg_answer, models=MODELS, on_gpu=0.75) as running_server:
        yield running_server


@pytest.fixture
def bench(tmp_path: Path, server: ScriptedOllama) -> Bencher:
    return Bencher(tmp_path, server.url)


def test_all_backbones_get_the_same_samples_and_a_new_one_adds_a_row(
    bench: Bencher, server: ScriptedOllama, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench("--backbones", *TWO) == 0
    table, calls = bench.table, server.calls
    assert list(table) == ["qwen2.5vl-7b", "gemma3-12b"]
    first, second = (list(read_results(bench.run(name))) for name in table)
    assert first == second
    assert len(first) == 3 < DIALOGUES
    for row in table.values():
        assert row["acc"]["low"]
        speed = ("seconds", "seconds_p95", "completion_tok_s", "prompt_tok_s")
        assert {row[name]["n"] for name in ("acc", *speed)} == {"3"}
        assert (float(row["memory_gib"]["value"]), float(row["on_cpu"]["value"])) == (SIZE / 2**30, 25.0)
    output = capsys.readouterr().out
    assert f"{calls} calls made, 0 reused" in output
    assert "mmerg compare" in output
    assert bench("--backbones", *TWO, MODELS[2]) == 0
    assert list(bench.table) == [*table, MODELS[2]]
    assert {name: bench.table[name] for name in table} == table  # earlier results stay
    assert server.calls == calls * 3 / 2


def test_a_missing_backbone_is_reported_and_skipped(bench: Bencher, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("--backbones", "llava:13b", *TWO[:1]) == 0
    assert list(bench.table) == ["qwen2.5vl-7b"]
    output = capsys.readouterr().out
    assert "not run: llava-13b: " in output
    assert "ollama pull llava:13b" in output
    assert bench("--backbones", "llava:13b") == 2
    assert "ollama pull llava:13b" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--resamples", "0"), "resamples is 0"),
        (("--backbones", *TWO, "limt=3"), "did you mean limit?"),
        (("--config-dir", "/nowhere"), "there is no folder"),
    ],
)
def test_errors_come_before_the_first_run(
    arguments: tuple[str, ...], message: str, bench: Bencher, server: ScriptedOllama, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(*arguments) == 2
    assert capsys.readouterr().err.count(message) == 1
    assert server.calls == 0


@pytest.mark.skipif(find_spec("xllamacpp") is None, reason="the embedded backend is not installed")
def test_without_a_server_the_small_model_runs_in_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    tiny = f"++backbone.gguf={tiny_text.write(tmp_path / 'tiny.gguf')}"
    file = tmp_path / "bench.csv"
    table = ("--format", "csv", "--out", str(file))
    assert main(["--n", "1", *table, *QUICK, f"runs={tmp_path}/runs", tiny, "backbone.load.num_ctx=16384"]) == 0
    assert "using the small embedded model instead" in capsys.readouterr().out
    [row] = read_table(file).values()
    assert row["seconds"]["n"] == "1"
    assert min(float(row[name]["value"]) for name in ("prompt_tok_s", "completion_tok_s", "memory_gib")) > 0


def test_a_real_server_with_two_models(ollama_host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = (*QUICK, f"backend.hosts=[{ollama_host}]", f"runs={tmp_path}", "+backbone.load.num_thread=1")
    models = [f"{model}:latest" for model in (TEXT_MODEL, VISION_MODEL)]
    names = ("--backbones", *models, "gemma3:12b", "--n", "2", "--format", "csv", "--out", f"{tmp_path}/bench.csv")
    assert main([*names, *settings, "backbone.load.num_ctx=4096"]) == 1  # samples fail
    assert "ollama pull gemma3:12b" in capsys.readouterr().out
    table = read_table(tmp_path / "bench.csv")
    assert list(table) == models
    for row in table.values():
        assert float(row["prompt_tok_s"]["value"]) > 0
        assert float(row["completion_tok_s"]["value"]) > 0
        assert float(row["memory_gib"]["value"]) > 1 / 1024
        assert float(row["on_cpu"]["value"]) == 100.0

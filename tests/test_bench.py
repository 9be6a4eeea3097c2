"""`bench` as a whole: the same subset for all, going on, seeds and settings, and real engines. Faults: test_faults."""

import json
import shutil
from argparse import ArgumentParser
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean, stdev

import pytest

from mmerg.bench import _folder_name, main
from mmerg.runs.folder import read_results
from mmerg.scoring.standard import DEFAULTS, add_arguments, options_of
from tests import tiny_text
from tests.benching.bencher import DRAWS, MODELS, NOWHERE, QUICK, TWO, Bencher, answer, figures, table
from tests.ollama_server import TEXT_MODEL, VISION_MODEL, version_at
from tests.scripted_ollama import SIZE, ScriptedOllama, scripted_ollama
from tests.test_run import DIALOGUES


@pytest.fixture
def server() -> Iterator[ScriptedOllama]:
    with scripted_ollama(answer=answer, models=MODELS, on_gpu=0.75) as made:
        yield made


@pytest.fixture
def bench(tmp_path: Path, server: ScriptedOllama) -> Bencher:
    return Bencher(tmp_path, server.url)


def test_all_run_the_same_subset_and_another_name_adds_a_row(
    bench: Bencher, server: ScriptedOllama, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(TWO) == 0
    found, calls = bench.figures, server.calls
    assert list(found) == ["qwen2.5vl-7b", "gemma3-12b"]
    first, second = (list(read_results(bench.run(name))) for name in found)
    assert first == second
    assert len(first) == 3 < DIALOGUES
    for row in found.values():
        assert (row["acc"]["n"], row["seconds"]["n"], row["seconds p95"]["n"]) == ("3", "3", "3")
        assert row["acc"]["low"]
        assert (float(row["GiB"]["value"]), float(row["% on CPU"]["value"])) == (SIZE / 2**30, 25.0)
    shown = capsys.readouterr().out
    for told in ("the paper's", f"{calls} calls made, 0 reused", "mmerg compare"):
        assert told in shown
    assert "protocol targets=last emotions=all sample=3 seed=0, n=3" in bench.markdown
    assert "67.74" in bench.markdown
    for ending in ("csv", "md", "png", "svg"):
        assert (bench.folder / f"bench.{ending}").stat().st_size
        assert f"bench.{ending}" in shown

    assert bench((*TWO, MODELS[2])) in (0, 1)  # the first two make no call, and keep what was measured
    again = bench.figures
    assert list(again) == [*found, MODELS[2]]
    assert {name: again[name] for name in found} == found
    assert server.calls == calls + sum(one.calls for one in read_results(bench.run(MODELS[2])).values())
    assert bench(TWO[:1]) == 0
    assert list(bench.figures) == ["qwen2.5vl-7b"]


def test_a_replay_says_that_it_has_no_speed(
    bench: Bencher, server: ScriptedOllama, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(TWO[:1]) == 0
    calls = server.calls
    shutil.rmtree(bench.run("qwen2.5vl-7b"))
    assert bench(TWO[:1]) == 0
    assert server.calls == calls
    assert bench.figures["qwen2.5vl-7b"]["seconds"]["value"] == ""
    assert "prompt tok/s: every call came from the reply cache" in " ".join(capsys.readouterr().out.split())
    assert not (bench.folder / "bench.png").exists()


def test_of_the_default_those_are_run_that_are_pulled(bench: Bencher) -> None:
    assert main(["--dataset", "folder", "--n", "3", *DRAWS, *bench.settings]) == 0
    assert bench.folder.name.startswith("folder-3-")
    assert bench.figures.keys() == {"qwen2.5vl-7b", "gemma3-12b"}
    assert bench.markdown.count("left out: ") == 4


def test_a_model_without_a_page_runs_and_its_failures_are_counted(bench: Bencher) -> None:
    assert bench((MODELS[2],), n=DIALOGUES) == 1
    assert f"| {MODELS[2]} " in bench.markdown
    assert f"{DIALOGUES}<br>1 failed" in bench.markdown
    assert "context 16384" in bench.markdown
    assert "the paper's" not in bench.markdown


def test_models_whose_folders_have_like_names_are_rows_of_their_own(tmp_path: Path) -> None:
    models = ("own/model:1b", "own-model:1b", "gemma3:12b", "gemma3/12b")
    with scripted_ollama(models=models) as server:
        bench = Bencher(tmp_path, server.url)
        assert bench(models) == 0
    assert list(bench.figures) == ["own/model:1b", "own-model:1b", "gemma3-12b", "gemma3/12b"]
    assert len({bench.run(name) for name in bench.figures}) == 4
    assert bench.markdown.count("| · the paper's") == 1


def test_repeats_are_one_row_with_their_mean(bench: Bencher) -> None:
    assert bench(TWO[:1], "repeats=3", "backbone.sampling.temperature=0.5") == 0
    found = bench.figures
    assert list(found) == [f"qwen2.5vl-7b seed {seed}" for seed in range(3)]
    accuracies = [float(row["acc"]["value"]) for row in found.values()]
    assert f"{fmean(accuracies):.2f} ± {stdev(accuracies):.2f}" in bench.markdown
    assert "mean ± standard deviation over 3 seeds" in bench.markdown


def test_other_settings_are_another_table(bench: Bencher) -> None:
    assert bench(TWO[:1]) == 0
    assert bench(TWO[:1], "memory=none", "frames=all") == 0
    assert bench((*TWO[:1], "--level", "response")) == 0
    tables = [(folder / "bench.md").read_text(encoding="utf-8") for folder in (bench.runs / ".bench").iterdir()]
    assert len(tables) == 3
    assert sum("frames=all" in one for one in tables) == 1
    signatures = [figures(folder)["qwen2.5vl-7b"]["dist1"]["signature"] for folder in (bench.runs / ".bench").iterdir()]
    assert sum("level:response" in one for one in signatures) == 1


def test_the_scores_beside_a_run_keep_others_and_get_no_speed(bench: Bencher) -> None:
    assert bench(TWO[:1]) == 0
    file = bench.run("qwen2.5vl-7b") / "scores.json"
    before = json.loads(file.read_bytes())
    before["scores"]["bert_f1"] = before["scores"]["acc"] | {"name": "bert_f1"}  # as `score --bert` leaves it
    file.write_text(json.dumps(before), encoding="utf-8")
    assert bench(TWO[:1]) == 0
    assert json.loads(file.read_bytes()) == before
    assert "bert_f1" not in bench.figures["qwen2.5vl-7b"]


@pytest.mark.skipif(find_spec("xllamacpp") is None, reason="the embedded backend is not installed")
def test_without_a_server_the_small_model_runs_in_this_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny = f"++backbone.gguf={tiny_text.write(tmp_path / 'tiny.gguf')}"
    settings = (f"runs={tmp_path}/runs", NOWHERE, tiny, "backbone.load.num_ctx=16384")
    assert main(["--n", "1", *QUICK, *settings]) == 0
    assert "smollm2-135m runs in this process in their place" in capsys.readouterr().out
    [row] = figures(table(tmp_path / "runs")).values()
    assert row["seconds"]["n"] == "1"
    assert float(row["prompt tok/s"]["value"]) > 0
    assert float(row["reply tok/s"]["value"]) > 0
    assert float(row["GiB"]["value"]) > 0.1


def test_a_real_server_with_two_models(ollama_host: str, tmp_path: Path) -> None:
    settings = (*QUICK, f"backend.hosts=[{ollama_host}]", f"runs={tmp_path}", "+backbone.load.num_thread=1")
    names = ("--backbones", TEXT_MODEL, VISION_MODEL, "smollm2-135m", "--dataset", "demo", "--n", "2")
    assert main([*names, *settings, "backbone.load.num_ctx=4096", "backend=ollama"]) == 1
    found = figures(table(tmp_path))
    assert list(found) == [TEXT_MODEL, VISION_MODEL]
    markdown = (table(tmp_path) / "bench.md").read_text(encoding="utf-8")
    assert "ollama pull smollm2:135m" in markdown
    assert markdown.count(f"ollama {version_at(ollama_host)}") == 2
    for row in found.values():
        assert float(row["prompt tok/s"]["value"]) > 0
        assert float(row["reply tok/s"]["value"]) > 0
        assert float(row["GiB"]["value"]) > 1 / 1024
        assert float(row["% on CPU"]["value"]) == 100.0


def test_a_backbone_of_ones_own_page_is_run(tmp_path: Path) -> None:
    page = tmp_path / "pages" / "backbone" / "mine.yaml"
    page.parent.mkdir(parents=True)
    page.write_text("defaults: [gemma3-12b, _self_]\nname: mine\n", encoding="utf-8")
    options = ["--config-dir", f"{tmp_path}/pages", "--backbones", "mine", "--n", "1"]
    assert main([*options, "backend=dry", f"runs={tmp_path}/runs", *QUICK]) == 0
    assert list(figures(table(tmp_path / "runs"))) == ["mine"]
    assert main(["--config-dir", "nowhere", "--backbones", "mine"]) == 2


def test_a_bench_without_settings_has_a_plain_folder() -> None:
    parser = ArgumentParser()
    add_arguments(parser)
    options = options_of(parser.parse_args([]))
    assert (options, _folder_name("demo", 3, [], options)) == (DEFAULTS, "demo-3")
    assert _folder_name("demo", 3, ["seed=1"], options).startswith("demo-3-")

"""`bench` as a whole: the same subset for all, going on, seeds and settings, and real engines. Faults: test_faults."""

import json
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean, stdev

import pytest

from mmerg.bench import main
from mmerg.benching.drawn import Bench, means
from mmerg.benching.measure import Row
from mmerg.runs.folder import read_results
from mmerg.scoring.files import read
from tests.benching.bencher import MODELS, NOWHERE, TWO, Bencher, answer
from tests.ollama_server import TEXT_MODEL, VISION_MODEL
from tests.scripted_ollama import SIZE, ScriptedOllama, scripted_ollama
from tests.test_run import DIALOGUES

QUICK = ("system.without=[mpa,caef,psp,gra]", "memory=none", "frames=none")


@pytest.fixture
def server() -> Iterator[ScriptedOllama]:
    with scripted_ollama(answer=answer, models=MODELS, on_gpu=0.75) as made:
        yield made


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
        assert row.engine.version == found.rows[0].engine.version
        assert row.protocol.startswith("targets=last emotions=all sample=3 seed=0, n=3")
        assert row.scores["acc"].n == 3
        assert row.scores["acc"].interval
        assert (row.speed.calls, row.cached_calls) == (row.calls, 0)
        assert row.speed.median
        assert (row.memory.size, row.memory.on_gpu, row.memory.context) == (SIZE, SIZE * 3 // 4, 16384)
        assert row.paper["acc"] in (67.74, 83.87)
    assert server.calls == sum(row.calls for row in found.rows)
    shown = capsys.readouterr().out
    assert "25 %" in shown
    assert "the paper's" in shown
    assert f"{server.calls} calls made, 0 reused" in shown
    assert f"mmerg compare {found.rows[0].run} {found.rows[1].run}" in shown
    assert "the paper's (IEMOCAP, n=31)" in (bench.folder / "bench.md").read_text(encoding="utf-8")
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
    assert (server.calls, row.cached_calls, row.speed.median) == (calls, row.calls, None)
    assert "speed: every call came from the reply cache" in capsys.readouterr().out
    assert not (bench.folder / "bench.png").exists()


def test_of_the_default_those_are_run_that_are_pulled(bench: Bencher) -> None:
    assert main(["--dataset", "folder", "--n", "3", *bench.settings]) == 0
    found = bench.read()
    assert {row.name for row in found.rows} == {"qwen2.5vl-7b", "gemma3-12b"}
    assert len(found.skipped) == 4


def test_a_model_without_a_page_runs_and_its_failures_are_counted(bench: Bencher) -> None:
    assert bench((MODELS[2],), n=DIALOGUES) == 1
    [row] = bench.read().rows
    assert (row.name, row.engine.model, row.engine.load["num_ctx"]) == (MODELS[2], MODELS[2], 16384)
    assert (row.samples, row.failed, row.failures) == (DIALOGUES, 1, {"empty": 1})
    assert row.paper == {}


def test_models_whose_folders_have_like_names_are_rows_of_their_own(tmp_path: Path) -> None:
    models = ("own/model:1b", "own-model:1b", "gemma3:12b", "gemma3/12b")
    with scripted_ollama(models=models) as server:
        bench = Bencher(tmp_path, server.url)
        assert bench(models) == 0
    found = bench.read()
    assert [(row.name, row.engine.model) for row in found.rows] == [
        ("own/model:1b", "own/model:1b"),
        ("own-model:1b", "own-model:1b"),
        ("gemma3-12b", "gemma3:12b"),
        ("gemma3/12b", "gemma3/12b"),
    ]
    assert [row.name for row in found.rows if row.paper] == ["gemma3-12b"]
    assert len({row.run for row in found.rows}) == 4


def test_a_page_that_is_set_to_another_model_is_not_the_papers(bench: Bencher) -> None:
    assert bench(TWO[1:], f"backbone.model={MODELS[0]}") == 0
    [row] = bench.read().rows
    assert (row.engine.model, row.paper) == (MODELS[0], {})


def test_repeats_are_rows_of_their_own_with_a_mean(bench: Bencher, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(TWO[:1], "repeats=3", "backbone.sampling.temperature=0.5") == 0
    found = bench.read()
    assert [(row.name, row.seed) for row in found.rows] == [(f"qwen2.5vl-7b seed {seed}", seed) for seed in range(3)]
    [mean] = means(found.rows)
    assert list(mean.rows) == list(found.rows)
    accuracies = [float(row.scores["acc"].value or 0) for row in found.rows]
    assert mean.figures["acc"].value == pytest.approx(fmean(accuracies))
    assert mean.figures["acc"].sd == pytest.approx(stdev(accuracies))
    assert {"median", "p95", "reply_tokens_s"} <= set(mean.figures)
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
        assert row.speed.calls
        assert row.speed.prompt_tokens_s
        assert row.speed.reply_tokens_s
        assert row.memory.size > 2**20
        assert row.memory.on_gpu == 0
        assert row.memory.context == 4096


def test_a_backbone_of_ones_own_page_is_run(tmp_path: Path) -> None:
    page = tmp_path / "pages" / "backbone" / "mine.yaml"
    page.parent.mkdir(parents=True)
    page.write_text("defaults: [gemma3-12b, _self_]\nname: mine\n", encoding="utf-8")
    options = ["--config-dir", f"{tmp_path}/pages", "--backbones", "mine", "--n", "1"]
    assert main([*options, "backend=dry", f"runs={tmp_path}/runs", *QUICK]) == 0
    table = read(only_table(tmp_path / "runs"), Bench)
    assert [row.name for row in table.rows] == ["mine"]
    assert main(["--config-dir", "nowhere", "--backbones", "mine"]) == 2

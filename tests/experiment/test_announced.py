"""What a run prints at its start and end: that it is dry, that exemplars are off, and which source is wrong."""

import json
from pathlib import Path

import pytest

from mmerg.errors import ConfigError
from mmerg.experiment.build import load_corpus
from mmerg.experiment.launch import launch
from mmerg.experiment.plan import plan_system
from tests.configs import parse_settings

OFF = (
    "exemplars are off: dataset=folder names no corpus for them. "
    "To switch them on, set memory=minilm dataset.memory.root=…"
)
DRY = "this was a dry run: no model was called"
OF_N = "system.stages.sgrg.sees=[D,N]"


@pytest.fixture
def corpus(tmp_path: Path) -> tuple[str, ...]:
    turns = [{"speaker": "A", "text": "I lost it."}, {"speaker": "B", "text": "Oh no."}]
    (tmp_path / "dialogues.jsonl").write_text(json.dumps({"id": "a", "turns": turns}), encoding="utf-8")
    return ("dataset=folder", f"dataset.root={tmp_path}", f"runs={tmp_path}/runs", "backend=dry", "frames=none")


def test_a_dry_run_is_named_as_such(corpus: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    ended = launch(parse_settings(*corpus))
    assert Path(ended.run).name.startswith("folder-merg-dry-")
    first = capsys.readouterr().out
    again = launch(parse_settings(*corpus))
    assert again.run == ended.run
    for printed in (first, capsys.readouterr().out):
        assert DRY in printed
        assert OFF in " ".join(printed.split())


@pytest.mark.parametrize(
    ("node", "where", "what", "hint"),
    [
        ("top_k:1", "sources.N.top_k", "sources.N has no embedder", "sources.N.top_k=0"),
    ],
)
def test_an_error_of_a_second_memory_names_its_setting(
    node: str, where: str, what: str, hint: str, tmp_path: Path
) -> None:
    (tmp_path / "sgrg.j2").write_text("{{ N }}", encoding="utf-8")
    prompts = f"system.prompts=[{tmp_path},package:mmerg/systems/merg/prompts]"
    target = f"+sources.N={{_target_:mmerg.sources.exemplars.FromMemory,{node}}}"
    settings = parse_settings("dataset=demo", OF_N, prompts, target)
    with pytest.raises(ConfigError) as caught:
        plan_system(settings, load_corpus(settings.dataset))
    assert (caught.value.where, caught.value.what) == (where, what)
    assert caught.value.hint.endswith(hint)

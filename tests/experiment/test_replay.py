"""Which folder a run has, and runs that need no server: finished ones, and those that read the cache alone."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from mmerg.errors import CallError, ConfigError
from mmerg.experiment.launch import launch
from mmerg.experiment.plan import plan_run
from mmerg.runs.result import RunOutcome
from tests.configs import parse_settings
from tests.run_folders import read_contents
from tests.scripted_ollama import ScriptedOllama, scripted_ollama
from tests.test_run import corpus_in


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedOllama]:
    with scripted_ollama() as server:
        yield server


def given(folder: Path, host: str, *more: str) -> tuple[str, ...]:
    return (
        *("dataset=folder", f"dataset.root={folder / 'corpus'}", f"runs={folder / 'runs'}"),
        *(
            "memory=none",
            "limit=2",
            f"cache_dir={folder / 'cache'}",
            f"backend.hosts=[{host}]",
            "backbone=qwen2.5vl-7b",
            *more,
        ),
    )


def run(*settings: str) -> RunOutcome:
    return launch(parse_settings(*settings))


def test_a_finished_run_and_the_cache_need_no_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus_in(tmp_path)
    with scripted_ollama() as server:
        host = server.url
        first = run(*given(tmp_path, host))
    before = read_contents(Path(first.run))
    bytes_before = {file: file.read_bytes() for file in Path(first.run).rglob("*") if file.is_file()}
    again = run(*given(tmp_path, host))
    assert (again.run, again.code, again.kept, again.made) == (first.run, 0, first.samples, 0)
    assert {file: file.read_bytes() for file in Path(first.run).rglob("*") if file.is_file()} == bytes_before
    assert f"{first.samples} samples are already finished" in capsys.readouterr().out

    replayed = run(*given(tmp_path, host, f"runs={tmp_path / 'elsewhere'}", "cache=read"))
    assert (replayed.code, replayed.made, Path(replayed.run).name) == (0, 0, Path(first.run).name)
    after = read_contents(Path(replayed.run))
    assert before["manifest.json"].pop("settings")["cache"] == "on"
    assert after["manifest.json"].pop("settings")["cache"] == "read"
    assert after == before

    with pytest.raises(CallError, match="no Ollama server responds"):
        run(*given(tmp_path, host, f"runs={tmp_path / 'third'}"))
    with pytest.raises(ConfigError, match="the cache holds completions of no engines"):
        run(*given(tmp_path, host, f"runs={tmp_path / 'third'}", "cache=read", "backbone=gemma3-12b"))
    assert not (tmp_path / "third").exists()


def test_a_run_without_events_is_not_finished(tmp_path: Path, server: ScriptedOllama) -> None:
    corpus_in(tmp_path)
    path = Path(run(*given(tmp_path, server.url)).run)
    events = sorted((path / "samples").iterdir())
    events[0].unlink()
    run(*given(tmp_path, server.url))
    assert sorted((path / "samples").iterdir()) == events


def folder_of(*settings: str) -> str:
    return plan_run(parse_settings(*settings)).path.name


def test_the_content_of_inputs_names_a_run_and_their_place_does_not(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    corpus_in(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    name = folder_of(*given(tmp_path / "a", "http://x:1"))
    assert name.startswith("folder-merg-qwen2.5vl-7b-")
    assert folder_of(*given(tmp_path / "b", "http://y:1")) == name
    file = tmp_path / "b" / "corpus" / "dialogues.jsonl"
    file.write_text(file.read_text(encoding="utf-8").replace("keys", "rings"), encoding="utf-8")
    assert folder_of(*given(tmp_path / "b", "http://y:1")) != name


def test_two_models_of_one_name_are_two_runs(tmp_path: Path) -> None:
    names = []
    for folder, data in (("a", b"one"), ("b", b"another"), ("c", b"one")):
        file = tmp_path / folder / "model.gguf"
        file.parent.mkdir()
        file.write_bytes(data)
        names.append(folder_of("dataset=demo", "memory=none", f"backbone.gguf={file}"))
    assert names[0] == names[2] != names[1]


class Knows:
    """A stage's answer, a loop and a source alike; all that matters here is what each is given."""

    def __init__(self, file: str) -> None:
        self.file = file

    def __call__(self, *_: object) -> object:
        return self.file

    def supply(self, *_: object) -> object:
        return self.file


@pytest.mark.parametrize(
    ("key", "more"),
    [
        ("system.stages.psp.function", ["~system.stages.psp.sampling"]),
        ("sources.M", []),
    ],
)
def test_the_content_of_a_custom_class_file_names_a_run_and_its_place_does_not(
    key: str, more: list[str], tmp_path: Path
) -> None:
    corpus_in(tmp_path)
    for folder, text in (("a", "one"), ("b", "two"), ("c", "one")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "m.json").write_text(text, encoding="utf-8")
    own = [f"{key}={{_target_:{__name__}.Knows,file:{tmp_path}/{folder}/m.json}}" for folder in "abc"]
    a, b, c = (folder_of(*given(tmp_path, "http://x:1", one, *more)) for one in own)
    assert a == c != b


def test_a_name_and_tags_change_only_the_name_of_the_folder(tmp_path: Path, server: ScriptedOllama) -> None:
    corpus_in(tmp_path)
    plain = folder_of(*given(tmp_path, server.url))
    mark = plain.rpartition("-")[2]
    assert folder_of(*given(tmp_path, server.url, "name=trial")) == f"trial-{mark}"
    assert folder_of(*given(tmp_path, server.url, "tags=[cold,2]")) == plain.replace(mark, f"cold-2-{mark}")
    with pytest.raises(ConfigError, match="name is 'a/b'"):
        parse_settings(*given(tmp_path, server.url, "name=a/b"))


def test_a_wrong_host_is_refused(tmp_path: Path) -> None:
    corpus_in(tmp_path)
    with pytest.raises(ConfigError, match="not a host's address"):
        run(*given(tmp_path, "http://h:port"))

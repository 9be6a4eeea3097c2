"""Changed manifests and folders that are no runs: the errors of every command."""

import copy
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mmerg import compare, load, plot, report, score, show, tables
from mmerg.errors import RunError
from mmerg.runs.folder import RESULTS
from mmerg.runs.manifest import (
    MANIFEST,
    JudgedRun,
    JudgingManifest,
    MemorySection,
    Split,
    read_any_manifest,
    read_manifest,
    read_run_refs,
)
from mmerg.runs.samples import events_file
from mmerg.storage.record import write_record
from tests.compared_runs import edit_run
from tests.scoring.run_builder import build_run, result

CONFIG = {"memory": {"top_k": 3}, "protocol": {"emotions": ["joy"]}, "dataset": {"name": "meld"}}
MISSING: Any = object()
COMMANDS: dict[str, Callable[[str, str, str], int]] = {
    "score": lambda run, _, __: score.main([run, "--resamples", "3"]),
    "compare": lambda run, other, _: compare.main([other, run, "--resamples", "3"]),
    "show": lambda run, _, __: show.main([run]),
    "tables": lambda run, _, __: tables.main(["main", run]),
    "report": lambda run, _, out: report.main([run, "--out", out]),
    "plot": lambda run, _, out: plot.main([run, "--out", out]),
    "sample": lambda run, _, __: show.main([run, "d1/1"]),
}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two runs, the first scored."""
    folder = tmp_path_factory.mktemp("runs")
    lines = [result(f"d{number}/1", "oh no", "joy", gold="joy") for number in range(2)]
    memory = MemorySection(
        corpus=Split(name="meld", split="train"), entries=3, top_k=3, skipped={"no reply": 1}, embedder="e", digest="d"
    )
    runs = []
    for name in ("a", "b"):
        run = build_run(folder / name, lines, corpus="meld", config=CONFIG)
        edit_run(run, lambda manifest: manifest.update(memories={"M": memory.model_dump()}))
        runs.append(run)
    assert score.main([str(runs[0]), "--resamples", "3"]) == 0
    return runs[0], runs[1]


def write(run: Path, manifest: Mapping[str, Any]) -> None:
    (run / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")


def plain(run: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((run / MANIFEST).read_bytes())
    return content


def changed(manifest: Mapping[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    whole = node = copy.deepcopy(dict(manifest))
    for key in path[:-1]:
        node = node[key]
    if value is MISSING:
        del node[path[-1]]
    else:
        node[path[-1]] = value
    return whole


def replaced(name: str, old: bytes, new: bytes) -> Callable[[Path], None]:
    def change(run: Path) -> None:
        data = (run / name).read_bytes()
        assert old in data
        (run / name).write_bytes(data.replace(old, new))

    return change


def without_line(run: Path) -> None:
    lines = (run / RESULTS).read_bytes().splitlines(keepends=True)
    (run / RESULTS).write_bytes(b"".join(lines[1:]))


def without_sample(run: Path) -> None:
    without_line(run)
    events_file(run, "d0/1").unlink()


def with_line_of_another(run: Path) -> None:
    other = build_run(run.parent / "other", [result("d9/1")], identity="other")
    with (run / RESULTS).open("ab") as file:
        file.write((other / RESULTS).read_bytes())


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (replaced(RESULTS, b"oh no", b"oh yes"), "2 of 2 records were changed, or are of another run: d0/1, d1/1"),
        (with_line_of_another, "1 of 3 records were changed, or are of another run: d9/1"),
        (without_line, "the run wrote 2 records, but results.jsonl has 1"),
        (without_sample, "the run wrote 2 records, but results.jsonl has 1"),
        (replaced(RESULTS, b"}\n", b"}\n{"), "line 2 is not a valid record"),
        (lambda run: events_file(run, "d0/1").unlink(), "the events of these samples are missing: d0/1"),
        (replaced(MANIFEST, b'"seed": 0', b'"seed": 1'), "this manifest was changed after the run wrote it"),
    ],
    ids=["record", "foreign", "line", "sample", "syntax", "events", "seed"],
)
def test_every_command_refuses_a_changed_run(
    change: Callable[[Path], None],
    problem: str,
    pair: tuple[Path, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = shutil.copytree(pair[0], tmp_path / "a")
    change(run)
    for command in COMMANDS.values():
        assert command(str(run), str(pair[1]), str(tmp_path / "out")) == 2
        assert f"error: {problem}" in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.glob("out/*"))
    with pytest.raises(RunError, match=re.escape(problem)):
        _ = load(run).samples


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("engine", MISSING, "engine: Field required"),
        ("protocol.samples", -1, "protocol.samples: "),
        ("corpus.labels", "joy", "corpus.labels: "),
        ("unknown", 1, "unknown: Extra inputs"),
    ],
)
def test_the_error_names_the_key(key: str, value: Any, problem: str, pair: tuple[Path, Path], tmp_path: Path) -> None:
    write(tmp_path, changed(plain(pair[0]), tuple(key.split(".")), value))
    with pytest.raises(RunError) as caught:
        read_manifest(tmp_path)
    assert caught.value.what.startswith(f"the manifest is damaged or of another version of mmerg: {problem}")
    assert caught.value.where == str(tmp_path / MANIFEST)
    assert "run the same command again" in caught.value.hint


def test_a_run_of_another_version_is_refused(pair: tuple[Path, Path], tmp_path: Path) -> None:
    write(tmp_path, changed(plain(pair[0]), ("format",), 3))
    with pytest.raises(RunError, match=r"of another version of mmerg: format[^$]*run the same command"):
        read_manifest(tmp_path)


def test_the_error_for_another_folder_names_runs(pair: tuple[Path, Path], tmp_path: Path) -> None:
    run = pair[0]
    os.utime(run / MANIFEST, (0, 0))  # the latest comes first
    (tmp_path / "other").mkdir()
    (tmp_path / MANIFEST).touch()  # of something else
    errors = {
        tmp_path / "nowhere": ("there is no such folder", "see `ls runs/`"),
        tmp_path / "other": ("it has no manifest.json", "see `ls runs/`"),
        run.with_name("aa"): ("there is no such folder", f"name a run folder: {run}"),
        run.parent: ("it has no manifest.json", f"name a run folder: {pair[1]} {run}"),
    }
    for path, (what, hint) in errors.items():
        with pytest.raises(RunError) as caught:
            read_manifest(path)
        assert (caught.value.what, caught.value.hint) == (f"this is not a run folder: {what}", hint)


def test_the_folder_of_a_judging_is_no_run(pair: tuple[Path, Path], tmp_path: Path) -> None:
    run = read_manifest(pair[0])
    judged = (JudgedRun(run="a", identity=run.identity, engine=run.engine),)
    judging = JudgingManifest(identity={}, engine=run.engine, judged=judged, items=1, skipped={}).with_digest()
    write_record(tmp_path / MANIFEST, judging)
    assert read_any_manifest(tmp_path) == judging
    with pytest.raises(RunError, match=r"holds a judgement, not a run[^$]*name the judged run instead: a$"):
        read_manifest(tmp_path)


def test_a_run_named_twice_is_an_error(pair: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(pair[0])
    for again in (pair[0], pair[0].parent / "b" / ".." / "a", tmp_path / "link"):
        with pytest.raises(RunError, match="two runs have the same name"):
            read_run_refs([*pair, again])
    read_run_refs(pair)

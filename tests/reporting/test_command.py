"""`python -m mmerg.report`: a complete folder, the same each time, which leaves other files alone."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mmerg.errors import RunError
from mmerg.report import main
from mmerg.reporting.folder import MARKER, report_folder
from mmerg.runs import events
from mmerg.runs.events import EVENT
from mmerg.runs.folder import read_results
from mmerg.runs.samples import read_events, recording
from mmerg.storage.files import write_atomically
from tests.compared_runs import edit_run
from tests.reporting.parts import HISTORY, USUAL, SampleSpec, build, jpeg, sha
from tests.run_folders import read_all_events
from tests.scoring.run_builder import AT, build_run, result


def contents(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def first_page(run: Path) -> str:
    """Writes a report, and returns its overview."""
    assert main([str(run)]) == 0
    return read(run / "report" / "index.html")


def read(page: Path) -> str:
    """Reads a page, with single spaces as its white space."""
    return " ".join(page.read_text(encoding="utf-8").split())


def sample_page(run: Path) -> str:
    """Writes a report, and returns the page of its first sample."""
    first_page(run)
    return read(min((run / "report" / "samples").iterdir()))


def test_a_report_is_complete_and_the_same_in_any_folder(
    report: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = contents(report)
    run = tmp_path / "runs-of-mine" / report.parent.name
    shutil.copytree(report.parent, run)
    assert main([str(run)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"report: {run / 'report' / 'index.html'}"
    assert contents(run / "report") == found
    assert {"index.html", "samples.html", "assets/base.css", "assets/report.css", "assets/report.js"} <= found.keys()
    assert sum(name.startswith("samples/") for name in found) == len(USUAL)
    assert sum(name.startswith("frames/") for name in found) == 3
    assert not any(path.is_symlink() for path in run.rglob("*"))
    assert not any(b"runs-of-mine" in data for data in found.values())


def test_the_first_page_counts_outcomes(report: Path) -> None:
    page = read(report / "index.html")
    for outcome, count in (("later", 2), ("kept", 2), ("passed", 1), ("failed", 2)):
        assert f'<a href="samples.html#outcome={outcome}">{count}</a>' in page
    tiles = page[: page.index("<section")]
    leading = ["accuracy of the label, %", "failed", "minutes", "tokens", "first pass"]
    assert [tile.partition("<")[0] for tile in tiles.split("<dt>")[1:]][:5] == leading
    for words in (
        'label became right in <a href="samples.html#became=right">1</a>, wrong in 0',
        '<a href="samples.html#failure=truncated">truncated</a>',
        "same reply",
        '<th scope="row">missing</th><td class="num">7</td>',
        "0000000000000000000000000000000000000000",  # the commit
        "<dt>python</dt><dd>3.11.0</dd>",
        "The keyframes were sent as images (7 samples).</p>",
        '<p class="note">In 1 sample an audit could not be read;',
        "<li><bdi>caef</bdi>: schema_invalid (1 completion)</li>",
        'They are in <a href="samples.html#rejected=1">3 samples</a>.',
    ):
        assert words in page


def test_an_unfinished_or_empty_run_has_a_report(tmp_path: Path) -> None:
    cleaned = ("name", "quotation marks")
    run = build(tmp_path / "run", [SampleSpec("a/0", cleaned=cleaned), *USUAL[:2]], samples=9)
    edit_run(run, lines=[*read_results(run).values()][:2])
    page = first_page(run)
    assert "; 9 in the protocol" in page
    for kind in cleaned:
        assert f"<li>{kind} (1 completion)</li>" in page
    samples = list((run / "report" / "samples").iterdir())
    assert len(samples) == 2
    assert read(min(samples)).count("Removed from this completion: name, quotation marks.") == 1
    empty = build(tmp_path / "empty", [], samples=5)
    manifest = json.loads((empty / "manifest.json").read_text(encoding="utf-8"))
    (empty / "manifest.json").write_text(json.dumps({**manifest, "sessions": []}), encoding="utf-8")
    page = first_page(empty)
    assert "No sample failed." in page
    assert "<dt>commit of mmerg</dt><dd><code>unknown</code></dd>" in page


def test_other_systems_and_the_outputs_of_any_source_are_shown(tmp_path: Path) -> None:
    stages = {"sgrg": {"gives": "R", "output": "text"}}
    config = {"system": {"name": "plain", "stages": stages, "result": {"response": "R"}}}
    run = build_run(tmp_path / "run", [result("a/1", "Hello there.")], config=config, history={"a/1": HISTORY})
    things: tuple[dict[str, object], ...] = (
        {"fact": "she is from Wales", "score": 2},
        {"reply": None, "similarity": "high", "history": "words", "emotion": 3},
        {"history": {"a": 1}, "similarity": None},
        {"history": ["Ana: hello"], "id": None},
        {},
    )
    supplied = events.Supplied(sample="a/1", at=AT, t=0, stage="sgrg", symbol="K", content=things)
    first, *others = read_events(run, "a/1")
    with recording(run, "a/1") as emit:
        for event in (first, supplied, *others):
            emit(event)
    page = sample_page(run)
    for words in ("Hello there.", "she is from Wales", "K</bdi>: source output"):
        assert words in page


def test_a_grid_of_frames_is_shown_but_no_other_file_of_the_machine(tmp_path: Path) -> None:
    """A model that takes one image gets all keyframes in a grid."""
    run = build(tmp_path / "run", [SampleSpec("a/1")])
    name, linked = hashlib.sha256(jpeg(9)).hexdigest(), "0" * 64
    (run / "frames" / f"{name}.jpg").write_bytes(jpeg(9))
    (tmp_path / "secret").write_bytes(b"secret")
    (run / "frames" / f"{linked}.jpg").symlink_to(tmp_path / "secret")
    lines = [event.model_dump_json() for event in read_all_events(run)]
    sent = f'"images":["{sha(1)}"'
    with recording(run, "a/1") as emit:
        for line in lines:
            emit(EVENT.validate_json(line.replace(sent, f'"images":["{name}","{linked}","../../secret"')))
    assert "the grid of frames" in sample_page(run)
    frames = {file.stem for file in (run / "report" / "frames").iterdir()}
    assert frames == {name, *map(sha, (1, 2, 3))}


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (shutil.rmtree, "not a run folder"),
        (lambda run: (run / "manifest.json").write_text('{"identity": {}}'), "another version of mmerg"),
        (lambda run: next((run / "samples").iterdir()).write_text("words\n"), "line 1 is not an event"),
        (lambda run: (run / "report").write_text(""), "cannot write"),
    ],
)
def test_an_unusable_run_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], prepare: Callable[[Path], object], words: str
) -> None:
    run = build(tmp_path / "run", USUAL[:1])
    prepare(run)
    assert main([str(run)]) == 2
    assert words in capsys.readouterr().err


def files(folder: Path) -> dict[str, str]:
    return {name: data.decode() for name, data in sorted(contents(folder).items()) if name != MARKER}


def write_all(folder: Path, *names: str, content: str = "a") -> None:
    with report_folder(folder) as report:
        for name in names:
            write_atomically(report / name, content)


def test_a_later_report_replaces_the_earlier_and_a_failed_one_does_not(tmp_path: Path) -> None:
    out = tmp_path / "report"
    write_all(out, "index.html", "samples/a.html", "plots/tone.svg")
    write_all(out, "index.html", content="two")
    assert files(out) == {"index.html": "two"}
    with pytest.raises(RunError, match="cannot write"):
        write_all(out, "index.html", "other.html", "other.html/below.html")
    assert files(out) == {"index.html": "two"}
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_a_folder_with_other_files_is_refused_and_unchanged(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years", encoding="utf-8")
    with pytest.raises(RunError, match="not a report's"):
        write_all(tmp_path)
    out = tmp_path / "report"
    write_all(out, "index.html", "samples/a.html")
    (out / "samples" / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(RunError, match="not a report's"):
        write_all(out, "index.html", content="two")
    assert files(out) == {"index.html": "a", "samples/a.html": "a", "samples/mine.txt": "mine"}

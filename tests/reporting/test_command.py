"""`python -m mmerg.report`: a folder that stands alone, is the same each time, and says what is wrong with a run."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mmerg.errors import Failure
from mmerg.report import main
from mmerg.runs import events
from mmerg.runs.folder import read_results
from mmerg.runs.samples import read_events, recording
from tests.compared_runs import edit
from tests.reporting.parts import HISTORY, USUAL, Told, build
from tests.scoring.run_builder import AT, build_run, result


def contents(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def first_page(run: Path) -> str:
    """That of a new report, white space as one blank."""
    assert main([str(run)]) == 0
    return read(run / "report" / "index.html")


def read(page: Path) -> str:
    return " ".join(page.read_text(encoding="utf-8").split())


def sample_page(run: Path) -> str:
    """That of the first sample of a new report."""
    first_page(run)
    return min((run / "report" / "samples").iterdir()).read_text(encoding="utf-8")


def test_a_report_stands_alone_and_is_the_same_wherever_it_is(
    report: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Moved away, its run gone, nothing in it is a link and no page names where it was made."""
    found = contents(report)
    run = tmp_path / "runs-of-mine" / report.parent.name
    shutil.copytree(report.parent, run)
    assert main([str(run)]) == 0  # over the earlier one
    assert capsys.readouterr().out.splitlines()[-1] == f"report: {run / 'report' / 'index.html'}"
    assert contents(run / "report") == found
    assert {"index.html", "samples.html", "assets/report.css", "assets/report.js"} <= found.keys()
    assert sum(name.startswith("samples/") for name in found) == len(USUAL)
    assert sum(name.startswith("frames/") for name in found) == 3
    (run / "report").rename(tmp_path / "report")
    shutil.rmtree(run)
    for name, data in found.items():
        assert not (tmp_path / "report" / name).is_symlink()
        assert b"runs-of-mine" not in data


def test_the_first_page_counts_what_happened(report: Path, tmp_path: Path) -> None:
    page = read(report / "index.html")
    for outcome, count in (("later", 2), ("kept", 2), ("passed", 1), ("failed", 2)):
        assert f'<a href="samples.html#outcome={outcome}">{count}</a>' in page
    tiles = page[: page.index("<section")]
    leading = ["accuracy of the label, %", "failed", "minutes", "tokens", "first pass"]
    assert [tile.partition("<")[0] for tile in tiles.split("<dt>")[1:]][:5] == leading
    told = [part.partition("<")[0].partition('">')[2] for part in page.split('<h2 id="')]
    assert (told[1], told[-1]) == ("Metrics", "Configuration")
    for words in (
        'label became right in <a href="samples.html#became=right">1</a>, wrong in 0',
        '<a href="samples.html#failure=truncated">truncated</a>',
        "same reply",
        '<th scope="row">missing</th><td class="n">7</td>',
        "0000000000000000000000000000000000000000",  # the commit
        "<dt>python</dt><dd>3.11.0</dd>",
        "The keyframes were sent as images (7 samples).</p>",
        '<p class="note">In 1 sample an audit could not be read;',
    ):
        assert words in page
    run = build(tmp_path / "run", [])
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    (run / "manifest.json").write_text(json.dumps({**manifest, "sessions": []}), encoding="utf-8")
    assert "<dt>commit of mmerg</dt><dd><code>unknown</code></dd>" in first_page(run)


def test_replies_that_were_refused_or_cleaned_are_told_with_what_became_of_them(tmp_path: Path) -> None:
    cleaned = ("name", "quotation marks")
    told = [Told("a/0", cleaned=cleaned), Told("a/1", mended="psp"), Told("a/2", failure=Failure.TRUNCATED)]
    run = build(tmp_path / "run", told)
    page = first_page(run)
    assert "replies that were retried</h3> <ul><li><bdi>psp</bdi>: schema_invalid (1 reply)</li></ul>" in page
    assert "without another retry</h3> <ul><li><bdi>caef</bdi>: truncated (1 reply)</li></ul>" in page
    assert 'In <a href="samples.html#repaired=1">1 sample</a> a rejected reply was followed by a usable one.' in page
    assert (
        "Removed from replies before use</h3> <ul><li>name (1 reply)</li><li>quotation marks (1 reply)</li></ul>"
        in page
    )
    assert sample_page(run).count("Removed from the reply: name, quotation marks.") == 1


def test_a_run_that_is_not_finished_or_empty_has_a_report(tmp_path: Path) -> None:
    run = build(tmp_path / "run", USUAL[-3:], samples=9)
    edit(run, lines=[*read_results(run).values()][:2])
    assert "; 9 in the protocol" in first_page(run)
    assert len(list((run / "report" / "samples").iterdir())) == 2
    assert "No sample failed." in first_page(build(tmp_path / "empty", [], samples=5))


def test_a_long_run_says_how_far_it_is(many_told: tuple[Path, list[str]]) -> None:
    assert many_told[1] == ["500 of 501 samples"]


def test_a_system_that_is_not_merg_and_what_any_source_supplied_can_be_read(tmp_path: Path) -> None:
    """Exemplars are those of MERG's memory; another source may give anything."""
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
    for words in ("Hello there.", "she is from Wales", "K</bdi>: supplied"):
        assert words in page


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (shutil.rmtree, "not a run folder"),
        (lambda run: (run / "manifest.json").write_text('{"identity": {}}'), "another version of mmerg"),
        (lambda run: next((run / "samples").iterdir()).write_text("words\n"), "line 1 is not an event"),
        (lambda run: (run / "results.jsonl").write_text("words\n"), "line 1 is not a valid record"),
        (lambda run: (run / "report").write_text(""), "cannot be written"),
    ],
)
def test_what_is_wrong_with_a_run_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], prepare: Callable[[Path], object], words: str
) -> None:
    run = build(tmp_path / "run", USUAL[:1])
    prepare(run)
    assert main([str(run)]) == 2
    assert words in capsys.readouterr().err

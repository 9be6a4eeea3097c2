"""`python -m mmerg.report`: a folder that stands alone, is the same each time, and says what is wrong with a run."""

import json
import os
import shutil
from pathlib import Path

import pytest

from mmerg.errors import Failure
from mmerg.report import folder_of, main
from mmerg.runs import events
from mmerg.runs.result import Result
from mmerg.runs.samples import events_file
from mmerg.score import main as score
from tests.reporting.parts import HISTORY, USUAL, Told, build
from tests.scoring.run_builder import AT, build_run, result


def contents(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def told(capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    out, err = capsys.readouterr()
    return out, err


def test_the_last_line_says_where_it_begins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = build(tmp_path / "run", USUAL)
    assert main([str(run)]) == 0
    out, _ = told(capsys)
    assert out.splitlines()[-1] == f"report: {run / 'report' / 'index.html'}"
    found = contents(run / "report")
    assert {"index.html", "samples.html", "assets/report.css", "assets/report.js"} <= found.keys()
    assert sum(name.startswith("samples/") for name in found) == len(USUAL)
    assert sum(name.startswith("frames/") for name in found) == 3


def test_the_same_run_gives_the_same_bytes_wherever_it_is(tmp_path: Path) -> None:
    run = build(tmp_path / "run", USUAL)
    assert main([str(run)]) == 0
    first = contents(run / "report")
    assert main([str(run), "--out", str(tmp_path / "elsewhere")]) == 0
    assert contents(tmp_path / "elsewhere") == first
    assert main([str(run)]) == 0
    assert contents(run / "report") == first


def test_a_report_stands_alone(tmp_path: Path) -> None:
    """Moved away, its run gone, nothing in it is a link and no page names where it was made."""
    run = build(tmp_path / "runs-of-mine" / "run", USUAL)
    assert main([str(run), "--out", str(tmp_path / "report")]) == 0
    shutil.rmtree(run)
    for name, data in contents(tmp_path / "report").items():
        assert not (tmp_path / "report" / name).is_symlink()
        assert b"runs-of-mine" not in data


def test_the_overview_counts_what_happened(tmp_path: Path) -> None:
    run = build(tmp_path / "run", USUAL)
    assert main([str(run)]) == 0
    page = (run / "report" / "index.html").read_text(encoding="utf-8")
    for outcome, count in (("later", 2), ("kept", 2), ("passed", 1), ("failed", 2)):
        assert f'<a href="samples.html#outcome={outcome}">{count}</a>' in page
    tiles = page[: page.index("<section")]
    leading = ["accuracy of the label, %", "failed", "minutes", "tokens", "first pass"]
    assert [tile.partition("<")[0] for tile in tiles.split("<dt>")[1:]][:5] == leading
    assert 'label became right in <a href="samples.html#became=right">1</a>, wrong in 0' in page
    assert "truncated" in page
    assert "same reply" in page
    assert '<th scope="row">missing</th><td class="n">7</td>' in page
    assert "0000000000000000000000000000000000000000" in page  # the commit
    assert "<dt>python</dt><dd>3.11.0</dd>" in page
    heads = [part.partition("<")[0] for part in page.split('<h2 id="')]
    told = [head.partition('">')[2] for head in heads]
    assert (told[1], told[-1]) == ("Figures", "What was run")
    assert '<a href="samples.html#failure=truncated">truncated</a>' in page
    assert "The keyframes were sent as images (7 samples).</p>" in page


def test_a_run_that_noted_no_start_has_a_page(tmp_path: Path) -> None:
    run = build(tmp_path / "run", USUAL)
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    (run / "manifest.json").write_text(json.dumps({**manifest, "sessions": []}), encoding="utf-8")
    assert main([str(run)]) == 0
    page = (run / "report" / "index.html").read_text(encoding="utf-8")
    assert "<dt>commit of mmerg</dt><dd><code>unknown</code></dd>" in page


def test_replies_that_were_refused_are_told_with_what_became_of_them(tmp_path: Path) -> None:
    run = build(tmp_path / "run", [Told("a/1", mended="psp"), Told("a/2", failure=Failure.TRUNCATED)])
    assert main([str(run)]) == 0
    page = " ".join((run / "report" / "index.html").read_text(encoding="utf-8").split())
    assert "asked for again</h3> <ul><li><bdi>psp</bdi>: schema_invalid (1 reply)</li></ul>" in page
    assert "refused for good</h3> <ul><li><bdi>caef</bdi>: truncated (1 reply)</li></ul>" in page
    assert 'In <a href="samples.html#repaired=1">1 sample</a> a refused reply was followed by a usable one.' in page


def test_what_was_taken_off_replies_is_told_with_the_call_and_counted(tmp_path: Path) -> None:
    run = build(tmp_path / "run", [Told("a/1", cleaned=("name", "quotation marks")), Told("a/2", cleaned=("name",))])
    assert main([str(run)]) == 0
    page = " ".join((run / "report" / "index.html").read_text(encoding="utf-8").split())
    assert "before they were used</h3> <ul><li>name (2 replies)</li><li>quotation marks (1 reply)</li></ul>" in page
    [sample, *_] = sorted((run / "report" / "samples").glob("*.html"))
    shown = " ".join(sample.read_text(encoding="utf-8").split())
    assert shown.count("Taken off the reply: name, quotation marks.") == 1


def test_samples_without_an_audit_that_can_be_read_are_told_beside_failures(tmp_path: Path) -> None:
    run = build(tmp_path / "run", [Told("a/1", ("1101", "x")), Told("a/2")])
    assert main([str(run)]) == 0
    page = (run / "report" / "index.html").read_text(encoding="utf-8")
    assert '<p class="note">In 1 sample an audit could not be read;' in page


def test_what_is_said_of_the_memory_is_what_run_and_results_say(tmp_path: Path) -> None:
    def page(name: str, results: list[Result], **sections: object) -> str:
        run = build_run(tmp_path / name, results)
        manifest = json.loads((run / "manifest.json").read_bytes())
        (run / "manifest.json").write_text(json.dumps(manifest | sections), encoding="utf-8")
        assert main([str(run)]) == 0
        return (run / "report" / "index.html").read_text(encoding="utf-8")

    shown = [result("a/1", exemplars=2), result("a/2", exemplars=1), result("a/3", exemplars_problem="no situation")]
    section: dict[str, object] = {
        "corpus": {"name": "demo", "split": "memory"},
        "entries": 9,
        "left_out": {},
        "top_k": 2,
    }
    section |= {"top_k": 2, "embedder": "e", "digest": "d"}
    assert "The run has no memory: no prompt held exemplars." in page("none", [result("a/1")])
    told = page("memory", shown, memories={"M": section})
    assert "9 entries, top 2. Prompts of 2 samples held exemplars from it." in told
    assert "The memory could not be searched for 1 sample: no situation." in told
    odd = page("odd", shown)
    assert "The manifest names no memory, yet prompts of 2 samples held exemplars" in odd
    assert "no prompt held exemplars" not in odd


def test_several_runs_have_a_folder_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = build(tmp_path / "one", USUAL), build(tmp_path / "two", USUAL[:3])
    folder = folder_of([one, two])
    assert main([str(one), str(two)]) == 0
    assert told(capsys)[0].splitlines()[-1] == f"report: {folder / 'index.html'}"
    found = contents(folder)
    assert {"index.html", "run-1/index.html", "run-2/samples.html"} <= found.keys()
    assert main([str(one), str(two)]) == 0
    assert contents(folder) == found


def test_each_set_of_runs_has_a_report_of_its_own_and_none_is_taken_for_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two, three = (build(tmp_path / name, USUAL[:1]) for name in ("one", "two", "three"))
    for runs in ([one, two], [two, one], [one, three], [one, two, three]):
        assert main([str(run) for run in runs]) == 0
    names = sorted(path.name.rpartition("-")[0] for path in (tmp_path / ".reports").iterdir())
    assert names == ["one-with-1", "one-with-1", "one-with-2", "two-with-1"]
    told(capsys)
    assert score([str(path) for path in tmp_path.iterdir() if path.name[0] != "."]) == 0  # as a shell takes runs/*


def test_the_folder_is_told_as_the_runs_were_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runs" / "one").mkdir(parents=True)
    told = folder_of([tmp_path / "runs" / "one", tmp_path / "runs" / "two"])
    monkeypatch.chdir(tmp_path)
    near = folder_of([Path("runs/one"), Path("runs/two")])
    assert (near.parent, near.name) == (Path("runs/.reports"), told.name)
    assert folder_of([Path("runs/one"), Path("elsewhere/two")]).name != told.name
    monkeypatch.chdir("runs/one")
    assert folder_of([Path(), Path("../two")]) == told
    assert folder_of([Path("../one"), Path("../two")]) == Path("../.reports") / told.name


def test_one_run_given_twice_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = build(tmp_path / "run", USUAL[:1])
    assert main([str(run), str(run)]) == 2
    assert "a run is given twice" in told(capsys)[1]
    assert not (tmp_path / ".reports").exists()


def test_samples_that_are_not_finished_are_left_out(tmp_path: Path) -> None:
    run = build(tmp_path / "run", USUAL, samples=9)
    lines = (run / "results.jsonl").read_bytes().splitlines(keepends=True)
    (run / "results.jsonl").write_bytes(b"".join(lines[:2]))
    assert main([str(run)]) == 0
    assert len(list((run / "report" / "samples").iterdir())) == 2
    assert "; 9 in the protocol" in (run / "report" / "index.html").read_text(encoding="utf-8")


def test_a_run_without_results_is_an_overview(tmp_path: Path) -> None:
    run = build(tmp_path / "run", [], samples=5)
    assert main([str(run)]) == 0
    assert "No sample failed." in (run / "report" / "index.html").read_text(encoding="utf-8")


def test_a_long_run_says_how_far_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = build_run(tmp_path / "run", [result(f"d{number}/2") for number in range(501)])
    assert main([str(run)]) == 0
    assert "500 of 501 samples" in told(capsys)[0]


def test_a_system_that_is_not_merg(tmp_path: Path) -> None:
    config = {
        "system": {"name": "plain", "stages": {"sgrg": {"gives": "R", "output": "text"}}, "result": {"response": "R"}}
    }
    run = build_run(tmp_path / "run", [result("a/1", "Hello there.")], config=config, history={"a/1": HISTORY})
    assert main([str(run)]) == 0
    [page] = (run / "report" / "samples").iterdir()
    assert "Hello there." in page.read_text(encoding="utf-8")


def test_what_any_source_supplied_can_be_read(tmp_path: Path) -> None:
    """Exemplars are those of MERG's memory; another source may give anything."""
    run = build_run(tmp_path / "run", [result("a/1", "Hello there.")])
    things: tuple[dict[str, object], ...] = (
        {"fact": "she is from Wales", "score": 2},
        {"reply": None, "similarity": "high", "history": "words", "emotion": 3},
        {"history": {"a": 1}, "similarity": None},
        {"history": ["Ana: hello"], "id": None},
        {},
    )
    supplied = events.Supplied(sample="a/1", at=AT, t=0, stage="sgrg", symbol="K", content=things)
    file = events_file(run, "a/1")
    first, *others = file.read_text(encoding="utf-8").splitlines(keepends=True)
    line = json.dumps(supplied.model_dump(mode="json"), separators=(",", ":"))
    file.write_text(f"{first}{line}\n{''.join(others)}", encoding="utf-8")
    assert main([str(run)]) == 0
    [page] = (run / "report" / "samples").iterdir()
    text = page.read_text(encoding="utf-8")
    assert "she is from Wales" in text
    assert "K</bdi>: supplied" in text


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (shutil.rmtree, "not a run folder"),
        (lambda run: (run / "manifest.json").write_text('{"identity": {}}'), "another version of mmerg"),
        (lambda run: next((run / "samples").iterdir()).write_text("words\n"), "line 1 is no event"),
        (lambda run: (run / "results.jsonl").write_text("words\n"), "line 1 is not a record"),
        (lambda run: (run / "report").write_text(""), "cannot be written"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_run_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], prepare: object, words: str
) -> None:
    run = build(tmp_path / "run", USUAL[:1])
    assert callable(prepare)
    prepare(run)
    assert main([str(run)]) == 2
    assert words in told(capsys)[1]


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = build(tmp_path / "run", USUAL[:1])
    before = contents(run)
    assert main([str(run), "--out", str(run)]) == 2
    assert "run's own files" in told(capsys)[1]
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("years", encoding="utf-8")
    assert main([str(run), "--out", str(tmp_path / "home")]) == 2
    assert "not a report's" in told(capsys)[1]
    assert contents(run) == before
    assert os.listdir(tmp_path / "home") == ["thesis.tex"]  # noqa: PTH208


def test_a_sample_that_was_done_twice_shows_its_last_try(tmp_path: Path) -> None:
    run = build(tmp_path / "run", [Told("a/1", mark="first try")])
    again = build(tmp_path / "again", [Told("a/1", mark="second try")])
    with (run / "results.jsonl").open("ab") as file:
        file.write((again / "results.jsonl").read_bytes())
    shutil.copy(events_file(again, "a/1"), events_file(run, "a/1"))
    assert main([str(run)]) == 0
    [page] = (run / "report" / "samples").iterdir()
    text = page.read_text(encoding="utf-8")
    assert "second try" in text
    assert "first try" not in text

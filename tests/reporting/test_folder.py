"""A report's folder: replaced by a later report, and no other file is ever touched."""

from pathlib import Path

import pytest

from mmerg.errors import RunError
from mmerg.reporting.folder import MARKER, report_folder


def files(folder: Path) -> dict[str, str]:
    return {
        file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8")
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name != MARKER
    }


def write_all(folder: Path, *names: str, content: str = "a") -> None:
    with report_folder(folder) as report:
        for name in names:
            report.write(name, content)


def test_a_later_report_takes_the_place_of_the_earlier(tmp_path: Path) -> None:
    out = tmp_path / "report"
    write_all(out, "index.html", "samples/a.html", "plots/tone.svg")
    write_all(out, "index.html", content="two")
    assert files(out) == {"index.html": "two"}
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_a_folder_with_files_of_others_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years", encoding="utf-8")
    with pytest.raises(RunError, match="not a report's"):
        write_all(tmp_path)
    assert files(tmp_path) == {"thesis.tex": "years"}
    out = tmp_path / "report"
    write_all(out, "index.html", "samples/a.html")
    (out / "samples" / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(RunError, match="not a report's"):
        write_all(out, "index.html", content="two")
    assert files(out) == {"index.html": "a", "samples/a.html": "a", "samples/mine.txt": "mine"}


def test_after_an_error_the_earlier_report_stands(tmp_path: Path) -> None:
    out = tmp_path / "report"
    write_all(out, "index.html")
    with pytest.raises(RunError, match="cannot be written"):
        write_all(out, "index.html", "other.html", "other.html/below.html")
    assert files(out) == {"index.html": "a"}
    assert [path.name for path in tmp_path.iterdir()] == ["report"]
    with pytest.raises(RunError, match="cannot be written"):
        write_all(out / "index.html" / "report")

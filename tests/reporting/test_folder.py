"""A report's folder: replaced by a later one, and nothing of anybody else is ever touched."""

from pathlib import Path

import pytest

from mmerg.errors import RunError
from mmerg.reporting.folder import MARKER, PART, report_folder


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


def test_a_later_report_takes_away_what_it_no_longer_has(tmp_path: Path) -> None:
    out = tmp_path / "report"
    write_all(out, "index.html", "samples/a.html", "plots/tone.svg")
    (out / "samples" / "mine.txt").write_text("mine", encoding="utf-8")
    write_all(out, "index.html", content="two")
    assert files(out) == {"index.html": "two", "samples/mine.txt": "mine"}
    assert not (out / "plots").exists()
    assert (out / MARKER).read_text(encoding="utf-8") == "mmerg report 1\nindex.html\n"


def test_what_is_not_a_report_is_refused_and_files_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years", encoding="utf-8")
    with pytest.raises(RunError, match="not a report's"):
        write_all(tmp_path)
    assert files(tmp_path) == {"thesis.tex": "years"}
    out = tmp_path / "report"
    write_all(out, "index.html")
    (out / "notes.html").write_text("mine", encoding="utf-8")
    with pytest.raises(RunError, match="not of a report"):
        write_all(out, "notes.html")
    assert files(out) == {"index.html": "a", "notes.html": "mine"}


def test_nothing_is_written_or_removed_through_links_or_outside(tmp_path: Path) -> None:
    outside, out = tmp_path / "home", tmp_path / "report"
    outside.mkdir()
    (outside / "a.html").write_text("mine", encoding="utf-8")
    write_all(out, "index.html")
    (out / "samples").symlink_to(outside)
    marked = f"mmerg report 1\nindex.html\n../home/a.html\n{outside}/a.html\nsamples/a.html\n"
    (out / MARKER).write_text(marked, encoding="utf-8")
    with pytest.raises(RunError, match="through links"):
        write_all(out, "samples/a.html")
    write_all(out, "index.html")
    assert files(outside) == {"a.html": "mine"}
    (out / MARKER).unlink()
    (out / MARKER).symlink_to(outside / "a.html")
    with pytest.raises(RunError, match="not a report's"):
        write_all(out, "index.html")
    assert files(outside) == {"a.html": "mine"}


def test_a_link_in_place_of_a_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    mine, out = tmp_path / "mine.txt", tmp_path / "report"
    mine.write_text("mine", encoding="utf-8")
    write_all(out, "index.html")
    (out / "index.html").unlink()
    (out / "index.html").symlink_to(mine)
    with report_folder(out) as folder:
        folder.write("index.html", "two")
        (out / MARKER).unlink()
        (out / MARKER).symlink_to(mine)
    assert mine.read_text(encoding="utf-8") == "mine"
    assert not (out / "index.html").is_symlink()
    assert not (out / MARKER).is_symlink()


def test_a_frame_shares_its_bytes_with_the_run_and_can_be_replaced(tmp_path: Path) -> None:
    source, out = tmp_path / "f.jpg", tmp_path / "report"
    source.write_bytes(b"whole")

    def link() -> None:
        with report_folder(out) as folder:
            folder.link("frames/f.jpg", source)
        assert not (out / "frames/f.jpg").is_symlink()
        assert (out / "frames/f.jpg").samefile(source)

    link()
    link()
    (out / "frames/f.jpg").unlink()
    (out / "frames/f.jpg").symlink_to(source)
    link()
    write_all(out, "frames/f.jpg", content="blurred")
    assert source.read_bytes() == b"whole"
    link()
    assert {file.name for file in (out / "frames").iterdir()} == {"f.jpg"}


def test_after_an_error_the_earlier_report_stands(tmp_path: Path) -> None:
    out = tmp_path / "report"
    write_all(out, "index.html")
    with pytest.raises(RunError, match="cannot be written"):
        write_all(out, "index.html", "other.html", "other.html/below.html")
    assert files(out) == {"index.html": "a"}
    assert not (out / PART).exists()
    with pytest.raises(RunError, match="cannot be written"):
        write_all(out / "index.html" / "report")


def test_what_a_killed_process_leaves_is_known_as_a_reports(tmp_path: Path) -> None:
    """Killed before it put its files in place, and while it did: the marker then names old files and new ones."""
    out = tmp_path / "report"
    (out / PART).mkdir(parents=True)
    (out / PART / "a.html").write_text("a", encoding="utf-8")
    write_all(out, "index.html", "samples/a.html")
    (out / "index.html").unlink()
    (out / "samples" / "b.html").write_text("b", encoding="utf-8")
    (out / MARKER).write_text("mmerg report 1\nindex.html\nsamples/a.html\nsamples/b.html\n", encoding="utf-8")
    write_all(out, "index.html", content="new")
    assert files(out) == {"index.html": "new"}
    assert not (out / PART).exists()


def test_two_reports_at_once_do_not_meet(tmp_path: Path) -> None:
    with report_folder(tmp_path) as first:
        first.write("index.html", "one")
        with pytest.raises(RunError, match="another process is writing a report there"):
            write_all(tmp_path, "index.html")
        first.write("other.html", "two")
    assert files(tmp_path) == {"index.html": "one", "other.html": "two"}


def test_a_report_is_the_users_alone(tmp_path: Path) -> None:
    frame = tmp_path / "frame.jpg"
    frame.write_bytes(b"jpeg")
    frame.chmod(0o600)
    with report_folder(tmp_path / "report") as folder:
        folder.write("samples/a.html", "one")
        folder.write("frames/b.jpg", b"jpeg")
        folder.link("frames/c.jpg", frame)
    modes = {path: path.stat().st_mode & 0o777 for path in (tmp_path / "report", *(tmp_path / "report").rglob("*"))}
    assert modes == {path: 0o700 if path.is_dir() else 0o600 for path in modes}

"""A report's folder: replaced by a later one, and nothing of anybody else is ever touched."""

import os
from pathlib import Path

import pytest

from mmerg.errors import RunError
from mmerg.reporting.folder import MARKER, PART, ReportFolder


def files(folder: Path) -> dict[str, str]:
    return {
        file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8")
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name != MARKER
    }


def write_all(folder: Path, *names: str) -> None:
    with ReportFolder(folder) as report:
        for name in names:
            report.write(name, "a")


def test_a_later_report_takes_away_what_it_no_longer_has(tmp_path: Path) -> None:
    out = tmp_path / "report"
    with ReportFolder(out) as folder:
        folder.write("index.html", "one")
        folder.write("samples/a.html", "a")
        folder.write("plots/tone.svg", b"<svg/>")
    (out / "samples" / "mine.txt").write_text("mine", encoding="utf-8")
    with ReportFolder(out) as folder:
        folder.write("index.html", "two")
    assert files(out) == {"index.html": "two", "samples/mine.txt": "mine"}
    assert not (out / "plots").exists()
    assert (out / MARKER).read_text(encoding="utf-8") == "mmerg report 1\nindex.html\n"


def test_what_is_not_a_report_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years", encoding="utf-8")
    with pytest.raises(RunError, match="not a report's"), ReportFolder(tmp_path):
        pass
    assert files(tmp_path) == {"thesis.tex": "years"}


def test_a_file_of_somebody_else_is_not_overwritten(tmp_path: Path) -> None:
    with ReportFolder(tmp_path) as folder:
        folder.write("index.html", "one")
    (tmp_path / "notes.html").write_text("mine", encoding="utf-8")
    with pytest.raises(RunError, match="not of a report"), ReportFolder(tmp_path) as folder:
        folder.write("notes.html", "ours")
    assert files(tmp_path)["notes.html"] == "mine"


def test_nothing_is_written_or_removed_through_links_or_outside(tmp_path: Path) -> None:
    outside, out = tmp_path / "home", tmp_path / "report"
    outside.mkdir()
    (outside / "a.html").write_text("mine", encoding="utf-8")
    with ReportFolder(out) as folder:
        folder.write("index.html", "one")
    (out / "samples").symlink_to(outside)
    (out / MARKER).write_text(
        "mmerg report 1\nindex.html\n../home/a.html\n/etc/passwd\nsamples/a.html\n", encoding="utf-8"
    )
    with pytest.raises(RunError, match="through links"), ReportFolder(out) as folder:
        folder.write("samples/a.html", "ours")
    with ReportFolder(out) as folder:
        folder.write("index.html", "two")
    with pytest.raises(RunError, match="not the name"), ReportFolder(out) as folder:
        folder.write("../b.html", "ours")
    assert files(outside) == {"a.html": "mine"}


def test_a_link_in_place_of_a_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    mine, out = tmp_path / "mine.txt", tmp_path / "report"
    mine.write_text("mine", encoding="utf-8")
    with ReportFolder(out) as folder:
        folder.write("index.html", "one")
    (out / "index.html").unlink()
    (out / "index.html").symlink_to(mine)
    with ReportFolder(out) as folder:
        folder.write("index.html", "two")
    assert mine.read_text(encoding="utf-8") == "mine"
    assert not (out / "index.html").is_symlink()


def test_a_frame_shares_its_bytes_with_the_run_and_can_be_replaced(tmp_path: Path) -> None:
    source, out = tmp_path / "f.jpg", tmp_path / "report"
    source.write_bytes(b"whole")
    for _ in range(2):
        with ReportFolder(out) as folder:
            folder.link("frames/f.jpg", source)
        assert (out / "frames/f.jpg").samefile(source)
    with ReportFolder(out) as folder:
        folder.write("frames/f.jpg", b"blurred")
    assert source.read_bytes() == b"whole"
    with ReportFolder(out) as folder:
        folder.link("frames/f.jpg", source)
    assert (out / "frames/f.jpg").read_bytes() == b"whole"
    assert {file.name for file in (out / "frames").iterdir()} == {"f.jpg"}


def test_files_that_only_look_like_ours_are_left_alone(tmp_path: Path) -> None:
    mine, out = tmp_path / "mine.txt", tmp_path / "report"
    mine.write_text("mine", encoding="utf-8")
    write_all(out, "index.html")
    (out / MARKER).unlink()
    (out / MARKER).symlink_to(mine)
    with pytest.raises(RunError, match="not a report's"):
        write_all(out, "index.html")
    assert mine.read_text(encoding="utf-8") == "mine"


def test_a_marker_that_becomes_a_link_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    mine, out = tmp_path / "mine.txt", tmp_path / "report"
    mine.write_text("mine", encoding="utf-8")
    with ReportFolder(out) as folder:
        folder.write("index.html", "one")
        (out / MARKER).symlink_to(mine)
    assert mine.read_text(encoding="utf-8") == "mine"
    assert not (out / MARKER).is_symlink()


def test_a_link_to_the_very_frame_becomes_a_file(tmp_path: Path) -> None:
    source, out = tmp_path / "f.jpg", tmp_path / "report"
    source.write_bytes(b"whole")
    with ReportFolder(out) as folder:
        folder.link("f.jpg", source)
    (out / "f.jpg").unlink()
    (out / "f.jpg").symlink_to(source)
    with ReportFolder(out) as folder:
        folder.link("f.jpg", source)
    assert not (out / "f.jpg").is_symlink()
    assert (out / "f.jpg").samefile(source)


def test_after_an_error_the_earlier_report_stands(tmp_path: Path) -> None:
    out = tmp_path / "report"
    with pytest.raises(RunError, match="not the name"):
        write_all(out, "samples/a.html", "/samples/b.html")
    assert files(out) == {}
    with ReportFolder(out) as folder:
        folder.write("index.html", "one")
    with pytest.raises(RunError, match="not the name"):
        write_all(out, "index.html", "../b.html")
    assert files(out) == {"index.html": "one"}  # the earlier report stands


def test_what_a_killed_process_leaves_is_ours(tmp_path: Path) -> None:
    out = tmp_path / "report"
    killed = ReportFolder(out)
    killed.__enter__()
    killed.write("samples/a.html", "a")
    os.close(killed._lock)  # as the system does for a process that is gone
    with ReportFolder(out) as folder:
        folder.write("index.html", "one")
    assert files(out) == {"index.html": "one"}


def test_a_process_killed_while_it_puts_files_in_place_leaves_them_known(tmp_path: Path) -> None:
    out = tmp_path / "report"
    write_all(out, "index.html", "samples/a.html")
    killed = ReportFolder(out)
    killed.__enter__()
    killed.write("samples/b.html", "b")
    (out / "index.html").rename(out / PART / "other")  # as if it were half done
    killed._mark(killed._old | killed._new)
    (out / PART / "samples/b.html").rename(out / "samples/b.html")
    os.close(killed._lock)
    write_all(out, "index.html")
    assert files(out) == {"index.html": "a"}
    assert not (out / PART).exists()


def test_a_folder_that_cannot_be_made_is_our_own_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(RunError, match="cannot be written"), ReportFolder(tmp_path / "file" / "report"):
        pass


def test_two_reports_at_once_do_not_meet(tmp_path: Path) -> None:
    with ReportFolder(tmp_path / "report") as first:
        first.write("index.html", "one")
        with pytest.raises(RunError, match="another process is writing a report there"):
            ReportFolder(tmp_path / "report").__enter__()
        first.write("other.html", "two")
    with ReportFolder(tmp_path / "report") as second:
        second.write("index.html", "three")
    assert (tmp_path / "report" / "index.html").read_text(encoding="utf-8") == "three"


def test_a_report_is_the_users_alone(tmp_path: Path) -> None:
    frame = tmp_path / "frame.jpg"
    frame.write_bytes(b"jpeg")
    frame.chmod(0o600)
    with ReportFolder(tmp_path / "report") as folder:
        folder.write("samples/a.html", "one")
        folder.write("frames/b.jpg", b"jpeg")
        folder.link("frames/c.jpg", frame)
    modes = {path: path.stat().st_mode & 0o777 for path in (tmp_path / "report", *(tmp_path / "report").rglob("*"))}
    assert modes == {path: 0o700 if path.is_dir() else 0o600 for path in modes}

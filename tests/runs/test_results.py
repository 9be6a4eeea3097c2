"""Lines of records: the last of a sample counts, and damaged lines are errors."""

from pathlib import Path

import pytest

from mmerg.errors import RunError
from mmerg.runs.result import Result, Results, read_lines


def result(sample: str, response: str = "hi") -> Result:
    return Result(id=sample, status="ok", response=response).with_digest({})


def read(folder: Path, *lines: str | bytes) -> Results[Result]:
    data = (line if isinstance(line, bytes) else line.encode() for line in lines)
    (folder / "r").write_bytes(b"".join(data))
    return read_lines(folder / "r", Result, {})


def test_later_lines_replace_earlier_ones_in_place(tmp_path: Path) -> None:
    written = [result("b"), result("é", "ä"), result("b", "😀 later")]
    results = read(tmp_path, *(one.line() for one in written))
    assert list(results) == ["b", "é"]
    assert results == {"b": result("b", "😀 later"), "é": result("é", "ä")}
    assert not results.matches_file


@pytest.mark.parametrize("cut", [1, -2])
def test_an_incomplete_last_line_is_ignored(cut: int, tmp_path: Path) -> None:
    for filled_up in (b"", b"\0" * 9):
        results = read(tmp_path, result("a").line(), result("b").line()[:cut].encode() + filled_up)
        assert list(results) == ["a"]
        assert not results.matches_file


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"id": 1}\n', "id: Input should be a valid string"),
        (b"\xff\xfe rubbish\n", "Invalid JSON"),
        (b"[" * 100_000 + b"\n", "recursion"),
        (b'{"id": "a", "status": "ok", "seconds": NaN}\n', "seconds: "),
        (b'{"id": "a", "status": "ok", "calls": -1}\n', "calls: "),
        (b'{"id": "a", "status": "ok", "unheard": 1}\n', "unheard: Extra inputs"),
    ],
    ids=["id", "not utf-8", "deep", "NaN", "negative", "unknown"],
)
def test_a_damaged_line_is_an_error(line: bytes, problem: str, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="line 2 is not a valid record") as caught:
        read(tmp_path, result("a").line(), line)
    assert problem in caught.value.what
    assert caught.value.where == str(tmp_path / "r")

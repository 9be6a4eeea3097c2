"""Lines of records: the last of a sample counts, torn and damaged ones are named, and any text is read back."""

import math
from pathlib import Path

import pytest

from mmerg.errors import RunError
from mmerg.runs.result import Result, Results, read_lines


def result(sample: str, response: str = "hi") -> Result:
    return Result(id=sample, status="ok", response=response)


def read(folder: Path, *lines: str | bytes) -> Results[Result]:
    data = (line if isinstance(line, bytes) else line.encode() for line in lines)
    (folder / "r").write_bytes(b"".join(data))
    return read_lines(folder / "r", Result)


def test_the_last_line_of_a_sample_counts_and_the_first_gives_its_place(tmp_path: Path) -> None:
    written = [result("b"), result("é", "ä"), result("b", "😀 later")]
    results = read(tmp_path, *(one.line() for one in written))
    assert list(results) == ["b", "é"]
    assert results == {"b": result("b", "😀 later"), "é": result("é", "ä")}
    assert not results.clean


def test_what_is_put_is_found_as_it_will_be_written(tmp_path: Path) -> None:
    results = read(tmp_path, result("a").line())
    assert results.clean
    results.put("b", result("b", "😀 ü").line().encode())
    assert [one.response for one in results.values()] == ["hi", "😀 ü"]


def test_some_are_those_that_are_there_in_the_order_asked_for(tmp_path: Path) -> None:
    some = read(tmp_path, *(result(name).line() for name in "abc")).only(["c", "x", "a"])
    assert ([one.id for one in some.values()], len(some), "b" in some) == (["c", "a"], 2, False)


def test_a_file_that_is_not_there_holds_none(tmp_path: Path) -> None:
    assert dict(read_lines(tmp_path / "r", Result)) == {}


def test_a_last_line_without_its_line_feed_is_read(tmp_path: Path) -> None:
    results = read(tmp_path, result("a").line(), result("b").line().rstrip("\n"))
    assert list(results) == ["a", "b"]
    assert b"".join(results.lines.values()).endswith(b"}\n")
    assert not results.clean


@pytest.mark.parametrize("cut", [1, 7, 40, -2])
def test_a_last_line_that_is_cut_off_is_passed_over(cut: int, tmp_path: Path) -> None:
    for filled_up in (b"", b"\0" * 9):
        results = read(tmp_path, result("a").line(), result("b").line()[:cut].encode() + filled_up)
        assert list(results) == ["a"]
        assert not results.clean


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"id": 1}\n', "id: Input should be a valid string"),
        (b"\xff\xfe rubbish\n", "Invalid JSON"),
        (b"rubbish\n", "Invalid JSON"),
        (b"\n", "Invalid JSON"),
        (b"[" * 100_000 + b"\n", "recursion"),
        (b'{"id": "a", "status": "ok", "seconds": NaN}\n', "seconds: "),
        (b'{"id": "a", "status": "ok", "calls": -1}\n', "calls: "),
        (b'{"id": "a", "status": "ok", "passes": 99999999999999999999}\n', "passes: "),
        (b'{"id": "a", "status": "ok", "unheard": 1}\n', "unheard: Extra inputs"),
    ],
    ids=[
        "id",
        "not utf-8",
        "rubbish",
        "blank",
        "deep",
        "NaN",
        "negative",
        "huge",
        "unknown",
    ],
)
def test_a_line_that_is_no_record_is_named_with_what_is_wrong(line: bytes, problem: str, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="line 2 is not a record of this version") as caught:
        read(tmp_path, result("a").line(), line)
    assert problem in caught.value.what
    assert caught.value.where == str(tmp_path / "r")


def test_numbers_that_json_does_not_know_are_read_back(tmp_path: Path) -> None:
    never = result("a").model_copy(update={"logprob": -math.inf, "logprob_tokens": 1})
    assert read(tmp_path, never.line()) == {"a": never}


def test_a_folder_in_its_place_is_told(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="the results cannot be read: Is a directory"):
        read_lines(tmp_path, Result)

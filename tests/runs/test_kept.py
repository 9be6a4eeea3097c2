"""Records read from their file when asked for: the last line of a sample counts, and nothing is held."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import pytest

from mmerg.errors import RunError
from mmerg.runs.kept import Kept, bytes_of
from mmerg.runs.lines import Lines
from mmerg.runs.result import Result


def result(sample: str, response: str = "hi") -> Result:
    return Result(id=sample, status="ok", response=response)


def kept_of(file: Path, *results: Result) -> Kept[Result]:
    with Lines(file) as lines:
        for one in results:
            lines.append(one.line())
    return Kept(file, Result)


def test_the_last_line_of_a_sample_counts_and_the_first_gives_its_place(tmp_path: Path) -> None:
    kept = kept_of(tmp_path / "r", result("b"), result("é", "ä"), result("b", "\ud83d later"))
    assert list(kept) == ["b", "é"]
    assert kept == {"b": result("b", "\ud83d later"), "é": result("é", "ä")}


def test_what_is_appended_is_found_without_reading_again(tmp_path: Path) -> None:
    kept = kept_of(tmp_path / "r", result("a"))
    for one in (result("b", "\ud83d ü"), result("c"), result("a", "later")):
        with Lines(tmp_path / "r") as lines:
            lines.append(one.line())
        kept.append(one.id, bytes_of(one.line()))
    assert kept == Kept(tmp_path / "r", Result)
    assert [one.response for one in kept.part()] == ["later", "\ud83d ü", "hi"]


def test_a_part_has_those_that_are_there_in_the_order_asked_for(tmp_path: Path) -> None:
    part = kept_of(tmp_path / "r", *map(result, "abc")).part(["c", "x", "a"])
    assert ([one.id for one in part], len(part), part[0].id, part[-1:][0].id) == (["c", "a"], 2, "c", "a")


def test_a_file_that_is_not_there_holds_none(tmp_path: Path) -> None:
    assert dict(Kept(tmp_path / "r", Result)) == {}


def test_a_line_that_is_no_record_is_named(tmp_path: Path) -> None:
    (tmp_path / "r").write_text(result("a").line() + '{"id": 1}\n', encoding="utf-8")
    with pytest.raises(RunError, match="line 2 is not a record"):
        Kept(tmp_path / "r", Result)


def test_a_file_that_vanishes_while_a_line_is_named_is_our_own_error(tmp_path: Path) -> None:
    class Vanishing(Result):
        @classmethod
        def model_validate(cls, obj: Any, **_: Any) -> Self:
            (tmp_path / "r").unlink()
            raise ValueError("no record")

    (tmp_path / "r").write_text(result("a").line(), encoding="utf-8")
    with pytest.raises(RunError, match="the results cannot be read: No such file"):
        Kept(tmp_path / "r", Vanishing)

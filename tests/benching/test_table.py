"""The bench's folder: which tables are one, what an earlier call left, and what is refused before anything runs."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmerg.benching.backbones import Skipped
from mmerg.benching.drawn import Bench, sheet
from mmerg.benching.measure import Memory, Row, Speed
from mmerg.benching.table import folder_name, opened, settings_of
from mmerg.errors import ConfigError
from mmerg.scoring.files import read
from tests.benching.parts import bench, row

KEYS = st.sampled_from(["a", "b.c", "system.without", "runs"])
SETTINGS = st.lists(st.builds("{}={}".format, KEYS, st.sampled_from("123")), max_size=4)


def ran(folder: Path, name: str, **more: Any) -> Row:
    (folder / name).mkdir(exist_ok=True)
    return row(name, run=str(folder / name), **more)


def test_the_name_has_a_hash_only_where_there_is_more_to_tell() -> None:
    assert folder_name(bench()) == "meld-50"
    names = {
        folder_name(bench(**more))
        for more in ({}, {"settings": ("a=1",)}, {"settings": ("a=2",)}, {"figures": ("--bert",)}, {"asked": 9})
    }
    assert len(names) == 5
    assert folder_name(bench(row("x"), settings=("a=1",))) == folder_name(bench(row("y"), settings=("a=1",)))


@given(SETTINGS)
def test_settings_are_told_once_a_key_in_one_order(given_settings: list[str]) -> None:
    found = settings_of(given_settings)
    last = dict(setting.split("=") for setting in given_settings)
    last.pop("runs", None)
    assert found == tuple(f"{key}={value}" for key, value in sorted(last.items()))
    assert settings_of(found) == found


def test_a_key_that_is_added_is_the_same_key() -> None:
    assert settings_of(["+a=1", "++a=2"]) == ("++a=2",)


def test_every_row_is_on_disk_at_once_and_another_call_goes_on(tmp_path: Path) -> None:
    first = opened(tmp_path / "new" / "folder", bench())
    first.put(ran(tmp_path, "a"))
    first.put(ran(tmp_path, "b"))
    assert [one.name for one in read(first.folder / "bench.json", Bench).rows] == ["a", "b"]
    second = opened(first.folder, bench())
    second.put(ran(tmp_path, "c", version="0.33.0"))
    second.put(ran(tmp_path, "b", failed=7))
    found = read(first.folder / "bench.json", Bench)
    assert [(one.name, one.failed) for one in found.rows] == [("a", 0), ("b", 7), ("c", 0)]
    assert [line[0] for line in sheet(found).rows] == ["a (a)", "b (a)", "c (b)"]
    assert found.earlier == ("a",)
    assert second.bench == found


def test_a_run_that_is_gone_takes_its_row_with_it(tmp_path: Path) -> None:
    first = opened(tmp_path / "t", bench())
    for name in "ab":
        first.put(ran(tmp_path, name))
    (tmp_path / "a").rmdir()
    second = opened(tmp_path / "t", bench())
    second.put(ran(tmp_path, "c"))
    assert [one.name for one in second.bench.rows] == ["b", "c"]


def test_a_backbone_that_fails_now_loses_the_row_whose_run_cannot_be_read(tmp_path: Path) -> None:
    first = opened(tmp_path / "t", bench())
    for name in "ab":
        first.put(ran(tmp_path, name))
    second = opened(tmp_path / "t", bench())
    second.leave_out(Skipped(name="a", why="broken"))
    found = read(tmp_path / "t" / "bench.json", Bench)
    assert ([one.name for one in found.rows], [one.name for one in found.skipped]) == (["b"], ["a"])


def test_memory_that_was_measured_stays_where_nothing_was_loaded_again(tmp_path: Path) -> None:
    table = opened(tmp_path, bench())
    measured = ran(tmp_path, "a")
    table.put(measured)
    table.put(measured.model_copy(update={"memory": Memory(why="the model was not loaded")}))
    assert table.bench.rows[0].memory == measured.memory
    (tmp_path / "other").mkdir()
    other = {"run": str(tmp_path / "other"), "memory": Memory(why="the model was not loaded")}
    table.put(measured.model_copy(update=other))
    assert not table.bench.rows[0].memory.size


@pytest.mark.parametrize(
    "more", [{"settings": ("a=1",)}, {"figures": ("--ref-ppl x",)}, {"asked": 9}, {"dataset": "x"}]
)
def test_another_table_is_not_replaced(more: dict[str, object], tmp_path: Path) -> None:
    opened(tmp_path, bench()).put(ran(tmp_path, "a"))
    before = (tmp_path / "bench.json").read_bytes()
    with pytest.raises(ConfigError, match="another table is there: meld, 50 samples"):
        opened(tmp_path, bench(**more))
    assert (tmp_path / "bench.json").read_bytes() == before


def test_what_is_no_table_of_this_version_is_none(tmp_path: Path) -> None:
    (tmp_path / "bench.json").write_text('{"rows": []}', encoding="utf-8")
    table = opened(tmp_path, bench())
    table.put(ran(tmp_path, "a"))
    assert [one.name for one in read(tmp_path / "bench.json", Bench).rows] == ["a"]


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="the table cannot be written there") as caught:
        opened(tmp_path / "file" / "x", bench())
    assert "--out DIR" in caught.value.hint


def test_a_plot_of_before_does_not_stay_beside_a_table_without_times(tmp_path: Path) -> None:
    table = opened(tmp_path, bench())
    table.put(ran(tmp_path, "a"))
    assert [file.name for file in table.close()] == ["bench.json", "bench.md", "bench.png", "bench.svg"]
    table.put(ran(tmp_path, "a", speed=Speed(why="every call came from the reply cache")))
    assert [file.name for file in table.close()] == ["bench.json", "bench.md"]
    assert not list(tmp_path.glob("bench.[ps][nv]g"))

"""A path means the same wherever it is set: on the command line and on a page."""

from pathlib import Path

import pytest

from mmerg.settings.compose import compose
from mmerg.settings.kinds import PLACE
from mmerg.settings.model import RunSettings
from mmerg.settings.overrides import prepare_override
from mmerg.settings.tree import get_path, paths_marked
from tests.configs import BASE, dump_settings

OF_A_RUN = paths_marked(RunSettings, PLACE)
PAGES = ("memory=minilm", "backbone=smollm2-135m")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ana")


@pytest.mark.parametrize("key", OF_A_RUN)
def test_the_home_is_that_of_the_user(key: str) -> None:
    assert get_path(dump_settings(*BASE, *PAGES, f"{key}='~/x y'"), key) == "/home/ana/x y"


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("runs=/a'b", "/a'b"),
        ("runs=~/a(b, c)/d", "/home/ana/a(b, c)/d"),
        ("runs=/données/[x] y", "/données/[x] y"),
        ("ids=[l'été(1)/2,b]", ["l'été(1)/2", "b"]),
        ("ids=['茶/2',茶/3]", ["茶/2", "茶/3"]),
    ],
)
def test_a_value_needs_no_second_pair_of_quotes(typed: str, read: object) -> None:
    assert dump_settings(*BASE, prepare_override(typed))[typed.partition("=")[0]] == read


def test_a_config_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text("\ufeff# @package _global_\nseed: 7\n", encoding="utf-8")
    assert compose("config", [*BASE, "+experiment=mine"], tmp_path).seed == 7

"""Paths and quotes in settings, on the command line and in configs."""

import pytest

from mmerg.settings.kinds import PLACE
from mmerg.settings.model import RunSettings
from mmerg.settings.overrides import prepare_override
from mmerg.settings.tree import get_path, paths_marked
from tests.configs import BASE, dump_settings

PATHS_OF_A_RUN = paths_marked(RunSettings, PLACE)
OPTIONS = ("memory=minilm", "backbone=smollm2-135m")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ana")


@pytest.mark.parametrize("key", PATHS_OF_A_RUN)
def test_a_tilde_is_the_home_of_the_user(key: str) -> None:
    assert get_path(dump_settings(*BASE, *OPTIONS, f"{key}='~/x y'"), key) == "/home/ana/x y"


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
def test_a_value_needs_no_quotes_for_hydra(typed: str, read: object) -> None:
    assert dump_settings(*BASE, prepare_override(typed))[typed.partition("=")[0]] == read

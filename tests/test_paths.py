"""A path means the same wherever it is set: on the command line, in a row, on a page."""

from __future__ import annotations

import pytest
from omegaconf import OmegaConf

from mmerg.config import PATHS, resolve
from mmerg.errors import ConfigError
from mmerg.settings import at
from tests.composed import BASE, composed, plain_of

OF_A_RUN = [key for key in PATHS if key != "out"]  # that one is of mmerg.data
PAGES = ("memory=minilm", "backbone=smollm2-135m")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ana")


@pytest.mark.parametrize("key", OF_A_RUN)
def test_the_home_is_that_of_the_user_on_the_command_line_and_in_a_row(key: str) -> None:
    assert at(plain_of(*BASE, *PAGES, f"{key}='~/x y'"), key) == "/home/ana/x y"
    config = composed(*BASE, *PAGES, "row=one")
    row = OmegaConf.create()
    OmegaConf.update(row, key, "~/x y", force_add=True)
    config.rows = {"one": row}
    assert at(resolve(config), key) == "/home/ana/x y"


def test_what_is_below_a_path_is_below_the_home_too() -> None:
    plain = plain_of(*BASE, "backend=embedded", "runs='~/r'", "backbone.gguf='~/m.gguf'")
    assert plain["cache_dir"] == "/home/ana/r/.cache"
    assert str(plain["backend"]["adapter"]).count("~") == 0


def test_a_path_whose_name_looks_like_an_interpolation_has_a_home() -> None:
    assert plain_of(*BASE, r"runs='~/\${x}'")["runs"] == "/home/ana/${x}"


def test_a_path_that_is_not_in_the_home_stays_as_it_was_typed() -> None:
    assert plain_of(*BASE, "runs='a/~/../b//c'")["runs"] == "a/~/../b//c"


def test_a_number_is_no_path() -> None:
    with pytest.raises(ConfigError, match=r"memory\.embedder\.folder is 5, which is no path"):
        plain_of(*BASE, *PAGES, "memory.embedder.folder=5")

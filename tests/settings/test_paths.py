"""A path means the same wherever it is set: on the command line, in a row, on a page."""

import sys
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from mmerg.errors import ConfigError
from mmerg.settings.identity import at
from mmerg.settings.kinds import PLACE
from mmerg.settings.model import RunSettings
from mmerg.settings.overrides import quoted
from mmerg.settings.parse import checked
from mmerg.settings.tree import marked
from tests.composed import BASE, composed, plain_of, resolve
from tests.processes import in_process

OF_A_RUN = marked(RunSettings, PLACE)
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


@pytest.mark.parametrize("key", OF_A_RUN)
def test_a_number_is_no_path(key: str) -> None:
    config = composed(*BASE, *PAGES, "row=one")
    row = OmegaConf.create()
    OmegaConf.update(row, key, 5, force_add=True)
    config.rows = {"one": row}
    with pytest.raises(ConfigError, match=f"{key} is 5") as caught:
        resolve(config)
    assert caught.value.hint == "a path; in quotes where it looks like something else"


@pytest.mark.parametrize("key", [*OF_A_RUN, "out"])
def test_a_sweep_over_paths_is_refused(key: str) -> None:
    with pytest.raises(ConfigError, match="a path cannot be swept over") as caught:
        checked(["dataset=folder", f"{key}=/a,/b"], "data", sweep=True)
    advised = caught.value.hint.split('"')[1]
    checked([advised], "data", sweep=True)
    assert advised == quoted(advised) == f"{key}='/a,/b'"


@pytest.mark.parametrize(
    ("arguments", "sweep"), [(["runs=/a,/b"], False), (["runs=/a", "limit=1,2"], True), (["ids=[a,b]"], True)]
)
def test_one_path_and_a_sweep_over_the_rest_are_fine(arguments: list[str], sweep: bool) -> None:
    checked(arguments, "config", sweep=sweep)


def test_the_command_says_it(tmp_path: Path) -> None:
    done = in_process([sys.executable, "-m", "mmerg.run", "-m", "dataset=demo", "runs=a,b"], cwd=tmp_path)
    assert (done.returncode, "a path cannot be swept over" in done.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []

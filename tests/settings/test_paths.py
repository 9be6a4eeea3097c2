"""A path means the same wherever it is set: on the command line and on a page."""

import pytest

from mmerg.errors import ConfigError
from mmerg.settings.kinds import PLACE
from mmerg.settings.model import RunSettings
from mmerg.settings.tree import get_path, marked
from tests.composed import BASE, plain_of

OF_A_RUN = marked(RunSettings, PLACE)
PAGES = ("memory=minilm", "backbone=smollm2-135m")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ana")


@pytest.mark.parametrize("key", OF_A_RUN)
def test_the_home_is_that_of_the_user(key: str) -> None:
    assert get_path(plain_of(*BASE, *PAGES, f"{key}='~/x y'"), key) == "/home/ana/x y"


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
    with pytest.raises(ConfigError, match=f"{key} is 5") as caught:
        plain_of(*BASE, *PAGES, f"{key}=5")
    assert caught.value.hint == "a path; in quotes where it looks like something else"

"""What names stand for, and that everything they stand for composes."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmerg.backends.ollama_host import full_name
from mmerg.benching.backbones import EMBEDDED, PAPER, Backbone, Subset, find_backbone
from mmerg.errors import ConfigError
from mmerg.paper.published import published
from mmerg.settings.pages import conf_folder

PAGES = sorted(page.stem for page in (conf_folder() / "backbone").glob("*.yaml"))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_stands_for_itself_and_so_does_its_model(page: str) -> None:
    found = find_backbone(page)
    assert (found.name, found.generic) == (page, False)
    made = Subset("demo", 3).settings(found)
    assert made.backbone.name == page
    assert made.backend.name == ("embedded" if page == EMBEDDED else "ollama")
    assert (made.protocol.sample, made.protocol.seed, made.limit) == (3, 0, None)
    by_model = find_backbone(made.backbone.model.upper())
    assert (by_model.name, by_model.overrides[0]) == (page, "backend=ollama")


def test_a_page_of_ones_own_stands_for_itself(tmp_path: Path) -> None:
    page = tmp_path / "backbone" / "mine.yaml"
    page.parent.mkdir()
    page.write_text("defaults: [gemma3-12b, _self_]\nname: mine\nmodel: gemma3:4b\n", encoding="utf-8")
    found = find_backbone("mine", tmp_path)
    assert (found, find_backbone("gemma3:4b", tmp_path).name) == (
        Backbone("mine", "gemma3:4b", ("backend=ollama", "backbone=mine")),
        "mine",
    )
    assert Subset("demo", 3, own=tmp_path).settings(found).backbone.model == "gemma3:4b"
    assert find_backbone("mine").generic


def test_the_default_is_the_papers_table() -> None:
    [table] = published("backbones")
    assert list(PAPER) == [(row.fits or {})["backbone"] for row in table.rows]
    assert set(PAPER) <= set(PAGES)


@settings(max_examples=6)  # composing takes a while
@given(st.from_regex(r"[a-z][a-z0-9._-]{0,8}(/[a-z0-9._-]{1,8})?(:[a-z0-9._-]{1,8})?", fullmatch=True))
def test_any_other_model_composes_under_a_name_that_a_folder_can_have(model: str) -> None:
    found = find_backbone(model)
    if not found.generic:
        assert model in PAGES or full_name(found.model) == full_name(model)
        return
    made = Subset("demo", 3).settings(found)
    assert made.backbone.model == model
    assert made.plain()["backend"]["adapter"]["model"] == model


@pytest.mark.parametrize("name", ["", "a b", "--x", "x'y", "a\nb", "../.."])
def test_what_can_be_no_model_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="is no backbone"):
        find_backbone(name)


def test_settings_of_the_command_line_win_and_may_be_paths() -> None:
    given = ("dataset.root='/x/a b(1)'", "protocol.sample=7")
    made = Subset("folder", 3, given).settings(find_backbone("gemma3:12b"), "seed=4")
    assert made.plain()["dataset"]["root"] == "/x/a b(1)"
    assert (made.protocol.sample, made.seed) == (7, 4)


def test_hosts_are_not_given_to_the_model_in_this_process() -> None:
    made = Subset("demo", 3, ("backend.hosts=[http://a:1]",))
    assert "http://a:1" not in made.settings(find_backbone(EMBEDDED)).backend.hosts
    assert made.settings(find_backbone("gemma3:12b")).backend.hosts == ("http://a:1",)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("nothing.like=1", "no setting nothing.like"),
        ("limt=3", "did you mean limit"),
        ("seed=[", "cannot be read as a setting"),
        ("dataset=nowhere", "there is no dataset=nowhere"),
        ("frames.per_clip=0", "frames.per_clip is 0"),
    ],
)
def test_what_does_not_compose_is_a_configuration_error(wrong: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Subset("demo", 3, (wrong,)).settings(Backbone("x", "x", ("backbone=gemma3-12b",)))
    assert told in str(caught.value)

"""`backbone=MODEL:TAG` is any model of Ollama's, under its own name."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmerg.errors import ConfigError
from mmerg.settings.backbone import DoctorSettings
from mmerg.settings.compose import compose
from mmerg.settings.groups import is_model, list_options, read_model_name
from mmerg.settings.kinds import folder_name
from mmerg.settings.model import RunSettings
from mmerg.settings.ollama_models import BASE
from mmerg.settings.parse import parse


def composed(*words: str) -> RunSettings:
    return parse(compose("config", words), RunSettings)


@settings(max_examples=6)  # composing takes a while
@given(st.from_regex(r"[a-z][a-zA-Z0-9._-]{0,8}(/[a-zA-Z0-9._-]{1,8}){0,2}:[a-z0-9._-]{0,7}[a-z0-9]", fullmatch=True))
def test_any_model_has_the_settings_of_the_base_and_its_own_name(model: str) -> None:
    made, base = composed("dataset=demo", f"backbone={model}").backbone, composed(f"backbone={BASE}", "dataset=demo")
    assert made == base.backbone.model_copy(update={"name": model, "model": model})
    assert "/" not in folder_name(model)
    assert ":" not in folder_name(model)


@pytest.mark.parametrize("page", list_options("backbone"))
def test_the_model_of_a_config_has_its_settings(page: str) -> None:
    by_model = parse(compose("doctor", [f"backbone={read_model_name(page).upper()}"]), DoctorSettings)
    assert by_model == parse(compose("doctor", [f"backbone={page}"]), DoctorSettings)


@pytest.mark.parametrize("name", ["a b:1", "--x:1", "x'y:1", "../..:1", "a:", ":a", "http://a:1/b c"])
def test_what_can_be_no_model_is_refused(name: str) -> None:
    assert not is_model(name)
    with pytest.raises(ConfigError):
        composed("dataset=demo", f"backbone={name}")


def test_a_near_miss_of_a_configs_name_is_asked_about() -> None:
    with pytest.raises(ConfigError) as caught:
        composed("dataset=demo", "backbone=qwen2.5vl-7")
    assert "did you mean backbone=qwen2.5vl-7b?" in str(caught.value)
    assert "backbone=qwen2.5vl-7:latest" in str(caught.value)

"""`backbone=MODEL:TAG` is any model of Ollama's, under its own name."""

import pytest

from mmerg.errors import ConfigError
from mmerg.settings.backbone import DoctorSettings
from mmerg.settings.compose import compose
from mmerg.settings.groups import is_model, read_model_name
from mmerg.settings.kinds import folder_name
from mmerg.settings.model import RunSettings
from mmerg.settings.ollama_models import BASE
from mmerg.settings.parse import parse


def composed(*words: str) -> RunSettings:
    return parse(compose("config", words), RunSettings)


@pytest.mark.parametrize("model", ["qwen3-vl:8b", "hf.co/bartowski/Qwen2.5-VL:Q4_K_M"])
def test_any_model_has_the_settings_of_the_base_and_its_own_name(model: str) -> None:
    made, base = composed("dataset=demo", f"backbone={model}").backbone, composed(f"backbone={BASE}", "dataset=demo")
    assert made == base.backbone.model_copy(update={"name": model, "model": model})
    assert not {"/", ":"} & set(folder_name(model))


@pytest.mark.parametrize("page", ["gemma3-12b", "qwen3-vl-32b"])
def test_the_model_of_a_config_has_its_settings(page: str) -> None:
    by_model = parse(compose("doctor", [f"backbone={read_model_name(page).upper()}"]), DoctorSettings)
    assert by_model == parse(compose("doctor", [f"backbone={page}"]), DoctorSettings)


@pytest.mark.parametrize("name", ["a b:1", "../..:1", "a:"])
def test_an_invalid_model_name_is_refused(name: str) -> None:
    assert not is_model(name)
    with pytest.raises(ConfigError):
        composed("dataset=demo", f"backbone={name}")


def test_a_misspelt_backbone_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(ConfigError) as caught:
        composed("dataset=demo", "backbone=qwen2.5vl-7")
    assert "did you mean backbone=qwen2.5vl-7b?" in str(caught.value)
    assert "backbone=qwen2.5vl-7:latest" in str(caught.value)

"""A Hydra source of configs for all models of Ollama: `backbone=qwen3-vl:8b` needs no config.

If one of mmerg's configs is for the model, that config is used. Any other model gets the settings of BASE and its name.
"""

from __future__ import annotations

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.object_type import ObjectType
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import OmegaConf

from mmerg.settings.groups import conf_folder, is_model, list_options, read_model_name

BASE = "qwen2.5vl-7b"
GROUP = "backbone/"


class OllamaModels(ConfigSource):
    """A Hydra config source that has a config for every model name."""

    @staticmethod
    def scheme() -> str:
        return "ollama"

    def is_config(self, config_path: str) -> bool:
        return config_path.startswith(GROUP) and is_model(config_path.removeprefix(GROUP))

    def load_config(self, config_path: str) -> ConfigResult:
        model = config_path.removeprefix(GROUP)
        name = next((name for name in list_options("backbone") if read_model_name(name).lower() == model.lower()), None)
        config = OmegaConf.load(conf_folder() / GROUP / f"{name or BASE}.yaml")
        if name is None:
            config = OmegaConf.merge(config, {"name": model, "model": model})
        return ConfigResult(self.provider, self.full_path(), config, {"package": "backbone"})

    def is_group(self, config_path: str) -> bool:  # noqa: ARG002
        return False

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:  # noqa: ARG002
        return []

    def available(self) -> bool:
        return True


class OllamaSearchPath(SearchPathPlugin):
    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        search_path.append("ollama", f"{OllamaModels.scheme()}://models")


def register() -> None:
    """Registers the models with Hydra in this process."""
    for plugin in (OllamaModels, OllamaSearchPath):
        Plugins.instance().register(plugin)

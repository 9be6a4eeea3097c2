"""A Hydra source of configs for all models of Ollama: `backbone=qwen3-vl:8b` needs no config.

If one of mmerg's configs is for the model, that config is used. Any other model gets the settings of BASE and its name.
"""

from __future__ import annotations

from copy import deepcopy
from functools import lru_cache
from pathlib import Path

from hydra._internal.core_plugins import file_config_source
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.object_type import ObjectType
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import Container, OmegaConf

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


class FileConfigSource(file_config_source.FileConfigSource):
    """A source of config files. Unlike Hydra's, it reads `# @package` after a byte order mark, and caches files."""

    def load_config(self, config_path: str) -> ConfigResult:
        file = Path(self.path, self._normalize_file_name(config_path))
        status = file.stat()
        header, config = _read(file, status.st_mtime_ns, status.st_size)
        return ConfigResult(self.provider, f"{self.scheme()}://{self.path}", deepcopy(config), dict(header))


@lru_cache(maxsize=256)
def _read(file: Path, changed: int, size: int) -> tuple[dict[str, str | None], Container]:  # noqa: ARG001
    """Reads the `# @package` header and the config of a file, cached by its state."""
    with file.open(encoding="utf-8-sig") as stream:
        header = ConfigSource._get_header_dict(stream.read(512))
        stream.seek(0)
        return header, OmegaConf.load(stream)


def register() -> None:
    """Registers the models, and configs with a byte order mark, with Hydra in this process."""
    for plugin in (OllamaModels, OllamaSearchPath):
        Plugins.instance().register(plugin)
    SourcesRegistry.instance().types[FileConfigSource.scheme()] = FileConfigSource

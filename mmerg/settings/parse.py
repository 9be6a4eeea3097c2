"""Typed settings from a composed config, with all problems reported at once.

settings = parse(compose("config", ["dataset=meld", "limit=3"]), RunSettings)
"""

import os
import pickle
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import ValidationError

from mmerg.errors import ConfigError
from mmerg.settings.commands import ImportSettings, TrainSettings
from mmerg.settings.groups import conf_folder, list_groups, read_ollama_host, suggest_options
from mmerg.settings.kinds import PLACE, RUNTIME_ONLY, Plain, SettingsModel, SparseSettings
from mmerg.settings.model import RunSettings
from mmerg.settings.problems import SET_IT, Problem, combine_problems, format_value, missing_value, translate_errors
from mmerg.settings.tree import get_fields, get_path, is_settings, iterate_leaves, paths_marked, unwrap_optional

KINDS = (RunSettings, TrainSettings, ImportSettings)
PATHS = tuple({key: None for kind in KINDS for key in paths_marked(kind, PLACE)})
_RUNTIME = {key for kind in KINDS for key in paths_marked(kind, RUNTIME_ONLY)}
_AS_TYPED = tuple(key for key in PATHS if key in _RUNTIME)  # the other paths are made absolute
# The config of a dataset may pass these to its reader.
_READER_SETTINGS = ("root", "split", "sessions", "label_set", "labels")
Settings = TypeVar("Settings", bound=SettingsModel)
OmegaConf.register_new_resolver("ollama_host", read_ollama_host, replace=True)  # used by conf/backend


def get_user_folders() -> list[Path]:
    """Returns the user's config folders on the command line, in a job of Hydra. Raises ConfigError if a chosen option
    has the name of one of mmerg's, which Hydra would prefer."""
    runtime = HydraConfig.get().runtime
    sources = [source for source in runtime.config_sources if source.schema == "file" and source.provider != "main"]
    own = [Path(source.path) for source in sources]
    for group, option in runtime.choices.items():
        for folder in own if (conf_folder() / group / f"{option}.yaml").is_file() else ():
            if (file := folder / group / f"{option}.yaml").is_file():
                what = f"{group}={option} is mmerg's own, so this file is not read"
                raise ConfigError(what, where=str(file), hint="give it another name")
    return own


def task_overrides() -> list[str]:
    return list(HydraConfig.get().overrides.task)


def parse(config: DictConfig, kind: type[Settings], own: Sequence[Path] = ()) -> Settings:
    """Parses a composed config. own: the user's folders of configs, templates and Python files. Raises ConfigError,
    which lists all problems."""
    sys.path += [str(folder) for folder in own if str(folder) not in sys.path]  # after all installed packages
    settings, problems = try_parse(config, kind, own)
    if settings is None or problems:
        raise combine_problems(problems)
    return settings


def try_parse(config: DictConfig, kind: type[Settings], own: Sequence[Path]) -> tuple[Settings | None, list[Problem]]:
    if kind.model_config["extra"] == "ignore":  # before resolving, as ignored settings may refer to missing ones
        config = OmegaConf.masked_copy(config, [key for key in config if key in get_fields(kind)])
    absent = [group for group in list_groups() if group in get_fields(kind) and config.get(group) is None]
    config = pickle.loads(pickle.dumps(config))  # a copy, in half the time of OmegaConf's own
    OmegaConf.set_struct(config, False)
    _add_defaults(config, kind)
    raw: Any = OmegaConf.to_container(config)
    missing = [key for key, value in iterate_leaves(raw) if value == "???"]  # must come from the command line
    for key in missing:
        OmegaConf.update(config, key, None)
    unresolved: list[Problem] = []
    try:
        _settle(config, own)
        plain: Any = OmegaConf.to_container(config, resolve=True)
    except OmegaConfBaseException as error:
        key, what = getattr(error, "full_key", None) or "?", str(error).splitlines()[0]
        plain, unresolved = OmegaConf.to_container(config), [Problem(key, what, f"{SET_IT}: {key}=…")]
    reader = get_path(plain, "dataset.reader")
    if isinstance(reader, dict) and reader.get("root", "given") in (None, ""):
        missing.append("dataset.root")
    folder = own[0] if own else None
    problems = [Problem(group, f"no {group} is chosen", suggest_options(group, None, folder)) for group in absent]
    problems += [*map(missing_value, dict.fromkeys(missing)), *_unread(raw)]
    try:
        return kind.model_validate(plain), problems or unresolved
    except ValidationError as error:
        invalid = [found for found in translate_errors(error, kind) if not _is_below(found.key, [*missing, *absent])]
    # A setting that refers to another has the same problem; it is reported once.
    copies = [key for key, value in iterate_leaves(raw) if isinstance(value, str) and "${" in value]
    problems += [found for found in invalid if not _is_below(found.key, copies)]
    return None, problems or unresolved or invalid


def _is_below(key: str, keys: Sequence[str]) -> bool:
    return f"{key}.".startswith(tuple(f"{above}." for above in keys))


def _unread(raw: Plain) -> Iterator[Problem]:
    """Finds settings of the dataset that its config passes to no reader. raw: without resolved references."""
    read = sorted(set(re.findall(r"\bdataset\.(?:memory\.)?\w+", str(raw))))
    for above in ("dataset", "dataset.memory"):
        reader = get_path(raw, f"{above}.reader")
        for key in _READER_SETTINGS if isinstance(reader, dict) else ():
            path = f"{above}.{key}"
            value = get_path(raw, path)
            if value is not None and path not in read and isinstance(reader.get(key), dict | type(None)):
                takes = ", ".join(name for name in read if name.rpartition(".")[0] == above) or "none"
                dataset = get_path(raw, "dataset.name")
                what = f"{path} is {format_value(value)}, and dataset={dataset} passes it to no reader"
                yield Problem(path, what, f"remove it; its config takes {takes}")


def _add_defaults(config: DictConfig, kind: type[SettingsModel]) -> None:
    """Adds the defaults that configs omit, since other settings may refer to them."""
    given = {key for key in config if not OmegaConf.is_missing(config, key)}
    for key, info in get_fields(kind).items():
        part = unwrap_optional(info.annotation)
        if not is_settings(part):
            if key not in given and not info.is_required():
                default = info.get_default(call_default_factory=True)
                config[key] = list(default) if isinstance(default, tuple) else default
        elif not issubclass(part, SparseSettings):
            if key not in given and (info.is_required() or info.default is not None):
                config[key] = {}
            if not OmegaConf.is_interpolation(config, key) and isinstance(config.get(key), DictConfig):
                _add_defaults(config[key], part)


def _settle(config: DictConfig, own: Sequence[Path]) -> None:
    """Completes paths, and makes a label set that YAML reads as a number a text, before references are resolved."""
    for key in PATHS:
        if isinstance(path := OmegaConf.select(config, key), str) and path:
            OmegaConf.update(config, key, _whole(key, path))
    if isinstance(label_set := OmegaConf.select(config, "dataset.label_set"), int):
        OmegaConf.update(config, "dataset.label_set", str(label_set))
    for group in ("system", "judge") if own else ():  # the user's templates are next to the user's config
        key = f"{group}.prompts"
        prompts = OmegaConf.select(config, key)
        if prompts and isinstance(prompts, str | ListConfig):
            names = [prompts] if isinstance(prompts, str) else prompts
            configs = [folder / group for folder in own]
            OmegaConf.update(config, key, [_beside(name, configs) for name in names])


def _beside(prompts: object, configs: Sequence[Path]) -> object:
    """Returns the absolute path of a folder of templates, which may be relative to the user's configs."""
    if not isinstance(prompts, str) or prompts.startswith("package:"):
        return prompts
    folders = [folder / os.path.expanduser(prompts) for folder in configs]  # noqa: PTH111
    return str(next(filter(Path.is_dir, folders), folders[0]))


def _whole(key: str, path: str) -> str:
    """Expands ~ in a path. Paths that a run reads are made absolute."""
    home = os.path.expanduser(path)  # noqa: PTH111 - pathlib raises for an unknown user
    return home if key in _AS_TYPED or path.startswith("package:") else str(Path(home).absolute())

"""From the command line to plain values: what Hydra composes, with paths made whole and unknown keys refused."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args, get_type_hints

import hydra
from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import InterpolationResolutionError, OmegaConfBaseException, UnsupportedInterpolationType

from mmerg.console.terminal import Swept
from mmerg.errors import ConfigError
from mmerg.settings.shapes import register

_ROOTS = ("dataset.root", "dataset.memory.root")
# Settings that are paths: on the command line they may hold what Hydra's grammar would stumble over.
PATHS = (*_ROOTS, "memory.embedder.folder", "backbone.gguf", "backbone.mmproj", "runs", "cache_dir", "out")
_HYDRAS = ("hydra", "experiment")  # its own settings, and a group that is added with a +, which it says
_INTERPOLATION = (InterpolationResolutionError, UnsupportedInterpolationType)


def conf_folder() -> str:
    """The folder of YAML files: inside the package where it is installed, beside it in a checkout."""
    here = Path(__file__).parents[1]
    return str(next(folder for folder in (here / "conf", here.parent / "conf") if folder.is_dir()))


def quoted(argument: str) -> str:
    """A command-line argument that sets a path, as Hydra takes it: to its grammar ~, blanks and brackets mean something
    else, and few shells expand the ~ of `dataset.root=~/MELD`."""
    key, _, path = argument.partition("=")
    if key not in PATHS or not path or path[0] in "'\"" or path.endswith("\\"):
        return argument
    escaped = os.path.expanduser(path).replace("'", "\\'")  # noqa: PTH111  (Path.expanduser raises for an unknown user)
    return f"{key}='{escaped}'"


def refuse_swept_paths(arguments: Sequence[str]) -> None:
    """Raises ConfigError for a sweep over `runs=/a,/b`: a comma is a part of a path, so that this would be one folder
    of an odd name. In quotes it is meant."""
    for argument in arguments if {"-m", "--multirun"} & set(arguments) else ():
        key, _, path = argument.partition("=")
        if "," in path and quoted(argument) != argument:
            raise ConfigError(
                f"a path cannot be swept over, and {key} is {path}",
                where="command line",
                hint=f"rows of a page can each have their own (docs/experiments.md); one path with a comma: "
                f"\"{key}='{path}'\"",
            )


def hydra_main(job: Callable[[DictConfig], int], name: str = "config") -> int:
    """Compose the config from the command line and run `job`; its exit code, or 2 where the config does not compose.
    Raises ConfigError for a misspelt setting and a sweep over paths."""
    register()
    refuse_swept_paths(sys.argv[1:])
    sys.argv[1:] = map(quoted, sys.argv[1:])
    refuse_misspelt(sys.argv[1:], name)
    codes: list[int] = []

    @hydra.main(version_base="1.3", config_path=conf_folder(), config_name=name)
    def composed(config: DictConfig) -> None:
        codes.append(job(config))

    try:
        composed()
    except Swept as swept:
        return swept.worst
    except SystemExit as stop:  # Hydra has printed what does not compose, or its help
        return 2 if stop.code else 0
    return max(codes, default=0)


def resolve(config: DictConfig) -> dict[str, Any]:
    """The config as plain values, ~ in paths being the user's home and the datasets' roots made absolute. Raises
    ConfigError for a value that is missing."""
    if OmegaConf.is_missing(config, "dataset"):
        raise ConfigError(
            "no dataset is chosen",
            where="configuration",
            hint="dataset=demo, or dataset=meld, iemocap, empathetic or folder with dataset.root=…",
        )
    try:
        config = _with_row(config)
        for key in PATHS:  # cache_dir after runs, in which it is
            if (path := OmegaConf.select(config, key)) and (whole := _whole(key, path)) != path:
                OmegaConf.update(config, key, literal(whole))
        plain = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        key = getattr(error, "full_key", None) or "?"
        escape = r"; where a path has ${…} in its name, write \${…}" if isinstance(error, _INTERPOLATION) else ""
        raise ConfigError(
            f"{key} has no value" if "issing" in type(error).__name__ else str(error).splitlines()[0],
            where="configuration",
            hint=f"set it on the command line: {key}=…{escape}",
        ) from error
    assert isinstance(plain, dict)
    resolved = {str(key): value for key, value in plain.items() if key not in ("row", "rows")}
    _refuse_unknown(resolved, OmegaConf.get_type(config), "")
    return resolved


def _with_row(config: DictConfig) -> DictConfig:
    """The config with the settings of the row that was asked for. Where they came from then no longer matters: the same
    settings are the same run in every experiment."""
    row, rows = OmegaConf.select(config, "row"), OmegaConf.select(config, "rows")
    if rows:  # what is wrong with one costs that one alone
        config = config.copy()
        config.rows = {}
    if row is None and rows:
        hint = f"row={next(iter(rows))} runs one; -m row={','.join(rows)} runs all"
        raise ConfigError("the experiment has rows, and none is chosen", where="configuration", hint=hint)
    if row is None:
        return config
    if row not in rows:
        raise ConfigError(
            f"there is no row {row!r}",
            where="configuration",
            hint=f"rows: {', '.join(rows) or 'none; they come with +experiment=…'}",
        )
    settings = OmegaConf.to_container(rows)[row] or {}  # type: ignore[index]
    where = f"row {row}"
    if not isinstance(settings, dict):
        hint = f"settings by name: {row}: {{system: {{max_iterations: 3}}}}, or {{}} for none"
        raise ConfigError(f"it is {settings!r}, not settings", where=where, hint=hint)
    _refuse_unknown(settings, OmegaConf.get_type(config), "", where)
    try:
        merged = OmegaConf.merge(config, settings)
    except OmegaConfBaseException as error:
        hint = f"{getattr(error, 'full_key', None) or 'its settings'}: see python -m mmerg.run --help"
        raise ConfigError(str(error).splitlines()[0], where=where, hint=hint) from error
    assert isinstance(merged, DictConfig)
    return merged


def refuse_misspelt(arguments: Sequence[str], name: str) -> None:
    """Raises ConfigError for `limt=3`, for which Hydra itself would advise `+limt=3`. What is no plain `key=value`, a
    setting of Hydra's, a group of the user's own (--config-dir holds a folder of its name), and what stands below a
    node without a shape is left to Hydra."""
    register()
    schema = "schema" if name == "config" else f"{name}_schema"
    root = OmegaConf.get_type(ConfigStore.instance().load(f"{schema}.yaml").node)
    folders = [argument.removeprefix("--config-dir=") for argument in arguments]
    for argument in arguments:
        key, equals, _ = argument.partition("=")
        if not equals or not re.fullmatch(r"\w+(\.\w+)*", key) or key.split(".")[0] in _HYDRAS:
            continue
        if any(os.path.isdir(f"{folder}/{key}") for folder in folders):  # noqa: PTH112  (Path's raises for long names)
            continue
        node: Any = None
        for part in reversed(key.split(".")):
            node = {part: node}
        _refuse_unknown(node, root, "", "command line")


def _refuse_unknown(node: dict[str, Any], shape: Any, above: str, where: str = "configuration") -> None:
    """A key that no setting has, which `+key=value` would add and nothing would read, and a value where there are
    settings by name, as where a row chooses an option of a group."""
    shape = _with_fields(shape)
    if shape is None:
        return
    kinds = get_type_hints(shape)
    for key, value in node.items():
        if key not in kinds:
            raise _unknown(key, kinds, above, where)
        if isinstance(value, dict):
            _refuse_unknown(value, kinds[key], f"{above}{key}.", where)
        elif value is not None and is_dataclass(kinds[key]):
            hint = (
                f"its settings by name: {', '.join(get_type_hints(kinds[key]))}; {key}={value} goes on the command line"
            )
            raise ConfigError(f"{above}{key} is {value!r}, and it holds several settings", where=where, hint=hint)


def _with_fields(shape: Any) -> Any:
    """The dataclass of a node's type, also where it is X | None; None for what may hold anything, or is a value."""
    return next((kind for kind in (shape, *get_args(shape)) if is_dataclass(kind)), None)


def _unknown(key: str, kinds: Mapping[str, Any], above: str, where: str) -> ConfigError:
    near = get_close_matches(key, kinds, 1)
    hint = f"did you mean {above}{near[0]}?" if near else f"settings: {', '.join(above + kind for kind in kinds)}"
    return ConfigError(f"there is no setting {above}{key}", where=where, hint=hint)


def literal(value: Any) -> Any:
    """A resolved value as a config holds it: what looks like an interpolation in a text, as in a path, is a part of
    it."""
    if isinstance(value, dict):
        return {key: literal(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [literal(inner) for inner in value]
    return re.sub(r"(\\*)\$\{", lambda found: found[1] * 2 + r"\${", value) if isinstance(value, str) else value


def _whole(key: str, path: Any) -> str:
    """A path with the user's home in place of ~, also where no command line set it; a dataset's root is absolute."""
    if not isinstance(path, str):
        raise ConfigError(f"{key} is {path!r}, which is no path", where="configuration", hint=f"{key}='{path}'")
    try:
        home = Path(path).expanduser()
    except RuntimeError as error:
        raise ConfigError(
            f"{key} is {path}, and there is no such user",
            where="configuration",
            hint=f"write the whole path; for a name that begins with ~, {key}=./~…",
        ) from error
    if key in _ROOTS:
        return str(home.absolute())
    return str(home) if path.startswith("~") else path

"""From a command line to typed settings: pages are composed by Hydra, and what is wrong is told in our words.

overrides = checked(["dataset=meld", "limit=3"], "config")    # ConfigError for what is misspelt
settings = parse(compose("config", overrides).config, RunSettings)
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra import main as hydra_main
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import InterpolationResolutionError, OmegaConfBaseException, UnsupportedInterpolationType
from pydantic import ValidationError
from yaml import YAMLError

from mmerg.console.terminal import Swept
from mmerg.errors import ConfigError
from mmerg.settings.model import COMMANDS, NO_PASSWORD, PLACE, RUNTIME, DataSettings, Given, Part
from mmerg.settings.pages import conf_folder, groups, no_page, ollama_host, pages_of
from mmerg.settings.tree import bare, fields_of, is_part, kind_at, marked
from mmerg.settings.wrong import (
    COMMAND_LINE,
    CONFIGURATION,
    Wrong,
    of_validation,
    refusal,
    several,
    shown,
    unknown,
)

PATHS = tuple(marked(DataSettings, PLACE))  # on the command line these may hold what Hydra's grammar stumbles over
_AS_TYPED = tuple(key for key in PATHS if key in marked(DataSettings, RUNTIME))  # the others are made absolute
_COPIES = (
    "backend.adapter.",
    "dataset.reader.",
    "dataset.memory.reader.",
    "frames.long_side",
)  # their pages take values from other settings
_ROWS = ("row", "rows")  # an experiment's settings by row: conf/experiment/
_INTERPOLATION = (InterpolationResolutionError, UnsupportedInterpolationType)
_PASSWORD = re.compile(r"://[^/@\s]*@")
Settings = TypeVar("Settings", bound=Part)


@dataclass(frozen=True)
class Composed:
    """A config, and which page was chosen in each group."""

    config: DictConfig
    choices: Mapping[str, str | None]


class OwnPages(SearchPathPlugin):
    """The user's own folder of pages (`--config-dir`): where it has a name of ours, its page wins."""

    folder: Path | None = None

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        if self.folder:
            search_path.prepend("own", f"file://{self.folder.absolute()}")


def compose(page: str, overrides: Sequence[str], own: Path | None = None) -> Composed:
    """What Hydra composes of `page` and the overrides. Raises ConfigError where it does not compose."""
    use(own)
    try:
        with initialize_config_dir(str(conf_folder()), version_base="1.3"):
            config = hydra_compose(page, list(overrides), return_hydra_config=True)
    except (HydraException, OmegaConfBaseException, YAMLError, ValueError) as error:
        raise not_composed(error) from error
    choices = config.hydra.runtime.choices
    OmegaConf.set_struct(config, False)
    del config["hydra"]
    return Composed(config, {str(group): page for group, page in choices.items() if not str(group).startswith("hydra")})


def sweep(job: Callable[[DictConfig], int], page: str, overrides: Sequence[str], own: Path | None) -> int:
    """Hydra's sweep: `job` once a member, here or in other processes; the worst exit code."""
    use(own)
    os.environ["HYDRA_FULL_ERROR"] = "1"  # an error is raised, and told as ours are
    sys.argv[1:] = ["-m", *overrides]
    codes: list[int] = []

    @hydra_main(version_base="1.3", config_path=str(conf_folder()), config_name=page)
    def member(config: DictConfig) -> None:
        codes.append(job(config))

    try:
        member()
    except Swept as swept:
        return swept.worst
    except (HydraException, OmegaConfBaseException, YAMLError) as error:
        raise not_composed(error) from error
    return max(codes, default=0)


def use(own: Path | None) -> None:
    """Make our resolver and the user's own pages known to Hydra in this process, and the Python files among these to
    what pages name."""
    OwnPages.folder = own
    if own and str(own) not in sys.path:
        sys.path.append(str(own))  # behind all that is installed
    Plugins.instance().register(OwnPages)
    OmegaConf.register_new_resolver("ollama_host", ollama_host, replace=True)


def own_folder() -> Path | None:
    """The user's own folder of pages, also in a process that runs a member of a sweep."""
    if OwnPages.folder is None and HydraConfig.initialized():
        sources = HydraConfig.get().runtime.config_sources
        return next((Path(source.path) for source in sources if source.provider == "own"), None)
    return OwnPages.folder


def not_composed(error: Exception) -> ConfigError:
    """An error of Hydra's, in one line."""
    if isinstance(error, YAMLError):
        return ConfigError(f"a page is no YAML: {' '.join(str(error).split())}", where=CONFIGURATION)
    lines = [line for line in str(error).strip().splitlines() if "HYDRA_FULL_ERROR" not in line]
    what = " ".join(f"{lines[0] if lines else type(error).__name__} {error.__cause__ or ''}".split())
    return ConfigError(
        f"the configuration does not compose: {_PASSWORD.sub('://***@', what)}",
        where=COMMAND_LINE,
        hint="--help lists groups and settings",
    )


def checked(arguments: Sequence[str], page: str, own: Path | None = None, *, sweep: bool = False) -> list[str]:
    """The command line as Hydra takes it. Raises ConfigError for all that is wrong with it and with what it composes
    without that: a setting or page that is not there, a value that cannot be read, a sweep over paths."""
    kind = COMMANDS[page]
    wrongs: list[Wrong] = []
    good: list[str] = []
    for argument in arguments:
        found = list(_wrong(argument, kind, own, sweep))
        wrongs += found
        if not found:
            good.append(_for_hydra(argument, own))
    if wrongs:
        with suppress(ConfigError):
            wrongs += _others(compose(page, good, own).config, kind, wrongs) if not sweep else ()
        raise refusal(wrongs)
    return good


def _others(config: DictConfig, kind: type[Part], told: Sequence[Wrong]) -> list[Wrong]:
    """What else is wrong with a config from which some settings were left out."""
    groups_told = {wrong.key for wrong in told if "." not in wrong.key}
    found = _parsed(config, kind)[1]
    return [wrong for wrong in found if wrong.key.partition(".")[0] not in groups_told and not _is_no_page(wrong)]


def _wrong(argument: str, kind: type[Part], own: Path | None, sweep: bool) -> Iterator[Wrong]:
    prefixed, _, value = argument.partition("=")
    key = prefixed.lstrip("+~")
    try:
        OverridesParser.create().parse_override(quoted(argument))
    except (HydraException, ValueError):
        near = [f"{group}={argument}" for group in groups(own) if argument in pages_of(group, own)]
        how = f"did you mean {near[0]}?" if near else "key=value; in quotes where it has brackets: \"key='a [b]'\""
        yield Wrong(key, f"{shown(argument)} cannot be read as a setting", how, COMMAND_LINE)
        return
    if _PASSWORD.search(value) and key not in PATHS:
        yield Wrong(key, f"{key} holds a password", NO_PASSWORD, COMMAND_LINE)
    elif key in _groups(kind, own):
        words = [] if prefixed[0] == "~" or re.search(r"[\[(]", value) else value.split(",") if sweep else [value]
        for word in (word.strip("'\" ") for word in words):
            if word not in pages_of(key, own):
                yield Wrong(key, f"there is no {key}={word}", no_page(key, word, own), COMMAND_LINE)
    elif re.fullmatch(r"\w+(\.\w+)*", key) and key.split(".")[0] not in ("hydra", *_ROWS) and prefixed[0] != "+":
        try:
            kind_at(kind, key)
        except KeyError:
            yield unknown(kind, key)
        else:
            if not sweep and key not in PATHS and "," in value and value[:1] not in ("'", '"', "[", "{"):
                yield Wrong(key, f"{key} is {shown(value)}", f"one value; -m {argument} runs each", COMMAND_LINE)
    if sweep and key in PATHS and "," in value and quoted(argument) != argument:
        how = f"rows of a page can each have their own (docs/experiments.md); one path: \"{key}='{value}'\""
        yield Wrong(key, f"a path cannot be swept over, and {key} is {value}", how, COMMAND_LINE)


def _groups(kind: type[Part], own: Path | None) -> list[str]:
    """The groups that a command chooses from: its own, the experiments of runs, and those of the user's own folder."""
    others = {group for group in groups() if group not in fields_of(kind)}
    return [group for group in groups(own) if group not in others or (group == "experiment" and "system" not in others)]


def _for_hydra(argument: str, own: Path | None) -> str:
    """An argument as Hydra takes it: a setting may be one that no page has (`++`), an experiment is added (`+`)."""
    key, equals, _ = argument.partition("=")
    if not equals or not re.fullmatch(r"\w+(\.\w+)*", key) or key.split(".")[0] == "hydra":
        return argument
    if key in groups(own):
        return f"+{argument}" if key == "experiment" else argument
    return f"++{quoted(argument)}"


def quoted(argument: str) -> str:
    """An argument that sets a path, as Hydra takes it: to its grammar ~, blanks and brackets mean something else, and
    few shells expand the ~ of `dataset.root=~/MELD`."""
    key, _, path = argument.partition("=")
    if key not in PATHS or path in ("", "null") or path[0] in "'\"" or path.endswith("\\"):
        return argument
    escaped = os.path.expanduser(path).replace("'", "\\'")  # noqa: PTH111  (Path.expanduser raises for an unknown user)
    return f"{key}='{escaped}'"


def parse(config: DictConfig, kind: type[Settings]) -> Settings:
    """The settings of a composed config. Raises ConfigError with all that is wrong."""
    settings, wrongs = _parsed(config, kind)
    if wrongs or settings is None:
        raise refusal(wrongs)
    return settings


def _parsed(config: DictConfig, kind: type[Settings]) -> tuple[Settings | None, list[Wrong]]:
    use(own_folder())
    wrongs = [_no_page(key) for key in groups() if key in fields_of(kind) and config.get(key) is None]
    config = OmegaConf.merge(_defaults(kind), config)  # type: ignore[assignment]
    OmegaConf.set_struct(config, False)
    config, where = _with_row(config, kind)
    missing = [
        key for key, value in _leaves(OmegaConf.to_container(config)) if value == "???"
    ]  # left to the command line
    for key in missing:
        wrongs.append(_no_value(key))
        OmegaConf.update(config, key, None)
    try:
        for key in PATHS:
            path = OmegaConf.select(config, key)
            if isinstance(path, str) and path and (whole := _whole(key, path)) != path:
                OmegaConf.update(config, key, literal(whole))
        if isinstance(label_set := OmegaConf.select(config, "dataset.label_set"), int):
            OmegaConf.update(config, "dataset.label_set", str(label_set))  # a name, 32 too, for all that refer to it
        for group in ("system", "judge"):
            key = f"{group}.prompts"
            if (prompts := OmegaConf.select(config, key)) and isinstance(prompts, str):
                OmegaConf.update(config, key, literal(_beside_page(key, prompts)))
        plain = OmegaConf.to_container(config, resolve=True)
    except OmegaConfBaseException as error:
        key = getattr(error, "full_key", None) or "?"
        escape = r"; where a path has ${…} in its name, write \${…}" if isinstance(error, _INTERPOLATION) else ""
        hint = f"set it on the command line: {key}=…{escape}"
        return None, wrongs or [Wrong(key, str(error).splitlines()[0], hint, where)]
    assert isinstance(plain, dict)
    reader = (plain.get("dataset") or {}).get("reader") or {}
    if "root" in reader and not reader["root"] and not any(wrong.key == "dataset.root" for wrong in wrongs):
        wrongs.append(_no_value("dataset.root"))
    try:
        settings = kind.model_validate({key: value for key, value in plain.items() if key not in _ROWS})
    except ValidationError as error:
        told = tuple(wrong.key for wrong in wrongs)
        wrongs += [
            one
            for one in of_validation(error, kind, where)
            if not f"{one.key}.".startswith(tuple(f"{key}." for key in told))
        ]
        return None, _without_copies(wrongs)
    return settings, wrongs


def _defaults(kind: type[Part]) -> dict[str, Any]:
    """The defaults of the settings that a page may leave out, for others to refer to."""
    found: dict[str, Any] = {}
    for key, info in fields_of(kind).items():
        node = bare(info.annotation)
        if is_part(node) and not issubclass(node, Given) and (info.is_required() or info.default is not None):
            found[key] = _defaults(node)
        elif not info.is_required() and not is_part(node):
            found[key] = list(info.default) if isinstance(info.default, tuple) else info.default
    return found


def _with_row(config: DictConfig, kind: type[Part]) -> tuple[DictConfig, str]:
    """The config with the settings of the row that was asked for, and where they come from. The same settings are the
    same run in every experiment."""
    row, rows = (OmegaConf.select(config, key) for key in _ROWS)
    if rows:  # what is wrong with one costs that one alone
        config.rows = {}
    if row is None and rows:
        hint = f"row={next(iter(rows))} runs one; -m row={','.join(rows)} runs all"
        raise ConfigError("the experiment has rows, and none is chosen", where=CONFIGURATION, hint=hint)
    if row is None:
        return config, CONFIGURATION
    if row not in (rows or ()):
        hint = f"rows: {', '.join(rows or ()) or 'none; they come with +experiment=…'}"
        raise ConfigError(f"there is no row {row!r}", where=CONFIGURATION, hint=hint)
    settings = OmegaConf.to_container(rows)[row] or {}  # type: ignore[index]
    where = f"row {row}"
    if not isinstance(settings, dict):
        hint = f"settings by name: {row}: {{system: {{max_iterations: 3}}}}, or {{}} for none"
        raise ConfigError(f"it is {settings!r}, not settings", where=where, hint=hint)
    if wrongs := list(_wrong_in_row(settings, kind, where)):
        raise refusal(wrongs)
    merged = OmegaConf.merge(config, settings)
    assert isinstance(merged, DictConfig)
    return merged, where


def _wrong_in_row(settings: Mapping[Any, Any], kind: type[Part], where: str, above: str = "") -> Iterator[Wrong]:
    for name, value in settings.items():
        key = f"{above}{name}"
        try:
            part = kind_at(kind, key)
        except KeyError:
            yield unknown(kind, key, where)
            continue
        if isinstance(value, dict):
            yield from _wrong_in_row(value, kind, where, f"{key}.")
        elif part and value is not None:
            yield several(part, key, value, where)


def _no_page(group: str) -> Wrong:
    return Wrong(group, f"no {group} is chosen", no_page(group, None, OwnPages.folder))


def _is_no_page(wrong: Wrong) -> bool:
    """Whether it says what a word that was left out may have said."""
    return wrong == _no_page(wrong.key)


def _no_value(key: str) -> Wrong:
    return Wrong(key, f"{key} has no value", f"set it on the command line: {key}=…")


def _without_copies(wrongs: Sequence[Wrong]) -> list[Wrong]:
    """Each once: a reader or an adapter that takes its value from another setting has the same wrong with it."""
    values = {_value(wrong) for wrong in wrongs if not wrong.key.startswith(_COPIES)}
    return [one for one in wrongs if not one.key.startswith(_COPIES) or _value(one) not in values]


def _value(wrong: Wrong) -> str:
    return wrong.what.partition(" is ")[2] or shown(None)


def literal(value: Any) -> Any:
    """A resolved value as a config holds it: what looks like an interpolation in a text, as in a path, is a part of
    it."""
    if isinstance(value, dict):
        return {key: literal(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [literal(inner) for inner in value]
    return re.sub(r"(\\*)\$\{", lambda found: found[1] * 2 + r"\${", value) if isinstance(value, str) else value


def _whole(key: str, path: str) -> str:
    """A path with the user's home in place of ~, also where no command line set it; what a run reads is absolute."""
    try:
        home = Path(path).expanduser()
    except RuntimeError as error:
        raise ConfigError(
            f"{key} is {path}, and there is no such user",
            where=CONFIGURATION,
            hint=f"write the whole path; for a name that begins with ~, {key}=./~…",
        ) from error
    if key in _AS_TYPED or path.startswith("package:"):
        return str(home) if path.startswith("~") else path
    return str(home.absolute())


def _beside_page(key: str, prompts: str) -> str:
    """The folder of templates that a page names: relative to the user's own page, as ours name a package."""
    own = own_folder()
    if prompts.startswith("package:") or own is None:
        return prompts
    return str(own / key.partition(".")[0] / (_whole(key, prompts) if prompts.startswith("~") else prompts))


def notes(composed: Composed, own: Path | None) -> Iterator[str]:
    """What a run says of its pages: those of the user's own in place of ours, and what a dataset's page sets beside
    the dataset."""
    for group, page in composed.choices.items():
        files = [folder / group / f"{page}.yaml" for folder in (own, conf_folder()) if folder and page]
        there = [file for file in files if file.is_file()]
        if len(there) > 1:
            yield f"{group}={page} is {there[0]}, in place of mmerg's own"
        if group == "dataset" and there and "@package _global_" in there[0].read_text(encoding="utf-8"):
            page_sets = OmegaConf.load(there[0])
            leaves = [
                key
                for key, _ in _leaves(OmegaConf.to_container(page_sets))
                if key.split(".")[0] not in ("defaults", "dataset", "hydra")
            ]
            kept = [key for key in leaves if OmegaConf.select(composed.config, key) == OmegaConf.select(page_sets, key)]
            if kept:
                values = ", ".join(f"{key}={OmegaConf.select(page_sets, key)}" for key in kept)
                yield f"dataset={page} sets {values}"


def _leaves(node: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """The values of nested settings, each by its dotted key."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _leaves(value, f"{above}.{key}" if above else str(key))
    else:
        yield above, node

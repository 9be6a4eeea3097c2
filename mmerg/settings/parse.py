"""From a command line to typed settings, all that is wrong named at once.

overrides = checked(["dataset=meld", "limit=3"], "config")    # ConfigError for what is misspelt
settings = parse(compose("config", overrides).config, RunSettings)
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import InterpolationResolutionError, OmegaConfBaseException, UnsupportedInterpolationType
from pydantic import ValidationError

from mmerg.errors import ConfigError
from mmerg.settings.compose import compose, leaves, own_folder, use
from mmerg.settings.identity import at
from mmerg.settings.kinds import NO_PASSWORD, PASSWORD, PLACE, RUNTIME, Given, Part, Plain
from mmerg.settings.model import COMMANDS, DataSettings, ImportSettings, TrainSettings
from mmerg.settings.pages import groups, no_page, pages_of
from mmerg.settings.tree import bare, fields_of, is_part, kind_at, marked
from mmerg.settings.wrong import COMMAND_LINE, CONFIGURATION, Wrong, as_typed, of_validation, refusal, unknown

PATHS = tuple({key: None for kind in (DataSettings, TrainSettings, ImportSettings) for key in marked(kind, PLACE)})
_PASSED_ON = ("root", "split", "sessions", "variant", "label_set")  # by a dataset's page, to its reader
_AS_TYPED = tuple(key for key in PATHS if key in marked(DataSettings, RUNTIME))  # the others are made absolute
_KEY = re.compile(r"(?!hydra\b|rows?\b)\w+(\.\w+)*")
Settings = TypeVar("Settings", bound=Part)


def checked(arguments: Sequence[str], page: str, own: Path | None = None, *, sweep: bool = False) -> list[str]:
    """The command line as Hydra takes it. Raises ConfigError for all that is wrong with it and with what it composes
    without that: a setting or page that is not there, a value that cannot be read, a sweep over paths."""
    kind = COMMANDS[page]
    checks = [(argument, list(_wrong(argument, kind, own, sweep))) for argument in arguments]
    good = [_for_hydra(argument, own) for argument, found in checks if not found]
    wrongs = [wrong for _, found in checks for wrong in found]
    if wrongs and not sweep:
        named = {wrong.key for wrong in wrongs}
        with suppress(ConfigError):
            others = _parsed(compose(page, good, own).config, kind)[1]
            wrongs += [wrong for wrong in others if wrong.key.partition(".")[0] not in named]
    if wrongs:
        raise refusal(wrongs)
    return good


def _wrong(argument: str, kind: type[Part], own: Path | None, sweep: bool) -> Iterator[Wrong]:
    prefixed, _, value = argument.partition("=")
    key = prefixed.lstrip("+~")
    try:
        OverridesParser.create().parse_override(quoted(argument))
    except (HydraException, ValueError):
        near = [f"{group}={argument}" for group in groups(own) if argument in pages_of(group, own)]
        how = f"did you mean {near[0]}?" if near else "key=value; in quotes where it has brackets: \"key='a [b]'\""
        yield Wrong(key, f"{as_typed(argument)} cannot be read as a setting", how, COMMAND_LINE)
        return
    if PASSWORD.search(value) and key not in PATHS:
        yield Wrong(key, f"{key} holds a password", NO_PASSWORD, COMMAND_LINE)
    elif key in _groups(kind, own):
        if value.startswith("[") and key != "experiment":
            how = f"one page: {key}={pages_of(key, own)[0]}; -m {key}={','.join(pages_of(key, own)[:2])} runs each"
            yield Wrong(key, f"{key}={value} mixes pages", how, COMMAND_LINE)
        words = [] if prefixed[0] == "~" or re.search(r"[\[(]", value) else value.split(",") if sweep else [value]
        for word in (word.strip("'\" ") for word in words):
            if word not in pages_of(key, own):
                yield Wrong(key, f"there is no {key}={word}", no_page(key, word, own), COMMAND_LINE)
    elif _KEY.fullmatch(key) and prefixed[0] != "+":
        try:
            kind_at(kind, key)
        except KeyError:
            yield unknown(kind, key)
        else:
            if not sweep and key not in PATHS and "," in value and value[:1] not in ("'", '"', "[", "{"):
                yield Wrong(key, f"{key} is {as_typed(value)}", f"one value; -m {argument} runs each", COMMAND_LINE)
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
    own = own_folder()
    absent = [Wrong(group, f"no {group} is chosen", no_page(group, None, own)) for group in _absent(config, kind)]
    if settings is None or absent or wrongs:
        raise refusal([*absent, *wrongs])
    return settings


def _parsed(config: DictConfig, kind: type[Settings]) -> tuple[Settings | None, list[Wrong]]:
    """The settings of a config, and what is wrong with them but that no page of a group is chosen."""
    use(own_folder())
    if kind.model_config["extra"] == "ignore":  # before it is resolved: what is left out may refer to what is not there
        config = OmegaConf.masked_copy(config, [key for key in config if key in fields_of(kind)])
    skipped = _absent(config, kind)
    config, where = _with_row(with_defaults(config, kind))
    raw: Any = OmegaConf.to_container(config)
    missing = [key for key, value in leaves(raw) if value == "???"]  # left to the command line
    for key in missing:
        OmegaConf.update(config, key, None)
    failed = None
    try:
        _settle(config)
        plain: Any = OmegaConf.to_container(config, resolve=True)
    except OmegaConfBaseException as error:
        plain, failed = OmegaConf.to_container(config), _unresolved(error, where)
    reader = at(plain, "dataset.reader")
    if isinstance(reader, dict) and reader.get("root", "given") in (None, "") and "dataset.root" not in missing:
        missing.append("dataset.root")
    wrongs = [Wrong(key, f"{key} has no value", f"set it on the command line: {key}=…") for key in missing]
    wrongs += _unread(raw, where)
    settings, found = None, []
    try:
        settings = kind.model_validate(plain)
    except ValidationError as error:
        invalid = of_validation(error, kind, where)
        found = [wrong for wrong in invalid if not _is_below(wrong.key, [*missing, *skipped])]
    # What takes its value from another setting has the same wrong with it.
    copies = [key for key, value in leaves(raw) if isinstance(value, str) and "${" in value]
    wrongs += [wrong for wrong in found if not _is_below(wrong.key, copies)]
    return settings, wrongs or ([failed] if failed else found)


def _unread(raw: Any, where: str) -> Iterator[Wrong]:
    """What is set of a dataset, and its page passes on to no reader. raw: the settings, references not followed."""
    texts = (value for _, value in leaves(raw) if isinstance(value, str) and "${" in value)
    read = set(re.findall(r"\bdataset\.(?:memory\.)?\w+", " ".join(texts)))
    for above in ("dataset", "dataset.memory"):
        node, reader = at(raw, above), at(raw, f"{above}.reader")
        for key in _PASSED_ON if isinstance(reader, dict) else ():
            path, value = f"{above}.{key}", at(node, key)
            if value is not None and path not in read and isinstance(reader.get(key), dict | type(None)):
                takes = ", ".join(sorted(one for one in read if one.rpartition(".")[0] == above)) or "none"
                what = f"{path} is {as_typed(value)}, and dataset={at(raw, 'dataset.name')} passes it to no reader"
                yield Wrong(path, what, f"leave it out; its page takes {takes}", where)


def _absent(config: DictConfig, kind: type[Part]) -> list[str]:
    """The groups of which no page is chosen."""
    return [group for group in groups() if group in fields_of(kind) and config.get(group) is None]


def _is_below(key: str, keys: list[str]) -> bool:
    return f"{key}.".startswith(tuple(f"{one}." for one in keys))


def with_defaults(config: DictConfig, kind: type[Part]) -> DictConfig:
    """The config with what a page may leave out, for others to refer to."""
    merged = OmegaConf.merge(_defaults(kind), config)
    assert isinstance(merged, DictConfig)
    OmegaConf.set_struct(merged, False)
    return merged


def _defaults(kind: type[Part]) -> Plain:
    found: Plain = {}
    for key, info in fields_of(kind).items():
        node = bare(info.annotation)
        if is_part(node) and not issubclass(node, Given) and (info.is_required() or info.default is not None):
            found[key] = _defaults(node)
        elif not info.is_required() and not is_part(node):
            default = info.get_default(call_default_factory=True)
            found[key] = list(default) if isinstance(default, tuple) else default
    return found


def _with_row(config: DictConfig) -> tuple[DictConfig, str]:
    """The config with the settings of the row that was asked for in place of its rows, and where they come from. The
    same settings are the same run in every experiment."""
    row, given = config.pop("row", None), config.pop("rows", None)
    rows: Any = OmegaConf.to_container(given) if OmegaConf.is_dict(given) else {}
    if row is None and rows:
        hint = f"row={next(iter(rows))} runs one; -m row={','.join(rows)} runs all"
        raise ConfigError("the experiment has rows, and none is chosen", where=CONFIGURATION, hint=hint)
    if row is None:
        return config, CONFIGURATION
    if row not in rows:
        hint = f"rows: {', '.join(rows) or 'none; they come with +experiment=…'}"
        raise ConfigError(f"there is no row {row!r}", where=CONFIGURATION, hint=hint)
    settings, where = rows[row] or {}, f"row {row}"
    if not isinstance(settings, dict):
        hint = f"settings by name: {row}: {{system: {{max_iterations: 3}}}}, or {{}} for none"
        raise ConfigError(f"it is {settings!r}, not settings", where=where, hint=hint)
    merged = OmegaConf.merge(config, settings)
    assert isinstance(merged, DictConfig)
    return merged, where


def _settle(config: DictConfig) -> None:
    """Spells out what others refer to: paths, and a name that YAML takes for a number."""
    for key in PATHS:
        if isinstance(path := OmegaConf.select(config, key), str) and path:
            OmegaConf.update(config, key, _literal(_whole(key, path)))
    if isinstance(label_set := OmegaConf.select(config, "dataset.label_set"), int):
        OmegaConf.update(config, "dataset.label_set", str(label_set))
    for group in ("system", "judge"):  # templates lie beside the user's own page, as ours lie in a package
        key, own = f"{group}.prompts", own_folder()
        prompts = OmegaConf.select(config, key)
        if own and isinstance(prompts, str) and prompts and not prompts.startswith("package:"):
            folder = own / group / (_whole(key, prompts) if prompts.startswith("~") else prompts)
            OmegaConf.update(config, key, _literal(str(folder)))


def _whole(key: str, path: str) -> str:
    """A path with the user's home in place of ~, also where no command line set it; what a run reads is absolute."""
    try:
        home = Path(path).expanduser()
    except RuntimeError as error:
        hint = f"write the whole path; for a name that begins with ~, {key}=./~…"
        raise ConfigError(f"{key} is {path}, and there is no such user", where=CONFIGURATION, hint=hint) from error
    if key in _AS_TYPED or path.startswith("package:"):
        return str(home) if path.startswith("~") else path
    return str(home.absolute())


def _literal(path: str) -> str:
    """A path as a config holds it: what looks like an interpolation is a part of it."""
    return re.sub(r"(\\*)\$\{", lambda found: found[1] * 2 + r"\${", path)


def _unresolved(error: OmegaConfBaseException, where: str) -> Wrong:
    """A setting whose value names another that is not there."""
    key = getattr(error, "full_key", None) or "?"
    looks_like = isinstance(error, InterpolationResolutionError | UnsupportedInterpolationType)
    escape = r"; where a path has ${…} in its name, write \${…}" if looks_like else ""
    return Wrong(key, str(error).splitlines()[0], f"set it on the command line: {key}=…{escape}", where)

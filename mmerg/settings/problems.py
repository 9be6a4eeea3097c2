"""Problems of settings, which are reported all at once, with the valid values of each and the nearest one.

raise combine_problems([unknown_setting(RunSettings, "limt")])    # there is no setting limt; did you mean limit?
"""

import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import ValidationError

from mmerg.errors import ConfigError, did_you_mean
from mmerg.settings.kinds import PASSWORD, SettingsModel
from mmerg.settings.tree import get_keys, iterate_keys, model_at

Node = TypeVar("Node", bound=SettingsModel)
COMMAND_LINE, CONFIGURATION = "command line", "configuration"
SET_IT = "set it on the command line"
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


@dataclass(frozen=True)
class Problem:
    key: str
    what: str
    hint: str
    where: str = CONFIGURATION


def missing_value(key: str, where: str = CONFIGURATION) -> Problem:
    return Problem(key, f"{key} has no value", f"{SET_IT}: {key}=…", where)


def combine_problems(problems: Sequence[Problem]) -> ConfigError:
    places = ", ".join(dict.fromkeys(problem.where for problem in problems))
    if len(problems) == 1:
        return ConfigError(problems[0].what, where=places, hint=problems[0].hint)
    lines = (f"  {problem.what}; {problem.hint}" for problem in problems)
    return ConfigError("\n".join([f"{len(problems)} settings are wrong", *lines]), where=places)


def unknown_setting(kind: type[SettingsModel], key: str, where: str = COMMAND_LINE) -> Problem:
    """Returns the problem of an unknown setting. The hint suggests a similar one of the same group, or one of this or a
    similar name in any group."""
    above, _, last = key.rpartition(".")
    try:
        parent = model_at(kind, above) if above else kind
    except KeyError:
        parent = None
    siblings = {name: f"{above}.{name}" if above else name for name in get_keys(parent)} if parent else {}
    every = [path for path, _ in iterate_keys(kind)]
    near = (
        [siblings[name] for name in get_close_matches(last, siblings, 1)]
        or [path for path in every if f".{path}".endswith(f".{last}")]
        or [path for path in every if get_close_matches(last, [path.rpartition(".")[2]], 1, 0.8)]
    )
    known = f"settings: {', '.join(siblings.values() or get_keys(kind))}"
    hint = f"did you mean {' or '.join(near[:3])}?" if near else known
    return Problem(near[0] if near else key, f"there is no setting {key}", hint, where)


def translate_errors(
    error: ValidationError, kind: type[SettingsModel], where: str = CONFIGURATION
) -> Iterator[Problem]:
    """Translates pydantic's errors to problems in the terms of the command line."""
    for invalid in error.errors(include_url=False):
        key, value, context = ".".join(map(str, invalid["loc"])), invalid["input"], invalid.get("ctx", {})
        what = f"{key} is {format_value(value)}"
        match invalid["type"]:
            case "extra_forbidden":
                yield unknown_setting(kind, key, where)
            case "missing":
                yield missing_value(key, where)
            case "model_type" if isinstance(value, str) and "." not in key:  # a config has `group: option` as a setting
                hint = f"choose an option on the command line, {key}={value}, or in the defaults of the config"
                yield Problem(key, what, hint, where)
            case "literal_error":
                yield Problem(key, what, describe_choices(value, re.findall(r"'([^']*)'", context["expected"])), where)
            case _:
                hint = invalid["msg"].removeprefix("Value error, ").replace("Input should be", "it must be", 1)
                yield Problem(key, what, hint, where)


def read_settings(kind: type[Node], plain: Mapping[str, object], where: str) -> Node:
    """Reads a part of the settings. Raises ConfigError, which names `where` and lists all problems."""
    try:
        return kind.model_validate(plain)
    except ValidationError as error:
        raise combine_problems(list(translate_errors(error, kind, where))) from error


def describe_choices(value: Any, allowed: Sequence[str]) -> str:
    """Describes the valid values, and suggests the nearest one."""
    near = did_you_mean(str(value).lower(), allowed)
    if isinstance(value, bool) and "off" in allowed:
        near = 'in YAML write "on" or "off" in quotes'
    return "; ".join(filter(None, (f"one of {', '.join(allowed)}", near)))


def format_value(value: Any) -> str:
    """Formats a value as one would type it on a command line. Shortens long values, and masks passwords."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return PASSWORD.sub("://***@", _SHORT.repr(value))

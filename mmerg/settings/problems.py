"""Problems of settings, reported all at once: each key, its valid values, and the nearest one.

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
    """One problem and what is valid. key: the setting."""

    key: str
    what: str
    hint: str
    where: str = CONFIGURATION


def missing_value(key: str, where: str = CONFIGURATION) -> Problem:
    return Problem(key, f"{key} has no value", f"{SET_IT}: {key}=…", where)


def combine_problems(problems: Sequence[Problem]) -> ConfigError:
    """Combines all problems in one error."""
    places = ", ".join(dict.fromkeys(one.where for one in problems))
    if len(problems) == 1:
        return ConfigError(problems[0].what, where=places, hint=problems[0].hint)
    lines = (f"  {one.what}; {one.hint}" for one in problems)
    return ConfigError("\n".join([f"{len(problems)} settings are wrong", *lines]), where=places)


def unknown_setting(kind: type[SettingsModel], key: str, where: str = COMMAND_LINE) -> Problem:
    """The problem of an unknown setting. The hint names the nearest: one of the same group, or one of this name in
    another group."""
    above, _, last = key.rpartition(".")
    try:
        parent = model_at(kind, above) if above else kind
    except KeyError:
        parent = None
    siblings = {name: f"{above}.{name}" if above else name for name in get_keys(parent)} if parent else {}
    every = [one for one, _ in iterate_keys(kind)]
    near = (
        [siblings[name] for name in get_close_matches(last, siblings, 1)]
        or [one for one in every if f".{one}".endswith(f".{last}")]
        or [one for one in every if get_close_matches(last, [one.rpartition(".")[2]], 1, 0.8)]
    )
    known = f"settings: {', '.join(siblings.values() or get_keys(kind))}"
    hint = f"did you mean {' or '.join(near[:3])}?" if near else known
    return Problem(near[0] if near else key, f"there is no setting {key}", hint, where)


def translate_errors(
    error: ValidationError, kind: type[SettingsModel], where: str = CONFIGURATION
) -> Iterator[Problem]:
    """Translates pydantic's errors to the terms of the command line."""
    for invalid in error.errors(include_url=False):
        key, value, context = ".".join(map(str, invalid["loc"])), invalid["input"], invalid.get("ctx", {})
        what = f"{key} is {format_value(value)}"
        match invalid["type"]:
            case "extra_forbidden":
                yield unknown_setting(kind, key, where)
            case "missing":
                yield missing_value(key, where)
            case "model_type" if isinstance(value, str) and "." not in key:  # a config that chooses an option
                hint = f"choose an option on the command line, {key}={value}, or in the defaults of the config"
                yield Problem(key, what, hint, where)
            case "literal_error":
                yield Problem(key, what, describe_choices(value, re.findall(r"'([^']*)'", context["expected"])), where)
            case _:
                hint = invalid["msg"].removeprefix("Value error, ").replace("Input should be", "it must be", 1)
                yield Problem(key, what, hint, where)


def read_settings(kind: type[Node], plain: Mapping[str, object], where: str) -> Node:
    """Reads a part of the settings. Raises ConfigError, naming `where`, with all problems."""
    try:
        return kind.model_validate(plain)
    except ValidationError as error:
        raise combine_problems(list(translate_errors(error, kind, where))) from error


def describe_choices(value: Any, allowed: Sequence[str]) -> str:
    """The valid values, and the nearest one."""
    near = did_you_mean(str(value).lower(), allowed)
    if isinstance(value, bool) and "off" in allowed:
        near = 'in YAML write "on" or "off" in quotes'
    return "; ".join(filter(None, (f"one of {', '.join(allowed)}", near)))


def format_value(value: Any) -> str:
    """A value as typed on a command line. A long one is shortened, and a password is masked."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return PASSWORD.sub("://***@", _SHORT.repr(value))

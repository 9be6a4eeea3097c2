"""The command line of a command that composes its settings, before Hydra sees it.

overrides = checked(["dataset=meld", "limit=3"], "config")    # ConfigError for what is misspelt
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException

from mmerg.errors import ConfigError
from mmerg.settings.compose import compose
from mmerg.settings.model import COMMANDS, NO_PASSWORD, PASSWORD, Part
from mmerg.settings.pages import groups, no_page, pages_of
from mmerg.settings.parse import PATHS, parsed
from mmerg.settings.tree import fields_of, kind_at
from mmerg.settings.wrong import COMMAND_LINE, Wrong, refusal, shown, unknown

_KEY = re.compile(r"(?!hydra\b|rows?\b)\w+(\.\w+)*")


def checked(arguments: Sequence[str], page: str, own: Path | None = None, *, sweep: bool = False) -> list[str]:
    """The command line as Hydra takes it. Raises ConfigError for all that is wrong with it and with what it composes
    without that: a setting or page that is not there, a value that cannot be read, a sweep over paths."""
    kind = COMMANDS[page]
    checks = [(argument, list(_wrong(argument, kind, own, sweep))) for argument in arguments]
    good = [_for_hydra(argument, own) for argument, found in checks if not found]
    wrongs = [wrong for _, found in checks for wrong in found]
    if wrongs and not sweep:
        told = {wrong.key for wrong in wrongs}
        with suppress(ConfigError):
            others = parsed(compose(page, good, own).config, kind)[1]
            wrongs += [wrong for wrong in others if wrong.key.partition(".")[0] not in told]
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
        yield Wrong(key, f"{shown(argument)} cannot be read as a setting", how, COMMAND_LINE)
        return
    if PASSWORD.search(value) and key not in PATHS:
        yield Wrong(key, f"{key} holds a password", NO_PASSWORD, COMMAND_LINE)
    elif key in _groups(kind, own):
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

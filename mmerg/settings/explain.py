"""The problems of a command line's arguments, each with the nearest valid argument.

list(find_problems("limt=3", RunSettings))    # there is no setting limt; did you mean limit?
"""

import re
from collections.abc import Iterator
from pathlib import Path

from mmerg.settings.groups import is_model, list_groups, list_options, suggest_options
from mmerg.settings.kinds import SettingsModel
from mmerg.settings.overrides import is_override
from mmerg.settings.problems import COMMAND_LINE, Problem, format_value, unknown_setting
from mmerg.settings.tree import get_fields, model_at

OF_RUNS = ("ablation", "experiment")  # groups whose options set several settings of a run
_KEY = re.compile(r"\w+(\.\w+)*")


def find_problems(
    argument: str, kind: type[SettingsModel], own: Path | None = None, *, sweep: bool = False
) -> Iterator[Problem]:
    prefixed, _, value = argument.partition("=")
    key = prefixed.lstrip("+~")
    if re.split(r"[./]", key)[0] == "hydra":
        return
    if not is_override(argument):
        group = next((group for group in list_groups(own) if argument in list_options(group, own)), "")
        hint = f"did you mean {group}={argument}?" if group else "a setting is key=value"
        yield Problem(group or key, f"{format_value(argument)} cannot be read as a setting", hint, COMMAND_LINE)
    elif key in list_command_groups(kind, own):
        yield from _find_option_problems(prefixed, value, own, sweep)
    elif _KEY.fullmatch(key) and prefixed[0] != "+" and not _is_known(kind, key):
        yield unknown_setting(kind, key)


def _is_known(kind: type[SettingsModel], key: str) -> bool:
    try:
        model_at(kind, key)
    except KeyError:
        return False
    return True


def _find_option_problems(prefixed: str, value: str, own: Path | None, sweep: bool) -> Iterator[Problem]:
    group = prefixed.lstrip("+~")
    options = list_options(group, own)
    if prefixed[0] != "~" and not re.search(r"[\[(]", value):
        for name in (choice.strip("'\" ") for choice in (value.split(",") if sweep else [value])):
            if name not in (*options, "null") and not (group == "backbone" and is_model(name)):
                yield Problem(group, f"there is no {group}={name}", suggest_options(group, name, own), COMMAND_LINE)


def list_command_groups(kind: type[SettingsModel], own: Path | None) -> list[str]:
    """Lists the config groups of a command: those of its settings, those of runs if it runs samples, and the user's."""
    known = {*get_fields(kind), *(OF_RUNS if "system" in get_fields(kind) else ())}
    return [group for group in list_groups(own) if group in known or group not in list_groups()]

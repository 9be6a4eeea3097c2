"""The words of a command line: what each sets or chooses, what is wrong with it, and the rows of a sweep.

word = read_word("dataset.root=~/MELD")
word.key_or_group, word.value()    # "dataset.root", "/home/ana/MELD"
"""

import os
import re
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException

from mmerg.settings.kinds import NO_PASSWORD, PASSWORD, PLACE, Part
from mmerg.settings.model import DataSettings, ImportSettings, TrainSettings
from mmerg.settings.pages import groups, no_page, pages_of
from mmerg.settings.problems import COMMAND_LINE, Problem, as_typed, unknown
from mmerg.settings.tree import fields_of, kind_at, marked

PATHS = tuple({key: None for kind in (DataSettings, TrainSettings, ImportSettings) for key in marked(kind, PLACE)})
_KEY = re.compile(r"(?!rows?\b)\w+(\.\w+)*")


def read_word(word: str) -> Override:
    """What a word says. Raises HydraException or ValueError where it cannot be read."""
    return OverridesParser.create().parse_override(quoted(word))


def quoted(word: str) -> str:
    """A word with its path in quotes, and the home in place of ~. Hydra's grammar takes ~, blanks and brackets for
    something else, and few shells expand the ~ of `dataset.root=~/MELD`."""
    key, _, path = word.partition("=")
    if key not in PATHS or path in ("", "null") or path[0] in "'\"" or path.endswith("\\"):
        return word
    escaped = os.path.expanduser(path).replace("'", "\\'")  # noqa: PTH111  (Path.expanduser raises for an unknown user)
    return f"{key}='{escaped}'"


def chooses_page(word: Override, own: Path | None) -> bool:
    """Whether a word chooses a page, rather than setting a value."""
    return word.key_or_group in groups(own) or word.package is not None or "/" in word.key_or_group


def problems_of(argument: str, kind: type[Part], own: Path | None, *, sweep: bool) -> Iterator[Problem]:
    """What is wrong with a word of a command line."""
    prefixed, _, value = argument.partition("=")
    key = prefixed.lstrip("+~")

    def wrong(what: str, hint: str) -> Problem:
        return Problem(key, what, hint, COMMAND_LINE)

    try:
        several = read_word(argument).is_sweep_override()
    except (HydraException, ValueError):
        group = next((group for group in groups(own) if argument in pages_of(group, own)), None)
        quotes = "key=value; in quotes where it has brackets: \"key='a [b]'\""
        hint = f"did you mean {group}={argument}?" if group else quotes
        yield Problem(group or key, f"{as_typed(argument)} cannot be read as a setting", hint, COMMAND_LINE)
        return
    if re.split(r"[./]", key)[0] == "hydra":
        yield wrong(
            f"{key} is Hydra's own, which only composes settings here", "-m -j 2 runs two rows of a sweep at once"
        )
    elif PASSWORD.search(value) and key not in PATHS:
        yield wrong(f"{key} holds a password", NO_PASSWORD)
    elif sweep and key in PATHS and "," in value and value[0] not in "'\"":
        hint = f"rows of a page can each have their own (docs/experiments.md); one path: \"{key}='{value}'\""
        yield wrong(f"a path cannot be swept over, and {key} is {value}", hint)
    elif key in _groups(kind, own):
        yield from _problems_of_pages(prefixed, value, own, sweep)
    elif _KEY.fullmatch(key) and prefixed[0] != "+" and not _is_known(kind, key):
        yield unknown(kind, key)
    elif several and not sweep:
        yield wrong(f"{key} is {as_typed(value)}", f"one value; -m {argument} runs each")


def _is_known(kind: type[Part], key: str) -> bool:
    try:
        kind_at(kind, key)
    except KeyError:
        return False
    return True


def _problems_of_pages(prefixed: str, value: str, own: Path | None, sweep: bool) -> Iterator[Problem]:
    group = prefixed.lstrip("+~")
    pages = pages_of(group, own)
    if value.startswith("[") and group != "experiment":
        hint = f"one page: {group}={pages[0]}; -m {group}={','.join(pages[:2])} runs each"
        yield Problem(group, f"{group}={value} mixes pages", hint, COMMAND_LINE)
    elif prefixed[0] != "~" and not re.search(r"[\[(]", value):
        for page in (one.strip("'\" ") for one in (value.split(",") if sweep else [value])):
            if page not in pages:
                yield Problem(group, f"there is no {group}={page}", no_page(group, page, own), COMMAND_LINE)


def _groups(kind: type[Part], own: Path | None) -> list[str]:
    """The groups of which a command takes a page: its own, experiments if it runs, and those of the user's folder."""
    others = {group for group in groups() if group not in fields_of(kind)}
    return [group for group in groups(own) if group not in others or (group == "experiment" and "system" not in others)]


def rows_of(words: Sequence[str], swept: dict[str, str]) -> list[list[str]]:
    """The command lines of a sweep, one for each combination of values. swept: what a page sweeps over, by its key;
    what a word says of the same key is taken instead."""
    read = {word.key_or_group: word for word in map(read_word, [*(f"{key}={swept[key]}" for key in swept), *words])}
    values = [
        [f"{word.get_key_element()}={value}" for value in word.sweep_string_iterator()]
        if word.is_sweep_override()
        else [word.input_line or ""]
        for word in read.values()
    ]
    return [list(row) for row in product(*values)]

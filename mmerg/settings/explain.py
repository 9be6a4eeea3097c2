"""What is wrong where Hydra cannot compose a config: each word of the command line, with the nearest right word.

raise explained(error, "config", ["limt=3", "dataset=medl"])    # names both
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, MissingConfigException
from yaml import YAMLError

from mmerg.errors import ConfigError, did_you_mean
from mmerg.settings.kinds import PASSWORD, Part
from mmerg.settings.model import COMMANDS
from mmerg.settings.pages import groups, is_model, no_page, pages_of
from mmerg.settings.problems import COMMAND_LINE, CONFIGURATION, Problem, as_typed, error_of, unknown
from mmerg.settings.tree import fields_of, kind_at

OF_RUNS = ("ablation", "experiment")  # groups whose pages set several settings of a run
_KEY = re.compile(r"\w+(\.\w+)*")
_NOT_ON_PAGE = re.compile(r"Could not override '([^']+)'")
_NO_SUCH_PAGE = re.compile(r"In '([^']+)': Could not (?:find|load) '([^']+)'")


def explained(
    error: Exception, page: str, words: Sequence[str], own: Path | None = None, *, sweep: bool = False
) -> ConfigError:
    """An error of Hydra's as mmerg's: all problems with the words, or else what Hydra says."""
    kind = COMMANDS[page]
    by_word = {word: list(problems_of(word, kind, own, sweep=sweep)) for word in words}
    problems = [problem for of_word in by_word.values() for problem in of_word]
    if problems:
        return error_of(problems if sweep else [*problems, *_others(by_word, page, own)])
    if isinstance(error, YAMLError):
        return ConfigError(f"a page is no YAML: {' '.join(str(error).split())}", where=CONFIGURATION)
    lines = str(error).strip().splitlines() or [type(error).__name__]
    if absent := _NOT_ON_PAGE.match(lines[0]):
        what = f"{absent[1]} is on no page that is chosen"
        return ConfigError(what, where=COMMAND_LINE, hint=f"+{absent[1]}=… adds it")
    if isinstance(error, MissingConfigException) and (missing := _NO_SUCH_PAGE.match(lines[0])):
        group, _, name = missing[2].rpartition("/")
        options = sorted({*(error.options or ()), *pages_of(group, own)})  # Hydra knows those of plugins
        near = did_you_mean(name, options)
        hint = f"{near} one of {', '.join(options)}".strip()
        return ConfigError(f"{missing[1]} includes {missing[2]}, which is not there", where=CONFIGURATION, hint=hint)
    what = PASSWORD.sub("://***@", " ".join(f"{lines[0]} {error.__cause__ or ''}".split()))
    return ConfigError(what, where=COMMAND_LINE, hint="--help lists groups and settings")


def _others(by_word: Mapping[str, Sequence[Problem]], page: str, own: Path | None) -> Iterator[Problem]:
    """What is wrong with the settings that the words without a problem compose."""
    from mmerg.settings.compose import compose
    from mmerg.settings.parse import parsed

    named = {problem.key for of_word in by_word.values() for problem in of_word}
    with suppress(ConfigError):
        config = compose(page, [word for word, of_word in by_word.items() if not of_word], own)
        problems = parsed(config, COMMANDS[page], [own] if own else [])[1]
        yield from (one for one in problems if one.key.partition(".")[0] not in named)


def problems_of(argument: str, kind: type[Part], own: Path | None = None, *, sweep: bool = False) -> Iterator[Problem]:
    """What is wrong with a word of a command line."""
    prefixed, _, value = argument.partition("=")
    key = prefixed.lstrip("+~")
    if re.split(r"[./]", key)[0] == "hydra":
        return
    try:
        several = OverridesParser.create().parse_override(argument).is_sweep_override()
    except (HydraException, ValueError):
        group = next((group for group in groups(own) if argument in pages_of(group, own)), None)
        quotes = "key=value; in quotes where it has brackets: \"key='a [b]'\""
        hint = f"did you mean {group}={argument}?" if group else quotes
        yield Problem(group or key, f"{as_typed(argument)} cannot be read as a setting", hint, COMMAND_LINE)
        return
    if key in _groups(kind, own):
        yield from _problems_of_pages(prefixed, value, own, sweep)
    elif _KEY.fullmatch(key) and prefixed[0] != "+" and not _is_known(kind, key):
        yield unknown(kind, key)
    elif several and not sweep:
        yield Problem(key, f"{key} is {as_typed(value)}", f"one value; -m {argument} runs each", COMMAND_LINE)


def _is_known(kind: type[Part], key: str) -> bool:
    try:
        kind_at(kind, key)
    except KeyError:
        return False
    return True


def _problems_of_pages(prefixed: str, value: str, own: Path | None, sweep: bool) -> Iterator[Problem]:
    group = prefixed.lstrip("+~")
    pages = pages_of(group, own)
    if prefixed[0] != "~" and not re.search(r"[\[(]", value):
        for page in (one.strip("'\" ") for one in (value.split(",") if sweep else [value])):
            if page not in (*pages, "null") and not (group == "backbone" and is_model(page)):
                yield Problem(group, f"there is no {group}={page}", no_page(group, page, own), COMMAND_LINE)


def _groups(kind: type[Part], own: Path | None) -> list[str]:
    """The groups of which a command takes a page: its own, those of runs if it runs, and those of the user's folder."""
    known = {*fields_of(kind), *(OF_RUNS if "system" in fields_of(kind) else ())}
    return [group for group in groups(own) if group in known or group not in groups()]

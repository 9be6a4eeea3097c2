"""A command that composes its settings: its options and help, then one run of its job, or a sweep of Hydra's.

sys.exit(run_command(lambda: composing(job, "config", __doc__, sys.argv[1:])))
"""

from __future__ import annotations

import os
import re
import sys
from argparse import ArgumentError, ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from mmerg.errors import ConfigError, did_you_mean
from mmerg.settings.pages import conf_folder, pages_of

if TYPE_CHECKING:
    from omegaconf import DictConfig

Job: TypeAlias = Callable[[Callable[[], Any]], int]
OPTIONS = {
    "--help": "this page",
    "--version": "mmerg's version",
    "--config-dir DIR": "pages of your own, by group: DIR/dataset/mine.yaml is dataset=mine",
    "--cfg job": "print what the settings compose to, and stop; with -p GROUP a part of it",
    "-m": "a sweep: a run for each value of key=a,b",
}
_LINE = re.compile(r"^( *)(\w+):(?: +(?!#)(.+?))??(?: +# (.*))?$")
_DEFAULT = re.compile(r"^  - \"?(\w+)\"?: (\S+)", re.MULTILINE)  # "on" is true to YAML
_INSIDE = re.compile(r"^  - /(\w+)@(\w+): (\S+)", re.MULTILINE)  # a page that another includes, and where
_ELSEWHERE = ("defaults", "hydra", "stages", "vocabulary", "result", "aspects", "reader")  # a page has these for itself


class Line(Namespace):
    """A command line: settings, and options."""

    settings: list[str]
    own: Path | None
    multirun: bool
    cfg: str | None
    package: str
    resolve: bool
    help: bool
    version: bool


def read_line(arguments: Sequence[str]) -> Line:
    """The options among `arguments`, the rest being settings. Raises ConfigError for an option that is none."""
    parser = ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--config-dir", "-cd", dest="own", nargs="?", const="", type=folder_of_pages)
    parser.add_argument("--cfg", "-c", choices=["job"])
    parser.add_argument("--package", "-p", default="")
    for flag, short in {"--multirun": "-m", "--help": "-h", "--version": None, "--resolve": None}.items():
        parser.add_argument(flag, *filter(None, [short]), action="store_true")
    try:
        line, words = parser.parse_known_args(arguments, Line())
    except ArgumentError as error:
        raise ConfigError(str(error), where="command line", hint="--help lists the options") from error
    if unknown := next((word.partition("=")[0] for word in words if word.startswith("-")), None):
        names = [option.split()[0] for option in OPTIONS]
        hint = did_you_mean(unknown, names) or f"options: {', '.join(names)}"
        raise ConfigError(f"there is no option {unknown}", where="command line", hint=hint)
    line.settings = words
    return line


def folder_of_pages(given: str) -> Path:
    """The folder that --config-dir names. Raises ConfigError where there is none."""
    folder = Path(os.path.expanduser(given))  # noqa: PTH111 - Path's raises where there is no such user
    if not given or not folder.is_dir():
        hint = "a folder with a folder a group: DIR/dataset/mine.yaml"
        raise ConfigError(f"--config-dir: there is no folder {given!r}", where="command line", hint=hint)
    return folder.absolute()


def composing(job: Job, page: str, usage: str | None, arguments: Sequence[str]) -> int:
    """Runs `job` on what the command line composes of `page`; its exit code, of a sweep the worst. job: is given what
    reads its settings, which raises ConfigError for all that is wrong with them. usage: what --help begins with.
    Raises ConfigError for a command line that is wrong."""
    line = read_line(arguments)
    if line.help:
        print(help_of(page, usage or "", line.own))  # noqa: T201
        return 0
    if line.version:
        from importlib.metadata import version

        print(f"mmerg {version('mmerg')}")  # noqa: T201
        return 0
    from mmerg.settings.compose import compose, notes, sweep
    from mmerg.settings.kinds import PASSWORD
    from mmerg.settings.model import COMMANDS
    from mmerg.settings.parse import checked, parse, with_defaults

    def member(config: DictConfig) -> int:
        return job(lambda: parse(config, COMMANDS[page]))

    settings = checked(line.settings, page, line.own, sweep=line.multirun)
    if line.multirun:
        return sweep(member, page, settings, line.own)
    composed = compose(page, settings, line.own)
    if line.cfg:
        from omegaconf import OmegaConf
        from omegaconf.errors import OmegaConfBaseException

        config = with_defaults(composed.config, COMMANDS[page]) if line.resolve else composed.config
        node = OmegaConf.select(config, line.package) if line.package else config
        if not OmegaConf.is_config(node):
            raise ConfigError(f"-p: no group is called {line.package}", where="command line", hint="as -p backend")
        try:
            text = OmegaConf.to_yaml(node, resolve=line.resolve)
        except OmegaConfBaseException as error:
            what = str(error).splitlines()[0]
            raise ConfigError(what, where="configuration", hint="set it, or leave --resolve away") from error
        print(PASSWORD.sub("://***@", text), end="")  # noqa: T201
        return 0
    for note in notes(composed, line.own, COMMANDS[page].model_fields):
        print(note, file=sys.stderr)  # noqa: T201
    return member(composed.config)


def help_of(page: str, usage: str, own: Path | None = None) -> str:
    """The help of the command that composes `page`, from the pages as they are written: nothing is composed."""
    chosen = _default_pages(page)
    of_runs = ["experiment"] if "system" in chosen else []
    groups = [f"  {group}={'|'.join(pages_of(group, own))}" for group in (*chosen, *of_runs)]
    options = [f"  {option:<18}{told}" for option, told in OPTIONS.items()]
    parts = {"Groups (group=page)": groups, "Settings (key=value)": [*_settings(page)], "Options": options}
    told = (f"{title}:\n" + "\n".join(lines) for title, lines in parts.items())
    return "\n\n".join([usage.strip(), *told])


def setting_keys(page: str) -> list[str]:
    """The groups and settings of a command, by the keys that set them."""
    groups = _default_pages(page)
    settings = (line.strip().partition("=")[0] for line in _settings(page) if re.match(r"  [\w.]+=", line))
    return [*groups, *(["experiment"] if "system" in groups else []), *settings]


def _default_pages(page: str) -> dict[str, str]:
    """The page that each group of a command has where none is chosen."""
    return dict(_DEFAULT.findall((conf_folder() / f"{page}.yaml").read_text(encoding="utf-8")))


def _settings(page: str) -> Iterator[str]:
    """The settings of a command, of its groups those of the default pages, of a dataset those of MELD."""
    yield from _settings_in(f"{page}.yaml")
    for group, default in _default_pages(page).items():
        shown = "meld" if group == "dataset" else default
        yield from ("", f"  of {group}={shown}{', which is the default' * (shown == default)}")
        yield from _settings_in(f"{group}/{shown}.yaml", f"{group}.")


def _settings_in(file: str, above: str = "") -> Iterator[str]:
    """A line a setting: what a command line gives to set it as it is, and what its page says of it."""
    parents: list[str] = []
    page = (conf_folder() / file).read_text(encoding="utf-8")
    for line in page.splitlines():
        found = _LINE.match(line)
        if not found:
            continue
        depth, name, value, told = len(found[1]) // 2, found[2], found[3], found[4]
        parents = [*parents[:depth], name]
        if value is None or name.startswith("_") or not set(parents).isdisjoint(_ELSEWHERE):
            continue
        setting = f"  {above}{'.'.join(parents)}={value.replace(', ', ',')}"
        yield f"{setting:<44}  {told}" if told else setting
    for group, key, name in _INSIDE.findall(page):
        yield from _settings_in(f"{group}/{name}.yaml", f"{above}{key}.")

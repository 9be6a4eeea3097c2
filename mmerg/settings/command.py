"""A command whose settings Hydra composes: it reads the command line, and runs its job once or as a sweep.

def main() -> int:
    return settings_command("data", job, __doc__)    # job(settings) does the work and gives the exit code
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentError, ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from mmerg.console.terminal import GOES_ON, run_command, undisturbed
from mmerg.errors import ConfigError, did_you_mean
from mmerg.settings.listing import OPTIONS, help_text

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from mmerg.settings.model import RunSettings

Job: TypeAlias = Callable[[Any], int]  # from settings to an exit code


@dataclass(frozen=True)
class Row:
    """One run of a sweep. words: its command line. own: the user's folder of pages."""

    words: tuple[str, ...]
    own: Path | None

    def settings(self) -> RunSettings:
        """Raises ConfigError for what is wrong with them."""
        from mmerg.settings.compose import compose
        from mmerg.settings.model import RunSettings
        from mmerg.settings.parse import parse

        with undisturbed():
            return parse(compose("config", self.words, self.own).config, RunSettings)


Sweep: TypeAlias = Callable[[Sequence[Row], int], int]


class Line(Namespace):
    """A command line: settings, and options."""

    settings: list[str]
    own: Path | None
    multirun: bool
    at_once: int
    cfg: str | None
    package: str
    help: bool
    version: bool


def read_line(arguments: Sequence[str]) -> Line:
    """Tells options from settings. Raises ConfigError for an option that there is not."""
    parser = ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--config-dir", "-cd", dest="own", nargs="?", const="", type=folder_of_pages)
    parser.add_argument("--cfg", "-c", choices=["job"])
    parser.add_argument("--package", "-p", default="")
    parser.add_argument("-j", dest="at_once", type=int, default=1)
    for flags in (("--multirun", "-m"), ("--help", "-h"), ("--version",)):
        parser.add_argument(*flags, action="store_true")
    try:
        line, words = parser.parse_known_args(arguments, Line())
    except ArgumentError as error:
        raise ConfigError(str(error), where="command line", hint="--help lists the options") from error
    if line.at_once < 1:
        raise ConfigError(f"-j is {line.at_once}", where="command line", hint="how many rows run at once, 1 or more")
    line.settings = words
    for option in (word.partition("=")[0] for word in words if word.startswith("-")):
        names = [name.split()[0] for name in OPTIONS]
        hint = did_you_mean(option, names) or f"options: {', '.join(names)}"
        raise ConfigError(f"there is no option {option}", where="command line", hint=hint)
    return line


def folder_of_pages(given: str) -> Path:
    """The folder that --config-dir names. Raises ConfigError where there is none."""
    folder = Path(os.path.expanduser(given))  # noqa: PTH111 - Path's raises where there is no such user
    if not given or not folder.is_dir():
        hint = "a folder with a folder a group: DIR/dataset/mine.yaml"
        raise ConfigError(f"--config-dir: there is no folder {given!r}", where="command line", hint=hint)
    return folder.absolute()


def settings_command(
    page: str,
    job: Job,
    usage: str | None,
    arguments: Sequence[str] | None = None,
    *,
    interrupted: str = GOES_ON,
    sweep: Sweep | None = None,
) -> int:
    """Runs a command as `run_composed` does, prints its errors, and gives its exit code. interrupted: what it says
    after Ctrl-C."""
    given = sys.argv[1:] if arguments is None else arguments
    return run_command(lambda: run_composed(page, job, usage, given, sweep), interrupted)


def run_composed(page: str, job: Job, usage: str | None, arguments: Sequence[str], sweep: Sweep | None = None) -> int:
    """Composes `page` with the command line, runs `job` on the settings, and gives its exit code. usage: the first
    lines of --help. sweep: runs the rows of a sweep, so many at once; a command without it has no sweeps. Raises
    ConfigError for all that is wrong with the command line or its settings."""
    line = read_line(arguments)
    if line.help:
        print(help_text(page, usage or "", line.own, sweep=sweep is not None))  # noqa: T201
        return 0
    if line.version:
        return print_version()
    from mmerg.settings.compose import compose, notes, rows  # Hydra is loaded only where something is composed
    from mmerg.settings.model import COMMANDS
    from mmerg.settings.parse import checked, parse

    if line.multirun and sweep is None:
        raise ConfigError("sweeps are for mmerg run", where="-m", hint="give a command for each value")
    if line.at_once > 1 and not line.multirun:
        raise ConfigError("-j is for sweeps", where="command line", hint="-m -j 2 runs two rows at once")
    with undisturbed():  # Hydra makes an error of its own of an interruption
        words = checked(line.settings, page, line.own, sweep=line.multirun)
        swept = [Row(tuple(row), line.own) for row in rows(page, words, line.own)] if line.multirun else []
    if line.multirun and sweep:
        if not swept:
            hint = "give each key one value at least, separated by commas"
            raise ConfigError("the sweep has no row", where="command line", hint=hint)
        return sweep(swept, line.at_once)
    with undisturbed():
        composed = compose(page, words, line.own)
        settings = None if line.cfg else parse(composed.config, COMMANDS[page])
    if line.cfg:
        return _print_config(composed.config, line.package)
    for note in notes(composed, line.own, COMMANDS[page].model_fields):
        print(note, file=sys.stderr)  # noqa: T201
    return job(settings)


def print_version() -> int:
    from importlib.metadata import version

    print(f"mmerg {version('mmerg')}")  # noqa: T201
    return 0


def _print_config(config: DictConfig, package: str) -> int:
    from omegaconf import OmegaConf

    from mmerg.settings.kinds import PASSWORD

    node = OmegaConf.select(config, package) if package else config
    if not OmegaConf.is_config(node):
        raise ConfigError(f"-p: no group is called {package}", where="command line", hint="as -p backend")
    print(PASSWORD.sub("://***@", OmegaConf.to_yaml(node)), end="")  # noqa: T201
    return 0

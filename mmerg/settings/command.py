"""A command that composes its settings: its options, then one run of its job, or a sweep of Hydra's.

sys.exit(run_command(lambda: composing(job, "config", sys.argv[1:])))
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from mmerg.errors import ConfigError

if TYPE_CHECKING:
    from omegaconf import DictConfig

OPTIONS = {
    "--help": "this page",
    "--version": "mmerg's version",
    "--config-dir DIR": "pages of your own, by group: DIR/dataset/mine.yaml is dataset=mine",
    "--cfg job": "print what the settings compose to, and stop; with -p GROUP a part of it",
    "-m": "a sweep: a run for each value of key=a,b",
}


@dataclass(frozen=True)
class Line:
    """A command line: settings, and options."""

    settings: tuple[str, ...]
    own: Path | None = None
    sweep: bool = False
    cfg: bool = False
    package: str = ""
    resolve: bool = False
    help: bool = False
    version: bool = False


def read_line(arguments: Sequence[str]) -> Line:
    """The options among `arguments`, the rest being settings. Raises ConfigError for an option that is none."""
    settings: list[str] = []
    found: dict[str, str] = {}
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if not word.startswith("-"):
            settings.append(word)
        elif name in ("--config-dir", "-cd", "--cfg", "-c", "--package", "-p"):
            long = {"-cd": "--config-dir", "-c": "--cfg", "-p": "--package"}.get(name, name)
            found[long] = value if equals else next(words, "")
        elif word in ("-m", "--multirun", "-h", "--help", "--version", "--resolve"):
            found[{"-m": "--multirun", "-h": "--help"}.get(word, word)] = "yes"
        else:
            names = [option.split()[0] for option in OPTIONS]
            near = get_close_matches(name, names, 1)
            hint = f"did you mean {near[0]}?" if near else f"options: {', '.join(names)}"
            raise ConfigError(f"there is no option {name}", where="command line", hint=hint)
    if found.get("--cfg", "job") != "job":
        raise ConfigError(f"--cfg is {found['--cfg']!r}", where="command line", hint="--cfg job")
    own = _folder(found["--config-dir"]) if "--config-dir" in found else None
    flags = {name: f"--{name}" in found for name in ("cfg", "resolve", "help", "version")}
    return Line(tuple(settings), own, "--multirun" in found, package=found.get("--package", ""), **flags)


def _folder(given: str) -> Path:
    folder = Path(os.path.expanduser(given))  # noqa: PTH111 - Path's raises where there is no such user
    if not given or not folder.is_dir():
        hint = "a folder with a folder a group: DIR/dataset/mine.yaml"
        raise ConfigError(f"--config-dir: there is no folder {given!r}", where="command line", hint=hint)
    return folder.absolute()


def composing(job: Callable[[DictConfig], int], page: str, usage: str | None, arguments: Sequence[str]) -> int:
    """Runs `job` on what the command line composes of `page`; its exit code, of a sweep the worst. usage: what --help
    begins with. Raises ConfigError for a command line that is wrong."""
    line = read_line(arguments)
    if line.help:
        from mmerg.settings.help import help_of

        print(help_of(page, usage or "", line.own))  # noqa: T201
        return 0
    if line.version:
        from importlib.metadata import version

        print(f"mmerg {version('mmerg')}")  # noqa: T201
        return 0
    from mmerg.settings.compose import checked, compose, notes, sweep

    settings = checked(line.settings, page, line.own, sweep=line.sweep)
    if line.sweep:
        return sweep(job, page, settings, line.own)
    composed = compose(page, settings, line.own)
    if line.cfg:
        from omegaconf import OmegaConf

        node = OmegaConf.select(composed.config, line.package) if line.package else composed.config
        if not OmegaConf.is_config(node):
            raise ConfigError(f"-p: no group is called {line.package}", where="command line", hint="as -p backend")
        print(OmegaConf.to_yaml(node, resolve=line.resolve), end="")  # noqa: T201
        return 0
    for note in notes(composed, line.own):
        print(note, file=sys.stderr)  # noqa: T201
    return job(composed.config)

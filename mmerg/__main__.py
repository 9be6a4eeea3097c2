"""Lists and starts the commands: `mmerg run dataset=demo` is `python -m mmerg.run dataset=demo`.

Each module in this folder with a `main` is a command. `mmerg --help` shows the first line of its docstring.
"""

import os
import sys
from importlib import import_module
from keyword import iskeyword

HYDRA = ("run", "data", "doctor", "import", "judge", "rate", "serve", "train")  # commands that compose settings
USAGE = """mmerg COMMAND …

Commands that compose settings ({hydra}) take them as key=value;
the others take --options, and bench both. `mmerg COMMAND --help` lists what a command takes.

Commands:
{commands}

eval "$(mmerg -sc install=bash)" lets Tab complete commands, options and settings."""


def main() -> int:
    """The command that the first argument names, with the others as its own."""
    try:
        return _main()
    except KeyboardInterrupt:  # while its modules are imported, which takes seconds
        print("interrupted", file=sys.stderr)  # noqa: T201
        return 130


def _main() -> int:
    from mmerg.console.terminal import WRONG, commands, run_command, tolerate_closed_output

    tolerate_closed_output()
    name, rest = (sys.argv[1] if len(sys.argv) > 1 else "--help"), sys.argv[2:]
    if name in ("-h", "--help", "help"):
        lines = "\n".join(f"  {name:<10}  {what}" for name, what in commands().items())
        print(USAGE.format(hydra=", ".join(HYDRA), commands=lines))  # noqa: T201
        return 0 if len(sys.argv) > 1 else WRONG
    if name == "--version":
        from importlib.metadata import version

        print(f"mmerg {version('mmerg')}")  # noqa: T201
        return 0
    if name in ("-sc", "--shell-completion"):
        return _complete(rest)
    if name not in commands() or not _in_folder():
        return run_command(lambda: _refuse(name))
    sys.argv[:] = [f"mmerg {name}", *rest]
    return int(import_module(f"mmerg.{name}{'_' * iskeyword(name)}").main())


def _complete(arguments: list[str]) -> int:
    """Hydra's shell completion for `mmerg COMMAND …`. The shell gives the line as typed so far in COMP_LINE."""
    from mmerg.console.terminal import commands

    _, _, typed = os.environ.get("COMP_LINE", "").partition(" ")
    name, space, rest = typed.lstrip().partition(" ")
    if "COMP_LINE" not in os.environ:
        name = "run"  # install and uninstall are the same for all
    elif not space:
        print(" ".join(one for one in commands() if one.startswith(name)))  # noqa: T201
        return 0
    elif name not in HYDRA:
        return 0
    os.environ["COMP_LINE"] = f"mmerg {rest}"
    sys.argv[1:] = ["-sc", *arguments]
    return int(import_module(f"mmerg.{name}{'_' * iskeyword(name)}").main())


def _in_folder() -> bool:
    """Whether the working directory is still there."""
    try:
        return bool(os.getcwd())  # noqa: PTH109
    except FileNotFoundError:
        return False


def _refuse(name: str) -> int:
    from mmerg.console.terminal import commands
    from mmerg.errors import ConfigError, did_you_mean

    if name in commands():
        raise ConfigError("the working directory was removed", where="command line", hint="cd to a folder that exists")
    near = did_you_mean(name, commands()).replace("mean ", "mean mmerg ")
    hint = near or f"one of {', '.join(commands())}"
    raise ConfigError(f"there is no command {name}", where="command line", hint=hint)


if __name__ == "__main__":
    sys.exit(main())

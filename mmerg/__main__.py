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
    """Runs the command that the first argument names."""
    try:
        return _main()
    except KeyboardInterrupt:  # during imports, which take seconds
        print("interrupted", file=sys.stderr)  # noqa: T201
        return 130


def _main() -> int:
    from mmerg.console.terminal import EXIT_ERROR, list_commands, replace_unprintable, run_command

    replace_unprintable()
    name, rest = (sys.argv[1] if len(sys.argv) > 1 else "--help"), sys.argv[2:]
    if name in ("-h", "--help", "help"):
        lines = "\n".join(f"  {name:<10}  {what}" for name, what in list_commands().items())
        print(USAGE.format(hydra=", ".join(HYDRA), commands=lines))  # noqa: T201
        return 0 if len(sys.argv) > 1 else EXIT_ERROR
    if name == "--version":
        from importlib.metadata import version

        print(f"mmerg {version('mmerg')}")  # noqa: T201
        return 0
    if name in ("-sc", "--shell-completion"):
        return _complete(rest)
    if name not in list_commands():
        return run_command(lambda: _refuse(name))
    sys.argv[:] = [f"mmerg {name}", *rest]
    return int(import_module(f"mmerg.{name}{'_' * iskeyword(name)}").main())


def _complete(arguments: list[str]) -> int:
    """Completes `mmerg COMMAND …` with Hydra. The shell puts the typed line into COMP_LINE."""
    from mmerg.console.terminal import list_commands

    _, _, typed = os.environ.get("COMP_LINE", "").partition(" ")
    name, space, rest = typed.lstrip().partition(" ")
    if "COMP_LINE" not in os.environ:
        name = "run"  # install and uninstall are the same for all
    elif not space:
        print(" ".join(command for command in list_commands() if command.startswith(name)))  # noqa: T201
        return 0
    elif name not in HYDRA:
        return 0
    os.environ["COMP_LINE"] = f"mmerg {rest}"
    sys.argv[1:] = ["-sc", *arguments]
    return int(import_module(f"mmerg.{name}{'_' * iskeyword(name)}").main())


def _refuse(name: str) -> int:
    from mmerg.console.terminal import list_commands
    from mmerg.errors import ConfigError, did_you_mean

    near = did_you_mean(name, list_commands()).replace("mean ", "mean mmerg ")
    hint = near or f"one of {', '.join(list_commands())}"
    raise ConfigError(f"there is no command {name}", where="command line", hint=hint)


if __name__ == "__main__":
    sys.exit(main())

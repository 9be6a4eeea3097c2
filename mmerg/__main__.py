"""The commands by name: `mmerg run dataset=demo` is `python -m mmerg.run dataset=demo`.

Each module in this folder that has a `main` is a command. The first line of its docstring stands in `mmerg --help`.
"""

import sys
from importlib import import_module
from keyword import iskeyword

from mmerg.console.terminal import WRONG, commands, run_command, tolerate_closed_output
from mmerg.errors import ConfigError, did_you_mean

USAGE = """mmerg COMMAND …

Commands that compose settings (run, data, doctor, import, judge, serve, train) take them as key=value;
the others take --options, and bench both. `mmerg COMMAND --help` lists what a command takes.

Commands:
{commands}

eval "$(mmerg completion bash)" lets Tab complete commands, pages and settings; mmerg --version tells the version."""


def main() -> int:
    """The command that the first argument names, with the others as its own."""
    tolerate_closed_output()
    name, rest = (sys.argv[1] if len(sys.argv) > 1 else "--help"), sys.argv[2:]
    if name in ("-h", "--help", "help"):
        print(USAGE.format(commands="\n".join(f"  {name:<10}  {what}" for name, what in commands().items())))  # noqa: T201
        return 0 if len(sys.argv) > 1 else WRONG
    if name == "--version":
        from mmerg.settings.command import print_version

        return print_version()
    if name not in commands():
        return run_command(lambda: _refuse(name))
    sys.argv[:] = [f"mmerg {name}", *rest]
    return int(import_module(f"mmerg.{name}{'_' * iskeyword(name)}").main())


def _refuse(name: str) -> int:
    near = did_you_mean(name, commands()).replace("mean ", "mean mmerg ")
    hint = near or f"one of {', '.join(commands())}"
    raise ConfigError(f"there is no command {name}", where="command line", hint=hint)


if __name__ == "__main__":
    sys.exit(main())

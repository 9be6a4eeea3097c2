"""How long `python -m mmerg.run --help` takes, against a bare `python -c pass` and against `import hydra` alone.

Each is a process of its own with warm bytecode (a cache in a temporary folder, so nothing is left in the source tree),
in turn within each round. Also says where the time of the imports goes: each of the `--top` packages' own time, its
modules summed, from `python -X importtime`, the smallest of three runs.

Prints medians over rounds with their range as text, then one line of JSON.

    python benchmarks/startup.py --rounds 7
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping

from benchmarks.parts import alternating, options, publish, ratio, seconds, spread
from tests.ollama_server import ROOT

HELP = ("-m", "mmerg.run", "--help", "dataset=demo")
COMMANDS = {
    "pass": ("-c", "pass"),
    "import hydra": ("-c", "import hydra"),
    "import mmerg.run": ("-c", "import mmerg.run"),
    "run --help": HELP,
    "show --help": ("-m", "mmerg.show", "--help"),
}
_IMPORTED = re.compile(r"^import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", re.MULTILINE)


def launch(arguments: tuple[str, ...], environment: Mapping[str, str]) -> str:
    """Run Python to its end; what it said on stderr."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode and not done.stdout:  # who prints its help has started, whatever it says on leaving
        raise SystemExit(f"{' '.join(arguments)} ended with exit code {done.returncode}:\n{done.stderr[-1000:]}")
    return done.stderr


def own_times(importtime: str) -> dict[str, float]:
    """Milliseconds that each top-level package's modules took themselves, what they import left out."""
    packages: dict[str, float] = {}
    for microseconds, module in _IMPORTED.findall(importtime):
        package = module.partition(".")[0]
        packages[package] = packages.get(package, 0.0) + int(microseconds) / 1000
    return packages


def main() -> None:
    """Time the commands, list the imports, print."""
    given = options(__doc__, rounds=7, top=15)
    with tempfile.TemporaryDirectory() as folder:
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = folder

        def timed(arguments: tuple[str, ...]) -> Callable[[], float]:
            return lambda: seconds(lambda: launch(arguments, environment))

        variants = {name: timed(arguments) for name, arguments in COMMANDS.items()}
        alternating(variants, 1)  # bytecode
        rounds = alternating(variants, given.rounds)
        runs = [own_times(launch(("-X", "importtime", *HELP), environment)) for _ in range(3)]
    packages = {name: min(run.get(name, 0.0) for run in runs) for name in runs[0]}
    heaviest = dict(sorted(packages.items(), key=lambda pair: -pair[1])[: given.top])
    times = {name: spread([1000 * row[name] for row in rounds]) for name in COMMANDS}
    to_pass = {name: ratio(rounds, name, "pass") for name in COMMANDS if name != "pass"}
    to_hydra = ratio(rounds, "run --help", "import hydra")
    lines = [
        f"medians of {given.rounds} rounds (range): milliseconds, ratio to `python -c pass`",
        *(f"  {name:<18}{times[name].median:6.0f}   {to_pass.get(name, 1.0)}" for name in COMMANDS),
        f"  run --help against import hydra: {to_hydra}",
        f"imports of run --help, each package's own milliseconds (sum {sum(packages.values()):.0f}):",
        *(f"  {name:<18}{took:6.0f}" for name, took in heaviest.items()),
    ]
    publish(
        lines,
        {
            **{"benchmark": "startup", "ms": times, "ratio_to_pass": to_pass, "ratio_to_hydra": to_hydra},
            **{"imports_ms": {name: round(took, 1) for name, took in heaviest.items()}},
            **vars(given),
        },
    )


if __name__ == "__main__":
    main()

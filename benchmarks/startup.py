"""How long `python -m mmerg.run --help` takes, against a bare `python -c pass` and against `import hydra` alone.

Each is a process of its own with warm bytecode (a cache in a temporary folder, so nothing is left in the source tree),
in turn within each round. `python -X importtime -m mmerg.run --help` says where the time goes.

Prints medians over rounds with their range as text, then one line of JSON.

    python benchmarks/startup.py --rounds 7
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping

from benchmarks.parts import alternating, options, publish, ratio, seconds, spread
from tests.ollama_server import ROOT

COMMANDS = {
    "pass": ("-c", "pass"),
    "import hydra": ("-c", "import hydra"),
    "import mmerg.run": ("-c", "import mmerg.run"),
    "run --help": ("-m", "mmerg.run", "--help", "dataset=demo"),
    "show --help": ("-m", "mmerg.show", "--help"),
}


def launch(arguments: tuple[str, ...], environment: Mapping[str, str]) -> None:
    """Run Python to its end."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode and not done.stdout:  # who prints its help has started, whatever it says on leaving
        raise SystemExit(f"{' '.join(arguments)} ended with exit code {done.returncode}:\n{done.stderr[-1000:]}")


def main() -> None:
    """Time the commands, print."""
    given = options(__doc__, rounds=7)
    with tempfile.TemporaryDirectory() as folder:
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = folder

        def timed(arguments: tuple[str, ...]) -> Callable[[], float]:
            return lambda: seconds(lambda: launch(arguments, environment))

        variants = {name: timed(arguments) for name, arguments in COMMANDS.items()}
        alternating(variants, 1)  # bytecode
        rounds = alternating(variants, given.rounds)
    times = {name: spread([1000 * row[name] for row in rounds]) for name in COMMANDS}
    to_pass = {name: ratio(rounds, name, "pass") for name in COMMANDS if name != "pass"}
    to_hydra = ratio(rounds, "run --help", "import hydra")
    lines = [
        f"medians of {given.rounds} rounds (range): milliseconds, ratio to `python -c pass`",
        *(f"  {name:<18}{times[name].median:6.0f}   {to_pass.get(name, 1.0)}" for name in COMMANDS),
        f"  run --help against import hydra: {to_hydra}",
    ]
    result = {"benchmark": "startup", "ms": times, "ratio_to_pass": to_pass, "ratio_to_hydra": to_hydra}
    publish(lines, result | vars(given))


if __name__ == "__main__":
    main()

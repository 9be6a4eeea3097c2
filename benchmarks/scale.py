"""Measures the time and memory per sample as a run grows, and the cost of repeating the command after the run.

Each run is a separate process: `mmerg run` with one call per sample on the dry backend, which responds at once. The run
folder is complete. Results by number of samples:

    ms      processor time per sample, (T(n) - T(1)) / (n - 1): without start-up, but with reading the corpus
    times   the same as a ratio to the run of 100 samples
    MB      peak memory of the process
    again   the same command over the finished run: wall time in seconds minus that of a run of one sample, and MB

    python benchmarks/scale.py --largest 10000
"""

import statistics
import tempfile
from pathlib import Path

from benchmarks.parts import Usage, measure_process, one_call_settings, parse_options, print_results

SIZES, BASE = (1, 100, 1_000, 10_000, 100_000), 100


def measure_run(folder: Path, count: int, rounds: int) -> tuple[Usage, Usage]:
    """Returns the medians over rounds for a run of `count` samples, and for the same command after it."""
    first: list[Usage] = []
    again: list[Usage] = []
    for number in range(rounds):
        settings = one_call_settings(folder, count)
        command = ("-m", "mmerg.run", "backend=dry", f"runs={folder}/{count}-{number}", *settings)
        first.append(measure_process(*command))
        again.append(measure_process(*command))
    return _median(first), _median(again)


def _median(usages: list[Usage]) -> Usage:
    return Usage(*map(statistics.median, zip(*usages, strict=True)))


def main() -> None:
    options = parse_options(__doc__, largest=1_000, rounds=3)
    results: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        start, start_again = measure_run(Path(name), 1, options.rounds)
        for count in [size for size in SIZES if 1 < size <= options.largest]:
            first, again = measure_run(Path(name), count, options.rounds if count <= BASE else 1)
            results[f"{count}, ms"] = 1000 * (first.processor - start.processor) / (count - 1)
            results[f"{count}, times"] = results[f"{count}, ms"] / results[f"{BASE}, ms"]
            results[f"{count}, MB"] = first.megabytes
            results[f"{count}, again s"] = again.wall - start_again.wall
            results[f"{count}, again MB"] = again.megabytes
    print_results(options, results)


if __name__ == "__main__":
    main()

"""What a sample costs, in time and memory, as a run grows, and what the same command costs once the run is finished.

Each run is a process of its own, `mmerg run` of one call a sample over so many drawn dialogues, on the backend that
answers at once, with results, events and manifest as always. Told are, by number of samples:

    ms      processor time a sample, (T(n) - T(1)) / (n - 1): start-up falls out, reading the corpus does not
    times   that of a run of 100
    MB      the process's peak memory
    again   seconds of the clock, less those of a run of one, and MB of the same command over the finished run

    python benchmarks/scale.py --largest 10000
"""

import statistics
import tempfile
from pathlib import Path

from benchmarks.parts import Taken, one_call, options, process, publish

SIZES, BASE = (1, 100, 1_000, 10_000, 100_000), 100


def measured(folder: Path, count: int, rounds: int) -> tuple[Taken, Taken]:
    """Medians over rounds of a run, and of the same command after it."""
    found = []
    for number in range(rounds):
        command = ("-m", "mmerg.run", "backend=dry", f"runs={folder}/{count}-{number}", *one_call(folder, count))
        found.append((process(*command), process(*command)))
    first, again = (Taken(*map(statistics.median, zip(*each, strict=True))) for each in zip(*found, strict=True))
    return first, again


def main() -> None:
    """Run all sizes, print."""
    given = options(__doc__, largest=1_000, rounds=3)
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        start, one_again = measured(Path(name), 1, given.rounds)
        for count in [size for size in SIZES if 1 < size <= given.largest]:
            first, again = measured(Path(name), count, given.rounds if count <= BASE else 1)
            figures[f"{count}, ms"] = 1000 * (first.processor - start.processor) / (count - 1)
            figures[f"{count}, times"] = figures[f"{count}, ms"] / figures[f"{BASE}, ms"]
            figures[f"{count}, MB"] = first.megabytes
            figures |= {f"{count}, again s": again.wall - one_again.wall, f"{count}, again MB": again.megabytes}
    publish(given, figures)


if __name__ == "__main__":
    main()

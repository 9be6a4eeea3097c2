"""What a finished run costs the command that is called again: seconds to take it up, and memory.

Run folders of so many samples are written as a run writes them, results of 1.5 kB and events of 30 kB each. A process
of its own then does what the command does with a finished run: open it, see that nothing is pending, the tables, the
order. Its seconds are of that alone, its memory is the peak of the whole process (ru_maxrss).

    python benchmarks/resume.py --most 100000
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter

from rich.console import Console

from mmerg.console.run_tables import Summary, failures
from mmerg.runs import events
from mmerg.runs.folder import Run
from mmerg.runs.result import Result
from tests.scoring.run_builder import HISTORY, manifest_of, result

ROOT = Path(__file__).parents[1]
SIZES = (1_000, 10_000, 100_000)
PLAN = dict.fromkeys(("context", "goal", "stance", "tactic", "tone"), "something that is rather long")


def names(count: int) -> list[str]:
    return [f"test_dia{number}/3" for number in range(count)]


def made(folder: Path, count: int) -> float:
    """Writes a finished run; returns the seconds that a sample's events and result took to write."""
    base = result("x/3", "That must have been hard. " * 3, "sadness", plan=PLAN, gold="joy", history=HISTORY * 3)
    told = events.Produced(sample="x", t=0, stage="sgrg", symbol="R", output="words " * 250)

    def work(name: str, emit: events.Emit) -> Result:
        for _ in range(20):
            emit(told.model_copy(update={"sample": name}))
        return Result.model_construct(**{**dict(base), "id": name})

    with Run(folder, manifest_of([], samples=count)) as run:
        start = perf_counter()
        for name in names(count):
            run.record(name, partial(work, name))
        return (perf_counter() - start) / count


def taken_up(folder: Path, count: int) -> dict[str, float]:
    """Seconds, and peak memory in MB (10^6 bytes) of this process."""
    start = perf_counter()
    with Run(folder, manifest_of([], samples=count)) as run:
        assert not run.results.lost
        assert all(name in run.results for name in names(count))
        run.seal(names(count))
        results = run.results.values()
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
            summary = Summary(results)
            Console(file=nowhere).print(summary.replies(), *summary.notes(), failures(summary.failed))
    seconds = perf_counter() - start
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes
    return {"seconds": seconds, "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6}


def main() -> None:
    if sys.argv[1:2] == ["--take-up"]:
        sys.stdout.write(json.dumps(taken_up(Path(sys.argv[2]), int(sys.argv[3]))))
        return
    from benchmarks.parts import options, publish  # not above: what is measured holds little else

    given = options(__doc__, most=10_000)
    lines, found = [], {}
    for count in [size for size in SIZES if size <= given.most]:
        with tempfile.TemporaryDirectory() as name:
            written = made(Path(name) / "run", count)
            command = [sys.executable, "-m", "benchmarks.resume", "--take-up", f"{name}/run", str(count)]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        one = json.loads(done.stdout) | {"written_us": 1e6 * written}
        found[str(count)] = one
        lines.append(
            f"{count:>7} samples: {one['seconds']:.2f} s, {one['mb']:.0f} MB; {one['written_us']:.0f} µs written"
        )
    publish(lines, {"benchmark": "resume", "by_samples": found})


if __name__ == "__main__":
    main()

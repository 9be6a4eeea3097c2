"""What a report costs, against reading the run's trace with `json.loads`, and the size of its folder.

Writes runs of MERG with one to three passes and frames, then, in alternation within each round:

    json     every line of the trace through `json.loads`: what anything that reads all of it must do
    report   `write_report` into a new folder, plots and all

Prints seconds, ratios, megabytes and the largest page, medians over rounds with their range, then one line of JSON.
Times are this machine's; ratios come from one round each and carry over.

    PYTHONPATH=. python benchmarks/report.py --samples 30 300 --rounds 3
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.parts import alternating, publish, ratio, seconds, spread
from mmerg.reporting.write import write_report
from mmerg.runs.folder import TRACE
from tests.reporting.parts import Told, build

PASSES = (("1111",), ("0111", "1111"), ("1011", "1101", "1111"), ("1101", "1001"))
MB = 1e6


def run_of(folder: Path, samples: int) -> Path:
    """A run folder with so many samples, no two of the same words."""
    told = [
        Told(f"dialogue{number}/4", PASSES[number % len(PASSES)], mark=f"({number}) and as many words as replies have")
        for number in range(samples)
    ]
    return build(folder, told)


def loaded(trace: Path) -> None:
    """The base."""
    with trace.open("rb") as file:
        for line in file:
            json.loads(line)


def written(run: Path) -> float:
    """Seconds to write a report where there was none."""
    out = run / "report"
    shutil.rmtree(out, ignore_errors=True)
    return seconds(lambda: write_report([run], out, faces="keep", say=lambda _: None))


def main() -> None:
    """Write runs and reports, print."""
    parser = argparse.ArgumentParser(description="What a report costs.")
    parser.add_argument("--samples", type=int, nargs="+", default=[30, 300])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    lines = ["seconds to write a report, milliseconds a sample, times as long as json.loads; its megabytes"]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for samples in options.samples:
            run = run_of(Path(folder) / f"run-{samples}", samples)
            written(run)  # imports
            trace = run / TRACE
            variants = {"json": partial(seconds, partial(loaded, trace)), "report": partial(written, run)}
            rounds = alternating(variants, options.rounds)
            took, times = spread([row["report"] for row in rounds]), ratio(rounds, "report", "json")
            files = [file for file in (run / "report").rglob("*") if file.is_file()]
            size = sum(file.stat().st_size for file in files) / MB
            largest = max((file.stat().st_size, file.name) for file in files)
            lines.append(
                f"  {samples:6} samples   {took} s   {1000 * took.median / samples:.1f} ms   {times} times   "
                f"{size:.1f} MB in {len(files)} files, the largest {largest[1]} with {largest[0] / MB:.2f} MB"
            )
            found[str(samples)] = {
                "trace_mb": round(trace.stat().st_size / MB, 2),
                "seconds": took.rounded(),
                "report_to_json": times.rounded(),
                "mb": round(size, 2),
                "files": len(files),
                "largest": [largest[1], largest[0]],
            }
    publish(lines, {"benchmark": "report", "rounds": options.rounds, "samples": found})


if __name__ == "__main__":
    main()

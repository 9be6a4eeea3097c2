"""A run that is killed again and again against one that nobody disturbs: nothing lost, doubled or changed.

A process works on 40 samples with four threads; it is ended with SIGKILL after a random time, and started again, so
many times, and then left to its end. Its results must be those of an undisturbed run byte for byte, each sample's
events whole, and no sample that had been finished before a kill done again.

    python benchmarks/killed.py --kills 50
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter, sleep

from mmerg.runs import events
from mmerg.runs.folder import RESULTS, Run, read_results
from mmerg.runs.manifest import MANIFEST
from mmerg.runs.result import Result
from mmerg.runs.samples import SAMPLES, read_events
from tests.scoring.run_builder import manifest_of

ROOT = Path(__file__).parents[1]
SAMPLES_OF_IT, PAUSE = 40, 0.002  # seconds from one event to the next


def work(folder: Path) -> None:
    """What is killed: does what is left, and writes down the samples that it begins."""
    names = [f"d{number}/é {number}" for number in range(SAMPLES_OF_IT)]
    with Run(folder, manifest_of([])) as run, (folder.parent / "begun").open("a", encoding="utf-8") as begun:

        def one(sample: str) -> Result:
            begun.write(f"{sample}\n")
            begun.flush()
            with run.recording(sample) as emit:
                for t in range(10):
                    told = events.Produced(sample=sample, t=t, stage="sgrg", symbol="R", output="words " * 500)
                    emit(told)
                    sleep(PAUSE)
            return Result(id=sample, status="ok", response=f"It is {sample}.", calls=10)

        finished = run.finished
        with ThreadPoolExecutor(4) as threads:
            for result in threads.map(one, [name for name in names if name not in finished]):
                run.add(result)
        run.seal(names)


def start(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "benchmarks.killed", "--work", str(folder)]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})


def finished_in(folder: Path) -> set[str]:
    """The samples that have their events and a whole line."""
    try:
        return {sample for sample in read_results(folder) if read_events(folder, sample)}
    except FileNotFoundError:
        return set()


def disturbed(folder: Path, kills: int, seed: int = 0) -> dict[str, int]:
    """Kills, then lets it end; returns what was counted. Raises AssertionError where anything is lost or doubled."""
    draw = random.Random(seed)
    run = folder / "run"
    done: set[str] = set()
    again = landed = 0
    for _ in range(kills):
        (folder / "begun").unlink(missing_ok=True)
        process = start(run)
        while not (folder / "begun").exists() and process.poll() is None:
            sleep(0.001)  # the interpreter starts
        sleep(draw.uniform(0, 0.05))
        landed += process.poll() is None
        process.kill()
        process.wait()
        begun = (
            set((folder / "begun").read_text(encoding="utf-8").split("\n")) if (folder / "begun").exists() else set()
        )
        again += len(done & begun)
        now = finished_in(run) if (run / MANIFEST).exists() else set()
        assert done <= now, f"lost: {done - now}"
        done = now
    assert start(run).wait() == 0
    assert again == 0, f"{again} samples were done again"
    return {"kills": kills, "landed": landed, "finished_before_the_end": len(done)}


def main() -> None:
    if sys.argv[1:2] == ["--work"]:
        return work(Path(sys.argv[2]))
    from benchmarks.parts import options, publish  # not above: what is killed starts quickly

    given = options(__doc__, kills=50)
    begun = perf_counter()
    with tempfile.TemporaryDirectory() as name:
        found = compared(Path(name), given.kills)
    seconds = round(perf_counter() - begun, 1)
    lines = [f"{found['landed']} of {found['kills']} kills hit it at work: nothing lost, doubled or changed"]
    publish(lines, {"benchmark": "killed", "seconds": seconds} | found)
    return None


def compared(folder: Path, kills: int) -> dict[str, int]:
    """A disturbed run and one that was not hold the same."""
    for name in ("calm", "wild"):
        (folder / name).mkdir()
    assert start(folder / "calm" / "run").wait() == 0
    found = disturbed(folder / "wild", kills)
    calm, wild = folder / "calm" / "run", folder / "wild" / "run"
    assert (calm / RESULTS).read_bytes() == (wild / RESULTS).read_bytes()
    listed = [sorted(path.name for path in (run / SAMPLES).iterdir()) for run in (calm, wild)]
    assert listed[0] == listed[1]
    for sample in read_results(calm):
        told = [[event.model_dump(exclude={"at"}) for event in read_events(run, sample)] for run in (calm, wild)]
        assert told[0] == told[1]
    assert len(json.loads((wild / MANIFEST).read_bytes())["sessions"]) >= kills / 2
    return found


if __name__ == "__main__":
    main()

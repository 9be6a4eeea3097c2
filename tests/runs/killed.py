"""Compares a run that is killed repeatedly with an undisturbed one: nothing may be lost, duplicated or changed.

A process runs 24 samples with four threads, a third of which fail. SIGKILL ends it after a random time, several times;
then it may finish. The same follows once the cause of the failures is mended. The results must equal those of an
undisturbed run byte for byte, a sample's events and line must be of the same attempt, and no finished sample may run
again, but for those that failed.

    python -m tests.runs.killed 50
"""

import json
import random
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import sleep

from mmerg.errors import Failure
from mmerg.experiment.work import select_pending
from mmerg.runs import events
from mmerg.runs.folder import RESULTS, Run, read_results
from mmerg.runs.manifest import MANIFEST
from mmerg.runs.result import Result
from mmerg.runs.samples import SAMPLES, read_events
from tests.processes import start_command
from tests.scoring.run_builder import make_manifest, result

SAMPLES_OF_IT, PAUSE = 24, 0.002  # seconds from one event to the next


def work(folder: Path, mended: bool) -> None:
    """Runs pending samples, and records those that it starts: the process to kill."""
    samples = [result(f"d{number}/é {number}") for number in range(SAMPLES_OF_IT)]
    with Run(folder, make_manifest([])) as run, (folder.parent / "begun").open("a", encoding="utf-8") as log:

        def tell(sample: str, emit: events.Emit) -> Result:
            log.write(f"{sample}\n")
            log.flush()
            fails = sum(map(ord, sample)) % 3 == 0 and not mended
            for t in range(10):
                emit(events.Produced(sample=sample, t=t, stage="sgrg", symbol="R", output="words " * 500))
                sleep(PAUSE)
            if fails:
                emit(events.SampleFailed(sample=sample, failure=Failure.TIMEOUT, what="too slow"))
                return Result(id=sample, status="failed", failure=Failure.TIMEOUT)
            return Result(id=sample, status="ok", response=f"It is {sample}.", calls=10)

        todo = select_pending(samples, run.results)
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda sample: run.record(sample.id, partial(tell, sample.id)), todo))
        run.seal(sample.id for sample in samples)


def start(folder: Path, mended: bool) -> BaseProcess:
    command = [sys.executable, "-m", "tests.runs.killed", "--work", str(folder), *["--mended"] * mended]
    return start_command(command, folder.parent)


def ended(process: BaseProcess) -> int | None:
    process.join()
    return process.exitcode


def finished_in(folder: Path) -> set[str]:
    """Lists the samples that did not fail, with events and a line of the same attempt."""
    finished = set()
    results = read_results(folder)
    for sample in set(results) - results.without_events:
        failed = results[sample].status == "failed"
        assert any(isinstance(event, events.SampleFailed) for event in read_events(folder, sample)) == failed, sample
        if not failed:
            finished.add(sample)
    return finished


def disturbed(folder: Path, kills: int) -> dict[str, int]:
    """Kills the run, then lets it end, and returns counts. Raises AssertionError if anything is lost or duplicated."""
    draw = random.Random(0)
    run = folder / "run"
    again = landed = before_the_end = 0
    for number in range(kills):
        mended = number >= kills // 2
        if number in (0, kills // 2):
            done: set[str] = set()
            assert not number or ended(start(run, False)) == 0
        (folder / "begun").unlink(missing_ok=True)
        process = start(run, mended)
        while not (folder / "begun").exists() and process.is_alive():
            sleep(0.001)  # it starts
        sleep(draw.uniform(0, 0.05))
        landed += process.is_alive()
        process.kill()
        process.join()
        started = (folder / "begun").read_text(encoding="utf-8").split("\n") if (folder / "begun").exists() else []
        again += len(done & set(started))
        now = finished_in(run) if (run / MANIFEST).exists() else set()
        assert done <= now, f"lost: {done - now}"
        done = now
        before_the_end = max(before_the_end, len(done))
    assert ended(start(run, True)) == 0
    assert again == 0, f"{again} samples were done again"
    return {"kills": kills, "landed": landed, "finished_before_the_end": before_the_end}


def compared(folder: Path, kills: int) -> dict[str, int]:
    for name in ("calm", "wild"):
        (folder / name).mkdir()
    for mended in (False, True):
        assert ended(start(folder / "calm" / "run", mended)) == 0
    counts = disturbed(folder / "wild", kills)
    calm, wild = folder / "calm" / "run", folder / "wild" / "run"
    assert (calm / RESULTS).read_bytes() == (wild / RESULTS).read_bytes()
    listed = [sorted(path.name for path in (run / SAMPLES).iterdir()) for run in (calm, wild)]
    assert listed[0] == listed[1]
    assert {one.status for one in read_results(calm).values()} == {"ok"}
    for sample in read_results(calm):
        tries = [[event.model_dump(exclude={"at"}) for event in read_events(run, sample)] for run in (calm, wild)]
        assert tries[0] == tries[1]
    assert len(json.loads((wild / MANIFEST).read_bytes())["sessions"]) >= kills / 2
    return counts


def main() -> None:
    if sys.argv[1] == "--work":
        return work(Path(sys.argv[2]), "--mended" in sys.argv)
    with tempfile.TemporaryDirectory() as name:
        counts = compared(Path(name), int(sys.argv[1]))
    sys.stdout.write(
        f"{counts['landed']} of {counts['kills']} kills hit it at work: nothing lost, doubled or changed\n"
    )
    return None


if __name__ == "__main__":
    main()

"""A run that is killed again and again against one that nobody disturbs: nothing lost, doubled or changed.

A process works on 24 samples with four threads; it is ended with SIGKILL after a random time, and started again, so
many times, and then left to its end; every third sample fails. Then the same with only_failed, which takes these up and
does them well. The results must be those of an undisturbed run byte for byte, each sample's events whole and of the
same try as its line, and no sample that had been finished before a kill done again.

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
from mmerg.experiment.work import pending
from mmerg.runs import events
from mmerg.runs.folder import RESULTS, Run, read_results
from mmerg.runs.manifest import MANIFEST
from mmerg.runs.result import Result
from mmerg.runs.samples import SAMPLES, read_events
from tests.processes import begun
from tests.scoring.run_builder import manifest_of, result

SAMPLES_OF_IT, PAUSE = 24, 0.002  # seconds from one event to the next


def work(folder: Path, only_failed: bool) -> None:
    """What is killed: does what is left, and writes down the samples that it begins."""
    samples = [result(f"d{number}/é {number}") for number in range(SAMPLES_OF_IT)]
    with Run(folder, manifest_of([])) as run, (folder.parent / "begun").open("a", encoding="utf-8") as begun:

        def tell(sample: str, emit: events.Emit) -> Result:
            begun.write(f"{sample}\n")
            begun.flush()
            fails = sum(map(ord, sample)) % 3 == 0 and not only_failed
            for t in range(10):
                emit(events.Produced(sample=sample, t=t, stage="sgrg", symbol="R", output="words " * 500))
                sleep(PAUSE)
            if fails:
                emit(events.SampleFailed(sample=sample, failure=Failure.TIMEOUT, what="too slow"))
                return Result(id=sample, status="failed", failure=Failure.TIMEOUT)
            return Result(id=sample, status="ok", response=f"It is {sample}.", calls=10)

        todo = pending(samples, run.results, only_failed)
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda sample: run.record(sample.id, partial(tell, sample.id)), todo))
        run.seal(sample.id for sample in samples)


def start(folder: Path, only_failed: bool) -> BaseProcess:
    command = [sys.executable, "-m", "tests.runs.killed", "--work", str(folder), *["--only-failed"] * only_failed]
    return begun(command, folder.parent)


def ended(process: BaseProcess) -> int | None:
    process.join()
    return process.exitcode


def finished_in(folder: Path, only_failed: bool) -> set[str]:
    """The samples that have events and a whole line, both of one try; with only_failed those that came out well."""
    finished = set()
    results = read_results(folder)
    for sample in set(results) - results.lost:
        failed = results[sample].status == "failed"
        assert any(isinstance(event, events.SampleFailed) for event in read_events(folder, sample)) == failed, sample
        if not (failed and only_failed):
            finished.add(sample)
    return finished


def disturbed(folder: Path, kills: int, seed: int = 0) -> dict[str, int]:
    """Kills, then lets it end; returns what was counted. Raises AssertionError where anything is lost or doubled."""
    draw = random.Random(seed)
    run = folder / "run"
    again = landed = before_the_end = 0
    for number in range(kills):
        only_failed = number >= kills // 2
        if number in (0, kills // 2):
            done: set[str] = set()
            assert not number or ended(start(run, False)) == 0
        (folder / "begun").unlink(missing_ok=True)
        process = start(run, only_failed)
        while not (folder / "begun").exists() and process.is_alive():
            sleep(0.001)  # it starts
        sleep(draw.uniform(0, 0.05))
        landed += process.is_alive()
        process.kill()
        process.join()
        begun = (
            set((folder / "begun").read_text(encoding="utf-8").split("\n")) if (folder / "begun").exists() else set()
        )
        again += len(done & begun)
        now = finished_in(run, only_failed) if (run / MANIFEST).exists() else set()
        assert done <= now, f"lost: {done - now}"
        done = now
        before_the_end = max(before_the_end, len(done))
    assert ended(start(run, True)) == 0
    assert again == 0, f"{again} samples were done again"
    return {"kills": kills, "landed": landed, "finished_before_the_end": before_the_end}


def compared(folder: Path, kills: int) -> dict[str, int]:
    """A disturbed run and one that was not hold the same."""
    for name in ("calm", "wild"):
        (folder / name).mkdir()
    for only_failed in (False, True):
        assert ended(start(folder / "calm" / "run", only_failed)) == 0
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
        return work(Path(sys.argv[2]), "--only-failed" in sys.argv)
    with tempfile.TemporaryDirectory() as name:
        counts = compared(Path(name), int(sys.argv[1]))
    sys.stdout.write(
        f"{counts['landed']} of {counts['kills']} kills hit it at work: nothing lost, doubled or changed\n"
    )
    return None


if __name__ == "__main__":
    main()

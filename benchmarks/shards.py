"""What a run in shards costs and gains: the start of a shard, the merge of many samples, hosts, jobs and nodes at once.

start: wall seconds of `mmerg run shard=…` over one dialogue. merge: wall seconds and peak memory of `mmerg merge` over
20 shards of `--merged` samples in all, on the backend that answers at once; and of the same again. speed-up: the wall
time of `mmerg run` on one host over that on 4, over that of `mmerg cluster run` in 4 jobs of submitit's, and over that
on 2 nodes of Ray's: `--samples` samples of one call, which takes `--seconds`, 4 at once on each host, job and node.
What is not installed is not measured.

    python benchmarks/shards.py --samples 4000 --merged 1000000
"""

import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.parts import ROOT, one_call, options, process, publish
from mmerg.backends.dry import Dry
from mmerg.backends.protocol import Reply, Request

SHARDS = 20


@dataclass(frozen=True)
class Fixed(Dry):
    """Answers after so many seconds."""

    seconds: float = 0.0

    def complete(self, request: Request) -> Reply:
        time.sleep(self.seconds)
        return super().complete(request)


def merge(folder: Path, samples: int) -> dict[str, float]:
    """Seconds and MB of the merge of finished shards, and seconds of the same again."""
    lone = ("backend=dry", f"runs={folder}/many", *one_call(folder, samples))
    for number in range(SHARDS):
        process("-m", "mmerg.run", f"shard={number + 1}/{SHARDS}", *lone)
    [run] = (folder / "many").glob("folder-*")
    first, again = (process("-m", "mmerg.merge", str(run)) for _ in range(2))
    return {"merge, s": first.wall, "merge, MB": first.megabytes, "merge again, s": again.wall}


@contextmanager
def two_nodes() -> Iterator[str]:
    """The address of a Ray cluster."""
    command = [sys.executable, "-m", "tests.jobs.ray_nodes"]
    pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, cwd=ROOT, text=True, stdin=pipe, stdout=pipe, stderr=quiet) as cluster:
        assert cluster.stdin
        assert cluster.stdout
        yield next(line.strip() for line in cluster.stdout if line.count(":") == 1)
        cluster.stdin.close()


def speed_ups(folder: Path, samples: int, seconds: float) -> Iterator[tuple[str, float]]:
    """What shares the samples, and the wall time of one host over its own."""
    slow = ("backend.adapter._target_=benchmarks.shards.Fixed", f"+backend.adapter.seconds={seconds}")
    every = ("backend=dry", *slow, "backbone.concurrency=4", *one_call(folder, samples))
    plain = process("-m", "mmerg.run", *every, f"runs={folder}/plain").wall
    hosts = ",".join(f"10.0.0.{number}" for number in range(1, 5))  # none of which is asked
    four = process("-m", "mmerg.run", *every, f"runs={folder}/hosts", f"backend.hosts=[{hosts}]")
    yield "4 hosts", plain / four.wall
    cluster = ("-m", "mmerg.cluster", "run", *every)
    if importlib.util.find_spec("submitit"):
        yield "4 jobs", plain / process(*cluster, f"runs={folder}/jobs", "shards=4", "on.at_once=4").wall
    if importlib.util.find_spec("ray"):
        with two_nodes() as address:
            on = ("on=ray", f"on.address={address}", "shards=2")
            yield "2 nodes", plain / process(*cluster, f"runs={folder}/nodes", *on).wall


def main() -> None:
    """Measure, print."""
    given = options(__doc__, samples=400, seconds=0.2, merged=10_000, rounds=3)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shard = ("-m", "mmerg.run", "shard=1/2", "backend=dry", *one_call(folder, 1))
        starts = [process(*shard, f"runs={folder}/start{number}").wall for number in range(given.rounds)]
        gains = {f"speed-up, {kind}": gain for kind, gain in speed_ups(folder, given.samples, given.seconds)}
        publish(given, {"start, s": starts, **merge(folder, given.merged), **gains})


if __name__ == "__main__":
    main()

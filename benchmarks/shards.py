"""What a run in shards costs and gains: the start of a shard, the merge of many samples, jobs and Ray's nodes at once.

start: wall seconds of `mmerg run shard=…` that has no sample, process and all. merge: wall seconds and peak memory of
`mmerg merge` over 20 shards of `--merged` samples in all, whose files are written here as runs write them, each with
one event; and of the same again. speed-up: the wall time of one `mmerg run` over that of `mmerg cluster run`, in 4 jobs
of submitit's and on 2 nodes of Ray's, all of them `--samples` samples of one call, which takes `--seconds`, 4 calls at
once. What is not installed is not measured.

    python benchmarks/shards.py --samples 4000 --merged 1000000
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.scale import ROOT, Instant, Taken, corpus, process
from mmerg.backends.protocol import Reply, Request

SHARDS = 20
ONE_AGENT = ("system.without=[mpa,caef,psp,gra]", "memory=none", "frames=none", "cache=off", "backbone.concurrency=4")


class Fixed(Instant):
    """Answers after so many seconds."""

    def __init__(self, host: str, seconds: float = 0.0, **settings: object) -> None:
        super().__init__(host, **settings)
        self._seconds = seconds

    def complete(self, request: Request) -> Reply:
        time.sleep(self._seconds)
        return super().complete(request)


def command(module: str, folder: Path, samples: int, seconds: float, *more: str) -> list[str]:
    root = corpus(folder, samples)
    adapter = ("backend.adapter._target_=benchmarks.shards.Fixed", f"+backend.adapter.seconds={seconds}")
    words = ["run"] if module == "cluster" else []
    return [
        *(sys.executable, "-m", f"mmerg.{module}", *words, "dataset=folder", f"dataset.root={root}"),
        *(*adapter, *ONE_AGENT, *more),
    ]


def write_shards(run: Path, samples: int) -> None:
    """20 shards as they are once they are done, a dialogue a sample."""
    from mmerg.backends.scripted import ENGINE
    from mmerg.runs.folder import FRAMES, RESULTS
    from mmerg.runs.manifest import MANIFEST, Corpus, Manifest, ProtocolSection, Session
    from mmerg.runs.result import Result
    from mmerg.runs.samples import ENDING, SAMPLES, file_name
    from mmerg.runs.shards import Shard, number_of, write_order

    own: dict[int, list[tuple[int, str]]] = {number: [] for number in range(1, SHARDS + 1)}
    for place in range(samples):
        own[number_of(f"d{place}", SHARDS)].append((place, f"d{place}/4"))
    line = Result(id="ID", status="ok", response="That must have been hard. " * 4, history=(("A", "Lost keys."),) * 3)
    event = json.dumps({"kind": "sample_done", "sample": "ID", "at": "2026-01-01T00:00:00Z"}) + "\n"
    for number, places in own.items():
        shard = Shard(number, SHARDS)
        folder = shard.folder(run)
        for name in (SAMPLES, FRAMES):
            (folder / name).mkdir(parents=True)
        write_order(folder, places)
        with (folder / RESULTS).open("w", encoding="utf-8") as file:
            for _, sample in places:
                file.write(line.line().replace('"ID"', f'"{sample}"', 1))
                (folder / SAMPLES / f"{file_name(sample)}{ENDING}").write_text(event.replace("ID", sample))
        made = Manifest(
            identity={"config": "one"},
            engine=ENGINE,
            corpus=Corpus(name="many", split="all", labels=("joy",)),
            protocol=ProtocolSection(description="all", samples=samples, dialogues=samples),
            settings={"shard": str(shard)},
            sessions=(Session(how={"shard": str(shard)}),),
        )
        (folder / MANIFEST).write_text(made.text(), encoding="utf-8")


def merged(folder: Path, samples: int) -> tuple[Taken, Taken]:
    """The merge, and the same again."""
    write_shards(folder / "many", samples)
    merge = [sys.executable, "-m", "mmerg.merge", str(folder / "many")]
    return process(folder, merge), process(folder, merge)


def timed(line: Sequence[str], folder: Path) -> float:
    return process(folder, list(line)).wall


def speed_ups(folder: Path, samples: int, seconds: float) -> Mapping[str, float]:
    """By what runs the shards: the plain run's wall time over its own."""
    plain = timed(command("run", folder, samples, seconds, f"runs={folder}/plain"), folder)
    found = {"plain_s": plain}
    if importlib.util.find_spec("submitit"):
        given = (f"runs={folder}/jobs", "shards=4", "on.at_once=4")
        found["4 jobs"] = plain / timed(command("cluster", folder, samples, seconds, *given), folder)
    if importlib.util.find_spec("ray"):
        nodes = [sys.executable, "-m", "tests.jobs.ray_nodes"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(nodes, cwd=ROOT, text=True, **pipes) as cluster:  # type: ignore[call-overload]
            address = next(line.strip() for line in cluster.stdout if line.count(":") == 1)
            asked = (f"runs={folder}/ray", "shards=2", "on=ray", f"on.address={address}")
            found["2 nodes"] = plain / timed(command("cluster", folder, samples, seconds, *asked), folder)
            cluster.stdin.close()
    return found


def main() -> None:
    """Measure, print."""
    from benchmarks.parts import options, publish  # not above: the runs import this module for `Fixed`

    given = options(__doc__, samples=400, seconds=0.2, merged=20_000, rounds=3)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        empty = command("run", folder, 1, 0.0, "shard={}/99")
        shard = next(number for number in range(1, 3) if not _holds(number))
        starts = []
        for number in range(given.rounds):
            line = [word.replace("{}", str(shard)) for word in empty]
            starts.append(timed([*line, f"runs={folder}/start{number}"], folder))
        first, again = merged(folder, given.merged)
        gained = speed_ups(folder, given.samples, given.seconds)
    start = sorted(starts)[len(starts) // 2]
    million = first.wall * 1_000_000 / given.merged
    lines = [
        f"start of a shard {start:.2f} s",
        f"merge of {given.merged} samples {first.wall:.1f} s ({million:.0f} s a million), {first.megabytes:.0f} MB; "
        f"again {again.wall:.1f} s",
        *(f"speed-up in {kind}: {gain:.2f}" for kind, gain in gained.items() if kind != "plain_s"),
    ]
    figures = {"start_s": start, "merge_s": first.wall, "merge_mb": first.megabytes, "again_s": again.wall}
    publish(lines, {"benchmark": "shards", **figures, "speed_up": gained} | vars(given))


def _holds(number: int) -> bool:
    from mmerg.runs.shards import number_of

    return number_of("d0", 99) == number


if __name__ == "__main__":
    main()

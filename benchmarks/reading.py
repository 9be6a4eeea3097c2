"""How long a corpus of official size takes to be read, and how much memory, against `csv.reader` over the same bytes.

Writes synthetic copies with as many dialogues and turns as are published (`mmerg.corpora.official`): MELD's train split
and its dyads, with a small file for each clip; all of IEMOCAP; the three splits of EmpatheticDialogues. Then, in
alternation within each round:

    csv     every annotation file decoded and put through `csv.reader`, its rows kept: what any reader must do
    load    the reader's `load()`: repairs, checks, turns, dialogues, digest

Peak memory is what Python allocates at most while one of them runs (tracemalloc, in a round of its own, which is not
timed). Prints medians with the range over rounds as text, then one line of JSON. Times are this machine's; ratios come
from one round each and carry over.

    PYTHONPATH=. python benchmarks/reading.py --rounds 3
"""

from __future__ import annotations

import argparse
import csv
import gc
import io
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from benchmarks.parts import alternating, publish, ratio, seconds, spread
from mmerg.corpora.dialogue import Corpus
from mmerg.corpora.empathetic import Empathetic
from mmerg.corpora.iemocap import Iemocap
from mmerg.corpora.meld import Meld, Variant
from mmerg.corpora.official import expected
from tests.corpora import empathetic_builder, iemocap_builder, meld_builder

MIB = 2**20
SESSIONS = (1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Job:
    """A corpus to read: what reads it, and its annotation files (quoting: as `csv.reader` is to take them)."""

    name: str
    load: Callable[[], list[Corpus]]
    files: Sequence[Path]
    quoting: Literal[0, 3] = csv.QUOTE_NONE

    def rows(self) -> list[list[list[str]]]:
        """The base: the rows of every file."""
        texts = (io.StringIO(file.read_bytes().decode("utf-8"), newline="") for file in self.files)
        return [list(csv.reader(text, quoting=self.quoting)) for text in texts]


def meld(root: Path, variant: Variant, name: str) -> Job:
    """MELD's train split, its turns dealt out to its dialogues."""
    figures = expected(name, "train")
    assert figures is not None
    assert figures.dialogues is not None
    assert figures.turns is not None
    lines = [
        meld_builder.Line(
            f"Well, this is what is said in turn {turn}, give or take a word.",
            ("Ross", "Rachel")[turn % 2],
            ("neutral", "joy", "anger")[turn % 3],
            turn % figures.dialogues,
            turn // figures.dialogues,
        )
        for turn in range(figures.turns)
    ]
    path = meld_builder.Builder("train", lines, variant=variant).write(root / name)
    return Job(f"{name} train", lambda: [Meld(root / name, "train", variant=variant).load()], [path], csv.QUOTE_MINIMAL)


def iemocap(root: Path) -> Job:
    """All five sessions."""
    release = iemocap_builder.write_official_size(root / "iemocap")
    files = [
        file
        for folder in ("transcriptions", "EmoEvaluation")
        for file in release.glob(f"Session*/dialog/{folder}/*.txt")
    ]
    return Job("iemocap, 5 sessions", lambda: [Iemocap(release, SESSIONS).load()], sorted(files))


def empathetic(root: Path) -> Job:
    """All three splits."""
    files = []
    for split in ("train", "valid", "test"):
        figures = expected("empathetic", split)
        assert figures is not None
        assert figures.dialogues is not None
        assert figures.turns is not None
        assert figures.replies is not None
        lines = list(empathetic_builder.of_size(figures.dialogues, figures.turns, figures.replies))
        files.append(empathetic_builder.Builder(split, lines).write(root / "empathetic"))
    return Job(
        "empathetic, 3 splits",
        lambda: [Empathetic(root / "empathetic", split).load() for split in ("train", "valid", "test")],
        files,
    )


def jobs(root: Path) -> Iterator[Job]:
    """Each corpus, written when it is its turn."""
    yield meld(root, "multi", "meld")
    yield meld(root, "dyadic", "meld-dyadic")
    yield iemocap(root)
    yield empathetic(root)


def timed(work: Callable[[], object]) -> float:
    """Seconds of `work`, with no garbage of others' to collect."""
    gc.collect()
    return seconds(work)


def peak(work: Callable[[], object]) -> float:
    """The most MiB that Python had allocated at a time for `work`, its result included."""
    gc.collect()
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / MIB


def main() -> None:
    """Write, read, print."""
    parser = argparse.ArgumentParser(description="Time and memory to read corpora of official size.")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    lines = ["seconds to read a corpus, and times as long as csv.reader; peak MiB, and times as much"]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for job in jobs(Path(folder)):
            read = job.load()  # imports, caches
            turns = sum(len(dialogue.turns) for corpus in read for dialogue in corpus.dialogues)
            size = sum(file.stat().st_size for file in job.files) / MIB
            del read
            rounds = alternating({"csv": partial(timed, job.rows), "load": partial(timed, job.load)}, options.rounds)
            took, times = spread([row["load"] for row in rounds]), ratio(rounds, "load", "csv")
            memory = {"csv": peak(job.rows), "load": peak(job.load)}
            lines.append(
                f"  {job.name:<22}{turns:7} turns {size:6.1f} MiB   {took} s   {times} times"
                f"   {memory['load']:.0f} MiB   {memory['load'] / memory['csv']:.1f} times"
            )
            found[job.name] = {
                "turns": turns,
                "mib": round(size, 2),
                "files": len(job.files),
                "seconds": took.rounded(),
                "seconds_to_csv": times.rounded(),
                "peak_mib": round(memory["load"], 1),
                "peak_to_csv": round(memory["load"] / memory["csv"], 2),
            }
    publish(lines, {"benchmark": "reading", "rounds": options.rounds, "corpora": found})


if __name__ == "__main__":
    main()

"""A shard of a run as a job works on it: what it has to do, how far it is, and which job has it."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from mmerg.corpora.dialogue import Sample
from mmerg.experiment.launch import Task
from mmerg.experiment.work import is_new, pending
from mmerg.jobs.job import Job
from mmerg.runs.folder import RESULTS, read_results
from mmerg.runs.shards import Shard, number_of

State = Literal["waiting", "at work", "done", "not done"]


@dataclass
class Part:
    """wanted: the samples that are asked for now. ids: of all its samples, in order. log: the last lines of a job that
    did not come to its end. lines and failed: of its results so far."""

    shard: Shard
    path: Path
    wanted: list[Sample] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    state: State = "waiting"
    job: Job | None = None
    tries: int = 0
    log: str = ""
    lines: int = 0
    failed: int = 0
    _read: tuple[int, int] = (0, 0)  # the file's number, and how many of its bytes were read

    def is_done(self, *, only_failed: bool = False) -> bool:
        """Whether the folder holds all that is wanted, in order; with `only_failed` without failures."""
        if is_new(self.path):
            return not self.wanted
        results = read_results(self.path)
        left = pending(self.wanted, results, only_failed=False)
        return results.sealed(self.ids) and not (left or (only_failed and pending(self.wanted, results, True)))

    def begin(self, job: Job) -> None:
        self.state, self.job = "at work", job

    def look(self) -> None:
        """Count what was added to its results since the last look."""
        try:
            with (self.path / RESULTS).open("rb") as file:
                number, at = os.fstat(file.fileno()).st_ino, self._read[1]
                if number != self._read[0]:
                    self.lines = self.failed = at = 0
                file.seek(at)
                whole, end, _ = file.read().rpartition(b"\n")
        except OSError:  # it is not there yet
            return
        self.lines += (whole + end).count(b"\n")
        self.failed += whole.count(b'", "status": "failed", ')
        self._read = number, at + len(whole + end)


def parts_of(task: Task, count: int) -> list[Part]:
    """The shards of a run, `count` in all."""
    shards = [Shard(number, count) for number in range(1, count + 1)]
    parts = [Part(shard, shard.folder(task.run)) for shard in shards]
    for sample in task.wanted:
        parts[number_of(sample.dialogue_id, count) - 1].wanted.append(sample)
    for sample in task.selection.samples:
        parts[number_of(sample.dialogue_id, count) - 1].ids.append(sample.id)
    return parts

"""A sweep: one run for each row of an experiment (`mmerg run -m +experiment=… dataset=…`), and what it cost.

A row that cannot run does not stop the others. They share calls through the reply cache alone.
"""

import multiprocessing
import os
import shlex
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Self, TypeAlias

from rich.rule import Rule
from rich.table import Table

from mmerg.console.terminal import INTERRUPTED, console, end_in_good_order, escape, run_command
from mmerg.errors import MmergError
from mmerg.runs.result import Ended
from mmerg.settings.command import Row
from mmerg.storage.record import Record

Job: TypeAlias = tuple[int, Row, str]  # number, row, heading


class Member(Record):
    """One row: its words, its exit code, and its runs (one a repeat; none where nothing could be run: then `error` says
    why, and what to do)."""

    number: int
    overrides: tuple[str, ...]
    code: int
    error: str = ""
    runs: tuple[Ended, ...] = ()

    @property
    def calls(self) -> int:
        """What its samples take, replies from the cache included: the cost of a run by itself."""
        return sum(run.calls for run in self.runs)


def run_rows(rows: Sequence[Row], at_once: int) -> int:
    """Runs the rows, `at_once` of them side by side, each in a process of its own, and prints what came of them; the
    worst exit code. Ctrl-C ends them all."""
    own = _own_words([row.words for row in rows])
    jobs = [(number, row, own[number] or f"row {number}") for number, row in enumerate(rows)]
    members: list[Member] = []
    with ThreadPoolExecutor(at_once) as threads, Processes() as processes:
        for member in threads.map(processes.run, jobs) if at_once > 1 else map(_run_row, jobs):
            if member.code == INTERRUPTED:
                raise KeyboardInterrupt
            members.append(member)
    out = console()
    out.print(table(members))
    for line in (*notes(members), cost(members)):
        out.print(escape(line), soft_wrap=True)
    return max(member.code for member in members)


def _run_row(job: Job) -> Member:
    from mmerg.experiment.launch import launch  # only once there is something to run

    number, row, heading = job
    console().print(Rule(escape(heading)))
    return member(lambda: launch(row.settings(), brief=True), number, row.words)


class Processes:
    """Rows that run side by side, each in a process of its own. An error in the block, or a signal to this process
    alone, ends the rows at work, as Ctrl-C does, and begins no other."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._running: set[SpawnProcess] = set()
        self._stopped = False

    def run(self, job: Job) -> Member:
        """How the row of a process of its own ended."""
        spawn = multiprocessing.get_context("spawn")
        receiver, sender = spawn.Pipe(duplex=False)
        process = spawn.Process(target=_send_member, args=(sender, job))
        with self._guard:
            if self._stopped:
                return Member(number=job[0], overrides=job[1].words, code=INTERRUPTED)
            process.start()
            self._running.add(process)
        sender.close()
        try:
            received: Member = receiver.recv()
        except EOFError:
            error = "its process was killed; the same command goes on from there"
            received = Member(number=job[0], overrides=job[1].words, code=1, error=error)
        process.join()
        with self._guard:
            self._running.remove(process)
        return received

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._guard:
            self._stopped = True
            for process in self._running:
                process.terminate()


def _send_member(sender: Connection, job: Job) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    end_in_good_order(signal.SIGINT)
    try:
        ended = _run_row(job)
    except KeyboardInterrupt:  # while modules were imported
        ended = Member(number=job[0], overrides=job[1].words, code=INTERRUPTED)
    sender.send(ended)


def _end_with_parent() -> None:
    """A row does not outlive its sweep, which would leave its run locked."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def member(launched: Callable[[], Iterable[Ended]], number: int = 0, overrides: Iterable[str] = ()) -> Member:
    """How a row ends that is these runs; what is wrong is printed, and does not stop the others."""
    runs: list[Ended] = []
    errors: list[str] = []

    def work() -> int:
        try:
            runs.extend(launched())
        except MmergError as wrong:
            errors.append("; ".join(filter(None, (wrong.what, wrong.hint))))
            raise
        except OSError as wrong:
            errors.append(f"{wrong.strerror}: {wrong.filename!s:.300}")
            raise
        return max(run.code for run in runs)

    code = run_command(work)
    return Member(number=number, overrides=tuple(overrides), code=code, error="".join(errors), runs=tuple(runs))


def table(members: Sequence[Member]) -> Table:
    """A line a run: what tells its row from the others (at the first of its repeats), its samples (kept: those finished
    before), and its calls."""
    made = Table(title=f"{len(members)} row{'s' * (len(members) > 1)}", title_justify="left")
    made.add_column("row", overflow="fold")
    for name in ("samples", "kept", "failed", "unaudited", "calls", "made", "reused"):
        made.add_column(name, justify="right", no_wrap=True)
    made.add_column("run", ratio=1, overflow="fold")
    for member, name in zip(members, _names(members), strict=True):
        own = escape(name)
        for number, run in enumerate(member.runs):
            samples = (run.samples, run.kept, run.failed, run.unaudited)
            figures = map(str, (*samples, run.calls, run.made, run.calls - run.made))
            made.add_row("" if number else own, *figures, escape(Path(run.run).name))
        if member.error:
            made.add_row(own, *("–",) * 7, "not run")
    return made


def _own_words(rows: Sequence[Sequence[str]]) -> list[str]:
    """Of each row the words that tell it from the others, of a single one its name; "" where none does."""
    common = set.intersection(*map(set, rows)) if rows else set()
    return [" ".join(word for word in words if word not in common or word.startswith("row=")) for words in rows]


def _names(members: Sequence[Member]) -> list[str]:
    """What rows are called: by their own words, else by their numbers."""
    own = _own_words([member.overrides for member in members])
    return [words or f"row {member.number}" for words, member in zip(own, members, strict=True)]


def notes(members: Sequence[Member]) -> Iterator[str]:
    """What scores the runs and compares those of one corpus, which rows are one run as their settings are the same, and
    why others could not run."""
    runs: dict[str, list[str]] = {}
    errors: dict[str, list[str]] = {}
    for member, own in zip(members, _names(members), strict=True):
        for run in member.runs:
            runs.setdefault(run.run, []).append(own)
        if member.error:
            errors.setdefault(member.error, []).append(own)
    if runs:
        yield f"their figures: mmerg score {shlex.join(runs)}"
    corpora = {frozenset(one for one in member.overrides if one.startswith("dataset")) for member in members}
    if len(runs) > 1 and len(corpora) < 2:
        yield f"which differences from the first hold: mmerg compare {shlex.join(runs)}"
    for path, names in runs.items():
        if len(names) > 1:
            yield f"{', '.join(names)} have the same settings: they are one run, {Path(path).name}"
    for error, names in errors.items():
        yield f"not run: {', '.join(names)}: {error}"


def cost(members: Sequence[Member]) -> str:
    """The sweep's calls, and how many its runs would take if they shared nothing. Where several rows are one run, it
    counts once, unless the rows took up different samples; a run that made more calls than it takes reused none."""
    made: Counter[tuple[str, int, int]] = Counter()
    for run in (run for member in members for run in member.runs):
        made[run.run, run.samples, run.calls] += run.made
    reused = sum(max(0, calls - asked) for (_, _, calls), asked in made.items())
    most = max((member.calls for member in members), default=0)
    ratio = f"; the largest row alone takes {most}" if most else ""
    takes = sum(calls for _, _, calls in made)
    return f"{made.total()} calls made, {reused} reused; separate runs would take {takes}{ratio}"

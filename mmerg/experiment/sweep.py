"""A sweep, which has a run for each row (`mmerg run -m +experiment=… dataset=…`), and the number of its calls.

Hydra composes the rows, and a launcher runs them in this process or elsewhere. A row that cannot run does not stop the
others. Rows share calls only through the completion cache.
"""

import math
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.experimental.callback import Callback
from rich.rule import Rule
from rich.table import Table

from mmerg.console.terminal import EXIT_ERROR, console, escape, run_command
from mmerg.errors import MmergError, group_by_reason
from mmerg.experiment.program import CODES, ROWS
from mmerg.runs.identity import RUNTIME_KEYS
from mmerg.runs.result import RunOutcome
from mmerg.runs.shards import SHARDS
from mmerg.settings.kinds import folder_name
from mmerg.storage.record import Record, read_record, write_record

_LONGEST = 80  # characters of a row in a folder's name
_IN_NAMES = ("dataset", "system", "backbone", "name", "tags", "shard")

if TYPE_CHECKING:
    from hydra.core.utils import JobReturn
    from omegaconf import DictConfig


class JobOutcome(Record):
    """The outcome of a job: its exit code, and the outcome of its run, if any."""

    code: int
    error: str = ""  # why nothing could run, and what to do
    run: RunOutcome | None = None

    def __float__(self) -> float:
        """Returns the share of samples without an audited reply, which sweepers such as Optuna's minimise."""
        run = self.run
        return (run.failed + run.unaudited) / run.samples if run and run.samples else math.inf

    @classmethod
    def execute(cls, job: Callable[[], int | RunOutcome]) -> Self:
        """Runs a job, which returns its exit code or the outcome of its run. Prints its errors."""
        runs: list[RunOutcome] = []
        errors: list[str] = []

        def command() -> int:
            try:
                ended = job()
            except MmergError as wrong:
                errors.append("; ".join(filter(None, (wrong.what, wrong.hint))))
                raise
            except OSError as wrong:
                errors.append(f"{wrong.strerror}: {wrong.filename!s:.300}")
                raise
            if isinstance(ended, int):
                return ended
            runs.append(ended)
            return ended.code

        code = run_command(command, interrupted=None)
        return cls(code=code, error="".join(errors), run=runs[0] if runs else None)


class Row(Record):
    """A row of a sweep."""

    name: str  # the settings that differ from those of other rows
    overrides: tuple[str, ...]  # all of its settings
    outcome: JobOutcome


class SweepSummary(Callback):
    """A Hydra callback that collects the rows of a sweep, which may run in several processes, and prints a summary."""

    def __init__(self) -> None:
        self.folder: Path | None = None  # has a file for each finished row
        self.swept: frozenset[str] = frozenset()  # the settings that differ between rows

    def on_multirun_start(self, config: "DictConfig", **_: Any) -> None:
        self.folder = Path(config.hydra.sweep.dir).absolute() / f"rows-{uuid4().hex}"
        words = OverridesParser.create().parse_overrides(list(config.hydra.overrides.task))
        given = [word.get_key_element() for word in words if word.is_sweep_override()]
        self.swept = frozenset([*given, *(config.hydra.sweeper.get("params") or ())])

    def on_job_start(self, config: "DictConfig", **_: Any) -> None:
        if self.folder:
            console().print(Rule(escape(self._name(config))))
            ROWS.append(format_row_name(word for word in config.hydra.overrides.task if self._swept(word)))

    def on_job_end(self, config: "DictConfig", job_return: "JobReturn", **_: Any) -> None:
        if self.folder:
            overrides = tuple(config.hydra.overrides.task)
            row = Row(name=self._name(config), overrides=overrides, outcome=job_return.return_value)
            write_record(self.folder / f"{config.hydra.job.num:09}.json", row)

    def on_multirun_end(self, config: "DictConfig", **_: Any) -> None:  # noqa: ARG002
        assert self.folder is not None
        rows = [read_record(file, Row) for file in sorted(self.folder.glob("*.json"))]
        shutil.rmtree(self.folder, ignore_errors=True)
        CODES.append(max((row.outcome.code for row in rows), default=EXIT_ERROR))
        if not any(row.outcome.run or row.outcome.error for row in rows):
            return
        out = console()
        out.print(tabulate_rows(rows))
        for line in (*list_notes(rows), describe_cost(rows)):
            out.print(escape(line), soft_wrap=True)

    def _name(self, config: "DictConfig") -> str:
        own = filter(self._swept, config.hydra.overrides.task)
        return " ".join(own).replace("\\:", ":") or f"row {config.hydra.job.num}"

    def _swept(self, word: str) -> bool:
        return word.partition("=")[0] in self.swept


def format_row_name(words: Iterable[str]) -> str:
    """Formats a row for its folder's name: "top_k=3" for `memory.top_k=3`. Omits settings that the name has already."""
    pairs = (word.lstrip("+").split("=", 1) for word in words if "=" in word)
    kept = ((key, value) for key, value in pairs if key not in (*_IN_NAMES, *RUNTIME_KEYS))
    parts = (f"{re.split(r'[./@]', key)[-1]}={folder_name(value)}" for key, value in kept)
    return "-".join(parts)[:_LONGEST].rstrip("-.")


def tabulate_rows(rows: Sequence[Row]) -> Table:
    """Tabulates the runs: the settings of the row, samples (kept: finished before), and calls."""
    made = Table(title=f"{len(rows)} row{'s' * (len(rows) > 1)}", title_justify="left")
    made.add_column("row", overflow="fold")
    for name in ("samples", "kept", "failed", "unaudited", "calls", "made", "reused"):
        made.add_column(name, justify="right", no_wrap=True)
    made.add_column("run", ratio=1, overflow="fold")
    for row in rows:
        if run := row.outcome.run:
            samples = (run.samples, run.kept, run.failed, run.unaudited)
            counts = map(str, (*samples, run.calls, run.made, run.calls - run.made))
            made.add_row(escape(row.name), *counts, escape(Path(run.run).name))
        if row.outcome.error:
            made.add_row(escape(row.name), *("–",) * 7, "not run")
    return made


def list_notes(rows: Sequence[Row]) -> Iterator[str]:
    """Lists the commands that score and compare the runs, and why rows could not run."""
    runs = dict.fromkeys(row.outcome.run.run for row in rows if row.outcome.run)
    sharded = dict.fromkeys(str(Path(run).parents[1]) for run in runs if Path(run).parent.name == SHARDS)
    if sharded:
        yield f"when all shards are finished: mmerg merge {shlex.join(sharded)}"
    elif runs:
        yield f"to score them: mmerg score {shlex.join(runs)}"
    corpora = {frozenset(word for word in row.overrides if word.startswith("dataset")) for row in rows}
    if len(runs) > 1 and len(corpora) < 2 and not sharded:
        yield f"to test the differences from the first: mmerg compare {shlex.join(runs)}"
    errors = group_by_reason((row.outcome.error, row.name) for row in rows if row.outcome.error)
    for error, names in errors.items():
        yield f"not run: {names}: {error}"


def describe_cost(rows: Sequence[Row]) -> str:
    """Describes how many calls the sweep made, and how many its runs would make without sharing. Rows that share a run
    count once, unless they have different samples. A run that made more calls than it needs reused none."""
    made: Counter[tuple[str, int, int]] = Counter()
    for run in (row.outcome.run for row in rows if row.outcome.run):
        made[run.run, run.samples, run.calls] += run.made
    reused = sum(max(0, calls - new_calls) for (_, _, calls), new_calls in made.items())
    most = max((calls for _, _, calls in made), default=0)
    ratio = f"; the largest row alone takes {most}" if most else ""
    takes = sum(calls for _, _, calls in made)
    return f"{made.total()} calls made, {reused} reused; separate runs would take {takes}{ratio}"

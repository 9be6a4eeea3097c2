"""A sweep: one run for each row of an experiment (`python -m mmerg.run -m +experiment=… dataset=…`), and what it cost.

Hydra starts the members, in this process or in several. Each leaves a line about its end in the sweep's folder, which
the report adds up; one that cannot run does not stop the others. They share calls through the reply cache alone.
"""

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from pydantic import ValidationError
from rich.rule import Rule
from rich.table import Table

from mmerg.console.terminal import INTERRUPTED, WRONG, Swept, console, escape, run_command
from mmerg.errors import MmergError
from mmerg.runs.result import Ended
from mmerg.storage.record import Record

ENDED = "ended.json"


class Member(Record):
    """One member: which it was, the overrides it was composed with, its exit code, and its runs (one a repeat; none
    where nothing could be run: then `error` says why, and what to do)."""

    number: int
    overrides: tuple[str, ...]
    code: int
    error: str = ""
    runs: tuple[Ended, ...] = ()

    @property
    def calls(self) -> int:
        """What its samples take, however the replies were had: the cost of a run by itself."""
        return sum(run.calls for run in self.runs)


def in_sweep() -> bool:
    """Whether this is a member of a sweep."""
    return HydraConfig.initialized() and HydraConfig.get().mode == RunMode.MULTIRUN


def member(launched: Callable[[], Iterable[Ended]], number: int = 0, overrides: Iterable[str] = ()) -> Member:
    """How a member ends that is these runs; what is wrong is printed, and does not stop the others."""
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


def note(ended: Member) -> None:
    """Leave word of this member's end. Raises Swept where it was interrupted: then no other is begun."""
    hydra = HydraConfig.get()
    known = {"number": hydra.job.num, "overrides": tuple(_typed(hydra.overrides.task))}
    file = Path(hydra.runtime.output_dir) / ENDED
    file.write_text(ended.model_copy(update=known).model_dump_json(), encoding="utf-8")
    if ended.code == INTERRUPTED:
        raise Swept(ended.code)


def _typed(overrides: Iterable[str]) -> list[str]:
    """Overrides as a command line has them, which may leave out that a page has no such setting."""
    return [override.removeprefix("++") for override in overrides]


class Report(Callback):
    """What Hydra calls as members begin, and once every one has ended: prints what each is, then the table, and ends
    the command with the worst exit code."""

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Words of an earlier sweep in the same folder are not this one's."""
        for file in read(Path(config.hydra.sweep.dir)):
            file.unlink()
        parsed = OverridesParser.create().parse_overrides(list(config.hydra.overrides.task))
        swept = {override.key_or_group for override in parsed if override.is_sweep_override()}
        self._swept = swept | set(OmegaConf.select(config, "hydra.sweeper.params") or ())

    def on_job_start(self, config: DictConfig, **_: Any) -> None:
        """A heading over what a member says: its values of what the sweep goes over."""
        if config.hydra.mode == RunMode.MULTIRUN:
            typed = _typed(config.hydra.overrides.task)
            keys = {override: override.partition("=")[0].lstrip("+~") for override in typed}
            own = " ".join(override for override, key in keys.items() if key in self._swept)
            console().print(Rule(escape(own or f"row {config.hydra.job.num}")))

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        folder = Path(config.hydra.sweep.dir)
        members = list(read(folder).values())
        out = console()
        if not members:
            out.print(escape(f"no row left word of its end in {folder}: its hydra.sweep.subdir lies elsewhere"))
            raise Swept(WRONG)
        out.print(table(members))
        for told in notes(members):
            out.print(escape(told), soft_wrap=True)
        out.print(cost(members))
        code = max(member.code for member in members)
        if silent := sorted(set(range(members[-1].number)) - {member.number for member in members}):
            out.print(f"no word of row {', '.join(map(str, silent))}: it was killed, or its folder lies elsewhere")
            code = max(code, 1)
        raise Swept(code)


def read(folder: Path) -> dict[Path, Member]:
    """What the members left in the sweep's folder by file, in the order they were begun. A file of somebody else's may
    have this name, too, or one was cut off."""
    found: dict[Path, Member] = {}
    for file in folder.glob(f"*/{ENDED}"):
        with suppress(ValidationError, OSError):
            found[file] = Member.model_validate_json(file.read_bytes())
    return dict(sorted(found.items(), key=lambda one: one[1].number))


def table(members: Sequence[Member]) -> Table:
    """A row a run: what tells its member from the others (at the first of its repeats), its samples (kept: those
    finished before), and its calls."""
    made = Table(title=f"{len(members)} row{'s' * (len(members) > 1)}", title_justify="left")
    made.add_column("row", overflow="fold")
    for name in ("samples", "kept", "failed", "unaudited", "calls", "made", "reused"):
        made.add_column(name, justify="right", no_wrap=True)
    made.add_column("run", ratio=1, overflow="fold")
    for member in members:
        own = escape(_own(member, members))
        for number, run in enumerate(member.runs):
            samples = (run.samples, run.kept, run.failed, run.unaudited)
            figures = map(str, (*samples, run.calls, run.made, run.calls - run.made))
            made.add_row("" if number else own, *figures, escape(Path(run.run).name))
        if member.error:
            made.add_row(own, *("–",) * 7, "not run")
    return made


def _own(member: Member, members: Sequence[Member]) -> str:
    """The overrides that tell a member from the others, of a single one its row; its number where none does."""
    common = set.intersection(*(set(other.overrides) for other in members))
    own = [override for override in member.overrides if override not in common or override.startswith("row=")]
    return " ".join(own) or f"row {member.number}"


def notes(members: Sequence[Member]) -> Iterator[str]:
    """What scores the runs and compares those of one corpus, which members are one run as their settings are the same,
    and why others could not run."""
    runs: dict[str, list[str]] = {}
    errors: dict[str, list[str]] = {}
    for member in members:
        for run in member.runs:
            runs.setdefault(run.run, []).append(_own(member, members))
        if member.error:
            errors.setdefault(member.error, []).append(_own(member, members))
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
    """The sweep's calls, beside those of as many runs that share nothing. A run that several members are counts once,
    unless the members took up other samples of it. Where its members made more calls than it takes, as they did again
    what had failed, it counts as reusing none."""
    made: Counter[tuple[str, int, int]] = Counter()
    for run in (run for member in members for run in member.runs):
        made[run.run, run.samples, run.calls] += run.made
    reused = sum(max(0, calls - asked) for (_, _, calls), asked in made.items())
    most = max((member.calls for member in members), default=0)
    ratio = f"; the largest row alone takes {most}" if most else ""
    takes = sum(calls for _, _, calls in made)
    return f"{made.total()} calls made, {reused} reused; separate runs would take {takes}{ratio}"

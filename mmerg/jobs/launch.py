"""A run in shards, each a job of a scheduler: handed over, watched, those that failed handed over again, merged.

What a shard's folder holds decides what is left to do, so that the same command goes on wherever the last one ended.
"""

import json
import shlex
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from time import monotonic, sleep
from typing import cast

from rich.console import Console

from mmerg.console.terminal import WRONG, console, escape, plural, printable, undisturbed
from mmerg.corpora.dialogue import Sample
from mmerg.errors import ConfigError, RunError, some
from mmerg.experiment.launch import Task
from mmerg.experiment.wiring import make
from mmerg.experiment.work import is_new, pending
from mmerg.jobs.job import Job, Jobs
from mmerg.jobs.progress import ShardsAtWork, Watched
from mmerg.jobs.work import Work
from mmerg.runs.folder import read_results
from mmerg.runs.merge import merge
from mmerg.runs.shards import SHARDS, Shard, keep_number, number_of
from mmerg.settings.command import read_line
from mmerg.settings.model import ClusterSettings, RunSettings
from mmerg.storage.files import private_folder, write_whole, writing

JOBS, NOTED = ".jobs", "jobs.json"  # in shards/: logs, and what the scheduler calls the jobs: {"on": …, "jobs": {…}}
PATIENCE = 60.0  # seconds that cancelled jobs have to end
OWN = set(ClusterSettings.model_fields) - set(RunSettings.model_fields)
POLL = 0.5  # seconds between two looks


class Shards:
    """The shards of a run, with the samples of each: all of them, and those that are wanted now."""

    def __init__(self, task: Task, of_all: int) -> None:
        self._task = task
        self.wanted: dict[Shard, list[Sample]] = {Shard(number, of_all): [] for number in range(1, of_all + 1)}
        self._all: dict[Shard, list[str]] = {shard: [] for shard in self.wanted}
        for sample in task.wanted:
            self.wanted[Shard(number_of(sample.dialogue_id, of_all), of_all)].append(sample)
        for sample in task.selection.samples:
            self._all[Shard(number_of(sample.dialogue_id, of_all), of_all)].append(sample.id)

    def path(self, shard: Shard) -> Path:
        return shard.folder(self._task.run)

    def is_done(self, shard: Shard, *, only_failed: bool = False) -> bool:
        """Whether the shard's folder holds all that is wanted of it, in order; with `only_failed` without failures."""
        if is_new(self.path(shard)):
            return not self.wanted[shard]
        results, wanted = read_results(self.path(shard)), self.wanted[shard]
        left = pending(wanted, results, only_failed=False) or (only_failed and pending(wanted, results, True))
        return results.sealed(self._all[shard]) and not left


def launch_cluster(settings: ClusterSettings, arguments: Sequence[str]) -> int:
    """Runs all shards as jobs and merges them: 0, or 1 where samples failed. arguments: of the command line, which the
    jobs get without what is the cluster's own. Raises ConfigError where the settings do not fit, before a job is handed
    over, and RunError where a shard did not come to its end."""
    run = RunSettings.model_validate({key: value for key, value in settings.plain().items() if key not in OWN})
    out, jobs = console(), cast(Jobs, make(settings.on))
    package, extra = jobs.package
    if not find_spec(package):
        raise ConfigError(f"{package} is not installed", where="on", hint=f"pip install 'mmerg[{extra}]'")
    task = Task.of(run)
    _refuse(settings, task, jobs)
    shards = Shards(task, settings.shards)
    folder = (task.run / SHARDS / JOBS).absolute()
    words = _of_a_run(arguments)
    given = (settings.server or "", settings.server_wait, run.backend.adapter.token_env or "")
    here = str(Path.cwd())
    works = {s: Work(str(s.number), (*words, f"shard={s}"), here, folder, *given) for s in shards.wanted}
    watched = {shard: Watched(shard, shards.path(shard), len(shards.wanted[shard])) for shard in shards.wanted}
    told = f"{plural(len(task.wanted), 'sample')} in {plural(len(works), 'shard')}: {task.run}"
    out.print(escape(told), soft_wrap=True)
    with writing(folder):
        private_folder(folder)
    at_work = _known(settings.on.target, jobs, folder, works)
    for shard in works:
        watched[shard].look()
        if shard not in at_work and shards.is_done(shard, only_failed=run.only_failed):
            watched[shard].state = "done"
    waiting = deque(shard for shard in works if shard not in at_work and watched[shard].state != "done")
    logs = _carry_out(settings, jobs, folder, works, shards, watched, waiting, at_work, out)
    undone = [shard for shard, one in watched.items() if one.state == "not done"]
    if undone:
        for shard in undone:
            out.print(escape(f"shard {shard}: {logs[shard]}"), soft_wrap=True)
        what = f"{len(undone)} of {len(works)} shards did not come to their end: {some([str(one) for one in undone])}"
        raise RunError(what, where=str(folder), hint="the same command runs those alone, and then merges all")
    merged = merge(task.run, partial=bool(run.limit or run.ids))
    out.print(escape(f"merged {merged}"))
    print(f"run: {printable(str(task.run))}")  # noqa: T201 - the last line is for programs to read: no wrapping
    return 1 if merged.failed else 0


def _carry_out(
    settings: ClusterSettings,
    jobs: Jobs,
    folder: Path,
    works: Mapping[Shard, Work],
    shards: Shards,
    watched: Mapping[Shard, Watched],
    waiting: deque[Shard],
    at_work: dict[Shard, Job],
    out: Console,
) -> dict[Shard, str]:
    """Has all that wait done, some at once, each at most so many times as it may be tried; what those said last that
    were not. On Ctrl-C jobs are left or ended, as their kind says."""
    tries: Counter[Shard] = Counter()
    logs: dict[Shard, str] = {}
    for shard, job in at_work.items():
        watched[shard].state, watched[shard].job = "at work", job.name
    try:
        with ShardsAtWork(out, list(watched.values())) as table:
            while waiting or at_work:
                room = len(waiting) if jobs.at_once is None else max(0, jobs.at_once - len(at_work))
                begun = [waiting.popleft() for _ in range(min(room, len(waiting)))]
                if begun:
                    with undisturbed(), writing(folder):  # a job that is not noted is lost
                        handed_over = jobs.start([works[shard] for shard in begun], folder)
                        for shard, job in zip(begun, handed_over, strict=True):
                            at_work[shard] = job
                            tries[shard] += 1
                            watched[shard].state, watched[shard].job = "at work", job.name
                        _note(settings.on.target, folder, at_work)
                sleep(POLL)
                for shard in [shard for shard, job in at_work.items() if job.ended()]:
                    job = at_work.pop(shard)
                    watched[shard].look()
                    code = job.code()
                    if code in (0, 1) and shards.is_done(shard):
                        watched[shard].state = "done"
                    elif code != WRONG and tries[shard] < settings.tries:
                        watched[shard].state = "waiting"
                        waiting.append(shard)
                    else:
                        watched[shard].state, logs[shard] = "not done", job.log() or "it said nothing"
                table.look()
    except KeyboardInterrupt:
        _leave(jobs, at_work, out)
        raise
    return logs


def _leave(jobs: Jobs, at_work: Mapping[Shard, Job], out: Console) -> None:
    if jobs.leaves:
        out.print(f"{plural(len(at_work), 'job')} go on; the same command watches them again")
        return
    for job in at_work.values():
        job.cancel()
    end = monotonic() + PATIENCE
    while any(not job.ended() for job in at_work.values()) and monotonic() < end:
        sleep(POLL)
    out.print(f"{plural(len(at_work), 'job')} cancelled")


def _refuse(settings: ClusterSettings, task: Task, jobs: Jobs) -> None:
    """Raises ConfigError for what does not go together."""
    if jobs.afar and settings.cache == "on" and settings.scratch is None:
        what = "jobs of several machines cannot write one reply cache: shared disks break its locks"
        hint = "scratch=/tmp keeps each job's on its machine's own disk; or cache=off"
        raise ConfigError(what, where="scratch", hint=hint)
    if settings.repeats > 1 or settings.shard:
        what = "repeats" if settings.repeats > 1 else "shard"
        raise ConfigError(f"{what} is for mmerg run", where=what, hint="a command a seed: seed=1, seed=2, …")
    try:
        shlex.split(settings.server or "")
    except ValueError as error:
        raise ConfigError(f"no command: {error}", where="server", hint="close what is quoted in it") from error
    keep_number(task.run, settings.shards)


def _of_a_run(arguments: Sequence[str]) -> list[str]:
    """The command line of `mmerg run` in that of a cluster. Raises ConfigError for a sweep."""
    line = read_line(arguments)
    if line.multirun:
        hint = "a command a row; what they share comes from cache_base"
        raise ConfigError("a sweep over a cluster is a command for each of its rows", where="-m", hint=hint)
    own = ["--config-dir", str(line.own)] if line.own else []
    names = (word.lstrip("+~").partition("=")[0].partition(".")[0] for word in line.settings)
    return [*own, *(word for word, name in zip(line.settings, names, strict=True) if name not in OWN)]


def _known(kind: str, jobs: Jobs, folder: Path, works: Mapping[Shard, Work]) -> dict[Shard, Job]:
    """The jobs of an earlier command of the same kind that are at work still."""
    try:
        noted = json.loads((folder / NOTED).read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    names = noted["jobs"] if noted.get("on") == kind else {}
    found = {shard: jobs.known(names[str(shard)], folder) for shard in works if str(shard) in names}
    return {shard: job for shard, job in found.items() if job}


def _note(kind: str, folder: Path, at_work: Mapping[Shard, Job]) -> None:
    names = {str(shard): job.name for shard, job in at_work.items()}
    write_whole(folder / NOTED, json.dumps({"on": kind, "jobs": names}))

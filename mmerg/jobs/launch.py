"""A run in shards, each a job of a scheduler: handed over, watched, handed over again where it failed, and merged.

What a shard's folder holds decides what is left to do, so that the same command goes on wherever the last one ended.
"""

import json
import shlex
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from time import monotonic, sleep
from typing import cast

from rich.console import Console

from mmerg.console.terminal import WRONG, console, escape, plural, printable, undisturbed
from mmerg.errors import ConfigError, RunError, some
from mmerg.experiment.launch import Task
from mmerg.experiment.wiring import make
from mmerg.jobs.job import Jobs
from mmerg.jobs.part import Part, parts_of
from mmerg.jobs.progress import ShardsAtWork
from mmerg.jobs.work import Work
from mmerg.runs.merge import merge
from mmerg.runs.shards import SHARDS, keep_number
from mmerg.settings.command import read_line
from mmerg.settings.model import ClusterSettings, RunSettings
from mmerg.storage.files import private_folder, write_whole, writing

JOBS, NOTED = ".jobs", "jobs.json"  # in shards/: logs, and what the scheduler calls the jobs: {"on": …, "jobs": {…}}
PATIENCE = 60.0  # seconds that cancelled jobs have to end
OWN = set(ClusterSettings.model_fields) - set(RunSettings.model_fields)


def launch_cluster(settings: ClusterSettings, arguments: Sequence[str], look_every: float) -> int:
    """Runs all shards as jobs and merges them: 0, or 1 where samples failed. arguments: of the command line, which the
    jobs get without what is the cluster's own. look_every: seconds between two looks at the jobs. Raises ConfigError
    where the settings do not fit, before a job is handed over, and RunError where a shard did not come to its end."""
    run = RunSettings.model_validate({key: value for key, value in settings.plain().items() if key not in OWN})
    out, jobs = console(), cast(Jobs, make(settings.on))
    if not find_spec(jobs.package):
        hint = "pip install 'mmerg[cluster]', for on=ray 'mmerg[ray]'"
        raise ConfigError(f"{jobs.package} is not installed", where="on", hint=hint)
    task = Task.of(run)
    _refuse(settings, task, jobs)
    folder = (task.run / SHARDS / JOBS).absolute()
    parts, work = parts_of(task, settings.shards), _work_of(settings, arguments, folder)
    plan = f"{plural(len(task.wanted), 'sample')} in {plural(len(parts), 'shard')}: {task.run}"
    out.print(escape(plan), soft_wrap=True)
    with writing(folder):
        private_folder(folder)
    _take_up(settings.on.target, jobs, folder, parts)
    for part in parts:
        part.look()
        if part.state == "waiting" and part.is_done(only_failed=run.only_failed):
            part.state = "done"
    try:
        with ShardsAtWork(out, parts) as table:
            while any(part.state in ("waiting", "at work") for part in parts):
                _hand_over(settings.on.target, jobs, folder, parts, work)
                sleep(look_every)
                _collect(parts, settings.tries)
                table.look()
    except KeyboardInterrupt:
        _leave(jobs, parts, out, look_every)
        raise
    if not_done := [part for part in parts if part.state == "not done"]:
        for part in not_done:
            out.print(escape(f"shard {part.shard}: {part.log}"), soft_wrap=True)
        names = some([str(part.shard) for part in not_done])
        what = f"{len(not_done)} of {len(parts)} shards did not come to their end: {names}"
        raise RunError(what, where=str(folder), hint="the same command runs those alone, and then merges all")
    merged = merge(task.run, partial=bool(run.limit or run.ids))
    out.print(escape(f"merged {merged}"))
    print(f"run: {printable(str(task.run))}")  # noqa: T201 - the last line is for programs to read: no wrapping
    return 1 if merged.failed else 0


def _refuse(settings: ClusterSettings, task: Task, jobs: Jobs) -> None:
    """Raises ConfigError for what does not go together."""
    if jobs.remote and settings.cache == "on" and settings.scratch is None:
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


def _work_of(settings: ClusterSettings, arguments: Sequence[str], folder: Path) -> Callable[[Part], Work]:
    """What makes the work of a shard: `mmerg run` with the settings of the command line that are not the cluster's."""
    line = read_line(arguments)
    names = {word: word.lstrip("+~").partition("=")[0].partition(".")[0] for word in line.settings}
    words = [word for word in line.settings if names[word] not in OWN]
    own = ["--config-dir", str(line.own)] if line.own else []
    server = (settings.server or "", settings.server_wait, settings.backend.adapter.token_env or "")
    here = str(Path.cwd())
    return lambda part: Work(str(part.shard.number), (*own, *words, f"shard={part.shard}"), here, folder, *server)


def _take_up(kind: str, jobs: Jobs, folder: Path, parts: Sequence[Part]) -> None:
    """Gives shards the jobs of an earlier command of the same kind that are at work still."""
    try:
        noted = json.loads((folder / NOTED).read_bytes())
    except (FileNotFoundError, ValueError):
        return
    names = noted["jobs"] if noted.get("on") == kind else {}
    for part in parts:
        name = names.get(str(part.shard))
        if name and (job := jobs.known(name, folder)):
            part.begin(job)


def _hand_over(kind: str, jobs: Jobs, folder: Path, parts: Sequence[Part], work: Callable[[Part], Work]) -> None:
    """Begins jobs for shards that wait, as many as there is room for."""
    waiting = [part for part in parts if part.state == "waiting"]
    if jobs.at_once is not None:
        waiting = waiting[: max(0, jobs.at_once - sum(part.state == "at work" for part in parts))]
    if not waiting:
        return
    with undisturbed(), writing(folder):  # a job that is not noted is lost
        for part, job in zip(waiting, jobs.start([work(part) for part in waiting], folder), strict=True):
            part.begin(job)
            part.tries += 1
        names = {str(part.shard): part.job.name for part in parts if part.state == "at work" and part.job}
        write_whole(folder / NOTED, json.dumps({"on": kind, "jobs": names}))


def _collect(parts: Sequence[Part], tries: int) -> None:
    """Notes which jobs have ended, and whether their shards are done, wait for another try, or are given up after so
    many `tries`."""
    for part in parts:
        if part.state != "at work" or not part.job or not part.job.ended():
            continue
        part.look()
        code = part.job.code()
        if code in (0, 1) and part.is_done():
            part.state = "done"
        elif code != WRONG and part.tries < tries:
            part.state = "waiting"
        else:
            part.state, part.log = "not done", part.job.log() or "it said nothing"


def _leave(jobs: Jobs, parts: Sequence[Part], out: Console, look_every: float) -> None:
    at_work = [part.job for part in parts if part.state == "at work" and part.job]
    if jobs.ctrl_c == "leave":
        out.print(f"{plural(len(at_work), 'job')} go on; the same command watches them again")
        return
    for job in at_work:
        job.cancel()
    end = monotonic() + PATIENCE
    while any(not job.ended() for job in at_work) and monotonic() < end:
        sleep(look_every)
    out.print(f"{plural(len(at_work), 'job')} cancelled")

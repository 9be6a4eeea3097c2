"""Jobs by submitit: SLURM's, and processes of this machine."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from mmerg.console.terminal import end_in_good_order
from mmerg.jobs.job import Job, missing, tail
from mmerg.jobs.work import Work


@dataclass(frozen=True)
class Ended:
    """A work that SIGTERM ends in good order: submitit itself passes that signal over."""

    work: Work

    def __call__(self) -> int:
        end_in_good_order()
        return self.work()

    def checkpoint(self) -> Any:
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


class Batched:
    """A job of submitit's."""

    def __init__(self, job: Any) -> None:
        self._job = job
        self.name = str(job.job_id)

    def ended(self) -> bool:
        return bool(self._job.done())

    def code(self) -> int | None:
        try:
            return int(self._job.result())
        except Exception:  # noqa: BLE001 - of submitit, or what the job raised: its log has it
            return None

    def cancel(self) -> None:
        self._job.cancel(check=False)

    def log(self) -> str:
        return tail(self._job.paths.stderr, self._job.paths.stdout)


class Process(Batched):
    """One of this machine's, by the process that submitit starts for it."""

    def ended(self) -> bool:
        return bool(self._job.done()) if self._job._process else not _runs(int(self.name))

    def cancel(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(int(self.name), signal.SIGTERM)


@dataclass
class Local:
    """Processes of this machine, `at_once` at a time. gpus: of the machine's, by number from 0, that each sees."""

    at_once: int | None = 2
    gpus: int = 0
    ctrl_c: Literal["leave", "cancel"] = "leave"
    minutes: int = 60 * 24 * 30

    @property
    def leaves(self) -> bool:
        return self.ctrl_c == "leave"

    def start(self, works: Sequence[Work], folder: Path) -> list[Job]:
        executor = _executor("local", folder)
        executor.update_parameters(timeout_min=self.minutes, gpus_per_node=self.gpus)
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # which they inherit: Ctrl-C is for who watches them
        try:
            return [Process(executor.submit(Ended(work))) for work in works]
        finally:
            signal.signal(signal.SIGINT, before)

    def known(self, name: str, folder: Path) -> Job | None:
        if not (name.isdigit() and _runs(int(name))):
            return None
        return Process(_module().LocalJob(folder, name))


@dataclass
class Slurm:
    """An array of SLURM's, which are requeued when they are preempted, and `requeues` times when their time is up.
    more: of sbatch, as {account: mine}. setup: commands before the job, such as `module load cuda`."""

    partition: str | None = None
    minutes: int = 720
    gpus: int = 1
    cpus: int = 4
    memory_gb: int = 16
    parallel: int | None = None
    requeues: int = 3
    ctrl_c: Literal["leave", "cancel"] = "leave"
    setup: Sequence[str] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    at_once: int | None = field(default=None, init=False)  # SLURM itself sees to that

    @property
    def leaves(self) -> bool:
        return self.ctrl_c == "leave"

    def start(self, works: Sequence[Work], folder: Path) -> list[Job]:
        executor = _executor("slurm", folder, slurm_max_num_timeout=self.requeues)
        given = {
            "slurm_partition": self.partition,
            "slurm_array_parallelism": self.parallel,
            "slurm_setup": list(self.setup) or None,
            "slurm_additional_parameters": dict(self.more) or None,
            "gpus_per_node": self.gpus or None,
        }
        executor.update_parameters(
            name="mmerg",
            timeout_min=self.minutes,
            cpus_per_task=self.cpus,
            mem_gb=self.memory_gb,
            **{key: value for key, value in given.items() if value is not None},
        )
        with executor.batch():
            jobs = [executor.submit(Ended(work)) for work in works]
        return [Batched(job) for job in jobs]

    def known(self, name: str, folder: Path) -> Job | None:
        job = Batched(_module().SlurmJob(folder, name))
        return None if job.ended() else job


def _executor(kind: str, folder: Path, **more: Any) -> Any:
    make: Callable[..., Any] = _module().AutoExecutor
    return make(folder=folder, cluster=kind, **more)


def _module() -> Any:
    try:
        import submitit
    except ImportError as error:
        raise missing("cluster", error) from error
    return submitit


def _runs(process: int) -> bool:
    """Whether a process of submitit's has this number: numbers are given again."""
    try:
        os.kill(process, 0)
        return b"submitit" in Path(f"/proc/{process}/cmdline").read_bytes()
    except FileNotFoundError:
        return not Path("/proc/self").exists()
    except OSError:
        return False

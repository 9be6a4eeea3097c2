"""Jobs by submitit: SLURM's, and processes of this machine."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, Literal

from mmerg.console.terminal import INTERRUPTED, end_in_good_order
from mmerg.errors import ConfigError
from mmerg.jobs.work import Work, tail

GPUS = "CUDA_VISIBLE_DEVICES"
LOOK = 60.0  # seconds between two questions to squeue
MONTH = 60 * 24 * 30  # minutes, as submitit wants a bound


@dataclass(frozen=True)
class Ended:
    """A work as submitit runs it. A signal ends it in good order, and then it leaves no result: a job with a result
    counts as over, even where SLURM requeues it. gpus: the variable of the environment that names the GPUs of a process
    of this machine, from which submitit hides all; None leaves it as SLURM sets it."""

    work: Work
    gpus: Mapping[str, str] | None = None

    def __call__(self) -> int:
        from submitit.core.job_environment import JobEnvironment

        if self.gpus is not None:
            del os.environ[GPUS]
            os.environ.update(self.gpus)
        out_of_time = JobEnvironment._usr_sig()
        requeue: Any = signal.getsignal(out_of_time)  # submitit's; SLURM kills a job soon after it is requeued
        came = end_in_good_order(signal.SIGHUP, out_of_time)
        code = self.work()
        if code != INTERRUPTED:
            return code
        if out_of_time in came:
            requeue(out_of_time, None)
        raise SystemExit(code)

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
            return int(self._job._get_outcome_and_result()[1])  # `result` waits for ever for one that is forgotten
        except Exception:  # noqa: BLE001 - of submitit, or what the job raised: its log has it
            return None

    def cancel(self) -> None:
        self._job.cancel(check=False)

    def log(self) -> str:
        return tail(self._job.paths.stderr, self._job.paths.stdout)


class Queued(Batched):
    """A job of SLURM's. sacct does not say of every job that it is over: it may forget one, and one that was cancelled
    as it was preempted looks like one that waits to be requeued. Then squeue is asked whether the job is there."""

    _again = 0.0

    def ended(self) -> bool:
        if super().ended():
            return True
        if self._job.state not in ("UNKNOWN", "PREEMPTED") or monotonic() < self._again:
            return False
        self._again = monotonic() + LOOK
        try:
            asked = subprocess.run(["squeue", "-h", "-j", self.name], capture_output=True, text=True, check=False)
        except OSError:  # it is not installed here
            return False
        return not asked.stdout.strip() if asked.returncode == 0 else "Invalid job id" in asked.stderr


class Process(Batched):
    """A job of this machine, named by the process that submitit starts for it."""

    def ended(self) -> bool:
        return super().ended() if self._job._process else not _runs(int(self.name))

    def code(self) -> int | None:
        return super().code() if self._job.paths.result_pickle.exists() else None  # submitit waits for shared disks

    def cancel(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(int(self.name), signal.SIGTERM)


@dataclass
class Local:
    """Processes of this machine, `at_once` at a time. They see the GPUs that the command sees."""

    at_once: int | None = 2
    ctrl_c: Literal["leave", "cancel"] = "leave"
    remote: bool = field(default=False, init=False)
    package: str = field(default="submitit", init=False)

    def __post_init__(self) -> None:
        if self.at_once is not None and not (type(self.at_once) is int and self.at_once > 0):  # a bool is an int, too
            raise ConfigError(f"on.at_once is {self.at_once!r}", where="on.at_once", hint="a whole number from 1 on")

    def start(self, works: Sequence[Work], folder: Path) -> list[Process]:
        from submitit import AutoExecutor

        executor = AutoExecutor(folder=folder, cluster="local")
        executor.update_parameters(timeout_min=MONTH)
        gpus = {GPUS: os.environ[GPUS]} if GPUS in os.environ else {}
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # jobs inherit it: Ctrl-C is for who watches them
        try:
            return [Process(executor.submit(Ended(work, gpus))) for work in works]
        finally:
            signal.signal(signal.SIGINT, before)

    def known(self, name: str, folder: Path) -> Process | None:
        from submitit import LocalJob

        return Process(LocalJob(folder, name)) if name.isdigit() and _runs(int(name)) else None


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
    more: Mapping[str, object] = field(default_factory=dict)
    at_once: int | None = field(default=None, init=False)  # SLURM itself sees to that
    remote: bool = field(default=True, init=False)
    package: str = field(default="submitit", init=False)

    def start(self, works: Sequence[Work], folder: Path) -> list[Queued]:
        from submitit import AutoExecutor

        given = {
            "name": "mmerg",
            "timeout_min": self.minutes,
            "cpus_per_task": self.cpus,
            "mem_gb": self.memory_gb,
            "gpus_per_node": self.gpus or None,
            "slurm_partition": self.partition,
            "slurm_array_parallelism": self.parallel,
            "slurm_setup": list(self.setup) or None,
            "slurm_additional_parameters": dict(self.more) or None,
        }
        try:
            executor = AutoExecutor(folder=folder, cluster="slurm", slurm_max_num_timeout=self.requeues)
            executor.update_parameters(**{key: value for key, value in given.items() if value is not None})
            with executor.batch():
                jobs = [executor.submit(Ended(work)) for work in works]
        except RuntimeError as error:  # of submitit, with what sbatch said
            what = str(error).strip().rpartition("\n")[2].removeprefix("sbatch: error: ")
            hint = "sinfo lists the partitions; on.more={account: …} gives sbatch what else it wants"
            raise ConfigError(f"SLURM takes no job: {what}", where="on", hint=hint) from error
        return [Queued(job) for job in jobs]

    def known(self, name: str, folder: Path) -> Queued | None:
        from submitit import SlurmJob

        job = Queued(SlurmJob(folder, name))
        return None if job.ended() else job


def _runs(process: int) -> bool:
    """Whether a process of submitit's has this number: numbers are given again."""
    try:
        os.kill(process, 0)
        return b"submitit" in Path(f"/proc/{process}/cmdline").read_bytes()
    except FileNotFoundError:
        return not Path("/proc/self").exists()
    except OSError:
        return False

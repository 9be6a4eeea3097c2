"""Jobs on a Ray cluster: a task a shard, put where the processors, GPUs and resources that it asks for are free."""

import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from mmerg.errors import ConfigError
from mmerg.jobs.work import Work, tail


class RayTask:
    """A task of Ray's. The command that began it must go on: with it Ray ends its tasks."""

    def __init__(self, reference: Any, log: Path) -> None:
        self._reference, self._log = reference, log
        self.name = f"task {reference.hex()[:8]}"

    def ended(self) -> bool:
        import ray

        done, _ = ray.wait([self._reference], timeout=0)
        return bool(done)

    def code(self) -> int | None:
        import ray

        try:
            return int(ray.get(self._reference, timeout=0))
        except Exception:  # noqa: BLE001 - its worker or node died, or it was cancelled
            return None

    def cancel(self) -> None:
        import ray

        ray.cancel(self._reference)

    def log(self) -> str:
        import ray

        try:
            ray.get(self._reference, timeout=0)
        except Exception as error:  # noqa: BLE001 - a worker or a node that died, in Ray's words
            return str(error).strip().splitlines()[-1]
        return tail(self._log)


@dataclass
class Ray:
    """address: of the cluster; auto: the one of this machine. resources: of a task, by the names that nodes have."""

    address: str = "auto"
    cpus: float = 1
    gpus: float = 0
    resources: Mapping[str, float] = field(default_factory=dict)
    at_once: int | None = field(default=None, init=False)  # Ray itself sees to that
    ctrl_c: Literal["leave", "cancel"] = field(default="cancel", init=False)
    remote: bool = field(default=True, init=False)
    package: str = field(default="ray", init=False)

    def start(self, works: Sequence[Work], folder: Path) -> list[RayTask]:
        import ray

        if not ray.is_initialized():
            self._connect()
        asked = {"num_cpus": self.cpus, "num_gpus": self.gpus, "resources": dict(self.resources)}
        do = ray.remote(**asked, max_retries=0)(perform)
        logs = [folder / f"ray-{work.name}.log" for work in works]
        return [
            RayTask(do.remote(work, str(log), os.environ.get(work.token)), log)
            for work, log in zip(works, logs, strict=True)
        ]

    def _connect(self) -> None:
        import ray

        host, _, port = self.address.rpartition(":")
        try:
            if host and port.isdigit():  # Ray would wait for minutes
                socket.create_connection((host.rpartition("/")[2], int(port)), timeout=10).close()
            ray.init(address=self.address, log_to_driver=False, logging_level="ERROR")
        except OSError as error:  # ConnectionError of Ray's
            hint = "ray start --head on one machine, ray start --address=… on the others; on.address=HOST:PORT names it"
            raise ConfigError(f"there is no Ray cluster at {self.address}", where="on.address", hint=hint) from error

    def known(self, name: str, folder: Path) -> None:
        """None outlives its command."""


def perform(work: Work, log: str, token: str | None) -> int:
    """The work; what it prints goes to a file. token: of a server. It is not in Ray's own environment of a task, which
    Ray's pages show."""
    if token is not None:
        os.environ[work.token] = token
    with Path(log).open("a", encoding="utf-8", buffering=1) as file, redirect_stdout(file), redirect_stderr(file):
        return work()

"""What a job does: one shard, as `mmerg run shard=3/64` does it; with a server of its own where it is to have one."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any

from mmerg.console.terminal import run_command
from mmerg.errors import ConfigError
from mmerg.settings.command import composing

POLL = 0.1  # seconds between two looks whether a server listens


@dataclass(frozen=True)
class Work:
    """name: for its log. arguments: of `mmerg run`. folder: where they were typed. server: a command that starts a
    server for this job alone, with {port} for its port, which has so many seconds to listen; "" for none."""

    name: str
    arguments: tuple[str, ...]
    folder: str
    server: str = ""
    seconds: float = 600.0

    def __call__(self) -> int:
        """The exit code of the run."""
        os.chdir(self.folder)

        def work() -> int:
            if not self.server:
                return composing(_job, "config", None, self.arguments)
            with _server(self.server, self.seconds) as url:
                return composing(_job, "config", None, [*self.arguments, f"backend.hosts=[{url}]"])

        return run_command(work)


def _job(settings: Callable[[], Any]) -> int:
    from mmerg.experiment.launch import launch

    return max(ended.code for ended in launch(settings()))


@contextmanager
def _server(command: str, seconds: float) -> Iterator[str]:
    """The address of a server that lives as long as the block. Raises ConfigError where it does not come up."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = subprocess.Popen(["env", *shlex.split(command.replace("{port}", str(port)))])
    try:
        end = monotonic() + seconds
        while not _listens(port):
            if started.poll() is not None or monotonic() > end:
                ended = f"ended with {started.poll()}" if started.poll() is not None else f"{seconds:g} s passed"
                hint = "its own words are in the job's log; {port} in the command stands for the port to listen at"
                raise ConfigError(f"the job's server does not listen: {ended}", where=f"server={command}", hint=hint)
            sleep(POLL)
        yield f"http://127.0.0.1:{port}"
    finally:
        started.terminate()
        try:
            started.wait(10)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0

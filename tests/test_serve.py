"""The command: where it says that it listens, how it ends, and what it refuses."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.engine.parts import ROOT
from tests.processes import forked


@contextmanager
def started(folder: Path, *words: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """The command, and what it has printed once it listens."""
    command = [sys.executable, "-m", "mmerg.serve", "backend=dry", "port=0", f"runs={folder}/runs", *words]
    pipe = subprocess.PIPE
    around = {**os.environ, **environment}
    with subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True, env=around) as process:
        try:
            printed = []
            for line in process.stdout or ():
                printed.append(line)
                if line.startswith("page: "):
                    break
            yield process, printed
        finally:
            process.kill()


def page_of(printed: list[str]) -> re.Match[str]:
    found = re.fullmatch(r"page: http://([^:/]+):(\d+)/(?:\?token=(\S+))?\n", printed[-1])
    assert found, printed
    return found


@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGTERM])
def test_it_says_where_it_is_and_ends_in_good_order(tmp_path: Path, ended_by: signal.Signals) -> None:
    with started(tmp_path, "system=one_pass") as (process, printed):
        host, port, token = page_of(printed).groups()
        assert (host, token) == ("127.0.0.1", None)
        assert printed[0].startswith("a dry run, no model: mmerg-one_pass, mmerg-")
        assert "mmerg-hef is not served: no small empathetic model is named\n" in printed
        assert httpx.get(f"http://127.0.0.1:{port}/api/tags").json()["models"][0]["name"] == "mmerg-one_pass:latest"
        process.send_signal(ended_by)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "interrupted; chats that were not saved are gone"
    assert "Traceback" not in errors
    assert not list(tmp_path.iterdir())


def test_another_address_than_the_machines_own_needs_the_token_that_is_printed_once(tmp_path: Path) -> None:
    with started(tmp_path, "host=0.0.0.0") as (process, printed):
        _, port, token = page_of(printed).groups()
        assert len(token) > 40
        assert "".join(printed).count(token) == 1
        url = f"http://127.0.0.1:{port}/v1/models"
        assert httpx.get(url).status_code == 401
        assert httpx.get(url, headers={"Authorization": f"Bearer {token}"}).status_code == 200
        process.terminate()
        _, errors = process.communicate(timeout=60)
    assert "GET - 401" in errors
    assert token not in errors


@pytest.mark.parametrize(("words", "environment"), [(("names=[chat.example]",), {}), ((), {"MMERG_TOKEN": "x" * 16})])
def test_a_name_for_others_or_a_token_of_ones_own_asks_for_it(
    tmp_path: Path, words: tuple[str, ...], environment: dict[str, str]
) -> None:
    with started(tmp_path, *words, **environment) as (_, printed):
        host, port, token = page_of(printed).groups()
        assert (host, token) == ("127.0.0.1", environment.get("MMERG_TOKEN", token))
        url = f"http://127.0.0.1:{port}/v1/models"
        assert httpx.get(url).status_code == 401
        assert httpx.get(url, headers={"Authorization": f"Bearer {token}"}).status_code == 200


def refused(*words: str, **environment: str) -> str:
    command = [sys.executable, "-m", "mmerg.serve", *words]
    done = forked(command, cwd=ROOT, env={**os.environ, **environment})
    assert done.returncode == 2, done.stderr
    return done.stderr


def test_what_cannot_be_served_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "next:  port=0 takes one that is free" in refused("backend=dry", f"port={port}")
    assert "next:  sem=DIR" in refused("backend=dry", "port=0", "system=hef")
    assert "start it with `ollama serve`" in refused(f"backend.hosts=[http://127.0.0.1:{port}]")
    assert "host=nowhere.invalid" in refused("backend=dry", "host=nowhere.invalid")
    assert "16 or more of A-Z" in refused("backend=dry", "port=0", MMERG_TOKEN="short")
    for idle in ("limit=3", "ids=[a]", "repeats=2", "frames=shuffled", "protocol.sample=3"):
        assert f"{idle} is nothing to a talk" in refused("backend=dry", "port=0", idle)
    assert "limits.text" in refused("backend=dry", "limits.text=0")
    assert "no dataset folder" in refused("backend=dry", "dataset=folder", f"dataset.root={tmp_path}/none")

"""The command: where it says that it listens, how it ends, and what it refuses."""

import ipaddress
import json
import os
import re
import signal
import socket
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path

import httpx
import pytest

from mmerg.runs.folder import read_results
from mmerg.runs.samples import read_events
from mmerg.serving.launch import choose_token
from tests.engine.parts import ROOT
from tests.processes import begun, in_process
from tests.scripted_ollama import scripted_ollama
from tests.serving.running import client_of, settings_of


@contextmanager
def started(folder: Path, *words: str, **environment: str) -> Iterator[tuple[BaseProcess, list[str]]]:
    """The command, and the lines that it has printed once it listens."""
    command = [sys.executable, "-m", "mmerg.serve", "backend=dry", "port=0", f"runs={folder}/runs", *words]
    process = begun(command, folder, cwd=ROOT, env={**os.environ, **environment})
    try:
        while "\npage: " not in (text := printed(folder, 1)) or not text.endswith("\n"):
            process.join(0.02)
            assert process.exitcode is None, printed(folder, 2)
        yield process, text.splitlines()
    finally:
        process.kill()
        process.join()


def printed(folder: Path, stream: int) -> str:
    file = folder / str(stream)
    return file.read_text(encoding="utf-8") if file.exists() else ""


def stopped(process: BaseProcess, by: signal.Signals, folder: Path) -> str:
    """What the command has said to standard error once this signal has ended it."""
    assert process.pid
    os.kill(process.pid, by)
    process.join()
    assert process.exitcode == 130
    errors = printed(folder, 2)
    assert errors.splitlines()[-1] == "interrupted; chats stay in the browsers that hold them"
    assert "Traceback" not in errors
    return errors


def page_of(lines: list[str]) -> re.Match[str]:
    address = re.fullmatch(r"page: http://([^:/]+):(\d+)/(?:\?token=(\S+))?", lines[-1])
    assert address, lines
    return address


def asked(port: str, path: str, token: str = "") -> httpx.Response:
    with client_of(f"http://127.0.0.1:{port}") as client:
        return client.get(path, headers={"Authorization": f"Bearer {token}"} if token else {})


def test_it_says_where_it_is_and_ends_in_good_order(tmp_path: Path) -> None:
    with started(tmp_path, "system=one_pass") as (process, lines):
        host, port, token = page_of(lines).groups()
        assert (host, token) == ("127.0.0.1", None)
        assert lines[0].startswith("a dry run, no model: mmerg-one_pass, mmerg-")
        assert "mmerg-hef is not served: no small empathetic model is set" in lines
        assert asked(port, "/api/tags").json()["models"][0]["name"] == "mmerg-one_pass:latest"
        stopped(process, signal.SIGINT, tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"1", "2"}


def test_a_reply_under_way_is_told_that_the_server_ends(tmp_path: Path) -> None:
    held, let_go = threading.Event(), threading.Event()

    def hang(number: int) -> None:
        held.set()
        let_go.wait(60)  # the server must not wait for it

    with scripted_ollama(hang, models=("m",)) as model:
        words = ("system=one_pass", "backbone.model=m", "backend=ollama", f"backend.hosts=[{model.url}]", "cache=on")
        with started(tmp_path, *words) as (process, lines):
            _, port, _ = page_of(lines).groups()
            asked = {"model": "mmerg-one_pass", "stream": True, "messages": [{"role": "user", "content": "Hey."}]}
            with (
                client_of(f"http://127.0.0.1:{port}") as client,
                client.stream("POST", "/v1/chat/completions", json=asked) as stream,
            ):
                assert held.wait(60)
                assert process.pid
                os.kill(process.pid, signal.SIGTERM)
                assert "the server was stopped in the middle of this reply" in stream.read().decode()
            process.join()
            let_go.set()
            assert "Traceback" not in printed(tmp_path, 2)
    kept = list((tmp_path / "runs").rglob("*"))
    assert {stat.S_IMODE(one.stat().st_mode) for one in [tmp_path / "runs", *kept]} == {0o700, 0o600}


def test_a_saved_chat_survives_a_kill(tmp_path: Path) -> None:
    talk = {"chat": "a", "system": "mmerg-one_pass", "turns": [{"who": "you", "text": "Hey."}]}
    with started(tmp_path, "system=one_pass") as (process, lines):
        _, port, _ = page_of(lines).groups()
        with client_of(f"http://127.0.0.1:{port}") as client:
            told = client.post("/page/turns", files={"talk": (None, json.dumps(talk))}).text
            trace = json.loads(told.partition("event: trace\ndata: ")[2].partition("\n")[0])
            [folder] = client.post("/page/save", json={"replies": [trace]}).json()["runs"]
        process.kill()
    [result] = read_results(Path(folder)).values()
    assert (result.id, result.response) == ("a/2", "This is a dry run.")
    assert "called" in {event.kind for event in read_events(Path(folder), "a/2")}


def test_another_address_than_the_machines_own_needs_the_token_that_is_printed_once(tmp_path: Path) -> None:
    with started(tmp_path, "host=0.0.0.0") as (process, lines):
        host, port, token = page_of(lines).groups()
        ipaddress.ip_address(host)  # what a phone can open
        assert len(token) > 40
        assert "".join(lines).count(token) == 1
        assert [asked(port, "/v1/models", given).status_code for given in ("", token)] == [401, 200]
        errors = stopped(process, signal.SIGTERM, tmp_path)
    assert '"GET /v1/models HTTP/1.1" 401' in errors
    assert token not in errors


def test_a_name_for_others_or_a_token_of_ones_own_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MMERG_TOKEN", raising=False)
    assert choose_token(settings_of()) == ""
    assert len(choose_token(settings_of("names=[chat.example]"))) > 40
    assert len(choose_token(settings_of("origins=[tauri://localhost]"))) > 40
    monkeypatch.setenv("MMERG_TOKEN", "x" * 16)
    assert choose_token(settings_of()) == choose_token(settings_of("names=[chat.example]")) == "x" * 16


def refused(*words: str) -> str:
    """The error with which the command ends, all of its text."""
    done = in_process([sys.executable, "-m", "mmerg.serve", *words])
    assert done.returncode == 2
    return done.stderr


def test_what_cannot_be_served_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "port=0 picks a free port" in refused("backend=dry", f"port={port}")
    assert "start it with `ollama serve`" in refused(f"backend.hosts=[http://127.0.0.1:{port}]")
    assert "sem=FILE" in refused("backend=dry", "port=0", "system=hef")
    assert "host=nowhere.invalid" in refused("backend=dry", "host=nowhere.invalid")
    for idle in ("+limit=3", "+ids=[a]", "+repeats=2", "frames=shuffled", "protocol.sample=3"):
        assert f"{idle} has no effect when serving" in refused("backend=dry", "port=0", idle)
    assert "limits.text" in refused("backend=dry", "limits.text=0")
    assert "no dataset folder" in refused("backend=dry", "dataset=folder", f"dataset.root={tmp_path}/none")


def test_a_token_that_is_too_short_is_refused_with_exit_code_2() -> None:
    command = [sys.executable, "-m", "mmerg.serve", "backend=dry", "port=0"]
    done = in_process(command, cwd=ROOT, env={"MMERG_TOKEN": "short"})
    assert done.returncode == 2, done.stderr
    assert "next:  16 or more of A-Z" in done.stderr

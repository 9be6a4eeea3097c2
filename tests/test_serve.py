"""The command: what it prints, how it ends, and what it refuses."""

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

import pytest

from mmerg.errors import ConfigError
from mmerg.runs.folder import read_results
from mmerg.serving.launch import choose_token, serve
from tests.engine.parts import ROOT
from tests.processes import in_process, start_command
from tests.scripted_ollama import scripted_ollama
from tests.serving.running import client_of, settings_of


@contextmanager
def started(folder: Path, *arguments: str, **environment: str) -> Iterator[tuple[BaseProcess, list[str]]]:
    """Runs the command. Yields its process, and the lines that it has printed."""
    command = [sys.executable, "-m", "mmerg.serve", "backend=dry", "port=0", f"runs={folder}/runs", *arguments]
    process = start_command(command, folder, cwd=ROOT, env={**os.environ, **environment})
    try:
        while "\npage: " not in (text := read_output(folder, 1)) or not text.endswith("\n"):
            process.join(0.02)
            assert process.exitcode is None, read_output(folder, 2)
        yield process, text.splitlines()
    finally:
        process.kill()
        process.join()


def read_output(folder: Path, stream: int) -> str:
    file = folder / str(stream)
    return file.read_text(encoding="utf-8") if file.exists() else ""


def stop(process: BaseProcess, by: signal.Signals, folder: Path) -> str:
    """Ends the command with a signal. Returns what it has printed to standard error."""
    assert process.pid
    os.kill(process.pid, by)
    process.join()
    assert process.exitcode == 130
    errors = read_output(folder, 2)
    assert errors.splitlines()[-1] == "interrupted; chats stay in the browsers that hold them"
    assert "Traceback" not in errors
    return errors


def match_address(lines: list[str]) -> re.Match[str]:
    address = re.fullmatch(r"page: http://([^:/]+):(\d+)/(?:\?token=(\S+))?", lines[-1])
    assert address, lines
    return address


@pytest.mark.slow
def test_the_command_prints_its_address_and_token_saves_chats_and_ends_cleanly(tmp_path: Path) -> None:
    talk = {"chat": "a", "system": "mmerg-one_pass", "turns": [{"role": "user", "text": "Hey."}]}
    with started(tmp_path, "system=one_pass", "host=0.0.0.0") as (process, lines):
        host, port, token = match_address(lines).groups()
        ipaddress.ip_address(host)  # phones can open it
        assert len(token) > 40
        assert "".join(lines).count(token) == 1
        assert lines[0].startswith("a dry run, no model: mmerg-one_pass, mmerg-")
        assert "mmerg-hef is not served: no small empathetic model is set" in lines
        with client_of(f"http://127.0.0.1:{port}") as client:
            assert client.get("/v1/models").status_code == 401
            client.headers["Authorization"] = f"Bearer {token}"
            assert client.get("/api/tags").json()["models"][0]["name"] == "mmerg-one_pass:latest"
            events = client.post("/page/turns", files={"talk": (None, json.dumps(talk))}).text
            trace = json.loads(events.partition("event: trace\ndata: ")[2].partition("\n")[0])
            [folder] = client.post("/page/save", json={"replies": [trace]}).json()["runs"]
        [result] = read_results(Path(folder)).values()
        assert (result.id, result.response) == ("a/2", "This is a dry run.")
        errors = stop(process, signal.SIGINT, tmp_path)
    assert '"GET /v1/models HTTP/1.1" 401' in errors
    assert token not in errors


@pytest.mark.slow
def test_a_running_reply_gets_an_error_when_the_server_ends(tmp_path: Path) -> None:
    held, let_go = threading.Event(), threading.Event()

    def hang(number: int) -> None:
        held.set()
        let_go.wait(60)  # the server must not wait for it

    with scripted_ollama(hang, models=("m",)) as model:
        words = ("system=one_pass", "backbone.model=m", "backend=ollama", f"backend.hosts=[{model.url}]", "cache=on")
        with started(tmp_path, *words) as (process, lines):
            _, port, _ = match_address(lines).groups()
            body = {"model": "mmerg-one_pass", "stream": True, "messages": [{"role": "user", "content": "Hey."}]}
            with (
                client_of(f"http://127.0.0.1:{port}") as client,
                client.stream("POST", "/v1/chat/completions", json=body) as stream,
            ):
                assert held.wait(60)
                assert process.pid
                os.kill(process.pid, signal.SIGTERM)
                assert "the server was stopped in the middle of this reply" in stream.read().decode()
            process.join()
            let_go.set()
            assert "Traceback" not in read_output(tmp_path, 2)
    written = list((tmp_path / "runs").rglob("*"))
    assert {stat.S_IMODE(path.stat().st_mode) for path in [tmp_path / "runs", *written]} == {0o700, 0o600}


def test_names_origins_and_a_token_in_the_environment_need_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MMERG_TOKEN", raising=False)
    assert choose_token(settings_of()) == ""
    assert len(choose_token(settings_of("names=[chat.example]"))) > 40
    assert len(choose_token(settings_of("origins=[tauri://localhost]"))) > 40
    monkeypatch.setenv("MMERG_TOKEN", "x" * 16)
    assert choose_token(settings_of()) == choose_token(settings_of("names=[chat.example]")) == "x" * 16


def run_refused(*arguments: str) -> str:
    """Runs a command that is refused. Returns its error."""
    done = in_process([sys.executable, "-m", "mmerg.serve", *arguments])
    assert done.returncode == 2
    return done.stderr


def test_problems_at_the_start_are_errors_with_a_next_step() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "port=0 picks a free port" in run_refused("backend=dry", f"port={port}")
    assert "start it with `ollama serve`" in run_refused("port=0", f"backend.hosts=[http://127.0.0.1:{port}]")
    assert "sem=FILE" in run_refused("backend=dry", "port=0", "system=hef")
    assert "protocol.sample=3 has no effect when serving" in run_refused("backend=dry", "port=0", "protocol.sample=3")


def test_settings_of_runs_are_refused() -> None:
    for override in ("+limit=3", "+ids=[a]", "frames=shuffled"):
        with pytest.raises(ConfigError, match="has no effect when serving"):
            serve(settings_of(), [override], [])


def test_a_short_token_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MMERG_TOKEN", "short")
    with pytest.raises(ConfigError, match="the token is too short"):
        choose_token(settings_of())

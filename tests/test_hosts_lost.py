"""Runs that lose a host."""

import threading
from contextlib import ExitStack
from pathlib import Path

from mmerg.runs.folder import read_results
from tests.scripted_ollama import ScriptedOllama, scripted_ollama
from tests.test_run import Runner, corpus_in


def test_samples_of_a_host_that_is_updated_continue_on_another(tmp_path: Path) -> None:
    changed: list[ScriptedOllama] = []

    def update(call: int) -> None:
        if call == 2:
            changed[0].version = "0.99.0"

    with scripted_ollama() as steady, scripted_ollama(update) as updated:
        changed.append(updated)
        run = Runner(corpus_in(tmp_path), tmp_path / "runs", f"{steady.url},{updated.url}")
        done = run()
    assert done.returncode == 0, done.stderr
    [line] = [line for line in done.stdout.splitlines() if "was skipped in the end" in line]
    assert updated.url.removeprefix("http://") in line
    assert "0.99.0" in line
    assert {result.status for result in read_results(run.folder()).values()} == {"ok"}
    assert updated.calls == 2


def test_no_sample_fails_if_the_only_host_is_down_for_a_while(tmp_path: Path) -> None:
    """The outage is longer than the attempts of a call."""
    back = threading.Event()

    def restart(port: int) -> None:
        servers.close()
        threading.Event().wait(0.5)
        servers.enter_context(scripted_ollama(port=port))
        back.set()

    def lose(call: int) -> None:
        if call == 3:
            threading.Thread(target=restart, args=(int(first.url.rpartition(":")[2]),)).start()

    with ExitStack() as servers:
        first = servers.enter_context(scripted_ollama(lose))
        run = Runner(corpus_in(tmp_path), tmp_path / "runs", first.url)
        done = run("backend.attempts=1")
        assert back.wait(30)
    assert done.returncode == 0, done.stderr
    assert {result.status for result in read_results(run.folder()).values()} == {"ok"}

"""`mmerg cluster run on=ray` on two nodes of one machine: against the plain run, and where a node is killed."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jobs.cluster import DEMO, ENVIRONMENT, Watched, folder_of, merged, plain, ran, without_manifest
from tests.scripted_ollama import scripted_ollama

pytest.importorskip("ray", reason="Ray is not installed: pip install 'mmerg[ray]'")


class Nodes:
    """Two nodes with a processor each."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.jobs.ray_nodes"]
        self.process = subprocess.Popen(
            command,
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.address = self.line()

    def line(self) -> str:
        assert self.process.stdout
        while not (line := self.process.stdout.readline().strip()) or (":" not in line and line != "killed"):
            assert self.process.poll() is None
        return line

    def kill_one(self) -> None:
        assert self.process.stdin
        self.process.stdin.write("kill\n")
        self.process.stdin.flush()
        assert self.line() == "killed"


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    """For all tests of the file, of which the last kills one."""
    made = Nodes()
    yield made
    made.process.communicate("", timeout=60)


def on(nodes: Nodes) -> tuple[str, str]:
    return "on=ray", f"on.address={nodes.address}"


def test_tasks_have_the_variable_with_a_servers_token(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENVIRONMENT, "OF_A_SERVER", "a-token")
    words = (word.replace("backend=dry", "backend=openai") for word in DEMO)
    given = (*words, "backend.adapter.dialect=other", "backend.adapter.token_env=OF_A_SERVER", "cache=off")
    server = "server='sh -c \"echo token $OF_A_SERVER; exit 1\"'"
    done = ran(tmp_path, "cluster", "run", *given, "runs=parts", "shards=1", server, *on(nodes))
    assert done.returncode == 2
    assert "it said: token ***" in done.stdout


def test_tasks_give_the_plain_run_file_by_file(nodes: Nodes, tmp_path: Path) -> None:
    assert ran(tmp_path, "run", *DEMO, "runs=plain").returncode == 0
    done = ran(tmp_path, "cluster", "run", *DEMO, "runs=parts", "shards=3", "cache=off", *on(nodes))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "merged 3 shards, 19 samples\n" in done.stdout
    assert merged(folder_of(tmp_path / "parts")) == without_manifest(folder_of(tmp_path / "plain"))


def test_without_a_cluster_it_says_how_to_start_one(tmp_path: Path) -> None:
    done = ran(tmp_path, "cluster", "run", *DEMO, "runs=parts", "cache=off", "on=ray", "on.address=127.0.0.1:1")
    assert done.returncode == 2
    assert "there is no Ray cluster at 127.0.0.1:1" in done.stderr


def test_a_node_that_is_killed_loses_nothing(nodes: Nodes, tmp_path: Path) -> None:
    both, go_on = threading.Barrier(3), threading.Event()

    def hook(call: int) -> None:
        if call <= 2:
            both.wait(100)
        go_on.wait(100)

    with scripted_ollama(hook) as server:
        watched = Watched(tmp_path, server, *on(nodes))
        both.wait(100)
        nodes.kill_one()
        go_on.set()
        said = watched.said()
        assert watched.process.exitcode == 0, said
    assert merged(folder_of(tmp_path / "runs")) == plain(tmp_path)[0]

"""`mmerg cluster run on=ray` on two nodes of one machine: against the plain run, and where a node is killed."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mmerg.cluster import main
from tests.jobs.cluster import DEMO, ENVIRONMENT, Watched, folder_of, holding_calls, merged, run_cluster
from tests.jobs.conftest import Plain

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
    done = run_cluster(tmp_path, *given, "runs=parts", "shards=1", server, *on(nodes))
    assert done.returncode == 2
    assert "it said: token ***" in done.stdout


def test_without_a_cluster_it_says_how_to_start_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = (*DEMO, f"runs={tmp_path}", "cache=off", "on=ray", "on.address=127.0.0.1:1")
    assert main(["run", *given]) == 2
    assert "there is no Ray cluster at 127.0.0.1:1" in capsys.readouterr().err


def test_tasks_give_the_plain_run_file_by_file_though_a_node_is_killed(
    nodes: Nodes, tmp_path: Path, plain: Plain
) -> None:
    with holding_calls(2) as calls:
        watched = Watched(tmp_path, calls.server, "shards=3", *on(nodes))
        calls.begun.wait()
        nodes.kill_one()
        calls.go_on.set()
        assert watched.exit_code() == 0, watched.output()
    assert "merged 3 shards, 4 samples\n" in watched.output()
    assert merged(folder_of(watched.runs)) == plain.held

"""`mmerg cluster run` with jobs of this machine: against the plain run, and where jobs or the command are killed."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from mmerg.jobs.launch import JOBS, NOTED
from mmerg.runs.manifest import read_manifest
from mmerg.runs.shards import SHARDS
from mmerg.storage.files import write_whole
from tests.jobs.cluster import (
    DEMO,
    ENVIRONMENT,
    Watched,
    command,
    folder_of,
    merged,
    plain,
    process_of,
    ran,
    without_manifest,
)
from tests.scripted_ollama import scripted_ollama

pytest.importorskip("submitit", reason="submitit is not installed: pip install 'mmerg[cluster]'")


def test_jobs_give_the_plain_run_file_by_file_and_the_same_command_has_nothing_to_do(tmp_path: Path) -> None:
    assert ran(tmp_path, "run", *DEMO, "runs=plain").returncode == 0
    given = ("run", *DEMO, "runs=parts", "shards=5", "on.at_once=2")  # one of them has no sample
    done = ran(tmp_path, "cluster", *given)
    assert done.returncode == 0, done.stderr
    run = folder_of(tmp_path / "parts")
    assert done.stdout.splitlines()[-1] == f"run: parts/{run.name}"
    assert "merged 4 shards, 19 samples\n" in done.stdout
    jobs = sorted((run / SHARDS / JOBS).iterdir())
    assert sum(job.name.endswith("_log.err") for job in jobs) == 4
    again = ran(tmp_path, "cluster", *given)
    assert again.returncode == 0
    assert "5 shards: 5 done · 19/19 samples · 0 failed" in again.stdout
    assert sorted((run / SHARDS / JOBS).iterdir()) == jobs
    assert merged(run) == without_manifest(folder_of(tmp_path / "plain"))


def test_a_shard_that_says_what_is_wrong_is_not_tried_again_and_then_run_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENVIRONMENT, "CUDA_VISIBLE_DEVICES", "3")
    given = ("run", *DEMO, "runs=runs", "shards=2")
    server = "server='KEY=hidden sh -c \"echo sees $CUDA_VISIBLE_DEVICES; exit 1\"'"
    done = ran(tmp_path, "cluster", *given, server, "tries=2")
    assert done.returncode == 2
    assert "2 of 2 shards did not come to their end: 1/2, 2/2" in done.stderr
    assert "the job's server is not ready: it ended with 1; it said: sees 3" in done.stdout
    assert "hidden" not in done.stdout + done.stderr
    run = folder_of(tmp_path / "runs")
    jobs = run / SHARDS / JOBS
    assert jobs.stat().st_mode & 0o77 == 0
    assert len(list(jobs.glob("*_log.err"))) == 2
    assert ran(tmp_path, "run", *DEMO, "runs=runs", "shard=1/2").returncode == 0
    again = ran(tmp_path, "cluster", *given)
    assert again.returncode == 0
    assert "1 done, 1 at work · 0/19 samples" not in again.stdout  # those of the shard that is done count
    assert "1 done, 1 at work · " in again.stdout
    assert len(list(jobs.glob("*_log.err"))) == 3


LOADING = """
import sys, http.server

class Server(http.server.BaseHTTPRequestHandler):
    asked = 0

    def do_GET(self):
        Server.asked += 1
        self.send_response(503 if Server.asked < 4 else 200)
        self.end_headers()
        print("asked", Server.asked, flush=True)

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Server).serve_forever()
"""


def test_a_job_may_have_a_server_of_its_own_and_waits_while_it_loads(tmp_path: Path) -> None:
    (tmp_path / "loading.py").write_text(LOADING, encoding="utf-8")
    server = f"server='{sys.executable} loading.py {{port}}'"
    done = ran(tmp_path, "cluster", "run", *DEMO, "runs=runs", "shards=2", server)
    assert done.returncode == 0, done.stdout + done.stderr
    logs = sorted((folder_of(tmp_path / "runs") / SHARDS / JOBS).glob("server-*.log"))
    assert ["asked 4\n" in log.read_text(encoding="utf-8") for log in logs] == [True, True]
    starts = read_manifest(folder_of(tmp_path / "runs")).sessions
    hosts = {host for start in starts for host in start.how["backend.hosts"]}
    assert len(hosts) == 2
    assert all(host.startswith("http://127.0.0.1:") for host in hosts)


def lives(group: int) -> bool:
    """Whether a process of the group does; one that was killed is listed until init has noted its end."""
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            state, _, its_group, *_ = file.read_text(encoding="utf-8").rpartition(")")[2].split()
            if int(its_group) == group and state != "Z":
                return True
    return False


def test_no_server_outlives_its_job(tmp_path: Path) -> None:
    """A signal that ends a process unless it is caught, to a job whose server is a shell with a child."""
    given = ("run", *DEMO, "runs=runs", "shards=1", "tries=1", "server='sh -c \"echo $$; sleep 600 & wait\"'")
    with subprocess.Popen(
        command("cluster", *given), cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        logs = f"runs/*/{SHARDS}/{JOBS}"
        while not (said := "".join(log.read_text(encoding="ascii") for log in tmp_path.glob(f"{logs}/server-1.log"))):
            assert process.poll() is None
        [noted] = tmp_path.glob(f"{logs}/{NOTED}")
        os.kill(process_of(int(json.loads(noted.read_bytes())["jobs"]["1/1"])), signal.SIGHUP)
        assert process.wait() == 2
    while lives(int(said)):
        time.sleep(0.05)


def test_jobs_of_another_kind_are_not_waited_for(tmp_path: Path) -> None:
    assert ran(tmp_path, "run", *DEMO, "runs=runs", "shard=1/1").returncode == 0
    alive = subprocess.Popen([sys.executable, "-c", "input()", "submitit"], stdin=subprocess.PIPE)
    write_whole(
        folder_of(tmp_path / "runs") / SHARDS / JOBS / NOTED,
        json.dumps({"on": "mmerg.jobs.batch.Slurm", "jobs": {"1/1": str(alive.pid)}}),
    )
    try:
        done = subprocess.run(
            command("cluster", "run", *DEMO, "runs=runs", "shards=1"),
            cwd=tmp_path,
            env=ENVIRONMENT,
            timeout=300,
            check=False,
        )
    finally:
        alive.communicate()
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("run", "on=slurm"), "next:  scratch=/tmp"),
        (("run", "repeats=2"), "repeats is for mmerg run"),
        (("run", "shard=1/2"), "shard is for mmerg run"),
        (("run", "-m", "seed=1,2"), "sweeps are for mmerg run"),
        (("run", "on.at_onc=2"), "next:  it takes at_once, ctrl_c"),
        (("run", "shards=0"), "shards"),
        (("run", "on.at_once=0"), "a whole number from 1 on"),
        (("run", "server='serve \"'"), "no command: No closing quotation"),
        (("status",), "there is no mmerg cluster status"),
    ],
)
def test_what_does_not_go_together_is_refused_before_a_job_is_begun(
    wrong: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    done = ran(tmp_path, "cluster", wrong[0], *DEMO, "runs=runs", *wrong[1:])
    assert done.returncode == 2
    assert said in done.stderr
    assert not list(tmp_path.rglob(SHARDS))


def test_a_run_keeps_its_number_of_shards(tmp_path: Path) -> None:
    assert ran(tmp_path, "run", *DEMO, "runs=runs", "shard=1/4").returncode == 0
    for other in (("cluster", "run", "shards=3"), ("run", "shard=3/3")):
        done = ran(tmp_path, *other, *DEMO, "runs=runs")
        assert done.returncode == 2
        assert "the run was begun with 4 shards, not 3" in done.stderr


def in_the_midst(folder: Path, act: Callable[[Watched], None], *more: str) -> tuple[str, int, int]:
    """What a command says of which `act` is done once both its jobs have begun a call; its exit code, and the calls."""
    begun, go_on = threading.Barrier(3), threading.Event()

    def hook(call: int) -> None:
        if not go_on.is_set():
            begun.wait(120)
            go_on.wait(60)

    with scripted_ollama(hook) as server:
        watched = Watched(folder, server, *more)
        begun.wait(120)
        while not list(watched.runs.glob(f"*-merg-*/{SHARDS}/{JOBS}/{NOTED}")):
            pass
        act(watched)
        go_on.set()
        said = watched.said()
        code = watched.process.exitcode
        assert code is not None
        if code in (130, -signal.SIGKILL):
            again = Watched(folder, server, *more)
            said += again.said()
            code = again.process.exitcode
            assert code is not None
        return said, code, server.calls


def test_a_job_that_is_killed_is_handed_over_again_and_nothing_is_lost(tmp_path: Path) -> None:
    def kill(watched: Watched) -> None:
        for job in watched.jobs():
            os.kill(process_of(job), signal.SIGKILL)

    said, code, _ = in_the_midst(tmp_path, kill)
    assert code == 0, said
    assert merged(folder_of(tmp_path / "runs")) == plain(tmp_path)[0]


@pytest.mark.parametrize(("how", "jobs"), [(signal.SIGTERM, 4), (signal.SIGUSR2, 2)])
def test_a_job_that_is_asked_to_end_leaves_no_result(how: signal.Signals, jobs: int, tmp_path: Path) -> None:
    """One that SLURM requeues keeps its number: with a result it would count as over. On SIGUSR2, as when its time is
    up, submitit requeues it, here too."""

    def end(watched: Watched) -> None:
        for job in watched.jobs():
            os.kill(process_of(job), how)

    said, code, _ = in_the_midst(tmp_path, end)
    assert code == 0, said
    run = folder_of(tmp_path / "runs")
    logs = run / SHARDS / JOBS
    assert len(list(logs.glob("*_log.err"))) == jobs
    assert len(list(logs.glob("*_result.pkl"))) == 2
    assert merged(run) == plain(tmp_path)[0]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_ctrl_c_leaves_the_jobs_and_the_same_command_watches_them_again(how: signal.Signals, tmp_path: Path) -> None:
    said, code, calls = in_the_midst(tmp_path, lambda watched: watched.signalled(how))
    assert code == 0, said
    assert ("2 jobs go on; the same command watches them again" in said) == (how is signal.SIGINT)
    assert len(list(folder_of(tmp_path / "runs").glob(f"{SHARDS}/{JOBS}/*_log.err"))) == 2
    run, as_many = plain(tmp_path)
    assert merged(folder_of(tmp_path / "runs")) == run
    assert calls == as_many  # nothing is asked twice


def test_ctrl_c_may_end_the_jobs(tmp_path: Path) -> None:
    jobs: list[int] = []

    def interrupt(watched: Watched) -> None:
        jobs.extend(watched.jobs())
        watched.signalled(signal.SIGINT)

    said, code, _ = in_the_midst(tmp_path, interrupt, "on.ctrl_c=cancel")
    assert "2 jobs cancelled" in said
    assert code == 0
    assert len(list(folder_of(tmp_path / "runs").glob(f"{SHARDS}/{JOBS}/*_log.err"))) == 4
    assert merged(folder_of(tmp_path / "runs")) == plain(tmp_path)[0]

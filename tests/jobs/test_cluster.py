"""`mmerg cluster run` with jobs of this machine: against the plain run, and where jobs or the command are killed."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from mmerg.cluster import main
from mmerg.errors import ConfigError
from mmerg.experiment.launch import launch
from mmerg.jobs.launch import JOBS, NOTED
from mmerg.runs.manifest import read_manifest
from mmerg.runs.shards import SHARDS
from mmerg.storage.files import write_whole
from tests.composed import settings_of
from tests.jobs.cluster import (
    COMMAND,
    DEMO,
    ENVIRONMENT,
    Watched,
    folder_of,
    holding_calls,
    jobs_of,
    merged,
    process_of,
    run_cluster,
    without_manifest,
)
from tests.jobs.conftest import Plain
from tests.processes import begun
from tests.test_run import corpus_in

pytest.importorskip("submitit", reason="submitit is not installed: pip install 'mmerg[cluster]'")

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


@pytest.fixture
def dry(tmp_path: Path) -> tuple[str, ...]:
    """Settings of runs in `runs` that ask no model, over four dialogues."""
    return ("dataset=folder", f"dataset.root={corpus_in(tmp_path)}", "backend=dry", "memory=none", "runs=runs")


def run_here(*settings: str) -> Path:
    """What `mmerg run` does: its folder."""
    [ended] = launch(settings_of(*settings))
    assert ended.code == 0
    return Path(ended.run)


def test_jobs_with_a_server_each_give_the_plain_run_file_by_file_and_the_same_command_has_nothing_to_do(
    tmp_path: Path, dry: tuple[str, ...]
) -> None:
    corpus = tmp_path / "corpus" / "dialogues.jsonl"
    corpus.write_text("\n".join(corpus.read_text(encoding="utf-8").splitlines()[:2]), encoding="utf-8")
    plain = run_here(*dry, f"runs={tmp_path / 'plain'}")
    (tmp_path / "loading.py").write_text(LOADING, encoding="utf-8")
    server = f"server='{sys.executable} loading.py {{port}}'"
    given = (*dry, "shards=3", "on.at_once=2", server)  # one of them has no sample
    done = run_cluster(tmp_path, *given)
    assert done.returncode == 0, done.stdout + done.stderr
    run = folder_of(tmp_path / "runs")
    assert done.stdout.splitlines()[-1] == f"run: runs/{run.name}"
    assert "merged 2 shards, 2 samples\n" in done.stdout
    jobs = sorted(jobs_of(tmp_path / "runs").iterdir())
    assert sum(job.name.endswith("_log.err") for job in jobs) == 2
    logs = [job.read_text(encoding="utf-8") for job in jobs if job.name.startswith("server-")]
    assert ["asked 4\n" in log for log in logs] == [True, True]  # each waits while its server loads
    starts = read_manifest(run).sessions
    hosts = {host for start in starts for host in start.how["backend.hosts"]}
    assert len(hosts) == 2
    assert all(host.startswith("http://127.0.0.1:") for host in hosts)
    again = run_cluster(tmp_path, *given)
    assert again.returncode == 0
    assert "3 shards: 3 done · 2/2 samples · 0 failed" in again.stdout
    assert sorted(jobs_of(tmp_path / "runs").iterdir()) == jobs
    assert merged(run) == without_manifest(plain)


def test_a_shard_that_says_what_is_wrong_is_not_tried_again_and_then_run_alone(
    tmp_path: Path, dry: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENVIRONMENT, "CUDA_VISIBLE_DEVICES", "3")
    run_here(*dry, f"runs={tmp_path / 'runs'}", "shard=1/2")
    server = "server='KEY=hidden sh -c \"echo sees $CUDA_VISIBLE_DEVICES; exit 1\"'"
    done = run_cluster(tmp_path, *dry, "shards=2", server, "tries=2")
    assert done.returncode == 2
    assert "1 of 2 shards did not come to their end: 2/2" in done.stderr
    assert "the job's server is not ready: it ended with 1; it said: sees 3" in done.stdout
    assert "hidden" not in done.stdout + done.stderr
    jobs = jobs_of(tmp_path / "runs")
    assert jobs.stat().st_mode & 0o77 == 0
    assert len(list(jobs.glob("*_log.err"))) == 1
    again = run_cluster(tmp_path, *dry, "shards=2")
    assert again.returncode == 0
    assert "1 done, 1 at work · 0/4 samples" not in again.stdout  # those of the shard that is done count
    assert "1 done, 1 at work · " in again.stdout
    assert len(list(jobs.glob("*_log.err"))) == 2


def lives(group: int) -> bool:
    """Whether a process of the group does; one that was killed is listed until init has noted its end."""
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            state, _, its_group, *_ = file.read_text(encoding="utf-8").rpartition(")")[2].split()
            if int(its_group) == group and state != "Z":
                return True
    return False


def test_no_server_outlives_its_job(tmp_path: Path, dry: tuple[str, ...]) -> None:
    """A signal that ends a process unless it is caught, to a job whose server is a shell with a child."""
    server = "server='sh -c \"echo $$; sleep 600 & wait\"'"
    out = tmp_path / "out"
    out.mkdir()
    process = begun([*COMMAND, *dry, "shards=1", "tries=1", server], out, cwd=tmp_path, env=ENVIRONMENT)
    logs = f"runs/*/{SHARDS}/{JOBS}"
    while not (group := "".join(log.read_text(encoding="ascii") for log in tmp_path.glob(f"{logs}/server-1.log"))):
        assert process.is_alive()
        time.sleep(0.01)
    [noted] = tmp_path.glob(f"{logs}/{NOTED}")
    os.kill(process_of(int(json.loads(noted.read_bytes())["jobs"]["1/1"])), signal.SIGHUP)
    process.join()
    assert process.exitcode == 2
    while lives(int(group)):
        time.sleep(0.05)


def test_jobs_of_another_kind_are_not_waited_for(tmp_path: Path, dry: tuple[str, ...]) -> None:
    dry = (*dry, f"runs={tmp_path / 'runs'}")
    run_here(*dry, "shard=1/1")
    alive = subprocess.Popen(["sh", "-c", "read end", "submitit"], stdin=subprocess.PIPE)
    noted = {"on": "mmerg.jobs.batch.Slurm", "jobs": {"1/1": str(alive.pid)}}
    write_whole(jobs_of(tmp_path / "runs") / NOTED, json.dumps(noted))
    try:
        assert main(["run", *dry, "shards=1"]) == 0
    finally:
        alive.communicate()


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
    wrong: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([wrong[0], *DEMO, f"runs={tmp_path}", *wrong[1:]]) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.rglob(SHARDS))


def test_a_run_keeps_its_number_of_shards(
    tmp_path: Path, dry: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    dry = (*dry, f"runs={tmp_path}")
    run_here(*dry, "shard=1/4")
    refused = "the run was begun with 4 shards, not 3"
    assert main(["run", *dry, "shards=3"]) == 2
    assert refused in capsys.readouterr().err
    with pytest.raises(ConfigError, match=refused):
        run_here(*dry, "shard=3/3")


def test_jobs_that_are_killed_or_out_of_time_are_done_again_and_nothing_is_lost(tmp_path: Path, plain: Plain) -> None:
    """The one that is killed is handed over again. On SIGUSR2, as SLURM sends it before the time is up, submitit itself
    starts the job again, here too."""
    with holding_calls(2) as calls:
        watched = Watched(tmp_path, calls.server, "shards=2")
        calls.begun.wait()
        watched.wait_for_jobs()
        for job, how in zip(watched.jobs(), (signal.SIGKILL, signal.SIGUSR2), strict=True):
            os.kill(process_of(job), how)
        calls.go_on.set()
        assert watched.exit_code() == 0, watched.output()
    jobs = jobs_of(watched.runs)
    assert len(list(jobs.glob("*_log.err"))) == 2 + 1
    assert len(list(jobs.glob("*_result.pkl"))) == 2
    assert merged(folder_of(watched.runs)) == plain.held


def test_ctrl_c_leaves_or_cancels_the_jobs_and_the_same_command_goes_on(tmp_path: Path, plain: Plain) -> None:
    """Whether the command that watches is interrupted or killed, the next one watches the same jobs."""
    with holding_calls(2) as calls:
        first = Watched(tmp_path, calls.server, "shards=2")
        calls.begun.wait()
        first.wait_for_jobs()
        assert first.signalled(signal.SIGINT) == 130
        assert "2 jobs go on; the same command watches them again" in first.output()
        second = Watched(tmp_path, calls.server, "shards=2")
        second.wait_for_jobs()
        assert second.signalled(signal.SIGKILL) == -signal.SIGKILL
        third = Watched(tmp_path, calls.server, "shards=2", "on.ctrl_c=cancel")
        third.wait_for_jobs()
        assert calls.server.calls == 2  # those of the first jobs
        assert len(list(jobs_of(first.runs).glob("*_log.err"))) == 2
        assert third.signalled(signal.SIGINT) == 130
        assert "2 jobs cancelled" in third.output()
        assert not list(jobs_of(first.runs).glob("*_result.pkl"))  # with one, a job that SLURM requeues counts as over
        calls.go_on.set()
        last = Watched(tmp_path, calls.server, "shards=2")
        assert last.exit_code() == 0, last.output()
        assert calls.server.calls == plain.calls + 2  # the two that were given up
    assert len(list(jobs_of(first.runs).glob("*_log.err"))) == 4
    assert merged(folder_of(first.runs)) == plain.held

"""`mmerg cluster run on=slurm` against an sbatch that is a script: what it refuses, and Ctrl-C while it works."""

import json
import os
from pathlib import Path

import pytest

from mmerg.jobs.batch import Queued
from mmerg.jobs.launch import JOBS, NOTED
from mmerg.runs.shards import SHARDS
from tests.jobs.cluster import DEMO, ENVIRONMENT, jobs_of, run_cluster

SlurmJob = pytest.importorskip("submitit", reason="submitit is not installed: pip install 'mmerg[cluster]'").SlurmJob

GIVEN = (*DEMO, "runs=runs", "shards=2", "on=slurm", "cache=off")


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the jobs' command looks for SLURM's."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setitem(ENVIRONMENT, "PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    make(folder, "srun", "exit 1")
    return folder


def make(folder: Path, name: str, lines: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{lines}\n", encoding="utf-8")
    (folder / name).chmod(0o700)


def test_what_sbatch_refuses_is_told_in_a_sentence(commands: Path, tmp_path: Path) -> None:
    make(commands, "sbatch", "echo 'sbatch: error: Batch job submission failed: Invalid account' >&2; exit 1")
    done = run_cluster(tmp_path, *GIVEN)
    assert done.returncode == 2
    assert "error: SLURM takes no job: Batch job submission failed: Invalid account\n" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_disk_that_takes_no_job_is_not_slurms_fault(commands: Path, tmp_path: Path) -> None:
    make(commands, "sbatch", f"rm -r runs/*/{SHARDS}/{JOBS}; echo Submitted batch job 17")
    done = run_cluster(tmp_path, *GIVEN)
    assert done.returncode == 2
    assert "error: this cannot be written: No such file or directory\n" in done.stderr


GONE = "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1"
AWAY = "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1"


@pytest.mark.parametrize(
    ("job", "state", "squeue", "there"),
    [
        ("21", "RUNNING", GONE, True),
        ("22", "PREEMPTED", "echo 22 gpu mmerg PD", True),
        ("23", "PREEMPTED", "", False),
        ("24", "", GONE, False),
        ("25", "", AWAY, True),
    ],
)
def test_squeue_tells_what_sacct_does_not(
    job: str, state: str, squeue: str, there: bool, commands: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a job that is cancelled as it is preempted, sacct says so for good; of one that it forgot, nothing."""
    monkeypatch.setenv("PATH", ENVIRONMENT["PATH"])
    make(commands, "sacct", f"echo 'JobID|State|NodeList'; echo '{job * bool(state)}|{state}|'")
    make(commands, "squeue", squeue)
    known = SlurmJob(tmp_path, job)
    known._results_timeout_s = 0
    assert Queued(known).ended() != there
    if not there:
        assert Queued(known).code() is None


def test_ctrl_c_while_jobs_are_handed_over_loses_none(commands: Path, tmp_path: Path) -> None:
    make(commands, "sbatch", "kill -INT $PPID; echo Submitted batch job 17")
    done = run_cluster(tmp_path, *GIVEN)
    assert done.returncode == 130
    assert "2 jobs go on" in done.stdout
    noted = json.loads((jobs_of(tmp_path / "runs") / NOTED).read_bytes())
    assert noted == {"on": "mmerg.jobs.batch.Slurm", "jobs": {"1/2": "17_0", "2/2": "17_1"}}

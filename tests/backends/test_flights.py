"""One at a time for each key: among threads, among processes, and after a process was killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from mmerg.backends.flights import Flights
from mmerg.errors import CallError, Failure, RunError

A, B = "a" * 64, "b" * 64
HOLDER = """
import sys
from pathlib import Path
from mmerg.backends.flights import Flights
flights = Flights(Path(sys.argv[1]))
with flights.alone(sys.argv[2]):
    print("held", flush=True)
    sys.stdin.readline()
print("freed", flush=True)
"""
ROOT = Path(__file__).parents[2]


def holder(path: Path, key: str) -> subprocess.Popen[str]:
    """A process that holds `key` until it is sent a line."""
    command: Sequence[str] = [sys.executable, "-c", HOLDER, str(path), key]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "held\n"
    return process


def taking(flights: Flights, key: str) -> tuple[threading.Thread, threading.Event]:
    """A thread that takes `key`, and what it sets once it has it."""
    got = threading.Event()

    def take() -> None:
        with flights.alone(key):
            got.set()

    thread = threading.Thread(target=take)
    thread.start()
    return thread, got


def test_threads_wait_for_the_same_key_and_not_for_another(tmp_path: Path) -> None:
    flights = Flights(tmp_path / "flights")
    with flights.alone(A):
        waiting, got = taking(flights, A)
        other, free = taking(flights, B)
        assert free.wait(10)
        assert not got.wait(0.1)
    assert got.wait(10)
    waiting.join()
    other.join()
    flights.close()


def test_processes_wait_for_each_other(tmp_path: Path) -> None:
    flights = Flights(tmp_path / "flights")
    process = holder(tmp_path / "flights", A)
    waiting, got = taking(flights, A)
    other, free = taking(flights, B)
    assert free.wait(10)
    assert not got.wait(0.1)
    process.communicate("go\n", timeout=30)
    assert got.wait(10)
    waiting.join()
    other.join()
    flights.close()


def test_a_killed_process_frees_what_it_held(tmp_path: Path) -> None:
    flights = Flights(tmp_path / "flights")
    process = holder(tmp_path / "flights", A)
    waiting, got = taking(flights, A)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    assert got.wait(10)
    waiting.join()
    flights.close()


def test_two_processes_that_hold_and_want_crosswise_do_not_count_as_a_deadlock(tmp_path: Path) -> None:
    """Different threads hold and wait, so nobody waits in a circle; the system, which sees processes, may think so."""
    flights = Flights(tmp_path / "flights")
    process = holder(tmp_path / "flights", A)
    with flights.alone(B):
        waiting, got = taking(flights, A)
        crosswise = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(tmp_path / "flights"), B],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        process.communicate("go\n", timeout=30)
        assert got.wait(10)
    out, _ = crosswise.communicate("go\n", timeout=30)
    assert (out, crosswise.returncode) == ("held\nfreed\n", 0)
    waiting.join()
    flights.close()


def test_two_of_one_file_in_one_process_wait_for_each_other(tmp_path: Path) -> None:
    one, other = (Flights(tmp_path / "flights") for _ in range(2))
    with one.alone(A):
        waiting, got = taking(other, A)
        assert not got.wait(0.2)
    assert got.wait(10)
    waiting.join()
    one.close()
    other.close()


def test_closing_one_frees_nothing_of_another(tmp_path: Path) -> None:
    one, other = (Flights(tmp_path / "flights") for _ in range(2))
    with other.alone(B):
        pass
    with one.alone(A):
        other.close()
        waiting, got = taking(third := Flights(tmp_path / "flights"), A)
        assert not got.wait(0.2)
    assert got.wait(10)
    waiting.join()
    one.close()
    third.close()


def test_who_waits_when_it_is_closed_is_told(tmp_path: Path) -> None:
    process = holder(tmp_path / "flights", A)
    flights = Flights(tmp_path / "flights")
    told: list[CallError] = []

    def take() -> None:
        try:
            with flights.alone(A):
                pass
        except CallError as error:
            told.append(error)

    thread = threading.Thread(target=take)
    thread.start()
    time.sleep(0.1)
    flights.close()
    thread.join(10)
    assert [error.failure for error in told] == [Failure.INTERRUPTED]
    process.communicate("go\n", timeout=30)


def test_a_file_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="flights"), Flights(tmp_path / "nowhere" / "flights").alone(A):
        pass

"""The pool: no host exceeds its slots, a sample stays on its host, dead hosts are skipped and come back."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import pytest

from mmerg.backends.cancel import CancelToken
from mmerg.backends.pool import ROUNDS, Host, Pool
from mmerg.backends.protocol import Backend, Completion, Engine, Message, Request, Sampling
from mmerg.backends.scripted import ENGINE
from mmerg.errors import CallError, ConfigError, Failure, RunError

# After these failures a call moves on.
HOST_FAILURES = ["model_not_found", "model_not_loaded", "runner_crash", "timeout", "unreachable"]
OTHERS = sorted(set(Failure) - set(HOST_FAILURES))
REQUEST = Request((Message("user", "hello"),), Sampling())
OTHER = ENGINE.model_copy(update={"version": "2"})


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Server:
    """A host that counts its calls. With `failure` set, the host is down; with `failing` set, only its calls fail."""

    def __init__(self, name: str, engine: Engine = ENGINE, failure: Failure | None = None, seconds: float = 0) -> None:
        self.name = name
        self.engine = engine
        self.failure = failure
        self.seconds = seconds
        self.failing: Failure | None = None
        self.descriptions = 0
        self.running = 0
        self.most_running = 0
        self.calls = 0
        self.closed = False
        self.lock = threading.Lock()

    def check(self) -> None:
        if self.failure:
            raise CallError(self.failure, f"{self.name} is gone", where=self.name)

    def describe(self) -> Engine:
        self.descriptions += 1
        self.check()
        return self.engine

    def complete(self, request: Request) -> Completion:
        with self.lock:
            self.calls += 1
            self.running += 1
            self.most_running = max(self.most_running, self.running)
        try:
            time.sleep(self.seconds)
            self.check()
            if self.failing:
                raise CallError(self.failing, f"{self.name} failed", where=self.name)
            return Completion(text=self.name, finish="stop", host=self.name)  # type: ignore[arg-type]
        finally:
            with self.lock:
                self.running -= 1

    def close(self) -> None:
        self.closed = True


def servers(text: str) -> list[Server]:
    return [Server(name) for name in text]


def build_pool(hosts: Sequence[Server], slots: int = 1, clock: Callable[[], float] | None = None) -> Pool:
    listed = [Host(server, slots, server.name) for server in hosts]
    return Pool(listed, revive_after=60.0, patience=0.0, clock=clock or Clock())


def say(backend: Backend) -> str:
    return backend.complete(REQUEST).text


def test_no_host_is_over_its_slots_and_a_sample_stays_on_its_host() -> None:
    hosts = servers("abc")
    for server in hosts:
        server.seconds = 0.001
    pool = Pool([Host(server, number, server.name) for number, server in enumerate(hosts, start=1)])

    def sample(_: int) -> set[str]:
        with pool.lease() as backend:
            return {say(backend) for _ in range(4)}

    with ThreadPoolExecutor(12) as threads:
        hosts_of_samples = list(threads.map(sample, range(60)))
    assert all(len(names) == 1 for names in hosts_of_samples)
    assert all(server.most_running <= number for number, server in enumerate(hosts, start=1))
    assert sum(server.calls for server in hosts) == 240
    assert min(Counter(name for names in hosts_of_samples for name in names).values()) > 0


@pytest.mark.parametrize("failure", [Failure(name) for name in HOST_FAILURES])
def test_a_call_moves_to_another_host_if_its_host_dies_and_stays_there(failure: Failure) -> None:
    a, b = servers("ab")
    pool = build_pool([a, b])
    pool.describe()
    with pool.lease() as backend:
        assert say(backend) == "a"
        a.failure = failure
        assert [say(backend), say(backend)] == ["b", "b"]
    assert pool.list_down() == {"a": "a is gone"}
    with pool.lease() as backend:
        assert say(backend) == "b"
    assert a.calls == 2


@pytest.mark.parametrize("failure", OTHERS)
def test_other_failures_fail_only_the_sample(failure: Failure) -> None:
    a, b = servers("ab")
    pool = build_pool([a, b])
    a.failure = failure
    with pool.lease() as backend, pytest.raises(CallError, match="a is gone"):
        say(backend)
    assert (pool.list_down(), b.calls) == ({}, 0)


def test_a_host_that_comes_back_with_another_engine_is_not_used() -> None:
    a, b = servers("ab")
    clock = Clock()
    pool = build_pool([a, b], clock=clock)
    a.failure = Failure.UNREACHABLE
    pool.describe()
    a.failure, a.engine = None, OTHER
    clock.now = 60.0
    with ExitStack() as holder:
        holder.enter_context(pool.lease())
        with pool.lease() as trial_of_a:
            holder.close()
            assert say(trial_of_a) == "b"
    assert "another engine: server version 1 → 2" in pool.list_down()["a"]
    assert a.calls == 0


def test_the_run_ends_if_every_host_lost_the_model() -> None:
    a, b = servers("ab")
    pool = build_pool([a, b])
    engine = pool.describe()
    a.failure = b.failure = Failure.MODEL_NOT_FOUND
    with pool.lease() as backend, pytest.raises(ConfigError) as caught:
        say(backend)
    assert engine.brief() in caught.value.what
    assert sorted(caught.value.where.split("; ")) == ["a: a is gone", "b: b is gone"]


def test_the_run_ends_after_one_call_per_host_if_none_can_load_the_model() -> None:
    a, b = servers("ab")
    pool = Pool([Host(a, 1, "a"), Host(b, 1, "b")], attempts=8)
    pool.describe()
    a.failing = b.failing = Failure.MODEL_NOT_LOADED
    with pool.lease() as backend, pytest.raises(ConfigError, match="no host can load the model: script"):
        say(backend)
    assert (a.calls, b.calls) == (1, 1)


def test_a_call_waits_while_all_hosts_are_down() -> None:
    """A host with another model is not waited for."""
    a, b = servers("ab")
    pool = Pool([Host(a, 1, "a"), Host(b, 1, "b")], patience=3600.0, wait=0.01)
    pool.describe()
    a.failure, b.failure = Failure.MODEL_NOT_FOUND, Failure.UNREACHABLE
    before = b.descriptions

    def back() -> None:
        while b.descriptions < before + 5:
            time.sleep(0.001)
        b.failure = None

    thread = threading.Thread(target=back)
    thread.start()
    with pool.lease() as backend:
        assert say(backend) == "b"
    thread.join()
    assert list(pool.list_down()) == ["a"]
    assert a.descriptions == 1


def test_the_run_stops_if_no_host_comes_back() -> None:
    hosts = servers("abc")
    clock = Clock()
    pool = Pool([Host(server, 1, server.name) for server in hosts], patience=100.0, wait=0.0, clock=clock)
    pool.describe()
    for server in hosts:
        server.failure = Failure.UNREACHABLE
    times = iter(range(0, 1000, 10))
    hosts[0].check = lambda: setattr(clock, "now", float(next(times))) or Server.check(hosts[0])  # type: ignore[method-assign,func-returns-value]
    with pool.lease() as backend, pytest.raises(RunError) as caught:
        say(backend)
    assert caught.value.what == "no host has responded for 100 seconds"
    assert caught.value.where == "a: a is gone; b: b is gone; c: c is gone"
    assert "the same command then resumes" in caught.value.hint
    assert [server.calls for server in hosts] == [1, 1, 1]
    assert clock.now == 100.0
    assert all(host.used == 0 for host in pool._hosts)


@pytest.mark.parametrize("ended_by", ["close", "cancel"])
def test_closing_or_cancelling_ends_the_wait_for_hosts(ended_by: str) -> None:
    [server] = servers("a")
    pool = Pool([Host(server, 1, "a")], patience=3600.0, wait=3600.0)
    pool.describe()
    server.failure = Failure.UNREACHABLE
    caught: list[CallError] = []
    token = CancelToken()

    def call() -> None:
        with token.scope(), pool.lease() as backend:
            try:
                say(backend)
            except CallError as error:
                caught.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    while server.descriptions < 2:
        time.sleep(0.001)
    {"close": pool.close, "cancel": token.cancel}[ended_by]()
    thread.join(60)
    assert [error.failure for error in caught] == [Failure.INTERRUPTED]


def test_an_unreachable_call_fails_alone_if_its_host_is_up() -> None:
    [server] = servers("a")
    pool = Pool([Host(server, 1, "a")], wait=0.0)
    pool.describe()
    server.failing = Failure.UNREACHABLE
    with pool.lease() as backend:
        with pytest.raises(CallError, match="a failed"):
            say(backend)
        assert server.calls == ROUNDS
        server.failing = None
        assert say(backend) == "a"


@pytest.mark.parametrize("failure", [Failure.RUNNER_CRASH, Failure.TIMEOUT])
def test_a_call_that_fails_on_hosts_that_are_up_fails_alone(failure: Failure) -> None:
    hosts = servers("ab")
    pool = build_pool(hosts)
    pool.describe()
    for server in hosts:
        server.failing = failure
    with pool.lease() as backend:
        with pytest.raises(CallError, match="a failed") as caught:
            say(backend)
        assert (caught.value.failure, [server.calls for server in hosts]) == (failure, [1, 1])
        hosts[1].failing = None
        assert say(backend) == "b"
    assert list(pool.list_down()) == ["a"]


def test_hosts_with_different_engines_are_named() -> None:
    a, b, c, d = servers("abcd")
    b.engine = OTHER
    d.engine = ENGINE.model_copy(update={"digest": "f" * 64})
    with pytest.raises(ConfigError) as caught:
        build_pool([a, b, c, d]).describe()
    assert "b: scripted 2" in caught.value.where
    assert f"d: scripted 1, script {'f' * 12}" in caught.value.where
    assert "c:" not in caught.value.where


def test_hosts_that_come_and_go_neither_lose_slots_nor_lock_up() -> None:
    hosts = servers("abc")
    pool = Pool([Host(server, 2, server.name) for server in hosts], revive_after=0.001, patience=0.0)
    pool.describe()

    def sample(seed: int) -> int:
        dice = random.Random(seed)
        done = 0
        with pool.lease() as backend:
            for _ in range(10):
                dice.choice(hosts).failure = dice.choice([None, None, Failure.UNREACHABLE])
                with suppress(CallError, RunError):
                    done += say(backend) in "abc"
        return done

    with ThreadPoolExecutor(8) as threads:
        done = sum(threads.map(sample, range(60)))
    assert done > 0
    assert all(host.used == 0 for host in pool._hosts)
    assert all(server.most_running <= 2 for server in hosts)
    for server in hosts:
        server.failure = None
    pool.describe()
    with ExitStack() as stack:
        leases = [stack.enter_context(pool.lease()) for _ in range(pool.slots)]
        assert sorted(say(lease) for lease in leases) == list("aabbcc")

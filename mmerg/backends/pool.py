"""Several hosts that serve the same engine: a sample leases a slot of one host for all its calls.

A host's prefix cache helps only if all calls of a sample go to it. So slots are leased to samples, and a sample gets
the least loaded host. A failed call is retried, then moves to another host. A host that dies, hangs, loses the model or
serves another engine is skipped; after `revive_after` seconds one sample tries it again. While all hosts are down,
calls wait; after `patience` seconds the run stops and can be resumed. A call that fails while its hosts are up fails
only its sample, and so does a call that fails on all hosts `ROUNDS` times, as it may be what ends them.

    pool = Pool([Host(Ollama("http://a:11434", …), 2, "a"), Host(Ollama("http://b:11434", …), 2, "b")])
    engine = pool.describe()
    with pool.lease() as backend:
        reply = backend.complete(request)
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from mmerg.backends.cancel import CancelToken, current_token
from mmerg.backends.protocol import Backend, Engine, Reply, Request, make_engine_error
from mmerg.backends.retry import retry
from mmerg.errors import CallError, ConfigError, Failure, RunError

USELESS = frozenset({Failure.MODEL_NOT_FOUND, Failure.MODEL_NOT_LOADED})  # waiting does not help
# A host that hangs counts as dead.
HOST_FAILURES = USELESS | {Failure.RUNNER_CRASH, Failure.TIMEOUT, Failure.UNREACHABLE}
ROUNDS = 3  # how many times a call may fail on all hosts
PATIENCE = 600.0  # seconds that a call waits while all hosts are down
POLL = 0.5  # seconds after which a lease that waits for a slot checks whether to try a host again


@dataclass(eq=False)
class Host:
    """A backend, how many samples may use it at once, and its name in errors. The pool sets the rest. used: samples
    that use it now. down: why it is skipped. since: when it was skipped or last tried."""

    backend: Backend
    slots: int
    name: str
    used: int = field(default=0, init=False)
    down: CallError | None = field(default=None, init=False)
    since: float = field(default=0.0, init=False)


class Pool:
    """Leases the slots of `hosts`. A host gets a call up to `attempts` times. While all hosts are down, they are tried
    again after `wait` seconds, 2·wait, 4·wait and so on, but at least every `revive_after` seconds."""

    def __init__(
        self,
        hosts: Sequence[Host],
        revive_after: float = 60.0,
        patience: float = PATIENCE,
        wait: float = 1.0,
        attempts: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._hosts = tuple(hosts)
        self._revive_after, self._patience, self._wait, self._attempts = revive_after, patience, wait, attempts
        self._clock = clock
        self._change = threading.Condition()
        self._engine: Engine | None = None
        self._closed = CancelToken()

    @property
    def slots(self) -> int:
        """How many samples can run at once if every host is up."""
        return sum(host.slots for host in self._hosts)

    def list_down(self) -> dict[str, str]:
        """Returns the hosts that are skipped now, by name, with the reason."""
        with self._change:
            return {host.name: host.down.what for host in self._hosts if host.down}

    def describe(self) -> Engine:
        """The engine of all hosts that can be reached and have the model. Must be called before the first lease. Raises
        ConfigError if their engines differ."""
        engines: dict[str, Engine] = {}
        errors = []
        for host in self._hosts:
            try:
                engines[host.name] = host.backend.describe()
                self._note(host, None)
            except CallError as error:
                if error.failure not in HOST_FAILURES:
                    raise
                self._note(host, error)
                errors.append(error)
        if not engines:
            raise errors[0]
        first, *others = engines.items()
        if differ := [other for other in others if other[1].key() != first[1].key()]:
            where = "; ".join(f"{name}: {engine.brief()}" for name, engine in (first, *differ))
            hint = "serve the same model, version and options on every host, or remove the hosts that differ"
            raise ConfigError("the hosts do not serve the same engine", where=where, hint=hint)
        self._engine = first[1]
        return self._engine

    @contextmanager
    def lease(self) -> Iterator[Backend]:
        """Waits for a free slot, and yields a backend that uses it until the block ends."""
        with closing(_Lease(self)) as leased:
            leased.hold()
            yield leased

    def close(self) -> None:
        """Closes every host. Leases that wait for a slot raise CallError interrupted."""
        self._closed.cancel()
        with self._change:
            self._change.notify_all()
        for host in self._hosts:
            host.backend.close()

    def _take(self, tried: Collection[Host]) -> Host:
        """Takes a slot of a host that is not in `tried`."""
        hosts = [host for host in self._hosts if host not in tried]
        with self._change:
            while not (host := self._best(hosts)):
                self._change.wait(POLL)
            host.used += 1
            host.since = self._clock()  # a host that is down is tried by one at a time
            return host

    def _best(self, hosts: Sequence[Host]) -> Host | None:
        """The least loaded host that is up, else a host to try again; None means wait."""
        self._closed.check()
        current_token().check()
        free = [host for host in hosts if host.used < host.slots]
        if up := [host for host in free if not host.down]:
            return min(up, key=lambda host: host.used / host.slots)
        all_down = all(host.down for host in hosts)  # then try them before their time
        due = [host for host in free if all_down or self._clock() - host.since >= self._revive_after]
        return min(due, key=lambda host: host.since, default=None)

    def _note(self, host: Host, error: CallError | None) -> None:
        """Records that the host works, or that it is skipped because of `error`."""
        with self._change:
            if host.down or error:
                host.down, host.since = error, self._clock()
                self._change.notify_all()

    def _check_same(self, host: Host) -> None:
        """Raises CallError if a host is still down or serves another engine now."""
        try:
            engine = host.backend.describe()
        except CallError as error:
            if error.failure in HOST_FAILURES | {Failure.INTERRUPTED}:
                raise
            what = f"the host is back, but cannot serve the model: {error.what}"
            raise CallError(Failure.UNREACHABLE, what, where=host.name, hint=error.hint) from error
        if self._engine and engine.key() != self._engine.key():
            raise make_engine_error(self._engine, engine, host.name)

    def _wait_for_host(self, tried: Mapping[Host, CallError]) -> None:
        """Waits until one of the hosts is back on which a call was `tried`. Raises the call's own error if a host was
        never down, RunError if none is back in time, ConfigError if all serve something else or cannot load the
        model."""
        failed, end = dict(tried), self._clock() + self._patience
        for attempt in count():
            for host in [host for host, error in failed.items() if error.failure not in USELESS]:
                try:
                    self._check_same(host)
                except CallError as error:
                    if error.failure is Failure.INTERRUPTED:
                        raise
                    failed[host] = error
                    self._note(host, error)
                    continue
                if not attempt:  # it was up all the time
                    if tried[host].failure is not Failure.UNREACHABLE:
                        raise tried[host]
                    self._backoff(attempt)
                self._note(host, None)
                return
            where = "; ".join(f"{host.name}: {error.what}" for host, error in failed.items())
            if all(error.failure in USELESS for error in failed.values()):
                raise self._no_use(failed.values(), where)
            if self._clock() >= end:
                what = f"no host has answered for {self._patience:g} seconds"
                raise RunError(what, where=where, hint="start one of them; the same command then resumes")
            self._backoff(attempt)

    def _no_use(self, errors: Iterable[CallError], where: str) -> ConfigError:
        """The error if no host can serve the run's model."""
        first, *_ = errors
        brief = self._engine and self._engine.brief()
        if first.failure is Failure.MODEL_NOT_LOADED:
            return ConfigError(f"no host can load the model: {brief}", where=where, hint=first.hint)
        what = f"no host serves the run's model any longer: {brief}"
        hint = "then the same command resumes. To start over with the current model, add tags=[new]"
        return ConfigError(what, where=where, hint=f"{first.hint}; {hint}")

    def _backoff(self, attempt: int) -> None:
        """Waits before hosts that are down are tried again."""
        most = self._revive_after or self._wait  # a pause also with revive_after=0
        self._closed.wait(min(self._wait * 2 ** min(attempt, 30), most))


class _Lease:
    """A slot as a backend for one thread. It moves to another host if its host dies."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._host: Host | None = None

    def describe(self) -> Engine:
        return self.hold().backend.describe()

    def complete(self, request: Request) -> Reply:
        pool, tried, rounds = self._pool, dict[Host, CallError](), 0
        while True:
            host = self.hold(tried)
            try:
                if host.down:
                    pool._check_same(host)
                reply = retry(partial(host.backend.complete, request), pool._attempts, pool._wait, pool._closed)
            except CallError as error:
                if error.failure not in HOST_FAILURES:
                    raise
                pool._note(host, error)
                tried[host] = error
            else:
                pool._note(host, None)
                return reply
            self.close()
            if len(tried) == len(pool._hosts):
                rounds += 1
                if rounds == ROUNDS:
                    raise tried[host]
                pool._wait_for_host(tried)
                tried.clear()

    def close(self) -> None:
        """Gives the slot back. The host stays open."""
        with self._pool._change:
            if self._host:
                self._host.used -= 1
            self._host = None
            self._pool._change.notify_all()

    def hold(self, tried: Collection[Host] = ()) -> Host:
        """The host whose slot is held; if none, takes a slot of a host that is not in `tried`."""
        self._host = self._host or self._pool._take(tried)
        return self._host

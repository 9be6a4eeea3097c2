"""Distribution of samples over several hosts that serve the same engine.

A host's prefix cache helps only if all calls of a sample go to the same host. A sample therefore leases a slot of the
least loaded host for all its calls. A failed call is retried, then moves to another host. A host that dies, hangs,
loses the model or serves another engine is skipped; after `revive_after` seconds, one sample tries it again. While all
hosts are down, calls wait; after `patience` seconds the run stops, and can be resumed. A call that fails while its
hosts are up fails only its sample. So does a call that fails on all hosts `ROUNDS` times, because it may be the cause
of their crashes.

    pool = Pool([Host(Ollama("http://a:11434", …), 2, "a"), Host(Ollama("http://b:11434", …), 2, "b")])
    engine = pool.describe()
    with pool.lease() as backend:
        completion = backend.complete(request)
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
from mmerg.backends.protocol import Backend, Completion, Engine, Request, make_engine_error
from mmerg.backends.retry import retry
from mmerg.errors import CallError, ConfigError, Failure, RunError

LASTING_FAILURES = frozenset({Failure.MODEL_NOT_FOUND, Failure.MODEL_NOT_LOADED})  # waiting does not help
# A host that hangs counts as dead.
HOST_FAILURES = LASTING_FAILURES | {Failure.RUNNER_CRASH, Failure.TIMEOUT, Failure.UNREACHABLE}
ROUNDS = 3  # how many times a call may fail on all hosts
PATIENCE = 600.0  # seconds for which a call waits while all hosts are down
POLL_SECONDS = 0.5  # after which a lease that waits for a slot checks whether to try a host again


@dataclass(eq=False)
class Host:
    """A backend in a pool."""

    backend: Backend
    slots: int  # how many samples may use the host at once
    name: str  # in errors
    used: int = field(default=0, init=False)  # how many samples use it now; the pool sets this, `down` and `since`
    down: CallError | None = field(default=None, init=False)  # why it is skipped
    since: float = field(default=0.0, init=False)  # when it was skipped or last tried, by the pool's clock


class Pool:
    """The slots of `hosts`, which samples lease.

    revive_after: seconds after which a host that is down is tried again. patience: seconds for which a call waits while
    all hosts are down. They are then tried again after `wait`, 2·wait, 4·wait, … seconds, but at least every
    `revive_after` seconds. attempts: how often a call is sent to a host, after pauses of `wait`, 2·wait, … seconds,
    before it moves on.
    """

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
        """The number of samples that can run at once if every host is up."""
        return sum(host.slots for host in self._hosts)

    def list_down(self) -> dict[str, str]:
        """Returns the hosts that are skipped now, by name, with the reason."""
        with self._change:
            return {host.name: host.down.what for host in self._hosts if host.down}

    def describe(self) -> Engine:
        """Returns the engine of all hosts that can be reached and have the model. Call it before the first lease.
        Raises ConfigError if the hosts' engines differ, and CallError if no host can be used."""
        engines: dict[str, Engine] = {}
        errors = []
        for host in self._hosts:
            try:
                engines[host.name] = host.backend.describe()
                self._record(host, None)
            except CallError as error:
                if error.failure not in HOST_FAILURES:
                    raise
                self._record(host, error)
                errors.append(error)
        if not engines:
            raise errors[0]
        first_name, first = next(iter(engines.items()))
        different = {name: engine for name, engine in engines.items() if engine.key() != first.key()}
        if different:
            listed = {first_name: first, **different}
            where = "; ".join(f"{name}: {engine.brief()}" for name, engine in listed.items())
            hint = "serve the same model, version and options on every host, or remove the hosts that differ"
            raise ConfigError("the hosts do not serve the same engine", where=where, hint=hint)
        self._engine = first
        return first

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

    def _take_slot(self, tried: Collection[Host]) -> Host:
        """Waits for a slot of a host that is not in `tried`, and takes it."""
        hosts = [host for host in self._hosts if host not in tried]
        with self._change:
            while not (host := self._choose_host(hosts)):
                self._change.wait(POLL_SECONDS)
            host.used += 1
            host.since = self._clock()  # so that only one sample at a time tries a host that is down
            return host

    def _choose_host(self, hosts: Sequence[Host]) -> Host | None:
        """Returns the least loaded host that is up, or else a host to try again, or else None."""
        self._closed.check()
        current_token().check()
        free = [host for host in hosts if host.used < host.slots]
        if up := [host for host in free if not host.down]:
            return min(up, key=lambda host: host.used / host.slots)
        all_down = all(host.down for host in hosts)  # then do not wait for `revive_after`
        due = [host for host in free if all_down or self._clock() - host.since >= self._revive_after]
        return min(due, key=lambda host: host.since, default=None)

    def _record(self, host: Host, error: CallError | None) -> None:
        """Records that the host works, or that it is skipped because of `error`."""
        with self._change:
            if host.down or error:
                host.down, host.since = error, self._clock()
                self._change.notify_all()

    def _check_engine(self, host: Host) -> None:
        """Raises CallError if a host is still down or now serves another engine."""
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
        """Waits until one of the hosts on which a call was `tried` is up again. Raises the call's error if its host was
        up all the time, RunError if no host is up in time, and ConfigError if no host can serve the run's model."""
        failed, end = dict(tried), self._clock() + self._patience
        for attempt in count():
            for host in [host for host, error in failed.items() if error.failure not in LASTING_FAILURES]:
                try:
                    self._check_engine(host)
                except CallError as error:
                    if error.failure is Failure.INTERRUPTED:
                        raise
                    failed[host] = error
                    self._record(host, error)
                    continue
                if attempt == 0:  # the host was up all the time
                    if tried[host].failure is not Failure.UNREACHABLE:
                        raise tried[host]
                    self._pause(attempt)
                self._record(host, None)
                return
            where = "; ".join(f"{host.name}: {error.what}" for host, error in failed.items())
            if all(error.failure in LASTING_FAILURES for error in failed.values()):
                raise self._make_lasting_error(failed.values(), where)
            if self._clock() >= end:
                what = f"no host has responded for {self._patience:g} seconds"
                raise RunError(what, where=where, hint="start one of them; the same command then resumes")
            self._pause(attempt)

    def _make_lasting_error(self, errors: Iterable[CallError], where: str) -> ConfigError:
        first, *_ = errors
        brief = self._engine and self._engine.brief()
        if first.failure is Failure.MODEL_NOT_LOADED:
            return ConfigError(f"no host can load the model: {brief}", where=where, hint=first.hint)
        what = f"no host serves the run's model any longer: {brief}"
        hint = "then the same command resumes. To start over with the current model, add tags=[new]"
        return ConfigError(what, where=where, hint=f"{first.hint}; {hint}")

    def _pause(self, attempt: int) -> None:
        longest = self._revive_after or self._wait  # with revive_after=0 there must be a pause, too
        self._closed.wait(min(self._wait * 2 ** min(attempt, 30), longest))


class _Lease:
    """A leased slot, as a backend for one thread. It moves to another host if its host dies."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._host: Host | None = None

    def describe(self) -> Engine:
        return self.hold().backend.describe()

    def complete(self, request: Request) -> Completion:
        pool, tried, rounds = self._pool, dict[Host, CallError](), 0
        while True:
            host = self.hold(tried)
            try:
                if host.down:
                    pool._check_engine(host)
                completion = retry(partial(host.backend.complete, request), pool._attempts, pool._wait, pool._closed)
            except CallError as error:
                if error.failure not in HOST_FAILURES:
                    raise
                pool._record(host, error)
                tried[host] = error
            else:
                pool._record(host, None)
                return completion
            self.close()
            if len(tried) == len(pool._hosts):
                rounds += 1
                if rounds == ROUNDS:
                    raise tried[host]
                pool._wait_for_host(tried)
                tried.clear()

    def close(self) -> None:
        """Returns the slot to the pool. The host stays open."""
        with self._pool._change:
            if self._host:
                self._host.used -= 1
            self._host = None
            self._pool._change.notify_all()

    def hold(self, tried: Collection[Host] = ()) -> Host:
        """Returns the host whose slot is leased. Without one, takes a slot of a host that is not in `tried`."""
        self._host = self._host or self._pool._take_slot(tried)
        return self._host

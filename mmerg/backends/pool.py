"""Several hosts that serve the same engine: a sample leases a place on one of them for all its calls.

A host's prefix cache serves a sample's calls only if they run back to back on it, so the lease, not the call, is
dealt out: no more samples on a host than it has slots, first come first served, on the host with the most room. A host
that dies, hangs, lacks the model or comes to serve another engine is left out, and its calls move on; after
`revive_after` seconds one sample tries it again. While all hosts are down calls wait, and after `patience` seconds the
run stops, to go on later. A call that fails on hosts that are alive is its sample's own failure; so is one that crashes
the hosts, or finds no end there, again and again after they came back.

    pool = Pool([Host(Retry(Ollama("http://a:11434", …)), 2, "a"), Host(Retry(Ollama("http://b:11434", …)), 2, "b")])
    engine = pool.describe()
    with pool.lease() as backend:
        reply = backend.complete(request)
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

from mmerg.backends.protocol import Backend, Engine, Reply, Request, changed
from mmerg.backends.retry import pause
from mmerg.backends.stop import current, rested
from mmerg.errors import CallError, ConfigError, Failure, RunError

REACHED = frozenset({Failure.RUNNER_CRASH, Failure.TIMEOUT})  # the call was on a host, and may be what is wrong
DEAD = REACHED | {Failure.UNREACHABLE}  # a host that hangs is as good as dead
TRIES_AFTER = 2  # of one call on hosts that came back; where both crash or hang, the call does that, not an outage
PATIENCE = 600.0  # seconds that a call waits while all hosts are down
LOOK_AGAIN = 0.5  # seconds between two looks by a lease that waits for a slot: a host that was left out may be due
OF_NO_USE = DEAD | {Failure.MODEL_NOT_FOUND}  # hosts may hold different models, and another one in mid-run


@dataclass(eq=False)
class Host:
    """A backend, how many samples may use it at once, and the name that errors give it. The rest is the pool's: how
    many use it now, why it is left out and since when, and the one lease that tries it again."""

    backend: Backend
    slots: int
    name: str
    used: int = field(default=0, init=False)
    down: CallError | None = field(default=None, init=False)
    since: float = field(default=0.0, init=False)
    trial: _Lease | None = field(default=None, init=False)


class Pool:
    """Deals out the slots of `hosts`. `clock` gives seconds and never goes back. While all hosts are down, they are
    looked at after `wait` seconds, 2·wait, 4·wait and so on, but at least once in `revive_after`."""

    def __init__(
        self,
        hosts: Sequence[Host],
        revive_after: float = 60.0,
        patience: float = PATIENCE,
        wait: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._hosts = tuple(hosts)
        self._revive_after, self._patience, self._wait = revive_after, patience, wait
        self._clock = clock
        self._change = threading.Condition()
        self._queue: dict[_Lease, Collection[Host]] = {}  # who waits, and for which hosts not
        self._engine: Engine | None = None
        self._closed = threading.Event()

    @property
    def slots(self) -> int:
        """How many samples can run at once when every host is up."""
        return sum(host.slots for host in self._hosts)

    def down(self) -> dict[str, str]:
        """The hosts that are left out now, by name, and why."""
        with self._change:
            return {host.name: host.down.what for host in self._hosts if host.down}

    def describe(self) -> Engine:
        """The engine that all reachable hosts serve which hold the model; call it before the first lease. Raises
        ConfigError where they differ in model, version or load options, and CallError where there is none."""
        if not self._hosts:
            raise ConfigError("the pool has no hosts", hint="name at least one host for the backend")
        engines: dict[str, Engine] = {}
        for host in self._hosts:
            try:
                engines[host.name] = host.backend.describe()
                self._note(host, None)
            except CallError as error:
                if error.failure not in OF_NO_USE:
                    raise
                self._note(host, error)
        if not engines:
            raise self._hosts[0].down or _closed()
        first, *others = engines
        differ = [name for name in others if engines[name].key() != engines[first].key()]
        if differ:
            told = "; ".join(f"{name}: {engines[name].brief()}" for name in (first, *differ))
            hint = "serve the same model, version and options on every host, or leave the odd ones out"
            raise ConfigError("the hosts do not serve the same engine", where=told, hint=hint)
        self._engine = engines[first]
        return self._engine

    @contextmanager
    def lease(self) -> Iterator[Backend]:
        """A backend bound to one slot of one host for as long as the block runs; waits for a free one. Raises CallError
        interrupted once the pool is closed."""
        with closing(_Lease(self)) as leased:
            leased.hold()
            yield leased

    def close(self) -> None:
        """Closes every host; whoever waits for a slot gets CallError interrupted."""
        with self._change:
            self._closed.set()
            self._change.notify_all()
        for host in self._hosts:
            host.backend.close()

    def _take(self, lease: _Lease, tried: Collection[Host]) -> Host:
        """A host not in `tried`, with a slot of it taken; where it is down, this is its trial."""
        with self._change:
            self._queue[lease] = tried
            try:
                while not self._closed.is_set():
                    current().check()
                    places = ((first, self._best(passed)) for first, passed in self._queue.items())
                    first, host = next((place for place in places if place[1]), (None, None))
                    if host and first is lease:  # the first of the queue for whom there is a place
                        host.used += 1
                        host.trial = lease if host.down else None
                        return host
                    self._change.wait(LOOK_AGAIN)
                raise _closed()
            finally:
                del self._queue[lease]
                self._change.notify_all()

    def _best(self, tried: Collection[Host]) -> Host | None:
        """The host not in `tried` to use now: the least loaded that is up, else one to try again; None means wait."""
        hosts = [host for host in self._hosts if host not in tried]
        free = [host for host in hosts if host.used < host.slots]
        if up := [host for host in free if not host.down]:
            return min(up, key=lambda host: host.used / host.slots)
        hopeless = all(host.down for host in hosts)  # nothing to lose: do not wait until one is due
        due = [h for h in free if not h.trial and (hopeless or self._clock() - h.since >= self._revive_after)]
        return min(due, key=lambda host: host.since, default=None)

    def _note(self, host: Host, error: CallError | None) -> None:
        """The host works, or is left out from now on for `error`."""
        with self._change:
            if host.down or error:
                host.down, host.since = error, self._clock()
                host.trial = host.trial if error else None
                self._change.notify_all()

    def _check_same(self, host: Host) -> None:
        """A host that comes back may have been updated in the meantime: then it stays out. Raises CallError."""
        try:
            engine = host.backend.describe()
        except (ConfigError, CallError) as error:
            if isinstance(error, CallError) and error.failure in OF_NO_USE | {Failure.INTERRUPTED}:
                raise
            failure = Failure.UNREACHABLE if isinstance(error, CallError) else Failure.MODEL_NOT_FOUND
            what = f"the host came back unfit: {error.what}"
            raise CallError(failure, what, where=host.name, hint=error.hint) from error
        if self._engine and engine.key() != self._engine.key():
            raise changed(self._engine, engine, host.name)

    def _outlast(self, tried: Mapping[Host, CallError], end: float) -> None:
        """Wait until one of the hosts is back that a call was `tried` on. Raises the call's own error where a host was
        there all the time, RunError where none is back by `end`, ConfigError where none serves the same any longer."""
        failed, looks = dict(tried), 0
        while not (back := self._first_back(failed)):
            looks += 1
            told = "; ".join(f"{host.name}: {error.what}" for host, error in failed.items())
            if all(error.failure is Failure.MODEL_NOT_FOUND for error in failed.values()):
                what = "no host serves any longer what the run began with: "
                what += self._engine.brief() if self._engine else "the model"
                mend = [error.hint for error in failed.values()][-1]
                hint = f"{mend}; then the same command goes on. For what is served now, give runs=ANOTHER_FOLDER"
                raise ConfigError(what, where=told, hint=hint)
            if self._clock() >= end:
                what = f"no host has answered for {self._patience:g} seconds"
                raise RunError(what, where=told, hint="start one of them; the same command then goes on from here")
            self._rest(looks)
        if not looks:
            if tried[back].failure is not Failure.UNREACHABLE or self._clock() >= end:
                raise tried[back]
            self._rest(1)
        self._note(back, None)

    def _first_back(self, failed: dict[Host, CallError]) -> Host | None:
        """A host that serves again what it did; what the others say takes the place of how they `failed` before."""
        for host in [host for host, error in failed.items() if error.failure is not Failure.MODEL_NOT_FOUND]:
            try:
                self._check_same(host)
            except CallError as gone:
                if gone.failure is Failure.INTERRUPTED:
                    raise
                failed[host] = gone
                self._note(host, gone)
            else:
                return host
        return None

    def _rest(self, looks: int) -> None:
        """Wait after so many looks at hosts that are down. Raises CallError interrupted once the pool is closed, or
        nobody waits for the reply."""
        most = self._revive_after or self._wait  # with 0, too, hosts are not asked without a stop
        if rested(min(pause(self._wait, min(looks, 30)), most), self._closed):
            raise _closed()


class _Lease:
    """One slot, as a Backend for one thread; it moves to another host when its own dies."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._host: Host | None = None

    def describe(self) -> Engine:
        return self.hold().backend.describe()

    def complete(self, request: Request) -> Reply:
        pool = self._pool
        tried: dict[Host, CallError] = {}
        end = 0.0
        left = TRIES_AFTER
        while True:
            host = self.hold(tried)
            called = False
            try:
                if host.down:
                    pool._check_same(host)
                called = True
                reply = host.backend.complete(request)
            except CallError as error:
                if error.failure not in OF_NO_USE:
                    raise
                pool._note(host, error)
                tried[host] = error
                # While a crashed server starts anew its retries reach nobody: `Retry` keeps the crash as the cause.
                told = error.__cause__ if error.failure is Failure.UNREACHABLE else error
                if called and end and isinstance(told, CallError) and told.failure in REACHED:
                    left -= 1
                    if not left:
                        raise told from None
            else:
                pool._note(host, None)
                return reply
            self.close()
            if len(tried) == len(pool._hosts):
                end = end or pool._clock() + pool._patience
                pool._outlast(tried, end)
                tried.clear()

    def close(self) -> None:
        """Gives the slot back; the host itself goes on."""
        host, self._host = self._host, None
        if host:
            with self._pool._change:
                host.used -= 1
                host.trial = None if host.trial is self else host.trial
                self._pool._change.notify_all()

    def hold(self, tried: Collection[Host] = ()) -> Host:
        """The host of which a slot is held, or a new one that is not in `tried`."""
        self._host = self._host or self._pool._take(self, tried)
        return self._host


def _closed() -> CallError:
    return CallError(Failure.INTERRUPTED, "the pool is closed", hint="run again to take up from here")

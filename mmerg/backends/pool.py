"""Several hosts that serve the same engine: a sample leases a place on one of them for all its calls.

A host's prefix cache serves a sample's calls only if they run back to back on it, so the lease, not the call, is
dealt out: no more samples on a host than it has slots, first come first served, on the host with the most room. A
host that dies or hangs is left out and its calls move on; after `revive_after` seconds one sample tries it again. So
is one that does not hold the model, or that comes to serve another version or build of it in mid-run.
While all hosts are down, calls wait, and no sample fails for it; after `patience` seconds the run stops, to go on
later. It stops at once where none of them serves what it did at the start. A call that fails on hosts that are
alive is its sample's own failure.

    pool = Pool([Host(Retry(Ollama("http://a:11434", …)), 2, "a"), Host(Retry(Ollama("http://b:11434", …)), 2, "b")])
    engine = pool.describe()
    with pool.lease() as backend:
        reply = backend.complete(request)
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from mmerg.backends.protocol import Backend, Engine, Reply, Request, changed
from mmerg.backends.retry import pause
from mmerg.errors import CallError, ConfigError, Failure, RunError

DEAD = frozenset({Failure.UNREACHABLE, Failure.RUNNER_CRASH, Failure.TIMEOUT})  # a host that hangs is as good as dead
OF_NO_USE = DEAD | {Failure.MODEL_NOT_FOUND}  # hosts may hold different models, and another one in mid-run


@dataclass(frozen=True)
class Host:
    """A backend, how many samples may use it at once, and the name that errors give it."""

    backend: Backend
    slots: int
    name: str


@dataclass(eq=False)
class _Place:
    """What the pool knows of a host. `down` says why it is left out; `trying` that one lease tries it again."""

    host: Host
    number: int
    used: int = 0
    down: CallError | None = None
    since: float = 0.0
    trying: bool = False


class Pool:
    """Deals out the slots of `hosts`. `clock` gives seconds and never goes back. While all hosts are down, they are
    looked at after `wait` seconds, 2·wait, 4·wait and so on, but at least once in `revive_after`."""

    def __init__(
        self,
        hosts: Sequence[Host],
        revive_after: float = 60.0,
        patience: float = 600.0,
        wait: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._places = [_Place(host, number) for number, host in enumerate(hosts)]
        self._revive_after, self._patience, self._wait = revive_after, patience, wait
        self._clock = clock
        self._change = threading.Condition()
        self._queue: deque[object] = deque()
        self._engine: Engine | None = None
        self._closed = False

    @property
    def slots(self) -> int:
        """How many samples can run at once when every host is up."""
        return sum(place.host.slots for place in self._places)

    def down(self) -> dict[str, str]:
        """The hosts that are left out now, by name, and why."""
        with self._change:
            return {place.host.name: place.down.what for place in self._places if place.down}

    def describe(self) -> Engine:
        """The engine that all reachable hosts serve which hold the model; call it before the first lease.

        Raises ConfigError where they differ in model, version or load options, and CallError where there is none.
        """
        if not self._places:
            raise ConfigError("the pool has no hosts", hint="name at least one host for the backend")
        engines: dict[str, Engine] = {}
        for place in self._places:
            try:
                engines[place.host.name] = place.host.backend.describe()
            except CallError as error:
                if error.failure not in OF_NO_USE:
                    raise
                self._failed(place, error)
            else:
                self._works(place)
        if not engines:
            raise self._places[0].down or _closed()
        first, *others = engines
        differ = [name for name in others if engines[name].key() != engines[first].key()]
        if differ:
            told = "; ".join(f"{name}: {engines[name].brief()}" for name in (first, *differ))
            hint = "serve the same model, version and options on every host, or leave the odd ones out"
            raise ConfigError("the hosts do not serve the same engine", where=told, hint=hint)
        with self._change:
            self._engine = engines[first]
        return engines[first]

    @contextmanager
    def lease(self) -> Iterator[Backend]:
        """A backend bound to one slot of one host for as long as the block runs; waits for a free one.

        Raises CallError interrupted once the pool is closed.
        """
        leased = _Lease(self)
        leased._hold(())
        try:
            yield leased
        finally:
            leased.close()

    def close(self) -> None:
        """Closes every host; whoever waits for a slot gets CallError interrupted."""
        with self._change:
            self._closed = True
            self._change.notify_all()
        for place in self._places:
            place.host.backend.close()

    def _take(self, tried: Collection[_Place]) -> tuple[_Place, bool]:
        """A slot of a host not in `tried`, and whether it is that host's trial after being down."""
        ticket = object()
        with self._change:
            self._queue.append(ticket)
            try:
                while True:
                    if self._closed:
                        raise _closed()
                    open_places = [place for place in self._places if place not in tried]
                    place = self._best(open_places) if self._queue[0] is ticket else None
                    if place:
                        trial = place.down is not None
                        place.used += 1
                        place.trying = place.trying or trial
                        return place, trial
                    self._change.wait(self._until_due())
            finally:
                self._queue.remove(ticket)
                self._change.notify_all()

    def _best(self, places: Sequence[_Place]) -> _Place | None:
        """The place to use now: the least loaded that is up, else one to try again; None means wait."""
        free = [place for place in places if place.used < place.host.slots]
        up = [place for place in free if not place.down]
        if up:
            return min(up, key=lambda place: (place.used / place.host.slots, place.number))
        hopeless = all(place.down for place in places)  # nothing to lose: do not wait until one is due
        due = [p for p in free if not p.trying and (hopeless or self._clock() - p.since >= self._revive_after)]
        return min(due, key=lambda place: (place.since, place.number), default=None)

    def _until_due(self) -> float | None:
        waits = [p.since + self._revive_after - self._clock() for p in self._places if p.down and not p.trying]
        return max(min(waits), 0.01) if waits else None

    def _give_back(self, place: _Place, trial: bool) -> None:
        with self._change:
            place.used -= 1
            if trial:
                place.trying = False
            self._change.notify_all()

    def _failed(self, place: _Place, error: CallError) -> None:
        with self._change:
            place.down, place.since = error, self._clock()

    def _works(self, place: _Place) -> None:
        with self._change:
            if place.down:
                place.down, place.trying = None, False
                self._change.notify_all()

    def _call(self, place: _Place, request: Request) -> Reply:
        if place.down:
            self._check_same(place.host)
        reply = place.host.backend.complete(request)
        self._works(place)
        return reply

    def _check_same(self, host: Host) -> None:
        """A host that comes back may have been updated in the meantime: then it stays out. Raises CallError."""
        try:
            engine = host.backend.describe()
        except (ConfigError, CallError) as error:
            if isinstance(error, CallError) and error.failure in OF_NO_USE | {Failure.INTERRUPTED}:
                raise
            failure = Failure.UNREACHABLE if isinstance(error, CallError) else Failure.MODEL_NOT_FOUND
            raise CallError(
                failure, f"the host came back unfit: {error.what}", where=host.name, hint=error.hint
            ) from error
        if self._engine and engine.key() != self._engine.key():
            raise changed(self._engine, engine, host.name)

    def _outlast(self, tried: Mapping[_Place, CallError], end: float) -> None:
        """Wait until one of the hosts is back that a call was `tried` on. Raises the call's own error where a host was
        there all the time, RunError where none is back by `end`, ConfigError where none serves the same any longer."""
        failed, looks = dict(tried), 0
        while True:
            for place, error in tried.items():
                if failed[place].failure is Failure.MODEL_NOT_FOUND:
                    continue
                try:
                    self._check_same(place.host)
                except CallError as gone:
                    if gone.failure is Failure.INTERRUPTED:
                        raise
                    failed[place] = gone
                    self._failed(place, gone)
                else:
                    if not looks and (error.failure is not Failure.UNREACHABLE or self._clock() >= end):
                        raise error
                    if not looks:
                        self._rest(1)
                    self._works(place)
                    return
            told = "; ".join(f"{place.host.name}: {error.what}" for place, error in failed.items())
            last = list(failed.values())[-1]
            if all(error.failure is Failure.MODEL_NOT_FOUND for error in failed.values()):
                began = self._engine.brief() if self._engine else "the model"
                what = f"no host serves any longer what the run began with: {began}"
                hint = f"{last.hint}; then the same command goes on. For what is served now, give runs=ANOTHER_FOLDER"
                raise ConfigError(what, where=told, hint=hint)
            looks += 1
            if self._clock() >= end:
                what = f"no host has answered for {self._patience:g} seconds"
                raise RunError(what, where=told, hint="start one of them; the same command then goes on from here")
            self._rest(looks)

    def _rest(self, looks: int) -> None:
        """Wait after so many looks at hosts that are down. Raises CallError interrupted once the pool is closed."""
        with self._change:
            if self._change.wait_for(lambda: self._closed, min(pause(self._wait, min(looks, 30)), self._revive_after)):
                raise _closed()


class _Lease:
    """One slot, as a Backend for one thread; it moves to another host when its own dies."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._held: tuple[_Place, bool] | None = None

    def describe(self) -> Engine:
        place, _ = self._hold(())
        return place.host.backend.describe()

    def complete(self, request: Request) -> Reply:
        tried: dict[_Place, CallError] = {}
        end = 0.0
        while True:
            place, _ = self._hold(tried)
            try:
                return self._pool._call(place, request)
            except CallError as error:
                if error.failure not in OF_NO_USE:
                    raise
                self._pool._failed(place, error)
                tried[place] = error
            self.close()
            if len(tried) == len(self._pool._places):
                end = end or self._pool._clock() + self._pool._patience
                self._pool._outlast(tried, end)
                tried.clear()

    def close(self) -> None:
        """Gives the slot back; the host itself goes on."""
        held, self._held = self._held, None
        if held:
            self._pool._give_back(*held)

    def _hold(self, tried: Collection[_Place]) -> tuple[_Place, bool]:
        """The slot that is held, or a new one."""
        self._held = self._held or self._pool._take(tried)
        return self._held


def _closed() -> CallError:
    return CallError(Failure.INTERRUPTED, "the pool is closed", hint="run again to take up from here")

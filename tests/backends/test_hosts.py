"""Several hosts on real ports: they hold other models, die and come back."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from mmerg.backends.http import Deadlines
from mmerg.backends.ollama import Ollama
from mmerg.backends.pool import Host, Pool
from mmerg.backends.protocol import Message, Request, Sampling
from mmerg.engine.parallel import run_in_threads
from tests.backends.test_pool import Clock
from tests.scripted_ollama import scripted_ollama

MODEL, OTHER = "qwen2.5vl:7b", "gemma3:12b"
QUICK = Deadlines(connect=2.0, first_token=1.0, stall=1.0, total=10.0)


class Machine:
    """A server that answers with its name, and can be stopped and started again on its port."""

    def __init__(self, name: str, *models: str) -> None:
        self.name, self.models = name, models or (MODEL,)
        self.calls = 0
        self.pause = 0.0
        self.on_call: Callable[[int], object] = lambda _: None
        self.url = ""
        self._stack = ExitStack()
        self.start()

    def start(self) -> None:
        port = int(self.url.rpartition(":")[2] or 0)
        server = scripted_ollama(answer=self._answer, models=self.models, port=port)
        self.server = self._stack.enter_context(server)
        self.url = self.server.url

    def die(self) -> None:
        self._stack.close()

    def _answer(self, body: dict[str, Any]) -> str:
        self.calls += 1
        self.on_call(self.calls)
        threading.Event().wait(self.pause)
        return self.name


@pytest.fixture
def machines() -> Iterator[Callable[..., Machine]]:
    started: list[Machine] = []

    def make(name: str, *models: str) -> Machine:
        started.append(Machine(name, *models))
        return started[-1]

    yield make
    for machine in started:
        machine.die()


def build_pool(*machines: Machine, model: str = MODEL, clock: Clock | None = None) -> Pool:
    hosts = [
        Host(
            Ollama(host=machine.url, model=model, load={"num_ctx": 2048}, deadlines=QUICK),
            1,
            machine.name,
        )
        for machine in machines
    ]
    return Pool(hosts, revive_after=60.0, wait=0.05, attempts=1, clock=clock or time.monotonic)


def served(pool: Pool, samples: int, calls: int = 2) -> Counter[str]:
    """Who answered, of so many samples in flight with so many calls each."""

    def work(sample: int) -> list[str]:
        with pool.lease() as backend:
            asks = [Request((Message("user", f"{sample}.{call}"),), Sampling()) for call in range(calls)]
            return [backend.complete(ask).text for ask in asks]

    answers = list(run_in_threads(range(samples), work, pool.slots, pool.close))
    assert len(answers) == samples
    return Counter(name for names in answers for name in names)


def meet(first: Machine, second: Machine) -> threading.Event:
    """Let `first` answer only once `second` was asked, so that both have a sample at the same time."""
    reached = threading.Event()
    second.on_call = lambda _: reached.set()
    first.on_call = lambda _: reached.wait(1.5)
    return reached


def test_each_host_is_used_for_the_model_that_it_holds(machines: Callable[..., Machine]) -> None:
    both, one, other = machines("both", MODEL, OTHER), machines("one"), machines("other", OTHER)
    for model, holders, without in ((MODEL, {"both", "one"}, "other"), (OTHER, {"both", "other"}, "one")):
        pool = build_pool(both, one, other, model=model)
        assert pool.describe().model == model
        assert pool.list_down().keys() == {without}
        assert served(pool, 8).keys() == holders
        pool.close()


def test_samples_leave_a_host_that_dies_and_use_it_again_once_it_is_back(
    machines: Callable[..., Machine],
) -> None:
    alive, dying, clock = machines("alive"), machines("dying"), Clock()
    pool = build_pool(alive, dying, clock=clock)
    pool.describe()
    alive.pause = dying.pause = 0.02
    reached = meet(alive, dying)

    def killer() -> None:
        reached.wait(10)
        dying.die()

    thread = threading.Thread(target=killer)
    thread.start()
    answers = served(pool, 8)
    thread.join()
    assert answers.total() == 16
    assert pool.list_down().keys() == {"dying"}
    assert "dying" not in served(pool, 2), "its time has not come"
    clock.now += 60
    assert "dying" not in served(pool, 2), "it is still dead"
    dying.start()
    clock.now += 60
    before = dying.calls
    assert served(pool, 8)["dying"] == dying.calls - before > 0
    assert pool.list_down() == {}
    pool.close()

"""How many samples a minute one and several in flight give, against a backend that takes a fixed time for each call.

MERG on the demo corpus, five calls a sample, cache off, keyframes already taken. The backend is once in this process
(`Scripted`), once an HTTP server on this machine behind the Ollama adapter; both wait `--latency` seconds for each call
and work no time, so the ratio shows what the framework makes of a host that can serve several calls at once, not what
a real host can. The ideal is the number in flight.

Prints, as medians over rounds with their range, samples a minute and the ratio, then one line of JSON.

    python benchmarks/in_flight.py --samples 8 --latency 0.1 --in-flight 4 --rounds 3
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

from benchmarks.parts import (
    alternating,
    answer,
    experiment,
    ignore,
    keep_nothing,
    publish,
    ratio,
    samples,
    seconds,
    spread,
)
from mmerg.backends.cache import Cache
from mmerg.backends.ollama import Ollama
from mmerg.backends.pool import Host, Pool
from mmerg.backends.protocol import Backend, Message, Request, Sampling
from mmerg.backends.retry import Retry
from mmerg.backends.scripted import Scripted
from mmerg.corpora.dialogue import Sample
from mmerg.engine.parallel import in_flight
from mmerg.engine.sample import Experiment
from mmerg.runs.result import Result
from tests.scripted_ollama import ScriptedOllama, scripted_ollama


def go(run: Experiment, todo: Sequence[Sample], backend: Backend, slots: int) -> None:
    """All samples, `slots` at a time, as the run command does it, without a run folder. Any failure ends it."""
    with closing(Pool([Host(Cache(Retry(backend), Path("unused"), "off"), slots, "host")])) as pool:
        pool.describe()

        def work(sample: Sample) -> Result:
            with pool.lease() as leased:
                return run.sample(sample, leased, ignore, keep_nothing)

        for result in in_flight(todo, work, pool.slots, pool.close):
            if result.status != "ok" or result.calls != 5:
                raise SystemExit(f"sample {result.id} went wrong: {result.failure_text or result.calls}")


def slow_server(latency: float) -> AbstractContextManager[ScriptedOllama]:
    """An HTTP server that waits `latency` seconds before each answer to a chat call."""
    return scripted_ollama(lambda _: time.sleep(latency), answer_to)


def answer_to(body: dict[str, Any]) -> str:
    """The scripted server's reply to the body of a chat call."""
    messages = tuple(Message(message["role"], message["content"]) for message in body["messages"])
    return answer(Request(messages, Sampling()))


def main() -> None:
    """Time both backends with one and with several in flight, print."""
    parser = argparse.ArgumentParser(description="Samples a minute with one and with several in flight.")
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--latency", type=float, default=0.1, help="seconds a call")
    parser.add_argument("--in-flight", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    todo = samples(options.samples)
    many = options.in_flight
    with tempfile.TemporaryDirectory() as folder, slow_server(options.latency) as host:
        run = experiment(Path(folder))

        def scripted() -> Backend:
            return Scripted(answer, latency=options.latency)

        def over_http() -> Backend:
            return Ollama(model="qwen2.5vl:7b", load={"num_ctx": 8192}, host=host.url)

        def timed(make: Callable[[], Backend], slots: int) -> Callable[[], float]:
            return lambda: seconds(lambda: go(run, todo, make(), slots))

        variants = {
            "scripted, 1": timed(scripted, 1),
            f"scripted, {many}": timed(scripted, many),
            "http, 1": timed(over_http, 1),
            f"http, {many}": timed(over_http, many),
        }
        go(run, todo[:5], Scripted(answer), 1)  # takes the keyframes, compiles the prompts
        rounds = alternating(variants, options.rounds)
    rates = {name: spread([60 * options.samples / row[name] for row in rounds]) for name in variants}
    gain = {kind: ratio(rounds, f"{kind}, 1", f"{kind}, {many}") for kind in ("scripted", "http")}
    lines = [
        f"{options.samples} samples of 5 calls of {options.latency:g} s, medians of {options.rounds} rounds (range)",
        *(
            f"  {name:<14}{rate.median:7.0f} samples a minute ({rate.low:.0f} to {rate.high:.0f})"
            for name, rate in rates.items()
        ),
        *(f"  {kind}: {many} in flight against 1: {gained}" for kind, gained in gain.items()),
    ]
    publish(
        lines,
        {
            "benchmark": "in_flight",
            "samples": options.samples,
            "latency": options.latency,
            "in_flight": many,
            "rounds": options.rounds,
            "samples_a_minute": {name: rate.rounded() for name, rate in rates.items()},
            "ratio": {kind: gained.rounded() for kind, gained in gain.items()},
        },
    )


if __name__ == "__main__":
    main()

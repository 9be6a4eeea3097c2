"""What several hosts give, and several calls at once on one: samples a minute over 1, 2 and 4 simulated hosts.

MERG on the demo corpus, five calls a sample, cache off, keyframes already taken. A host is an HTTP server in a
process of its own that waits `--latency` seconds before each answer and works no time; all share this machine's cores
with mmerg, so the ratio shows what the pool and the framework make of several hosts. Each takes one call at a time, but
`1 x 4` is one host that takes four. The ideal is the number of calls at once.

Prints, as medians over rounds with their range, samples a minute and ratios, then one line of JSON.

    python benchmarks/hosts.py --samples 8 --latency 0.5 --hosts 1 2 4 --rounds 2
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path
from typing import Any

from benchmarks.parts import (
    alternating,
    answer,
    apart,
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


def go(run: Experiment, todo: Sequence[Sample], backends: Sequence[Backend], slots: int = 1) -> None:
    """All samples over all hosts, as the run command does it, without a run folder. Any failure ends it."""
    hosts = [
        Host(Cache(Retry(backend), Path("unused"), "off"), slots, f"host {number}")
        for number, backend in enumerate(backends)
    ]
    with closing(Pool(hosts)) as pool:
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


def serve(latency: float) -> None:
    """Be a host until standard input ends."""
    with slow_server(latency) as server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        sys.stdin.read()


def main() -> None:
    """Time every number of hosts, print."""
    parser = argparse.ArgumentParser(description="Samples a minute over several simulated hosts.")
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--latency", type=float, default=0.5, help="seconds a call")
    parser.add_argument("--hosts", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.latency)
        return
    todo = samples(options.samples)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as servers:
        run = experiment(Path(folder))
        serving = (__file__, "--serve", "--latency", str(options.latency))
        urls = [servers.enter_context(apart(*serving)) for _ in range(max(options.hosts))]

        def timed(count: int, slots: int = 1) -> Callable[[], float]:
            def work() -> None:
                hosts = [Ollama(model="qwen2.5vl:7b", load={"num_ctx": 8192}, host=url) for url in urls[:count]]
                go(run, todo, hosts, slots)

            return lambda: seconds(work)

        go(run, todo[:5], [Scripted(answer)])  # takes the keyframes, compiles the prompts
        variants = {str(count): timed(count) for count in options.hosts} | {"1 x 4": timed(1, 4)}
        rounds = alternating(variants, options.rounds)
    rates = {name: spread([60 * options.samples / row[name] for row in rounds]) for name in rounds[0]}
    first = str(options.hosts[0])
    gain = {name: ratio(rounds, first, name) for name in rounds[0] if name != first}
    publish(
        [
            f"{options.samples} samples, 5 calls of {options.latency:g} s each, medians of {options.rounds} rounds",
            *(
                f"  {name} hosts {rate.median:7.0f} samples a minute ({rate.low:.0f} to {rate.high:.0f})"
                for name, rate in rates.items()
            ),
            *(f"  {name} hosts against {first}: {gained}" for name, gained in gain.items()),
        ],
        {
            "benchmark": "hosts",
            "samples": options.samples,
            "latency": options.latency,
            "rounds": options.rounds,
            "samples_a_minute": {name: rate.rounded() for name, rate in rates.items()},
            f"ratio_to_{first}": {name: gained.rounded() for name, gained in gain.items()},
        },
    )


if __name__ == "__main__":
    main()

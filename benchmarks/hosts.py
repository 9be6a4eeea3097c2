"""What several hosts give, and several calls at once on one: samples a minute over 1, 2 and 4 simulated hosts.

MERG on the demo corpus, five calls a sample, cache off, keyframes already taken. A host is an HTTP server in a
process of its own that waits `--latency` seconds before each answer and works no time; all share this machine's cores
with mmerg, so the ratio shows what the pool and the framework make of several hosts. Each takes one call at a time, but
`1 x 4` is one host that takes four. The ideal is the number of calls at once.

Prints, as medians over rounds with their range, samples a minute and ratios, then one line of JSON.

    python benchmarks/hosts.py --samples 8 --latency 0.5 --hosts 1 2 4 --rounds 2
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from benchmarks.parts import (
    alternating,
    answer,
    apart,
    experiment,
    ignore,
    keep_nothing,
    options,
    pool,
    publish,
    ratio,
    samples,
    seconds,
    spread,
    stand,
    whole,
)
from mmerg.backends.ollama import Ollama
from mmerg.backends.protocol import Backend, Message, Request, Sampling
from mmerg.backends.scripted import Scripted
from mmerg.corpora.dialogue import Sample
from mmerg.engine.parallel import in_flight
from mmerg.engine.sample import Experiment
from mmerg.runs.result import Result
from tests.scripted_ollama import scripted_ollama


def go(run: Experiment, todo: Sequence[Sample], backends: Sequence[Backend], slots: int = 1) -> None:
    """All samples over all hosts, as the run command does it, without a run folder. Any failure ends it."""
    with closing(pool(backends, Path("unused"), slots=slots)) as hosts:

        def work(sample: Sample) -> Result:
            with hosts.lease() as leased:
                return run.sample(sample, leased, ignore, keep_nothing)

        for result in in_flight(todo, work, hosts.slots, hosts.close):
            whole(result)


def answer_to(body: dict[str, Any]) -> str:
    """The scripted server's reply to the body of a chat call."""
    messages = tuple(Message(message["role"], message["content"]) for message in body["messages"])
    return answer(Request(messages, Sampling()))


def main() -> None:
    """Time every number of hosts, print."""
    if sys.argv[1:2] == ["--serve"]:
        latency = float(sys.argv[2])
        with scripted_ollama(lambda _: time.sleep(latency), answer_to) as server:
            return stand(server.url)
    given = options(__doc__, samples=8, latency=0.5, hosts=[1, 2, 4], rounds=2)
    todo = samples(given.samples)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as servers:
        run = experiment(Path(folder))
        serving = (__file__, "--serve", str(given.latency))
        urls = [servers.enter_context(apart(*serving)) for _ in range(max(given.hosts))]

        def timed(count: int, slots: int = 1) -> Callable[[], float]:
            def work() -> None:
                hosts = [Ollama(model="qwen2.5vl:7b", load={"num_ctx": 8192}, host=url) for url in urls[:count]]
                go(run, todo, hosts, slots)

            return lambda: seconds(work)

        go(run, todo[:5], [Scripted(answer)])  # takes the keyframes, compiles the prompts
        variants = {str(count): timed(count) for count in given.hosts} | {"1 x 4": timed(1, 4)}
        rounds = alternating(variants, given.rounds)
    rates = {name: spread([60 * given.samples / row[name] for row in rounds]) for name in rounds[0]}
    first = str(given.hosts[0])
    gain = {name: ratio(rounds, first, name) for name in rounds[0] if name != first}
    publish(
        [
            f"{given.samples} samples, 5 calls of {given.latency:g} s each, medians of {given.rounds} rounds",
            *(
                f"  {name} hosts {rate.median:7.0f} samples a minute ({rate.low:.0f} to {rate.high:.0f})"
                for name, rate in rates.items()
            ),
            *(f"  {name} hosts against {first}: {gained}" for name, gained in gain.items()),
        ],
        {"benchmark": "hosts", "samples_a_minute": rates, f"ratio_to_{first}": gain} | vars(given),
    )
    return None


if __name__ == "__main__":
    main()

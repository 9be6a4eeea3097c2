"""What the framework itself costs a call, beside the model and HTTP: MERG on the demo corpus, a backend of no latency.

Whole samples of five calls go through `Experiment`, keyframes already taken, in these variants, in turn:

    bare    the same requests straight to `Scripted.complete`: the base of the ratios
    engine  samples on the bare backend, events thrown away
    trace   the same into a run folder: trace, kept frames, results
    off     the same behind the pool, the cache switched off, and the retry: what a run without cache costs
    miss    the same with the cache on and nothing in it
    hit     the same with every reply in the cache: a replay

Left out is what is done once a run: reading prompts, opening the cache. No two samples have the same words; every fifth
has the same keyframes. Each round has a run folder of its own. Times are of the processor, not of the clock.
Prints milliseconds a call and ratios, medians over rounds with their range, then one line of JSON. `--profile VARIANT`
prints what cProfile finds in one of them instead, its own cost added.

    python benchmarks/overhead.py --samples 20 --rounds 7
    python benchmarks/overhead.py --profile miss
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path

from benchmarks.parts import (
    alternating,
    answer,
    experiment,
    ignore,
    keep_nothing,
    processor_seconds,
    publish,
    ratio,
    run_folder,
    samples,
    spread,
)
from mmerg.backends.cache import Cache, Mode
from mmerg.backends.pool import Host, Pool
from mmerg.backends.protocol import Backend, Request, Sampling
from mmerg.backends.retry import Retry
from mmerg.backends.scripted import Scripted
from mmerg.corpora.dialogue import Sample
from mmerg.engine.sample import Experiment, KeepFrame
from mmerg.runs.folder import Run

CALLS = 5


@dataclass
class Bench:
    """Samples and a scratch folder; each variant is a method that gives the milliseconds a call took."""

    folder: Path
    todo: Sequence[Sample]
    run: Experiment
    pools: Mapping[Mode, Pool]
    numbers: count[int] = field(default_factory=lambda: count(1))  # a name for each run folder, a seed for each miss

    def bare(self) -> float:
        asked = self._requests()
        backend = Scripted(answer)
        return self._a_call(lambda: [backend.complete(request) for request in asked])

    def engine(self) -> float:
        backend = Scripted(answer)
        return self._a_call(lambda: self._go(backend, keep_nothing))

    def trace(self) -> float:
        backend = Scripted(answer)
        with self._run_folder() as record:
            return self._a_call(lambda: self._go(backend, record.keep_frame, record))

    def off(self) -> float:
        return self._pooled(self.run, "off")

    def miss(self) -> float:
        return self._pooled(replace(self.run, sampling=Sampling(seed=next(self.numbers))), "on")

    def hit(self) -> float:
        return self._pooled(self.run, "on")

    def _pooled(self, run: Experiment, mode: Mode) -> float:
        with self._run_folder() as record:

            def work() -> None:
                for sample in self.todo:
                    with self.pools[mode].lease() as leased:
                        one = partial(run.sample, sample, leased, keep_frame=record.keep_frame)
                        record.record(sample.id, one)

            return self._a_call(work)

    def _go(self, backend: Backend, keep_frame: KeepFrame, record: Run | None = None) -> None:
        for sample in self.todo:
            one = partial(self.run.sample, sample, backend, keep_frame=keep_frame)
            result = record.record(sample.id, one) if record else one(ignore)
            if result.calls != CALLS:
                raise SystemExit(f"sample {sample.id} took {result.calls} calls: {result.failure_text}")

    def _requests(self) -> list[Request]:
        backend = Scripted(answer)
        self._go(backend, keep_nothing)
        return backend.requests

    def _run_folder(self) -> Run:
        return run_folder(self.folder / f"run{next(self.numbers)}")

    def _a_call(self, work: Callable[[], object]) -> float:
        return 1000 * processor_seconds(work) / (CALLS * len(self.todo))


def pool(folder: Path, mode: Mode) -> Pool:
    """One host, as a run makes it."""
    made = Pool([Host(Cache(Retry(Scripted(answer)), folder / "replies.sqlite", mode), 1, "host")])
    made.describe()
    return made


def main() -> None:
    """Time the variants and the pieces, print."""
    parser = argparse.ArgumentParser(description="What the framework costs a call.")
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--profile", choices=("engine", "trace", "off", "miss", "hit"))
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as name,
        closing(pool(Path(name), "off")) as off,
        closing(pool(Path(name), "on")) as on,
    ):
        bench = Bench(Path(name), samples(options.samples), experiment(Path(name)), {"off": off, "on": on})
        variants = {
            one.__name__: one for one in (bench.bare, bench.engine, bench.trace, bench.off, bench.miss, bench.hit)
        }
        alternating(variants, 1)  # takes the keyframes, fills the cache
        if options.profile:
            profile = cProfile.Profile()
            profile.runcall(variants[options.profile])
            pstats.Stats(profile).sort_stats("tottime").print_stats(25).sort_stats("cumulative").print_stats(60)
            return
        rounds = alternating(variants, options.rounds)
    times = {name: spread([row[name] for row in rounds]) for name in variants}
    ratios = {name: ratio(rounds, name, "bare") for name in variants}
    publish(
        [
            f"{options.samples} samples of {CALLS} calls, medians of {options.rounds} rounds (range)",
            "variant: milliseconds a call, ratio to bare",
            *(f"  {name:<7}{times[name]!s:<24}{ratios[name].median:7.0f}" for name in variants),
            f"  miss against off {ratio(rounds, 'miss', 'off')}, hit against off {ratio(rounds, 'hit', 'off')}",
        ],
        {
            "benchmark": "overhead",
            "samples": options.samples,
            "rounds": options.rounds,
            "ms_a_call": {name: took.rounded() for name, took in times.items()},
            "ratio_to_bare": {name: found.rounded() for name, found in ratios.items()},
        },
    )


if __name__ == "__main__":
    main()

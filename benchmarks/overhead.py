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
Prints milliseconds a call and ratios, medians over rounds with their range, then one line of JSON.

    python benchmarks/overhead.py --samples 20 --rounds 7
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path

from benchmarks.parts import (
    CALLS,
    alternating,
    answer,
    experiment,
    ignore,
    keep_nothing,
    options,
    pool,
    processor_seconds,
    publish,
    ratio,
    recorded,
    requests_of,
    run_folder,
    samples,
    spread,
    whole,
)
from mmerg.backends.cache import Mode
from mmerg.backends.pool import Pool
from mmerg.backends.protocol import Backend, Sampling
from mmerg.backends.scripted import Scripted
from mmerg.corpora.dialogue import Sample
from mmerg.engine.sample import Experiment, KeepFrame
from mmerg.runs.folder import Run


@dataclass
class Bench:
    """Samples and a scratch folder; each variant is a method that gives the milliseconds a call took."""

    folder: Path
    todo: Sequence[Sample]
    run: Experiment
    pools: Mapping[Mode, Pool]
    numbers: count[int] = field(default_factory=lambda: count(1))  # a name for each run folder, a seed for each miss

    def bare(self) -> float:
        asked = requests_of(self.run, self.todo, answer)
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
            return self._a_call(lambda: recorded(run, self.todo, self.pools[mode], record))

    def _go(self, backend: Backend, keep_frame: KeepFrame, record: Run | None = None) -> None:
        for sample in self.todo:
            one = partial(self.run.sample, sample, backend, keep_frame=keep_frame)
            whole(record.record(sample.id, one) if record else one(ignore))

    def _run_folder(self) -> Run:
        return run_folder(self.folder / f"run{next(self.numbers)}")

    def _a_call(self, work: Callable[[], object]) -> float:
        return 1000 * processor_seconds(work) / (CALLS * len(self.todo))


def main() -> None:
    """Time the variants and the pieces, print."""
    given = options(__doc__, samples=20, rounds=7)
    with (
        tempfile.TemporaryDirectory() as name,
        closing(pool([Scripted(answer)], Path(name) / "replies.sqlite", "off")) as off,
        closing(pool([Scripted(answer)], Path(name) / "replies.sqlite", "on")) as on,
    ):
        bench = Bench(Path(name), samples(given.samples), experiment(Path(name)), {"off": off, "on": on})
        variants = {
            one.__name__: one for one in (bench.bare, bench.engine, bench.trace, bench.off, bench.miss, bench.hit)
        }
        alternating(variants, 1)  # takes the keyframes, fills the cache
        rounds = alternating(variants, given.rounds)
    times = {name: spread([row[name] for row in rounds]) for name in variants}
    ratios = {name: ratio(rounds, name, "bare") for name in variants}
    publish(
        [
            f"{given.samples} samples of {CALLS} calls, medians of {given.rounds} rounds (range)",
            "variant: milliseconds a call, ratio to bare",
            *(f"  {name:<7}{times[name]!s:<24}{ratios[name].median:7.0f}" for name in variants),
            f"  miss against off {ratio(rounds, 'miss', 'off')}, hit against off {ratio(rounds, 'hit', 'off')}",
        ],
        {"benchmark": "overhead", "ms_a_call": times, "ratio_to_bare": ratios} | vars(given),
    )


if __name__ == "__main__":
    main()

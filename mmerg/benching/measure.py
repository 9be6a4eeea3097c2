"""The figures of a run in a bench: its scores, and as further figures its speed and the memory of its model.

    keep_memory(settings, ended)                                 # right after the run
    measure(backbone, Path(ended.run), Options()).scores.scores["reply tok/s"].value

A figure without a value says why. Results keep the times of their calls, so a finished run has its speed, too.
"""

import resource
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from mmerg.backends.ollama_host import OllamaHost
from mmerg.backends.protocol import Engine
from mmerg.benching.backbones import Backbone
from mmerg.errors import CallError, ConfigError, RunError
from mmerg.runs.manifest import About
from mmerg.runs.result import Ended, Result
from mmerg.scoring.answers import read_run
from mmerg.scoring.score import Score, Scores
from mmerg.scoring.scorer import score_run, write_scores
from mmerg.scoring.spread import seed_of
from mmerg.scoring.standard import Options, check, standard_metrics
from mmerg.settings.model import RunSettings
from mmerg.storage.record import Record, read_record, write_record

MEMORY = "memory.json"  # in a run's folder


class Memory(Record):
    """The memory of a model in GiB, and the share of it outside of the GPU in %, None where not known. why: why it is
    not known, or how it was measured."""

    size: float | None = None
    on_cpu: float | None = None
    why: str = ""


@dataclass(frozen=True)
class Row(About):
    """A run of a backbone. calls: of all samples; cached: from the reply cache. fault: why its scores could not be kept
    in its folder."""

    backbone: Backbone
    scores: Scores
    calls: int
    cached: int
    fault: str

    @property
    def seed(self) -> int:
        return seed_of(self.manifest)

    @property
    def engine(self) -> str:
        return f"{self.manifest.engine.backend} {self.manifest.engine.version}"


def measure(backbone: Backbone, path: Path, options: Options) -> Row:
    """The run in folder `path`; its scores are written there. Raises RunError where it cannot be read."""
    run, fault = read_run(path), ""
    scores = score_run(run, options)
    try:
        write_scores(path, scores)
    except RunError as error:
        fault = f"its scores are not kept: {error.what} ({error.where})"
    costs = [*speed(run.answers), *_memory(path, len(run.answers))]
    scores = scores.model_copy(update={"scores": scores.scores | {score.name: score for score in costs}})
    calls, cached = (sum(getattr(one, name) for one in run.answers) for name in ("calls", "cached_calls"))
    return Row(path, run.manifest, backbone, scores, calls, cached, fault)


def speed(results: Sequence[Result]) -> Iterator[Score]:
    """Speeds without replies from the cache: the 95 % quantile of the seconds of samples that did not fail (the scores
    have their median), the median over calls of tokens a second, and prompt tokens over the server's seconds for
    them."""
    timed = [result.timing for result in results if result.timing.calls]
    cached = any(result.calls for result in results)
    untimed = "every call came from the reply cache" if cached else "no call was answered"
    took = [result.seconds for result in results if result.ok and not result.cached_calls]
    failed = sum(not result.ok for result in results)
    counts = {"failed": failed, "had replies from the cache": len(results) - failed - len(took)}
    left_out = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    why = f"over {len(took)} of {len(results)} samples: {left_out}" * bool(left_out)
    last = float(np.quantile(took, 0.95)) if took else None
    yield Score(name="seconds p95", value=last, n=len(took), higher_is_better=False, why=why if timed else untimed)
    # A median, as the first call of a run may wait for the model to be loaded.
    rates = [rate for timing in timed for rate in timing.reply_rates]
    seconds = sum(timing.prompt_seconds for timing in timed)
    prompt = sum(timing.prompt_tokens for timing in timed) / seconds if seconds else None
    for name, value in (("reply tok/s", float(np.median(rates)) if rates else None), ("prompt tok/s", prompt)):
        lacks = "" if value is not None else "the server tells no times" if timed else untimed
        yield Score(name=name, value=value, n=len(timed), higher_is_better=True, why=lacks)


def keep_memory(settings: RunSettings, ended: Ended) -> None:
    """Ask for the memory of the model that a run has just used, and keep it in the run's folder: a later call of the
    bench may not load the model."""
    if ended.made:
        memory = _ask(settings)
        if memory.size or not _read_memory(Path(ended.run)).size:
            write_record(Path(ended.run) / MEMORY, memory)


def _ask(settings: RunSettings) -> Memory:
    if settings.backend.name == "embedded":
        unit = 1 if sys.platform == "darwin" else 1024
        size = unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return Memory(size=size / 2**30, why="peak of this process; what lies on a GPU is not known")
    if settings.backend.name != "ollama":
        return Memory(why=f"{settings.backend.name} does not tell")
    for host in settings.backend.hosts:
        try:
            now = OllamaHost(host).loaded(settings.backbone.model)
        except CallError as error:
            return Memory(why=error.what)
        if now and now.size:
            return Memory(size=now.size / 2**30, on_cpu=100 * (1 - min(now.size_vram / now.size, 1)))
    return Memory(why="the model was not loaded any more")


def _read_memory(run: Path) -> Memory:
    with suppress(OSError, ValueError):
        return read_record(run / MEMORY, Memory)
    return Memory(why="no call had to be made, so no model was loaded")


def _memory(path: Path, n: int) -> Iterator[Score]:
    memory = _read_memory(path)
    for name, value in (("GiB", memory.size), ("% on CPU", memory.on_cpu)):
        yield Score(name=name, value=value, n=n, higher_is_better=False, why=memory.why)


def check_scorer(options: Options) -> None:
    """Raises ConfigError for options of figures that mean nothing, and where a model that scores cannot be loaded: that
    is tried in another process, whose memory is free again before the first run."""
    check(options)
    if options.bert is None and options.ref_ppl is None:
        return _load(options)
    try:
        with ProcessPoolExecutor(1, get_context("spawn")) as apart:
            return apart.submit(_load, options).result()
    except BrokenProcessPool as error:
        what = "the model that scores cannot be loaded: the process that tried has died"
        hint = "is there memory enough for it? a smaller model, or none"
        raise ConfigError(what, where="--bert, --ref-ppl", hint=hint) from error


def _load(options: Options) -> None:
    standard_metrics(Engine(backend="", version="", model="", digest=""), options)

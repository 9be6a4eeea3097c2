"""From a finished run to its row in a bench: speed from its results, memory as loaded now, its figures, the paper's.

    row = scored(timed(backbone, settings, ended), Options())

What cannot be had of a run costs its own columns: the row keeps the others and says why. Results keep what calls took
when they were made, so a run that is finished already has its speed, too.
"""

import sys
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
from pydantic import Field

from mmerg.backends.ollama_host import OllamaHost
from mmerg.backends.protocol import Engine
from mmerg.benching.backbones import Backbone
from mmerg.errors import CallError, MmergError
from mmerg.paper.published import PaperTable, published
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import read_manifest
from mmerg.runs.result import Ended, Result
from mmerg.scoring.answers import read_run
from mmerg.scoring.score import Score
from mmerg.scoring.scorer import score_run, write_scores
from mmerg.scoring.standard import Options
from mmerg.settings.model import RunSettings
from mmerg.storage.record import Record

_PARTS = {"p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95}
COLUMNS = ("acc", "self_ppl", "ref_ppl", "dist1", "dist2", "bert_f1")


class Speed(Record):
    """Of what no cache served. Over `calls`: prompt_tokens_s, tokens evaluated over the server's evaluation seconds;
    reply_tokens_s, the median over calls of generated tokens over the rest of the call's time. Over `samples`, those
    that came out well and made all their calls: quantiles of their seconds. helped: samples that came out well, with
    calls that the cache served. None: `why` says."""

    calls: int = 0
    prompt_tokens_s: float | None = None
    reply_tokens_s: float | None = None
    samples: int = 0
    p25: float | None = None
    median: float | None = None
    p75: float | None = None
    p95: float | None = None
    helped: int = 0
    why: str = ""


class Memory(Record):
    """Bytes, asked right after the run, 0 where they are not known: `why` says. on_gpu None: not known. context: tokens
    that the model was loaded with. of: whose memory it is."""

    size: int = 0
    on_gpu: int | None = None
    context: int | None = None
    of: str = ""
    why: str = ""


class Row(Record):
    """A run. No scores: `scores_why` says for what reason. note: what a reader must know of the backbone. paper: the
    paper's figures for it by column; paper_of: their corpus and n."""

    name: str
    backbone: str
    seed: int
    run: str
    protocol: str
    engine: Engine
    samples: int
    failed: int
    unaudited: int = 0
    failures: dict[str, int]
    calls: int
    cached_calls: int
    scores: dict[str, Score] = Field(default_factory=dict)
    scores_why: str = ""
    speed: Speed
    memory: Memory
    note: str = ""
    paper: dict[str, float] = Field(default_factory=dict)
    paper_of: str = ""


def timed(backbone: Backbone, settings: RunSettings, ended: Ended) -> Row:
    """The row of a run that has just ended, without its scores. Raises RunError where it cannot be read."""
    path = Path(ended.run)
    manifest = read_manifest(path)
    results = read_results(path).values()
    seed = int(manifest.setting("seed", 0))
    of_page = not backbone.generic and settings.backbone.model == backbone.model
    printed, paper_of = of_paper(settings.backbone.name) if of_page else ({}, "")
    return Row(
        name=f"{backbone.name} seed {seed}" if settings.repeats > 1 else backbone.name,
        backbone=backbone.name,
        seed=seed,
        run=str(path),
        protocol=manifest.protocol.description,
        engine=manifest.engine,
        samples=len(results),
        failed=sum(result.status == "failed" for result in results),
        unaudited=sum(result.unaudited for result in results),
        failures=dict(sorted(Counter(str(r.failure) for r in results if r.status == "failed").items())),
        calls=sum(result.calls for result in results),
        cached_calls=sum(result.cached_calls for result in results),
        speed=speed_of(results),
        memory=memory_of(settings.backend.hosts, manifest.engine, ended.made),
        note=backbone.note,
        paper=printed,
        paper_of=paper_of,
    )


def scored(row: Row, options: Options) -> Row:
    """The row with its figures, which are written beside its run, too; as it was, and why, where they cannot be had."""
    path = Path(row.run)
    try:
        scores = score_run(read_run(path), options)
        write_scores(path, scores)
    except MmergError as error:
        return row.model_copy(update={"scores_why": f"{error.what} ({error.where})"})
    kept = {column: scores.scores[column] for column in COLUMNS if column in scores.scores}
    return row.model_copy(update={"scores": kept, "scores_why": ""})


def speed_of(results: Collection[Result]) -> Speed:
    """The speed of a run; nothing is said of calls and samples that the reply cache served."""
    fresh = [result.timing for result in results]
    if not (calls := sum(timing.calls for timing in fresh)):
        cached = any(result.calls for result in results)
        return Speed(why="every call came from the reply cache" if cached else "no call was answered")
    well = [result for result in results if result.status == "ok"]
    took = [result.seconds for result in well if not result.cached_calls]
    helped = len(well) - len(took)
    all_cached = f"{helped} samples came out well, all with replies from the cache"
    why = f"no s/sample: {all_cached if helped else 'no sample came out well'}"
    quantiles = {name: round(float(np.quantile(took, part)), 3) for name, part in _PARTS.items()} if took else {}
    prompted = sum(timing.prompt_seconds for timing in fresh)
    # A median, as the first call of a run may wait for the model to be loaded.
    rates = [rate for timing in fresh for rate in timing.reply_rates]
    return Speed(
        calls=calls,
        prompt_tokens_s=sum(timing.prompt_tokens for timing in fresh) / prompted if prompted > 0 else None,
        reply_tokens_s=float(np.median(rates)) if rates else None,
        samples=len(took),
        **quantiles,
        helped=helped,
        why="" if took else why,
    )


def memory_of(hosts: Sequence[str], engine: Engine, made: int) -> Memory:
    """What the model takes now: as the server says, or this process where the model ran in it. made: calls that this
    start of the run made."""
    if engine.backend == "embedded":
        if not made:
            return Memory(why="the model was not loaded: no call had to be made")
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        size = unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return Memory(size=size, of="peak of this process, with all that it did so far")
    if engine.backend != "ollama":
        return Memory(why=f"{engine.backend} does not tell")
    for host in hosts:
        try:
            with OllamaHost(host) as server:
                now = server.loaded(engine.model)
        except CallError as error:
            return Memory(why=error.what)
        if now:
            context = now.context_length or None
            return Memory(size=now.size, on_gpu=now.size_vram, context=context, of=f"model at {host}")
    return Memory(why="the model is not loaded now" + ("" if made else ": no call had to be made"))


def paper_table() -> PaperTable:
    """The paper's table of backbones."""
    [table] = published("backbones")
    return table


def of_paper(backbone: str) -> tuple[dict[str, float], str]:
    """The paper's figures for a backbone by column, and of which corpus and how many samples they are; none where it
    is not one of the paper's."""
    table = paper_table()
    row = next((row for row in table.rows if (row.fits or {}).get("backbone") == backbone), None)
    if row is None:
        return {}, ""
    pairs = zip(table.columns, row.figures, strict=True)
    whose = table.dataset.upper() + (f", n={row.n}" if row.n else "")
    return {column: figure for column, figure in pairs if figure is not None and column in COLUMNS}, whose

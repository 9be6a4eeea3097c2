"""From a finished run to its row: speed and memory as loaded now, then figures, and the paper's for its backbone.

    row = scored(timed(backbone, settings, ended), Options())

What cannot be had of a run costs its own columns: the row keeps the others and says why.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from mmerg.backends.ollama_host import OllamaHost
from mmerg.backends.protocol import Engine
from mmerg.benching.backbones import Asked
from mmerg.benching.rows import EngineTold, Memory, Row
from mmerg.benching.speed import speed_of
from mmerg.errors import CallError, MmergError
from mmerg.paper.published import PaperTable, published
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import read_manifest
from mmerg.runs.result import Ended
from mmerg.scoring.answers import read_run
from mmerg.scoring.scorer import score_run, write_scores
from mmerg.scoring.standard import Options
from mmerg.settings.model import RunSettings

COLUMNS = ("acc", "self_ppl", "ref_ppl", "dist1", "dist2", "bert_f1")


def timed(backbone: Asked, settings: RunSettings, ended: Ended) -> Row:
    """The row of a run that has just ended, without its scores. Raises RunError where it cannot be read."""
    path = Path(ended.run)
    manifest = read_manifest(path)
    results = read_results(path).values()
    engine = manifest.engine
    memory = memory_of(settings.backend.hosts, engine, ended.made)
    seed = int(manifest.setting("seed", 0))
    of_page = not backbone.generic and settings.backbone.model == backbone.model
    printed, paper_of = of_paper(settings.backbone.name) if of_page else ({}, "")
    return Row(
        name=f"{backbone.name} seed {seed}" if settings.repeats > 1 else backbone.name,
        backbone=backbone.name,
        seed=seed,
        run=str(path),
        protocol=manifest.protocol.description,
        engine=EngineTold(
            mark="",
            **{key: getattr(engine, key) for key in ("backend", "version", "model", "digest")},
            num_ctx=int(engine.load["num_ctx"]) if "num_ctx" in engine.load else None,
        ),
        samples=len(results),
        failed=sum(result.status == "failed" for result in results),
        unaudited=sum(result.unaudited for result in results),
        failures=dict(sorted(Counter(str(r.failure) for r in results if r.status == "failed").items())),
        calls=sum(result.calls for result in results),
        cached_calls=sum(result.cached_calls for result in results),
        speed=speed_of(results),
        memory=memory if isinstance(memory, Memory) else None,
        memory_why=memory if isinstance(memory, str) else "",
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


def memory_of(hosts: Sequence[str], engine: Engine, made: int) -> Memory | str:
    """What the model takes now: as the server says, or this process where the model ran in it; or why that is not
    known. made: calls that this start of the run made."""
    if engine.backend == "embedded":
        if not made:
            return "the model was not loaded: no call had to be made"
        return Memory(size=_peak(), on_gpu=None, context=None, of="peak of this process, with all that it did so far")
    if engine.backend != "ollama":
        return f"{engine.backend} does not tell"
    for host in hosts:
        try:
            with OllamaHost(host) as server:
                now = server.loaded(engine.model)
        except CallError as error:
            return error.what
        if now:
            return Memory(
                size=now.size, on_gpu=now.size_vram, context=now.context_length or None, of=f"model at {host}"
            )
    return "the model is not loaded now" + ("" if made else ": no call had to be made")


def _peak() -> int:
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # bytes there, KiB elsewhere


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


def marked(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows with a letter for their engine: backend and version, which must be equal for speeds to compare."""
    engines = list(dict.fromkeys((row.engine.backend, row.engine.version) for row in rows))
    marks = {engine: chr(ord("a") + number) for number, engine in enumerate(engines)}
    return tuple(
        row.model_copy(
            update={"engine": row.engine.model_copy(update={"mark": marks[row.engine.backend, row.engine.version]})}
        )
        for row in rows
    )

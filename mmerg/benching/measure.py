"""From a finished run to its row: figures, speed, memory as loaded now, and the paper's figures for its backbone.

row = measured("gemma3-12b", plain, ended, Options())
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mmerg.backends.ollama_models import loaded
from mmerg.benching.rows import EngineTold, Memory, Row
from mmerg.benching.speed import speed_of
from mmerg.errors import CallError
from mmerg.paper.published import PaperTable, published
from mmerg.records.ended import Ended
from mmerg.records.run import read_results
from mmerg.scoring.answers import read_run
from mmerg.scoring.scorer import score_run, write_scores
from mmerg.scoring.standard import Options

COLUMNS = ("acc", "self_ppl", "dist1", "dist2", "bert_f1")


def measured(name: str, plain: Mapping[str, Any], ended: Ended, options: Options) -> Row:
    """The row of a run that has just ended; its scores are written beside it, too. Raises RunError and ConfigError."""
    path = Path(ended.run)
    run = read_run(path)
    scores = write_scores(path, score_run(run, options)).scores
    results = read_results(path).values()
    engine = run.manifest["engine"]
    memory = memory_of(plain, engine, ended.made)
    return Row(
        name=name,
        run=str(path),
        protocol=run.protocol,
        engine=EngineTold(
            mark="",
            **{key: engine[key] for key in ("backend", "version", "model", "digest")},
            num_ctx=engine.get("load", {}).get("num_ctx"),
        ),
        samples=len(results),
        failed=sum(result.status == "failed" for result in results),
        failures=dict(sorted(Counter(str(r.failure) for r in results if r.status == "failed").items())),
        calls=sum(result.calls for result in results),
        cached_calls=sum(result.cached_calls for result in results),
        scores={column: scores[column] for column in COLUMNS if column in scores},
        speed=speed_of(path),
        memory=memory if isinstance(memory, Memory) else None,
        memory_why=memory if isinstance(memory, str) else "",
        paper=of_paper(str(plain["backbone"]["name"])),
    )


def memory_of(plain: Mapping[str, Any], engine: Mapping[str, Any], made: int) -> Memory | str:
    """What the model takes now: as the server says, or this process where the model ran in it; or why that is not
    known. made: calls that this start of the run made."""
    if engine["backend"] == "embedded":
        if not made:
            return "the model was not loaded: no call had to be made"
        return Memory(size=_peak(), on_gpu=None, context=None, of="peak of this process, with all that it did so far")
    if engine["backend"] != "ollama":
        return f"{engine['backend']} does not tell"
    for host in plain["backend"]["hosts"]:
        try:
            now = loaded(host, str(engine["model"]))
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


def of_paper(backbone: str) -> dict[str, float]:
    """The paper's figures for a backbone by column; none where it is not one of the paper's."""
    table = paper_table()
    row = next((row for row in table.rows if (table.settings(row) or {}).get("backbone") == backbone), None)
    pairs = zip(table.columns, row.figures, strict=True) if row else ()
    return {column: figure for column, figure in pairs if figure is not None and column in COLUMNS}


def marked(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows with a letter for their engine: backend and version, which must be equal for speeds to compare."""
    engines = list(dict.fromkeys((row.engine.backend, row.engine.version) for row in rows))
    marks = {engine: chr(ord("a") + number % 26) * (1 + number // 26) for number, engine in enumerate(engines)}
    return tuple(
        row.model_copy(
            update={"engine": row.engine.model_copy(update={"mark": marks[row.engine.backend, row.engine.version]})}
        )
        for row in rows
    )

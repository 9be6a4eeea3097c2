"""What a bench finds, as `bench.json` keeps it: a row a run, and the backbones that were left out.

Bench.model_validate_json((folder / "bench.json").read_bytes()).rows[0].speed.seconds.median
"""

from __future__ import annotations

from pydantic import Field

from mmerg.scoring.score import Score
from mmerg.scoring.spread import Spread
from mmerg.storage.record import Record


class Skipped(Record):
    """A backbone that was not run, or not with all its seeds, why, and what would change that."""

    name: str
    why: str
    next: str = ""


class Seconds(Record):
    """Seconds a sample took, over `n` samples none of whose calls came from the cache; quartiles beside the median."""

    n: int
    median: float
    p25: float
    p75: float
    p95: float


class Speed(Record):
    """Over the `calls` that no cache served. prompt_tokens_s: tokens evaluated over the server's evaluation seconds.
    reply_tokens_s: the median over calls of generated tokens over the rest of the call's time. None: `why` says.
    helped: samples that came out well and are not in `seconds`, as the cache served calls of theirs."""

    calls: int
    prompt_tokens_s: float | None = None
    reply_tokens_s: float | None = None
    seconds: Seconds | None = None
    helped: int = 0
    why: str = ""


class Memory(Record):
    """Bytes, asked right after the run. on_gpu None: not known. context: tokens that the model was loaded with. of:
    whose memory it is."""

    size: int
    on_gpu: int | None
    context: int | None
    of: str


class EngineTold(Record):
    """What answered. mark: rows with the same letter had the same backend and version. num_ctx: tokens asked for."""

    mark: str
    backend: str
    version: str
    model: str
    digest: str
    num_ctx: int | None


class Row(Record):
    """A run. No scores: `scores_why` says for what reason; memory None: `memory_why` does. note: what a reader must
    know of the backbone. paper: the paper's figures for it by column; paper_of: their corpus and n."""

    name: str
    backbone: str
    seed: int
    run: str
    protocol: str
    engine: EngineTold
    samples: int
    failed: int
    unaudited: int = 0
    failures: dict[str, int]
    calls: int
    cached_calls: int
    scores: dict[str, Score] = Field(default_factory=dict)
    scores_why: str = ""
    speed: Speed
    memory: Memory | None
    memory_why: str = ""
    note: str = ""
    paper: dict[str, float] = Field(default_factory=dict)
    paper_of: str = ""


class Mean(Record):
    """Over the rows of a backbone on one engine that differ in their seeds alone. figures: by column, those that all
    rows have over as many samples, and rates of tokens, which are over the calls of each; uneven: columns of which
    there is no mean, as rows lack them or have them over fewer samples."""

    backbone: str
    mark: str
    seeds: tuple[int, ...]
    figures: dict[str, Spread]
    uneven: tuple[str, ...] = ()


class Bench(Record):
    """asked: samples that were asked for; a corpus may have fewer. settings, figures: what the table was asked for,
    beside its backbones. earlier: rows that an earlier call left here. paper: whose figures stand beside."""

    dataset: str
    asked: int
    settings: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    means: tuple[Mean, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    earlier: tuple[str, ...] = ()
    paper: str = ""

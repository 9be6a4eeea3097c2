"""Rows for tests of what a bench shows."""

import re
from pathlib import Path
from typing import Any

from mmerg.backends.protocol import Engine
from mmerg.benching.backbones import Backbone
from mmerg.benching.measure import Row
from mmerg.benching.table import Bench
from mmerg.scoring.score import Score, Scores
from tests.scoring.run_builder import manifest_of

MODELS = {"gemma3-12b": "gemma3:12b"}


def score(name: str, value: float | None, n: int = 50, why: str = "") -> Score:
    interval = None if value is None or why else (value - 5, value + 5)
    return Score(
        name=name, value=value, n=n, interval=interval, why=why, higher_is_better=name not in ("seconds", "GiB")
    )


USUAL = {name: score(name, value) for name, value in (("acc", 50.0), ("dist2", 70.0), ("seconds", 10.0), ("GiB", 2.0))}


def row(name: str = "gemma3-12b", version: str = "0.24.0", seed: int = 0, *figures: Score, **more: Any) -> Row:
    """A run that lacks nothing but what `figures` and `more` say: fields of Row, Scores, Backbone, or the model."""
    model = more.pop("model", MODELS.get(name, name))
    manifest = manifest_of([], config={"seed": seed, "backbone": {"name": re.sub("[^a-z0-9-]", "-", name)}})
    engine = Engine(backend="ollama", version=version, model=model, digest="d" * 64, load={"num_ctx": 8192})
    about = manifest.model_copy(update={"engine": engine, "identity": {**manifest.identity, "engine": version}})
    backbone = Backbone(name, MODELS.get(name, name), (), more.pop("generic", False))
    costs = {name: more.pop(name, value) for name, value in (("calls", 250), ("cached", 0), ("fault", ""))}
    told = {"run": f"{name}-{seed}", "corpus": "meld test", "protocol": "sample=50, n=50", "engine": "e"}
    scores = USUAL | {score.name: score for score in figures}
    scored = Scores.model_validate({**told, "n": 50, "failed": 0, "unfinished": 0, "scores": scores, **more})
    return Row(Path("runs") / scored.run, about, backbone, scored, **costs)


def bench(*rows: Row, **more: Any) -> Bench:
    return Bench("meld", 50, rows, **more)

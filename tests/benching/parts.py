"""Rows for tests of what a bench shows."""

from typing import Any

from mmerg.backends.protocol import Engine
from mmerg.benching.drawn import Bench
from mmerg.benching.measure import Memory, Row, Speed
from mmerg.scoring.score import Score


def score(name: str, value: float | None, n: int = 50, why: str = "") -> Score:
    interval = None if value is None or why else (value - 5, value + 5)
    return Score(name=name, value=value, n=n, interval=interval, why=why, higher_is_better=True)


def speed(median: float = 10.0) -> Speed:
    return Speed(
        calls=250,
        prompt_tokens_s=900.0,
        reply_tokens_s=40.0,
        samples=50,
        median=median,
        p25=median * 0.8,
        p75=median * 1.3,
        p95=median * 2,
    )


def row(name: str = "gemma3-12b", version: str = "0.24.0", **more: Any) -> Row:
    """A row that lacks nothing, with what `more` says; num_ctx and backbone are the engine's, too."""
    backbone, context = more.pop("backbone", name), more.pop("num_ctx", 8192)
    given: dict[str, Any] = {
        "name": name,
        "backbone": backbone,
        "seed": 0,
        "run": f"runs/{name}",
        "protocol": "targets=last emotions=all sample=50 seed=0, n=50",
        "engine": Engine(backend="ollama", version=version, model=backbone, digest="d" * 64, load={"num_ctx": context}),
        "samples": 50,
        "failed": 0,
        "failures": {},
        "calls": 250,
        "cached_calls": 0,
        "scores": {"acc": score("acc", 50.0), "dist2": score("dist2", 70.0)},
        "speed": speed(),
        "memory": Memory(size=2**30, on_gpu=2**29, context=8192, of="model at http://h"),
    }
    return Row.model_validate(given | more)


def seeds(*values: float | None, version: str = "0.24.0", **more: Any) -> list[Row]:
    """Rows of one backbone, a seed each, with these accuracies and times."""
    return [
        row(
            f"x seed {seed}",
            version,
            backbone="x",
            seed=seed,
            scores={"acc": score("acc", value, 50 if value is not None else 0)},
            speed=speed(10.0 + seed),
            **more,
        )
        for seed, value in enumerate(values)
    ]


def bench(*rows: Row, **more: Any) -> Bench:
    return Bench.model_validate({"dataset": "meld", "asked": 50, "rows": rows, **more})

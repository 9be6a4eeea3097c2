"""What the retrieval memory costs: embedding texts, writing and opening a memory, answering a query.

    alone      texts one by one, several at once in threads: what `mmerg.memory.onnx` does
    batches    the same texts, 32 at a time, padded, the cores shared within a batch
    query      the five nearest by `mmerg.memory.vectors`, against a matrix product and argpartition

Texts are three turns of words from the demo corpus, all different. The other figures are of random vectors of 384
dimensions: writing them, opening (their digest checked), and a query.

    python benchmarks/memory.py --texts 500 --entries 100000 --rounds 3
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import yaml

from benchmarks.parts import alternating, options, publish, ratio, samples, seconds, spread
from mmerg.memory.onnx import Onnx
from mmerg.memory.vectors import Vectors, cosines, ranked, unit
from mmerg.storage.files import locate, sha256_of
from tests.ollama_server import ROOT

DIMENSIONS, BATCH, QUERIES, NEAREST = 384, 32, 50, 5


def texts(count: int) -> list[str]:
    """So many different texts of three turns of 4 to 16 words."""
    words = sorted({word for sample in samples(5) for turn in sample.scene.history for word in turn.text.split()})
    draw = random.Random(0)
    made: set[str] = set()
    while len(made) < count:
        made.add("\n".join(" ".join(draw.choices(words, k=draw.randint(4, 16))) for _ in range(3)))
    return sorted(made)


def batched(model: str, tokenizer: str) -> Callable[[Sequence[str]], Vectors]:
    """Embeds in padded batches, with onnxruntime's own threads."""
    import onnxruntime
    import tokenizers

    session = onnxruntime.InferenceSession(str(locate(model, "")), providers=["CPUExecutionProvider"])
    words = tokenizers.Tokenizer.from_file(str(locate(tokenizer, "")))
    words.enable_truncation(256)
    words.enable_padding()

    def embed(given: Sequence[str]) -> Vectors:
        parts = []
        for start in range(0, len(given), BATCH):
            encoded = words.encode_batch(list(given[start : start + BATCH]))
            ids = np.array([one.ids for one in encoded], dtype=np.int64)
            mask = np.array([one.attention_mask for one in encoded], dtype=np.int64)
            feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            [tokens] = session.run(None, feeds)
            parts.append((tokens * mask[..., None]).sum(1) / mask.sum(1, keepdims=True))
        return unit(np.concatenate(parts))

    return embed


def embedding(count: int, rounds: int) -> list[dict[str, float]]:
    """Seconds of each way to embed `count` texts, round by round."""
    node = yaml.safe_load((ROOT / "conf" / "memory" / "minilm.yaml").read_text(encoding="utf-8"))["embedder"]
    given, files = texts(count), (node["model"], node["tokenizer"])
    ours, padded = Onnx(*files), batched(*files)
    ours.embed(given[:2]), padded(given[:2])  # loads both
    ways = {"alone": lambda: seconds(lambda: ours.embed(given)), "batches": lambda: seconds(lambda: padded(given))}
    return alternating(ways, rounds)


def ranking(entries: int, rounds: int, folder: Path) -> list[dict[str, float]]:
    """Milliseconds of each step with so many entries, round by round."""
    draw = np.random.default_rng(0)
    vectors = unit(draw.normal(size=(entries, DIMENSIONS)).astype(np.float32))
    asked = unit(draw.normal(size=(QUERIES, DIMENSIONS)))
    file = folder / "vectors.npy"
    np.save(file, vectors)
    mapped = np.load(file, mmap_mode="r")

    def brute(query: Vectors) -> list[int]:
        scores = vectors @ query
        best = np.argpartition(-scores, NEAREST)[:NEAREST]
        return [int(number) for number in best[np.lexsort((best, -scores[best]))]]

    def ours(query: Vectors) -> list[int]:
        return list(islice(ranked(cosines(mapped, query)), NEAREST))

    if any(ours(query) != brute(query) for query in asked):
        raise SystemExit("the ranking and numpy disagree")
    steps: dict[str, Callable[[], float]] = {
        "write": lambda: 1000 * seconds(lambda: np.save(folder / "again.npy", vectors)),
        "open": lambda: 1000 * seconds(lambda: (sha256_of(file), np.load(file, mmap_mode="r"))),
        "query": lambda: 1000 * seconds(lambda: [ours(query) for query in asked]) / QUERIES,
        "numpy": lambda: 1000 * seconds(lambda: [brute(query) for query in asked]) / QUERIES,
    }
    return alternating(steps, rounds)


def main() -> None:
    """Time, print."""
    given = options(__doc__, texts=500, entries=100_000, rounds=3)
    embedded = embedding(given.texts, given.rounds)
    with tempfile.TemporaryDirectory() as name:
        ranked = ranking(given.entries, given.rounds, Path(name))
    a_second = {name: spread([given.texts / row[name] for row in embedded]) for name in embedded[0]}
    ms = {name: spread([row[name] for row in ranked]) for name in ranked[0]}
    ratios = {
        "batches to alone": ratio(embedded, "batches", "alone"),
        "query to numpy": ratio(ranked, "query", "numpy"),
    }
    lines = [f"{given.texts} texts embedded: a second", *(f"  {name:<9}{found}" for name, found in a_second.items())]
    lines += [f"{given.entries} entries: milliseconds", *(f"  {name:<9}{took}" for name, took in ms.items())]
    lines += [f"{name}: {found}" for name, found in ratios.items()]
    publish(lines, {"benchmark": "memory", "texts_a_second": a_second, "ms": ms, "ratio": ratios} | vars(given))


if __name__ == "__main__":
    main()

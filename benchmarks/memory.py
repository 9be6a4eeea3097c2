"""What the retrieval memory costs: embedding texts, building and opening an index, answering a query.

    alone      texts one by one, several at once in threads: what `mmerg.memory.onnx` does
    batches    the same texts, 32 at a time, padded, the cores shared within a batch

Texts are three turns of words from the demo corpus, all different; their number is what was embedded, nothing is
extrapolated. Index figures are of random vectors of 384 dimensions: adding them, writing, opening (its digest checked),
and the five nearest by `mmerg.memory.vectors` against numpy over all rows.
Prints medians over rounds with their range, ratios within a round, then one line of JSON.

    python benchmarks/memory.py --texts 500 --entries 10000 100000 --rounds 3
"""

from __future__ import annotations

import argparse
import hashlib
import random
import tempfile
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from benchmarks.parts import alternating, publish, ratio, seconds, spread
from mmerg.corpora.demo import demo_root
from mmerg.corpora.folder import Folder
from mmerg.memory import vectors as index
from mmerg.memory.onnx import Onnx
from mmerg.memory.vectors import Vectors, unit
from mmerg.storage.files import locate
from tests.ollama_server import ROOT

DIMENSIONS = 384
BATCH = 32
QUERIES = 50
NEAREST = 5


def texts(count: int) -> list[str]:
    """So many different texts of three turns of 4 to 16 words."""
    corpus = Folder(demo_root()).load()
    words = sorted({word for talk in corpus.dialogues for turn in talk.turns for word in turn.text.split()})
    draw = random.Random(0)
    made: dict[str, None] = {}
    while len(made) < count:
        made["\n".join(" ".join(draw.choices(words, k=draw.randint(4, 16))) for _ in range(3))] = None
    return list(made)


def files() -> tuple[str, str]:
    """The default embedder's model and tokenizer."""
    node = yaml.safe_load((ROOT / "conf" / "memory" / "minilm.yaml").read_text(encoding="utf-8"))["embedder"]
    return node["model"], node["tokenizer"]


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


def embedding(count: int, rounds: int) -> dict[str, Any]:
    """Seconds of each way to embed `count` texts, and how far their vectors lie apart."""
    given, made, padded = texts(count), Onnx(*files()), batched(*files())
    apart = float(np.abs(made.embed(given[:100]) - padded(given[:100])).max())  # loads both
    work: dict[str, Callable[[], float]] = {
        "alone": lambda: seconds(lambda: made.embed(given)),
        "batches": lambda: seconds(lambda: padded(given)),
    }
    rows = alternating(work, rounds)
    return {
        "texts": count,
        "texts_a_second": {name: spread([count / row[name] for row in rows]) for name in work},
        "batches_to_alone": ratio(rows, "batches", "alone"),
        "largest_difference": apart,
    }


def ranking(entries: int, rounds: int, folder: Path) -> dict[str, Any]:
    """Milliseconds of each step with an index of so many entries."""
    draw = np.random.default_rng(0)
    vectors = unit(draw.normal(size=(entries, DIMENSIONS)).astype(np.float32))
    asked = unit(draw.normal(size=(QUERIES, DIMENSIONS)))
    file = folder / f"{entries}.faiss"
    made = index.build(vectors)
    index.save(made, file)
    mapped = index.load(file)

    def brute(query: Vectors) -> list[int]:
        scores = vectors @ query
        best = np.argpartition(-scores, NEAREST)[:NEAREST]
        return [int(number) for number in best[np.lexsort((best, -scores[best]))]]

    def ours(query: Vectors) -> list[int]:
        return [number for number, _ in islice(index.ranked(mapped, query), NEAREST)]

    for query in asked:
        if ours(query) != brute(query):
            raise SystemExit("the index and numpy disagree")

    def opened() -> None:
        with file.open("rb") as read:
            hashlib.file_digest(read, "sha256")
        index.load(file)

    work: dict[str, Callable[[], float]] = {
        "add": lambda: 1000 * seconds(lambda: index.build(vectors)),
        "write": lambda: 1000 * seconds(lambda: index.save(made, file.with_suffix(".again"))),
        "open": lambda: 1000 * seconds(opened),
        "query": lambda: 1000 * seconds(lambda: [ours(query) for query in asked]) / QUERIES,
        "numpy": lambda: 1000 * seconds(lambda: [brute(query) for query in asked]) / QUERIES,
    }
    rows = alternating(work, rounds)
    steps = {name: spread([row[name] for row in rows]) for name in work}
    return {
        "entries": entries,
        "megabytes": file.stat().st_size / 1e6,
        "ms": steps,
        "query_to_numpy": ratio(rows, "query", "numpy"),
    }


def main() -> None:
    """Time, print."""
    parser = argparse.ArgumentParser(description="What the retrieval memory costs.")
    parser.add_argument("--texts", type=int, default=500)
    parser.add_argument("--entries", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    embedded = embedding(options.texts, options.rounds)
    with tempfile.TemporaryDirectory() as name:
        ranked = [ranking(entries, options.rounds, Path(name)) for entries in options.entries]
    lines = [
        f"{options.texts} distinct texts embedded, medians of {options.rounds} rounds (range): texts a second",
        *(f"  {name:<9}{found}" for name, found in embedded["texts_a_second"].items()),
        f"  batches to alone, in time {embedded['batches_to_alone']}",
        f"  largest difference of a component {embedded['largest_difference']:.1e}",
    ]
    for row in ranked:
        lines.append(f"index of {row['entries']} entries, {row['megabytes']:.1f} MB: milliseconds (of a query: each)")
        lines += [f"  {name:<9}{took}" for name, took in row["ms"].items()]
        lines.append(f"  query to numpy {row['query_to_numpy']}")
    publish(
        lines,
        {
            "benchmark": "memory",
            "rounds": options.rounds,
            "embedding": {
                "texts": options.texts,
                "texts_a_second": {name: found.rounded() for name, found in embedded["texts_a_second"].items()},
                "batches_to_alone": embedded["batches_to_alone"].rounded(),
                "largest_difference": embedded["largest_difference"],
            },
            "index": [
                {
                    "entries": row["entries"],
                    "ms": {name: took.rounded() for name, took in row["ms"].items()},
                    "query_to_numpy": row["query_to_numpy"].rounded(),
                }
                for row in ranked
            ],
        },
    )


if __name__ == "__main__":
    main()

"""The command `bench` in this process, for tests of it as a whole.

with scripted_ollama(answer=answer, models=MODELS) as server:
    Bencher(tmp_path, server.url)(TWO, "memory=none", n=2)
"""

import json
from pathlib import Path
from typing import Any

from mmerg.bench import main
from mmerg.benching.drawn import Bench
from mmerg.scoring.files import read
from tests.scripted_ollama import merg_answer
from tests.test_run import corpus_in

MODELS = ("qwen2.5vl:7b", "gemma3:12b", "own/model:1b")
TWO = ("qwen2.5vl:7b", "gemma3-12b")
NOWHERE = "backend.hosts=[http://127.0.0.1:9]"


def answer(body: dict[str, Any]) -> str:
    """One model says nothing where dialogue 0 is asked about."""
    silent = body["model"] == MODELS[2] and "keys 0" in json.dumps(body)
    return "" if silent else merg_answer(body)


class Bencher:
    """Runs the command in this process on one corpus and one folder of runs."""

    def __init__(self, folder: Path, host: str) -> None:
        self.runs = folder / "runs"
        self.corpus = corpus_in(folder)
        self.settings = [f"runs={self.runs}", f"dataset.root={self.corpus}", f"backend.hosts=[{host}]"]

    def __call__(self, backbones: tuple[str, ...], *more: str, n: int = 3) -> int:
        return main(["--backbones", *backbones, "--dataset", "folder", "--n", str(n), *self.settings, *more])

    @property
    def folder(self) -> Path:
        """The one table that there is."""
        [found] = (self.runs / ".bench").iterdir()
        return found

    def read(self) -> Bench:
        return read(self.folder / "bench.json", Bench)

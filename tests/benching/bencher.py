"""The command `bench` in this process, for tests of it as a whole.

with scripted_ollama(answer=answer, models=MODELS) as server:
    Bencher(tmp_path, server.url)(TWO, "memory=none", n=2)
"""

import csv
import json
from pathlib import Path
from typing import Any

from mmerg.bench import main
from tests.scripted_ollama import merg_answer
from tests.test_run import corpus_in

MODELS = ("qwen2.5vl:7b", "gemma3:12b", "own/model:1b")
TWO = ("qwen2.5vl:7b", "gemma3-12b")
NOWHERE = "backend.hosts=[http://127.0.0.1:9]"
QUICK = ("system.without=[mpa,caef,psp,gra]", "memory=none", "frames=none")
DRAWS = ("--resamples", "20")
SHORT = ("system.without=[mpa,psp,gra]", *QUICK[1:])  # a call for the emotion, a call for the reply


def answer(body: dict[str, Any]) -> str:
    """One model says nothing where dialogue 0 is asked about."""
    silent = body["model"] == MODELS[2] and "keys 0" in json.dumps(body)
    return "" if silent else merg_answer(body)


def table(runs: Path) -> Path:
    """The folder of the one table that there is."""
    [found] = (runs / ".bench").iterdir()
    return found


def figures(folder: Path) -> dict[str, dict[str, dict[str, str]]]:
    """The rows of bench.csv by what the run is called and by metric."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    with (folder / "bench.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["row"], {})[row["metric"]] = row
    return found


class Bencher:
    """Runs the command in this process on one corpus and one folder of runs, with two stages."""

    def __init__(self, folder: Path, host: str) -> None:
        self.runs = folder / "runs"
        self.settings = [*SHORT, f"runs={self.runs}", f"dataset.root={corpus_in(folder)}", f"backend.hosts=[{host}]"]

    def __call__(self, backbones: tuple[str, ...], *more: str, n: int = 3) -> int:
        return main(["--backbones", *backbones, "--dataset", "folder", "--n", str(n), *self.settings, *DRAWS, *more])

    @property
    def folder(self) -> Path:
        return table(self.runs)

    @property
    def figures(self) -> dict[str, dict[str, dict[str, str]]]:
        return figures(self.folder)

    @property
    def markdown(self) -> str:
        return (self.folder / "bench.md").read_text(encoding="utf-8").replace("\\", "")

    def run(self, name: str) -> Path:
        return self.runs / self.figures[name]["acc"]["run"]

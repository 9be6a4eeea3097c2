"""Scored run folders for tests of the papers' tables.

run = Maker(tmp_path)("one", "memory.top_k=2", right=20)
run_lines(match("topk", run))[0].scores["acc"].value
"""

from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from mmerg.backends.protocol import Engine
from mmerg.judging.judgement import JUDGEMENT, VERDICTS, Judgement, Match, digest_replies, judgement_file
from mmerg.judging.metrics import score_preferences
from mmerg.paper.published import Name, published
from mmerg.papertables.table import RunTable, TableRow, add_runs
from mmerg.papertables.table_run import read_table_run
from mmerg.runs.events import Verdict
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import MANIFEST, JudgedRun, JudgingManifest, read_manifest
from mmerg.runs.result import Verdicts
from mmerg.score import main as score
from mmerg.scoring.score import Score
from mmerg.storage.record import write_record
from tests.configs import dump_settings
from tests.scoring.run_builder import build_run, result

SIX = ["angry", "happy", "excited", "sad", "frustrated", "neutral"]
SEVEN = ["neutral", "joy", "sadness", "anger", "surprise", "fear", "disgust"]


@cache
def compose(*overrides: str) -> dict[str, Any]:
    return dump_settings(*overrides, "backend=ollama", "backbone=qwen3.5-27b")


def config(dataset: str, seed: int, more: Sequence[str]) -> dict[str, Any]:
    """Returns the settings of MERG's main row on a dataset. more: overrides."""
    root = () if dataset == "demo" else ("dataset.root=/data",)
    return deepcopy(compose(f"dataset={dataset}", *root, *more)) | {"seed": seed}


class Maker:
    """A maker of scored runs in `runs/<name>` of a folder, of whose `n` forecasts `right` are right."""

    def __init__(self, folder: Path) -> None:
        self.runs = folder / "runs"

    def __call__(
        self,
        name: str,
        *more: str,
        right: int = 24,
        n: int = 31,
        samples: int | None = None,
        dataset: str = "iemocap",
        seed: int = 0,
    ) -> Path:
        emotions = ["sad" if i < right else "angry" for i in range(n)]
        lines = [
            result(f"d{i}/4", f"That is reply {i}, my friend.", emotion, gold="sad", exemplars=1)
            for i, emotion in enumerate(emotions)
        ]
        build_run(
            self.runs / name,
            lines,
            logprobs={line.id: [-0.6, -0.7 - 0.01 * i] for i, line in enumerate(lines)},
            corpus=dataset,
            samples=samples,
            model="qwen3.5-27b",
            labels=SEVEN if dataset == "meld" else SIX,
            config=config(dataset, seed, more),
        )
        score([str(self.runs / name), "--resamples", "50"])
        return self.runs / name


def rate(run: Path, judge: str, value: float, rubric: str = "likert", own: bool = False) -> Path:
    """Writes a judgement of the run's replies into its folder. own: the judge wrote the replies."""
    score = Score(name="x", value=value, n=31, interval=(value - 0.2, value + 0.2))
    counts = dict.fromkeys(("drawn", "n", "failed", "unjudged", "verdicts", "unusable"), 0)
    judgement = Judgement(
        **{"judge": judge, "rubric": rubric, "engine": "e", "corpus": "iemocap", "skipped": {}},  # type: ignore[arg-type]
        **{"run": run.name, "self_judged": own},  # type: ignore[arg-type]
        **counts,  # type: ignore[arg-type]
        judging=f"judge-{rubric}-{judge}-12345678",
        replies=digest_replies(read_results(run).values()),
        scores=dict.fromkeys(("empathy", "coherence", "fluency"), score),
    )
    file = run / judgement_file(judgement.name)
    write_record(file, judgement)
    return file


def write_judging(first: Path, second: Path, corpus: str = "empathetic") -> Path:
    """Writes the folder of a pairwise judging of two runs: of empathy in sample a/1, which the first run wins."""
    folder = first.parent / "judge-pairwise-gemma3-12b-12345678"
    runs, manifests = (first.name, second.name), [read_manifest(run) for run in (first, second)]
    verdict = Verdict(aspect="empathy", round=0, order=(0, 1), repeat=0, seed=0, choice="first", reason="r")
    verdicts = (verdict, verdict.model_copy(update={"round": 1, "order": (1, 0), "choice": "second"}))
    sample = Verdicts(id="a/1", status="ok", dialogue="a", verdicts=verdicts)
    scores = score_preferences([sample], ["empathy"], "s")
    counts = dict.fromkeys(("drawn", "n", "failed", "unjudged", "verdicts", "unusable"), 1)
    replies = [digest_replies(read_results(run).values()) for run in (first, second)]
    names = {"judge": "gemma3-12b", "rubric": "pairwise", "engine": "e", "judging": folder.name, "corpus": corpus}
    judgement = Match.model_validate(
        {**counts, **names, "skipped": {}, "runs": runs, "self_judged": (), "overall": scores}
        | {"signs": {}, "aspects": {"empathy": scores}, "replies": replies}
    )
    write_record(folder / JUDGEMENT, judgement)
    judged = [
        JudgedRun(run=run, identity=manifest.identity, engine=manifest.engine)
        for run, manifest in zip(runs, manifests, strict=True)
    ]
    write_verdicts(folder, [sample], *judged)
    return folder


def write_verdicts(folder: Path, verdicts: Sequence[Verdicts], *judged: JudgedRun) -> None:
    """Writes the folder of a judging, or replaces its verdicts."""
    engine = Engine(backend="scripted", version="1", model="tiny", digest="d")
    manifest = JudgingManifest(identity={}, engine=engine, judged=judged, items=1, skipped={})
    if judged or not (folder / MANIFEST).exists():
        write_record(folder / MANIFEST, manifest.with_digest())
    (folder / VERDICTS).write_text("".join(line.with_digest({}).line() for line in verdicts))


def match(name: Name, *runs: Path, number: int = 0) -> RunTable:
    return add_runs(published(name)[number], list(map(read_table_run, runs)))


def run_lines(drawn: RunTable) -> list[TableRow]:
    return [row for row in drawn.rows if row.by == "ours"]

"""Scored run folders for tests of the papers' tables, and a table with them beside.

run = Maker(tmp_path)("without-mpa", right=20, without=["mpa"])
run_lines(match("ablations", run))[0].row    # "without MPA"
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from mmerg.frames.store import Frame
from mmerg.judging.figures import preferences
from mmerg.judging.judgement import JUDGEMENT, VERDICTS, Judgement, Match, judgement_file, replies_digest
from mmerg.paper.published import Name, published
from mmerg.papertables.candidates import Candidate, describe_visual_input, read_candidate
from mmerg.papertables.matched import Line, MatchedTable, match_rows
from mmerg.papertables.rows import Rows
from mmerg.runs.events import Form, FramesTaken, TurnFrames, Verdict
from mmerg.runs.facts import facts_of
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import MANIFEST, Judged, JudgingManifest, read_manifest
from mmerg.runs.result import Verdicts
from mmerg.runs.story import Story
from mmerg.score import main as score
from mmerg.scoring.score import Score
from mmerg.storage.record import write_record
from tests.composed import plain_of
from tests.scoring.run_builder import AT, build_run, result

SIX = ["angry", "happy", "excited", "sad", "frustrated", "neutral"]
SEVEN = ["neutral", "joy", "sadness", "anger", "surprise", "fear", "disgust"]
MELD = {"name": "meld"}


@cache
def page(dataset: str) -> dict[str, Any]:
    root = () if dataset == "demo" else ("dataset.root=/data",)
    return plain_of(f"dataset={dataset}", *root, "backend=ollama", "backbone=qwen3.5-27b")


def config(**changes: Any) -> dict[str, Any]:
    """The settings of MERG's main row, with `changes`; those of the system and `top_k` by their last names."""
    settings = deepcopy(page(changes.get("dataset", {}).get("name", "iemocap")))
    for name in ("max_iterations", "without", "organization", "final_selection"):
        if name in changes:
            settings["system"][name] = changes.pop(name)
    if "top_k" in changes:
        settings["memory"]["top_k"] = settings["sources"]["M"]["top_k"] = changes.pop("top_k")
    return laid_over(settings, changes)


def laid_over(settings: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    for name, value in changes.items():
        settings[name] = laid_over(settings[name], value) if isinstance(value, dict) else value
    return settings


class Maker:
    """Makes scored runs in `runs/<name>` of a folder: `right` of `n` forecasts are right. looked: what samples saw
    of their clips, `saw("images")` unless told otherwise."""

    def __init__(self, folder: Path) -> None:
        self.runs = folder / "runs"

    def __call__(
        self,
        name: str,
        *,
        right: int = 24,
        n: int = 31,
        samples: int | None = None,
        looked: Sequence[FramesTaken] | None = None,
        **changes: Any,
    ) -> Path:
        looks = [seen_in(event) for event in ((saw("images"),) if looked is None else looked)]
        lines = [
            result(
                *(f"d{i}/4", f"That is reply {i}, my friend.", "sad" if i < right else "angry"),
                gold="sad",
                **(looks[i] if i < len(looks) else {}),
            )
            for i in range(n)
        ]
        settings = config(**changes)
        build_run(
            self.runs / name,
            lines,
            logprobs={line.id: [-0.6, -0.7 - 0.01 * i] for i, line in enumerate(lines)},
            corpus=settings["dataset"]["name"],
            samples=samples,
            model=settings["backbone"]["name"],
            labels=SEVEN if settings["dataset"]["name"] == "meld" else SIX,
            config=settings,
        )
        score([str(self.runs / name), "--resamples", "50"])
        return self.runs / name


class Candidates:
    """Makes runs as they are when read, for tests of their settings: scored once for all that have like forecasts."""

    def __init__(self, folder: Path) -> None:
        self.make = Maker(folder)
        self.scored: dict[str, Candidate] = {}

    def __call__(
        self,
        name: str = "run",
        *,
        looked: Sequence[FramesTaken] | None = None,
        settings: dict[str, Any] | None = None,
        **changes: Any,
    ) -> Candidate:
        """settings: all of them, in place of the main row's with `changes`."""
        counts = {count: changes.pop(count) for count in ("right", "n", "samples") if count in changes}
        settings = settings or config(**changes)
        key = f"{settings['dataset']['name']}-{counts}"
        if key not in self.scored:
            dataset = {"name": settings["dataset"]["name"]}
            self.scored[key] = read_candidate(self.make(key, dataset=dataset, **counts))
        scored = self.scored[key]
        manifest = scored.manifest.model_copy(update={"settings": settings})
        samples = [result("d0/4", **seen_in(event)) for event in ((saw("images"),) if looked is None else looked)]
        visual_input = describe_visual_input(manifest, samples)
        return replace(scored, path=Path(name), manifest=manifest, visual_input=visual_input)


def seen_in(event: FramesTaken) -> dict[str, Any]:
    """What a result tells of a look at clips."""
    facts = facts_of(Story([event]))
    return {name: facts[name] for name in ("turns_looked_at", "frames", "frames_form", "clip_problems")}


def saw(form: Form, *turns: TurnFrames) -> FramesTaken:
    """A look at the clips of sample d0/4; without `turns`, at one with a keyframe."""
    frame = Frame(sha256="f" * 64, source="d0_2.mp4", time=0.5, width=4, height=3)
    return FramesTaken(sample="d0/4", at=AT, form=form, turns=turns or (TurnFrames(turn=2, frames=(frame,)),))


def rate(run: Path, judge: str, value: float, rubric: str = "likert", own: bool = False) -> Path:
    """Put a judgement of the run's replies beside it."""
    one = Score(name="x", value=value, n=31, interval=(value - 0.2, value + 0.2))
    counts = dict.fromkeys(("drawn", "n", "failed", "unjudged", "verdicts", "unusable"), 0)
    judgement = Judgement(
        **{"judge": judge, "engine": "e", "corpus": "iemocap", "left_out": {}, "identity": {}},  # type: ignore[arg-type]
        **{"run": run.name, "protocol": "p", "self_judged": own},  # type: ignore[arg-type]
        **counts,  # type: ignore[arg-type]
        judging=f"judge-{rubric}-{judge}-12345678",
        replies=replies_digest(read_results(run).values()),
        scores=dict.fromkeys(("empathy", "coherence", "fluency"), one),
    )
    file = run / judgement_file(judgement.name)
    write_record(file, judgement)
    return file


def judging_of(first: Path, second: Path, corpus: str = "empathetic") -> Path:
    """The folder of a pairwise judging of two runs, of empathy in sample a/1, which the first wins."""
    folder = first.parent / "judge-pairwise-gemma3-12b-12345678"
    runs, manifests = (first.name, second.name), [read_manifest(run) for run in (first, second)]
    one = Verdict(aspect="empathy", round=0, order=(0, 1), repeat=0, seed=0, choice="first", reason="r")
    verdicts = (one, one.model_copy(update={"round": 1, "order": (1, 0), "choice": "second"}))
    sample = Verdicts(id="a/1", status="ok", dialogue="a", verdicts=verdicts)
    figures = preferences([sample], ["empathy"], "s")
    counts = dict.fromkeys(("drawn", "n", "failed", "unjudged", "verdicts", "unusable"), 1)
    replies = [replies_digest(read_results(run).values()) for run in (first, second)]
    told = {"judge": "gemma3-12b", "engine": "e", "judging": folder.name, "corpus": corpus}
    found = Match.model_validate(
        {**counts, **told, "left_out": {}, "identity": {}, "runs": runs, "self_judged": (), "overall": figures}
        | {"signs": {}, "aspects": {"empathy": figures}, "replies": replies}
    )
    write_record(folder / JUDGEMENT, found)
    (folder / VERDICTS).write_text(sample.line())
    judged = (Judged(run=run, identity=m.identity, engine=m.engine) for run, m in zip(runs, manifests, strict=True))
    made = JudgingManifest(identity={}, engine=manifests[0].engine, judged=tuple(judged), items=1, left_out={})
    write_record(folder / MANIFEST, made)
    return folder


def match(name: Name, *runs: Path | Candidate, number: int = 0) -> MatchedTable:
    """The paper's table of that name and number with the runs."""
    candidates = [run if isinstance(run, Candidate) else read_candidate(run) for run in runs]
    return match_rows(rows_of(name, number), candidates)


@cache
def rows_of(name: Name, number: int) -> Rows:
    """Composed once for all tests."""
    return Rows(published(name)[number])


def run_lines(drawn: MatchedTable) -> list[Line]:
    return [line for line in drawn.lines if line.by == "ours"]

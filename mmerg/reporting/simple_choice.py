"""What a run is held against on its report's first screen: one_pass_calibrated, where it ran on the same samples."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from mmerg.errors import RunError
from mmerg.runs.folder import read_results
from mmerg.runs.identity import CORPUS
from mmerg.runs.manifest import Manifest, read_manifest, runs_in
from mmerg.runs.result import Result
from mmerg.scoring.shares import mcnemar
from mmerg.storage.files import name_of

SIMPLE = "one_pass_calibrated"


class Pair(NamedTuple):
    """A figure of the run and of the simple one."""

    own: float
    simple: float


class SimpleChoice(NamedTuple):
    """run: the simple run. samples, labelled: in both, and those with a label in the data. right: the share of labelled
    ones that are right, ×100, with McNemar's exact p. calls, tokens: a sample."""

    run: str
    samples: int
    labelled: int
    right: Pair | None
    p: float
    calls: Pair
    tokens: Pair


def held_against(path: Path, own: Manifest, results: Mapping[str, Result]) -> SimpleChoice | None:
    """The comparison with the latest run of SIMPLE by the same model on the same corpus, beside the run in `path`; a
    calibrated one where there is one. None where there is none, or the run is one itself."""
    if own.system == SIMPLE or own.imported:
        return None
    found: dict[bool, Path] = {}
    for folder in reversed(runs_in(path.resolve().parent)):
        with suppress(RunError):  # of another version, or a judging
            other = read_manifest(folder)
            same = other.identity.get(CORPUS) == own.identity.get(CORPUS) and other.engine.digest == own.engine.digest
            if other.system == SIMPLE and same:
                found[bool(other.setting("auditor"))] = folder
    if not found:
        return None
    folder = found.get(True) or found[False]
    others = read_results(folder)
    pairs = [(result, others[name]) for name, result in results.items() if name in others]
    if not pairs:
        return None
    labelled = [(a, b) for a, b in pairs if a.gold_emotion is not None]
    right = [(a.emotion == a.gold_emotion, b.emotion == a.gold_emotion) for a, b in labelled]

    def pair(of: Callable[[Result], float]) -> Pair:
        return Pair(*(fmean(of(one[side]) for one in pairs) for side in (0, 1)))

    return SimpleChoice(
        run=name_of(folder),
        samples=len(pairs),
        labelled=len(labelled),
        right=Pair(*(100 * fmean(side) for side in zip(*right, strict=True))) if right else None,
        p=mcnemar(right.count((True, False)), right.count((False, True))),
        calls=pair(lambda result: result.calls),
        tokens=pair(lambda result: result.prompt_tokens + result.response_tokens),
    )

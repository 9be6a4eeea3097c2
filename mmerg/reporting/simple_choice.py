"""Compares a run with the simplest system, one_pass_calibrated, if that ran on the same samples."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from statistics import fmean

from mmerg.errors import RunError
from mmerg.runs.folder import read_results
from mmerg.runs.identity import CORPUS
from mmerg.runs.manifest import Manifest, list_runs, read_manifest
from mmerg.runs.result import Result
from mmerg.scoring.emotions import accuracy
from mmerg.scoring.paired import PairedResults, compare_metric
from mmerg.storage.files import get_name

SIMPLE = "one_pass_calibrated"
DRAWS = 2000  # of a permutation test


def compare_with_simple(path: Path, own: Manifest, results: Mapping[str, Result]) -> dict[str, object]:
    """The run in `path` beside the latest run of SIMPLE by the same model on the same corpus, calibrated if there is
    one.

    Gives the other run's name, the number of common samples, the accuracy of both with p as in `mmerg compare`, and
    calls and tokens per sample. Gives {} if there is no such run, or if this run is one itself.
    """
    found: dict[bool, tuple[Path, Mapping[str, Result]]] = {}
    for folder in list_runs(path.resolve().parent):
        with suppress(RunError):  # of another version, a judging, or changed since
            other = read_manifest(folder)
            same = other.identity.get(CORPUS) == own.identity.get(CORPUS) and other.engine.digest == own.engine.digest
            calibrated = bool(other.setting("auditor"))
            if other.system == SIMPLE != own.system and same and calibrated not in found:
                found[calibrated] = folder, read_results(folder)
    folder, others = found.get(True) or found.get(False) or (path, {})
    pairs = [(result, others[name]) for name, result in results.items() if name in others]
    if not pairs:
        return {}
    a, b = zip(*pairs, strict=True)
    acc = compare_metric(accuracy(), PairedResults(a, b, 0, 0), draws=DRAWS, seed=0)
    return {
        "run": get_name(folder),
        "samples": len(pairs),
        "labelled": acc.n,
        "right": [acc.a_value, acc.b_value] if acc.n else [],
        "p": acc.p,
        "calls": [fmean(result.calls for result in side) for side in (a, b)],
        "tokens": [fmean(result.prompt_tokens + result.response_tokens for result in side) for side in (a, b)],
    }

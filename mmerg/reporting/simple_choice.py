"""Comparison of a run with a run of the simplest system, one_pass_calibrated, on the same samples."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from statistics import fmean

from mmerg.errors import RunError
from mmerg.runs.folder import read_results
from mmerg.runs.identity import CORPUS, LABELS
from mmerg.runs.manifest import Manifest, list_runs, read_manifest
from mmerg.runs.result import Result
from mmerg.scoring.emotions import accuracy
from mmerg.scoring.paired import PairedResults, compare_metric
from mmerg.storage.files import get_name

SIMPLE = "one_pass_calibrated"
DRAWS = 2000  # random permutations of a paired test


def compare_with_simple(path: Path, manifest: Manifest, results: Mapping[str, Result]) -> dict[str, object]:
    """Compares the run in `path` with the latest run of SIMPLE beside it, by the same model on the same corpus; a
    calibrated run has precedence. Returns the name of the other run, whether it is calibrated, the number of common
    samples, the accuracy of both runs in percent with p as in `mmerg compare`, and calls and tokens per sample. Returns
    {} if there is no such run, or if this run is one itself."""
    latest: dict[bool, tuple[Path, Mapping[str, Result]]] = {}
    for folder in list_runs(path.resolve().parent):
        with suppress(RunError):  # of another version, of a judge, or changed since
            other = read_manifest(folder)
            same_corpus = other.identity.get(CORPUS) == manifest.identity.get(CORPUS)
            same_model = other.engine.digest == manifest.engine.digest
            calibrated = any(name.startswith(LABELS) for name in other.identity)
            is_simple = other.system == SIMPLE != manifest.system
            if is_simple and same_corpus and same_model and calibrated not in latest:
                latest[calibrated] = folder, read_results(folder)
    folder, others = latest.get(True) or latest.get(False) or (path, {})
    pairs = [(result, others[name]) for name, result in results.items() if name in others]
    if not pairs:
        return {}
    a, b = zip(*pairs, strict=True)
    acc = compare_metric(accuracy(), PairedResults(a, b, 0, 0), draws=DRAWS, seed=0)
    return {
        "run": get_name(folder),
        "calibrated": True in latest,
        "samples": len(pairs),
        "labelled": acc.n,
        "right": [acc.a_value, acc.b_value] if acc.n else [],
        "p": acc.p,
        "calls": [fmean(result.calls for result in side) for side in (a, b)],
        "tokens": [fmean(result.prompt_tokens + result.response_tokens for result in side) for side in (a, b)],
    }

"""`only_failed=true`: what of a run it takes up, and why where there is nothing to take up.

Reads manifests and results and makes nothing, so that a mistaken command leaves no folder behind.

    if is_new(path):
        raise refusal(plain, path)    # this would be a new run, in which nothing failed: its settings differ from …
    told_wanted(wanted, results)      # 3 of 268 failed, taken up again now
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mmerg.errors import ConfigError, RunError
from mmerg.experiment.work import Named, pending
from mmerg.runs.config_diff import Setting, settings_diff
from mmerg.runs.manifest import MANIFEST, read_manifest
from mmerg.runs.result import Result
from mmerg.settings.identity import canonical

_FEW = 3


def is_new(path: Path) -> bool:
    """Whether no run was ever begun in this folder: nothing can have failed in it."""
    return not (path / MANIFEST).exists()


def refusal(plain: Mapping[str, Any], path: Path, count: int = 1) -> ConfigError:
    """What to say where `plain` asks for the failed samples of a run that was never begun; count: so many repeats do,
    of which this is the first."""
    would = "this would be a new run" if count == 1 else f"{count} repeats would be new runs"
    return ConfigError(
        f"{would}, in which nothing failed: {_nearest(plain, path)}",
        where=str(path),
        hint="leave only_failed away, or give the settings of the run that failed",
    )


def _nearest(plain: Mapping[str, Any], path: Path) -> str:
    """In what the settings differ from those of the run beside it that is most like it."""
    alike = f"{path.name.rpartition('-')[0]}-"
    found: list[tuple[int, str, list[Setting]]] = []
    for folder in sorted(path.parent.glob("*/")):
        if not folder.name.startswith(alike):
            continue
        try:
            manifest = read_manifest(folder)
        except RunError:  # it is told where it is used itself
            continue
        settings = settings_diff([manifest.settings, plain], canonical)
        found.append((len(settings), folder.name, settings))
    if not found:
        return f"none is called {alike}… in {path.parent}"
    _, name, settings = min(found)
    told = [f"{one.name} is {one.values[0]} there and {one.values[1]} here" for one in settings[:_FEW]]
    more = [f"and {len(settings) - _FEW} more"] * (len(settings) > _FEW)
    return f"its settings differ from those of {name}: {'; '.join([*told, *more]) or 'where the data lie'}"


def told_wanted(wanted: Sequence[Named], before: Mapping[str, Result]) -> str:
    """How many of the samples asked for are taken up."""
    return f"{len(pending(wanted, before, only_failed=True))} of {len(wanted)} failed, taken up again now"


def told_nothing(wanted: Sequence[Named], before: Mapping[str, Result]) -> str:
    """That none is, where none of them failed."""
    left = len(pending(wanted, before, only_failed=False))
    are = "is" if left == 1 else "are"
    rest = f"; {left} of {len(wanted)} {are} not done yet: the same command without only_failed does the rest"
    return f"no sample failed in this run: there is nothing to take up again{rest * (left > 0)}"

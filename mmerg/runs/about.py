"""Which run it is: what its manifest says that must stand beside every figure of it.

Reads manifests only.

    about = read_about(Path("runs/meld-merg-qwen3.5-27b-1a2b3c4d"))
    about.corpus, about.backbone, about.protocol    # "meld", "qwen3.5-27b", "targets=last emotions=all, n=268"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmerg.errors import RunError
from mmerg.runs.folder import read_manifest
from mmerg.runs.manifest import needed, refuse_judging


@dataclass(frozen=True)
class About:
    """A run's names, its protocol as told, with n, and the config that it was made with."""

    path: Path
    corpus: str
    split: str
    protocol: str
    system: str
    backbone: str
    model: str
    identity: Mapping[str, str]
    config: Mapping[str, Any]
    labels: Sequence[str] = ()

    @property
    def run(self) -> str:
        return self.path.resolve().name  # also of "."


def read_about(path: Path) -> About:
    """What the manifest in `path` says. Raises RunError where there is none or it lacks something of this."""
    manifest = read_manifest(path)
    needed(manifest, ("corpus", "protocol", "config.system.name", "config.backbone.name"), path)
    config = manifest["config"]
    return About(
        path=path,
        corpus=manifest["corpus"]["name"],
        split=manifest["corpus"]["split"],
        protocol=manifest["protocol"]["told"],
        system=config["system"]["name"],
        backbone=config["backbone"]["name"],
        model=manifest["engine"]["model"],
        identity=manifest["identity"],
        config=config,
        labels=manifest["corpus"]["labels"],
    )


def read_abouts(paths: Sequence[Path]) -> list[About]:
    """Several runs. Raises RunError where one is given twice or two have the same name, as nothing could tell them
    apart."""
    _each_once(paths)
    found: dict[str, About] = {}
    for path in paths:
        about = read_about(path)
        if about.run in found:
            raise RunError(
                f"two runs are called {about.run}",
                where=f"{found[about.run].path} and {path}",
                hint="rename the folder of one of them",
            )
        found[about.run] = about
    return list(found.values())


def check_runs(paths: Sequence[Path]) -> None:
    """Raises RunError where one of `paths` is no run's folder, or one run is given twice, by whatever paths."""
    for path in paths:
        refuse_judging(read_manifest(path), path)
    _each_once(paths)


def _each_once(paths: Sequence[Path]) -> None:
    seen: dict[Path, Path] = {}
    for path in paths:
        real = path.resolve()
        if real in seen:
            raise RunError("a run is given twice", where=f"{seen[real]} and {path}", hint="give each run once")
        seen[real] = path

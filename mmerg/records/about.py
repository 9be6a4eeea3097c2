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

from pydantic import BaseModel, ValidationError

from mmerg.errors import RunError
from mmerg.records.lines import why
from mmerg.records.run import MANIFEST, read_manifest


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

    @property
    def run(self) -> str:
        return self.path.resolve().name  # also of "."


class _Corpus(BaseModel):
    name: str
    split: str


class _Protocol(BaseModel):
    told: str


class _Engine(BaseModel):
    model: str


class _Named(BaseModel):
    name: str


class _Config(BaseModel):
    system: _Named
    backbone: _Named


class _Manifest(BaseModel):
    """What is needed of a manifest; the rest may be anything."""

    identity: dict[str, str]
    corpus: _Corpus
    protocol: _Protocol
    engine: _Engine
    config: _Config


def read_about(path: Path) -> About:
    """What the manifest in `path` says. Raises RunError where there is none or it lacks something of this."""
    plain = read_manifest(path)
    try:
        read = _Manifest.model_validate(plain)
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise RunError(
            f"the manifest is not one of this version: {place}: {why(error)}",
            where=str(path / MANIFEST),
            hint="run it again with this version: its calls come from the cache",
        ) from error
    return About(
        path=path,
        corpus=read.corpus.name,
        split=read.corpus.split,
        protocol=read.protocol.told,
        system=read.config.system.name,
        backbone=read.config.backbone.name,
        model=read.engine.model,
        identity=read.identity,
        config=plain["config"],
    )


def read_abouts(paths: Sequence[Path]) -> list[About]:
    """Several runs. Raises RunError where two have the same name, as nothing could tell them apart."""
    found: dict[str, About] = {}
    for path in paths:
        about = read_about(path)
        if about.run in found:
            raise RunError(
                f"two runs are called {about.run}",
                where=f"{found[about.run].path} and {path}",
                hint="give each run once, and rename the folder of one of two with the same name",
            )
        found[about.run] = about
    return list(found.values())

"""Multimodal empathetic response generation with audited agents on local models. The import loads nothing heavy.

    run = mmerg.run("dataset=demo", system="one_pass", limit=2)
    run.samples, run.scores, run.failed                         # pandas data frames
    reply = mmerg.respond([("Ana", "I didn't get the job.")], speaker="Ben", backbone="qwen2.5vl:7b")
    reply.text, reply.emotion, reply.plan, reply.audits, reply.passes
    with mmerg.open(system="merg", backbone="qwen2.5vl:7b") as agent:
        agent.respond([("Ana", "I got it!")], speaker="Ben", frames=["ana.jpg"])
    mmerg.load("runs/meld-merg-…", "runs/meld-trace-…").samples

Settings are overrides as on a command line, such as "limit=2", or keyword arguments, such as `limit=2`; a nested key is
`**{"backbone.concurrency": 4}`. `config_dir` is a folder with your own configs, as for `--config-dir`. Errors are
MmergErrors, which say what happened, where, and what to do next.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from os import PathLike

    from mmerg.api.agent import Agent, Reply, respond
    from mmerg.api.agent import open_agent as open
    from mmerg.api.run import Run, run
    from mmerg.backends.protocol import Backend
    from mmerg.corpora.dialogue import Corpus, Dialogue, Sample, Turn
    from mmerg.engine.loops.loop import Loop
    from mmerg.engine.sources import Source
    from mmerg.errors import MmergError
    from mmerg.scoring.metric import Metric
    from mmerg.systems.system import Stage, System
    from mmerg.tidy.frames import Tidy

_MODULES = {
    "mmerg.api.agent": ("Agent", "Reply", "open_agent", "respond"),
    "mmerg.api.run": ("Run", "run"),
    "mmerg.backends.protocol": ("Backend",),
    "mmerg.corpora.dialogue": ("Corpus", "Dialogue", "Sample", "Turn"),
    "mmerg.engine.loops.loop": ("Loop",),
    "mmerg.engine.sources": ("Source",),
    "mmerg.errors": ("MmergError",),
    "mmerg.scoring.metric": ("Metric",),
    "mmerg.systems.system": ("Stage", "System"),
    "mmerg.tidy.frames": ("Tidy",),
}
__all__ = [
    "Agent",
    "Backend",
    "Corpus",
    "Dialogue",
    "Loop",
    "Metric",
    "MmergError",
    "Reply",
    "Run",
    "Sample",
    "Source",
    "Stage",
    "System",
    "Tidy",
    "Turn",
    "load",
    "open",
    "respond",
    "run",
]


def _end_interrupted(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    if issubclass(kind, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)  # noqa: T201
        os._exit(130)
    sys.__excepthook__(kind, error, trace)


if sys.argv[:1] == ["-m"]:  # python -m mmerg.NAME is still importing, and Ctrl-C should print one line
    sys.excepthook = _end_interrupted


def load(*runs: str | PathLike[str]) -> Tidy:
    """Reads run folders as data frames (see `mmerg.tidy.frames.Tidy`). Raises RunError for a folder without a run."""
    from mmerg.tidy.frames import load as load_runs

    return load_runs(runs)


def __getattr__(name: str) -> object:
    attribute = "open_agent" if name == "open" else name
    for module, names in _MODULES.items():
        if attribute in names:
            return getattr(import_module(module), attribute)
    raise AttributeError(f"module 'mmerg' has no attribute {name!r}")

"""The agents of a run as its config sets them: what each gives and is shown, symbols by their meaning.

A symbol means what the stage that gives it is said to give; those that no stage gives are the sample's and the memory's
(MERG, arXiv 2604.18988, section 3). What an ablation leaves out is not there, and nobody sees what is not made.
"""

from collections.abc import Container
from typing import Any, NamedTuple

from mmerg.runs.manifest import Started

GIVEN = {"D": "dialogue", "V": "keyframes", "M": "exemplars"}  # what stages see that no stage gives


class Agent(NamedTuple):
    """title: what it gives, in words. symbol: what later agents see that by; an auditor gives none. sees: symbols."""

    title: str = ""
    symbol: str = ""
    sees: tuple[str, ...] = ()


class Agents:
    """named: the stages by name, in order. auditor: its name, "" for a system without one; audits: what it sees.
    emotion: the symbol, and the field of it, that hold the forecast label."""

    def __init__(self, manifest: Started) -> None:
        system, auditor = manifest.setting("system", {}), manifest.setting("system.auditor", {})
        without, stages = set(system.get("without") or ()), system.get("stages") or {}
        gone = {stage.get("gives") for name, stage in stages.items() if name in without}
        made = {stage.get("gives") for stage in stages.values()}
        unseen = made if system.get("organization") == "independent" else gone
        frames = manifest.setting("frames.seen_by")
        self.named = {
            name: _agent(stage, _shown(stage.get("sees"), unseen, frames))
            for name, stage in stages.items()
            if name not in without
        }
        if auditor.get("name") in without:
            auditor = {}
        self.auditor, self.audits = str(auditor.get("name") or ""), _shown(auditor.get("sees"), gone, frames)
        self.emotion = str(manifest.setting("system.result.emotion", "")).split(".")

    def meaning(self, symbol: str) -> str:
        """What a symbol stands for, in words where there are any."""
        titles = {agent.symbol: agent.title.lower() for agent in self.named.values() if agent.title != agent.symbol}
        return titles.get(symbol) or GIVEN.get(symbol, symbol)


def _agent(stage: Any, sees: tuple[str, ...]) -> Agent:
    symbol, kind = str(stage.get("gives") or ""), str(stage.get("output") or "").rpartition(".")[2]
    return Agent({"text": "Response", "": symbol}.get(kind, kind), symbol, sees)


def _shown(sees: Any, unseen: Container[object], frames: object) -> tuple[str, ...]:
    """What an agent is shown of what it `sees`: `frames` may say that all see the keyframes, or none."""
    found = [str(symbol) for symbol in sees or () if symbol not in unseen]
    if sees and frames in ("all", "none"):
        found = [symbol for symbol in found if symbol != "V"]
        found[1:1] = ["V"] * (frames == "all")
    return tuple(found)

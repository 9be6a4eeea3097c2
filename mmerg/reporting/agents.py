"""The agents of a run as its settings have them: what each gives and sees, in words.

Symbols are those of MERG (arXiv 2604.18988, section 3). One that no stage gives is part of the sample, or comes from
the memory. What an ablation leaves out is not there, and nobody sees what is not made.
"""

from collections.abc import Container
from typing import Any, NamedTuple

from mmerg.runs.manifest import Started

GIVEN = {"D": "dialogue", "V": "keyframes", "M": "exemplars"}  # symbols that no stage gives


class Agent(NamedTuple):
    """title: what it gives, in words. symbol: the name of that for later agents. sees: symbols."""

    title: str = ""
    symbol: str = ""
    sees: tuple[str, ...] = ()


class Agents:
    """named: the stages by name, in order. auditor: its name, "" for a system without one. audits: symbols that the
    auditor sees. emotion: the symbol that has the forecast label, then the field."""

    def __init__(self, manifest: Started) -> None:
        system, auditor = manifest.setting("system", {}), manifest.setting("system.auditor", {})
        without, stages = set(system.get("without") or ()), system.get("stages") or {}
        gone = {stage.get("gives") for name, stage in stages.items() if name in without}
        made = {stage.get("gives") for stage in stages.values()}
        unseen = made if system.get("organization") == "independent" else gone
        frames = manifest.setting("frames.seen_by")
        self.named = {
            name: _agent(stage, _visible(stage.get("sees"), unseen, frames))
            for name, stage in stages.items()
            if name not in without
        }
        if auditor.get("name") in without:
            auditor = {}
        self.auditor, self.audits = str(auditor.get("name") or ""), _visible(auditor.get("sees"), gone, frames)
        self.emotion = str(manifest.setting("system.result.emotion", "")).split(".")

    def meaning(self, symbol: str) -> str:
        """What a symbol stands for, in words where there are any."""
        titles = {agent.symbol: agent.title.lower() for agent in self.named.values() if agent.title != agent.symbol}
        return titles.get(symbol) or GIVEN.get(symbol, symbol)


def _agent(stage: Any, sees: tuple[str, ...]) -> Agent:
    symbol, kind = str(stage.get("gives") or ""), str(stage.get("output") or "").rpartition(".")[2]
    return Agent({"text": "Response", "": symbol}.get(kind, kind), symbol, sees)


def _visible(sees: Any, unseen: Container[object], frames: object) -> tuple[str, ...]:
    """The symbols of `sees` that an agent really gets. frames: "all" or "none" where that many see the keyframes."""
    symbols = [str(symbol) for symbol in sees or () if symbol not in unseen]
    if sees and frames in ("all", "none"):
        symbols = [symbol for symbol in symbols if symbol != "V"]
        symbols[1:1] = ["V"] * (frames == "all")
    return tuple(symbols)

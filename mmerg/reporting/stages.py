"""The agents of a run as its config sets them: what each gives and what it is shown, symbols by their meaning.

A symbol means what the stage that gives it is said to give; those that no stage gives are the sample's and the memory's
(MERG, arXiv 2604.18988, section 3). One that nobody explains stands as it is. Ablations are taken into account: who is
left out is not there, and nobody sees what is not made.

    stages = Stages(manifest)
    stages.named["caef"].sees    # ("D", "V", "E")
    stages.told("E")             # "evidence"
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mmerg.runs.manifest import Manifest

GIVEN = {"D": "dialogue", "V": "keyframes", "M": "exemplars"}  # what stages see that no stage gives


@dataclass(frozen=True, slots=True)
class Agent:
    """title: what it gives, in words. symbol: what later agents see that by; an auditor gives none."""

    title: str
    symbol: str
    sees: tuple[str, ...]


class Stages:
    """The stages that the config of a run names, in order, by name; the auditor's name, or "" for a system without one,
    and what it audits; emotion: the symbol and the field of it that hold the forecast label."""

    def __init__(self, manifest: Manifest) -> None:
        system, auditor = manifest.setting("system", {}), manifest.setting("system.auditor", {})
        without = set(system.get("without") or ())
        stages: Mapping[str, Mapping[str, object]] = system.get("stages") or {}
        gone = {str(one.get("gives")) for name, one in stages.items() if name in without}
        made = {str(one.get("gives")) for one in stages.values()}
        unseen = made if system.get("organization") == "independent" else gone
        seen_by = str(manifest.setting("frames.seen_by"))
        self.named = {
            name: agent(one.get("gives"), one.get("output"), _sees(one.get("sees"), unseen, seen_by))
            for name, one in stages.items()
            if name not in without
        }
        audited = auditor.get("name") not in without
        self.auditor = str(auditor.get("name") or "") if audited else ""
        self.audits = _sees(auditor.get("sees"), gone, seen_by) if audited else ()
        symbol, _, label = str(manifest.setting("system.result.emotion", "")).partition(".")
        self.emotion = symbol, label

    def told(self, symbol: str) -> str:
        """What a symbol stands for, in words where there are any."""
        titles = {agent.symbol: agent.title.lower() for agent in self.named.values() if agent.title != agent.symbol}
        return titles.get(symbol) or GIVEN.get(symbol, symbol)


def agent(gives: object, output: object, sees: tuple[str, ...] = ()) -> Agent:
    """A stage by its symbol and the class or kind of its output, as a config spells them."""
    symbol, kind = str(gives or ""), str(output or "").rpartition(".")[2]
    return Agent({"text": "Response", "": symbol}.get(kind, kind), symbol, sees)


def _sees(symbols: object, unseen: Iterable[str], seen_by: str) -> tuple[str, ...]:
    """What an agent is shown: frames by their own setting, of the rest what is not taken out."""
    found = [str(symbol) for symbol in (symbols if isinstance(symbols, list) else ()) if symbol not in unseen]
    if seen_by in ("all", "none"):
        found = [symbol for symbol in found if symbol != "V"]
        found[1:1] = ["V"] * (seen_by == "all")
    return tuple(found)

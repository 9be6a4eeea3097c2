"""Which row of a paper's table a run is: all its settings that decide results, held against those of the row.

differences(table, row, run)    # ["backbone.sampling.temperature is 1.5, not 0.0"]
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from mmerg.paper.published import PaperTable, Published
from mmerg.papertables.ours import KEYFRAMES, Ours
from mmerg.runs.config_diff import NONE, Setting, settings_diff
from mmerg.settings.identity import at, canonical

SAMPLES, SEEN = "samples", "seen"  # what no setting tells: the protocol's n, and what agents saw of the clips
ELSEWHERE = ("dataset.", "protocol.", "backbone.", "backend.", "frames.long_side", SAMPLES, SEEN)
_BY_NAME = {  # what another page sets beside its name goes without saying, but for samplers
    "dataset.name": ("dataset.",),
    "system.name": ("system.",),
    "backbone.name": ("backbone.", "frames.long_side"),
    "backend.name": ("backend.",),
    "memory.name": ("memory.embedder.",),
}
_IDLE = {  # what this leaves without effect, and so without a value
    "frames.seen_by": ("frames.",),
    "system.without": ("system.max_iterations",),
}
_MOST, _LONGEST = 12, 60


def asked(table: PaperTable, row: Published) -> Mapping[str, Any]:
    """The settings of `mmerg run dataset=…` as the row has them: the pages, and on top what table and row say."""
    from omegaconf import OmegaConf

    from mmerg.settings.model import RunSettings

    layers = (table.fits, row.fits or {})
    pages = [f"{group}={page}" for layer in layers for group, page in layer.items() if isinstance(page, str)]
    own = [{group: node for group, node in layer.items() if not isinstance(node, str)} for layer in layers]
    config = OmegaConf.merge(_composed(f"dataset={table.dataset}", *pages), *own)
    plain: Any = OmegaConf.to_container(config, resolve=True)
    return RunSettings.model_validate({key: plain[key] for key in plain if key not in ("row", "rows")}).plain()


@cache
def _composed(*pages: str) -> Any:
    from mmerg.settings.compose import compose

    return compose("config", [*pages, "dataset.root=/"]).config  # where a corpus lies decides nothing


class Rows:
    """The rows of a table that a run can be, by name, each with its settings."""

    def __init__(self, table: PaperTable) -> None:
        self.table = table
        self.asked = {row.name: asked(table, row) for row in table.rows if row.fits is not None}
        self._varied = {one.name for one in _found(*self.asked.values())}

    def differences(self, row: str, run: Ours) -> list[Setting]:
        """In what the run is not as the row, with both values."""
        found = _found(run.settings, self.asked[row])
        if self.table.samples and run.samples != self.table.samples:
            found.append(Setting(SAMPLES, (str(run.samples), str(self.table.samples))))
        if self.table.keyframes and run.seen != KEYFRAMES:
            found.append(Setting(SEEN, (run.seen, KEYFRAMES)))
        return found

    def alike(self, differ: list[Setting]) -> bool:
        """Whether a run that so differs is the row's system on other data or another model; where the table's rows
        differ in the model, it is the row's."""
        return all(one.name.startswith(ELSEWHERE) and one.name not in self._varied for one in differ)

    def why_not(self, run: Ours) -> str:
        """In what a run that is no row differs from the one that it is nearest to."""
        differ = {name: self.differences(name, run) for name in self.asked}
        nearest = min(differ, key=lambda name: len(differ[name]))
        return f"no row of the paper; nearest is {nearest}, but {in_words(differ[nearest])}"


def in_words(differ: list[Setting]) -> str:
    """What differs, and how it should be."""
    parts = [_in_words(one) for one in differ[:_MOST]]
    if len(differ) > _MOST:
        parts.append(f"and {len(differ) - _MOST} more")
    return ", ".join(parts)


def _in_words(one: Setting) -> str:
    if one.name == SEEN:
        return one.values[0]
    has, wanted = (text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…" for text in one.values)
    name = "the protocol's n" if one.name == SAMPLES else one.name
    return f"{name} is {has}, not {wanted}"


def _found(*settings: Mapping[str, object]) -> list[Setting]:
    """In what settings differ, without what follows from others of it."""
    found = {one.name: one for one in settings_diff(settings, _deciding)}
    return [one for one in found.values() if not _follows(one, found)]


def _deciding(settings: Mapping[str, object]) -> dict[str, Any]:
    """What decides results but for the seed; with the prompts' folder, and of each source without exemplars that there
    are none."""
    kept = canonical(settings)
    kept.pop("seed", None)
    if isinstance(kept.get("system"), dict):
        kept["system"]["prompts"] = at(settings, "system.prompts")
    for symbol in at(settings, "sources") or ():
        if symbol not in kept["sources"] and at(settings, f"sources.{symbol}.top_k") is not None:
            kept["sources"][symbol] = {"top_k": 0}
    return kept


def _follows(one: Setting, found: Mapping[str, Setting]) -> bool:
    """Whether a difference goes without saying where others are found."""
    for name, parts in _BY_NAME.items():
        if name in found and one.name != name and one.name.startswith(parts) and ".sampling." not in one.name:
            return True
    counts = [name for name in found if name.startswith(("memory.", "sources.")) and name.endswith(".top_k")]
    idle = _IDLE | {name: (name.removesuffix("top_k"), "dataset.memory.") for name in counts}
    for name, parts in idle.items():
        if name in found and one.name != name and one.name.startswith(parts) and NONE in one.values:
            return True
    return False

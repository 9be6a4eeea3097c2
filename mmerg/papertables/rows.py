"""Which row of a paper's table a run is: all its settings that decide results, held against those of the row.

differences(table, row, run)    # ["backbone.sampling.temperature is 1.5, not 0.0"]
"""

from collections.abc import Mapping
from functools import cache
from itertools import chain
from typing import Any

from mmerg.paper.published import PaperTable, Published
from mmerg.papertables.ours import KEYFRAMES, Ours
from mmerg.runs.config_diff import Setting, settings_diff
from mmerg.settings.identity import at
from mmerg.settings.kinds import Plain

PROMPTS = "system.prompts"  # the folder: what lies in it has a digest of its own in a run
SAMPLES, SEEN = "samples", "seen"  # what no setting tells: the protocol's n, and what agents saw of the clips
ELSEWHERE = ("dataset.", "protocol.", "backbone.", "backend.", "frames.long_side", SAMPLES, SEEN)
_BY_NAME = {  # what another page sets beside its name goes without saying, but for samplers
    "dataset.name": ("dataset.",),
    "system.name": ("system.",),
    "backbone.name": ("backbone.", "frames.long_side"),
    "backend.name": ("backend.",),
    "memory.name": ("memory.embedder.",),
}
_MOST, _LONGEST = 12, 60


def asked(table: PaperTable, row: Published) -> Plain:
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
        found = _found(run.manifest.settings, self.asked[row])
        samples = run.manifest.protocol.samples
        if self.table.samples and samples != self.table.samples:
            found.append(Setting(SAMPLES, (str(samples), str(self.table.samples))))
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
    """In what settings differ but for the seed, without what goes without saying where another name is found."""
    found = [one for one in settings_diff(settings) if one.name != "seed"]
    prompts = Setting(PROMPTS, tuple(str(at(one, PROMPTS)) for one in settings))
    if len(set(prompts.values)) > 1:
        found.append(prompts)
    parts = {name: parts for name, parts in _BY_NAME.items() if any(one.name == name for one in found)}
    return [
        one
        for one in found
        if one.name in parts or ".sampling." in one.name or not one.name.startswith(tuple(chain(*parts.values())))
    ]

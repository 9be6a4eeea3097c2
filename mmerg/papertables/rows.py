"""Which row of a paper's table a run is: its settings that decide results, compared with the settings of each row.

Rows(table).differences("without MPA", run)    # [Setting("backbone.sampling.temperature", ("1.5", "0.0"))]
"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any

from mmerg.errors import some
from mmerg.paper.published import PaperTable, Published
from mmerg.papertables.candidates import KEYFRAMES, Candidate
from mmerg.runs.config_diff import Setting, settings_diff
from mmerg.settings.kinds import Plain
from mmerg.settings.tree import get_path

PROMPTS = "system.prompts"  # the folder: what lies in it has a digest of its own in a run
SAMPLES, VISUAL = "the protocol's n", "visual input"  # what no setting says
_BY_PAGE = {  # settings that follow from another page's name, and are not listed; samplers are
    "dataset.name": ("dataset.",),
    "system.name": ("system.",),
    "backbone.name": ("backbone.", "frames.long_side"),
    "backend.name": ("backend.",),
    "memory.name": ("memory.embedder.",),
}
_MOST, _LONGEST = 12, 60


def row_settings(table: PaperTable, row: Published) -> Plain:
    """The settings of `mmerg run dataset=…` as the row has them: the pages, and on top what table and row say."""
    from omegaconf import OmegaConf

    from mmerg.settings.model import RunSettings

    layers = (table.fits, row.fits or {})
    pages = [f"{group}={page}" for layer in layers for group, page in layer.items() if isinstance(page, str)]
    own = [{group: node for group, node in layer.items() if not isinstance(node, str)} for layer in layers]
    config = OmegaConf.merge(_composed(f"dataset={table.dataset}", *pages), *own)
    plain: Any = OmegaConf.to_container(config, resolve=True)
    return RunSettings.model_validate(plain).plain()


@cache
def _composed(*pages: str) -> Any:
    from omegaconf import OmegaConf

    from mmerg.settings.compose import compose

    config = compose("config", [*pages, "dataset.root=/"])  # where a corpus lies decides nothing
    OmegaConf.set_struct(config, False)  # a row may set what no page has, such as system.without
    return config


class Rows:
    """The rows of a table that a run can be. settings: of each, by its name."""

    def __init__(self, table: PaperTable) -> None:
        self.table = table
        self.settings = {row.name: row_settings(table, row) for row in table.rows if row.fits is not None}

    def differences(self, row: str, run: Candidate) -> list[Setting]:
        """What the run has otherwise than the row, with both values."""
        differences = _differing(run.manifest.settings, self.settings[row])
        samples = run.manifest.protocol.samples
        if self.table.samples and samples != self.table.samples:
            differences.append(Setting(SAMPLES, (str(samples), str(self.table.samples))))
        if self.table.keyframes and run.visual_input != KEYFRAMES:
            differences.append(Setting(VISUAL, (run.visual_input, KEYFRAMES)))
        return differences

    def nearest(self, run: Candidate) -> tuple[str, list[Setting]]:
        """The row that a run differs from least, and in what. Of equally near rows the plainest."""
        plainest = sorted((row for row in self.table.rows if row.fits is not None), key=lambda row: len(row.fits or {}))
        return min(((row.name, self.differences(row.name, run)) for row in plainest), key=lambda near: len(near[1]))


def describe(differences: Sequence[Setting]) -> str:
    """What differs, and how the row has it."""
    parts = []
    for one in differences:
        has, wanted = (text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…" for text in one.values)
        parts.append(has if one.name == VISUAL else f"{one.name} is {has}, not {wanted}")
    return some(parts, _MOST)


def _differing(*settings: Mapping[str, object]) -> list[Setting]:
    """What differs between settings, without the seed and what follows from another page."""
    differences = [one for one in settings_diff(settings) if one.name != "seed"]
    prompts = tuple(", ".join(get_path(one, PROMPTS) or ()) for one in settings)
    if len(set(prompts)) > 1:
        differences.append(Setting(PROMPTS, prompts))
    pages = [one.name for one in differences if one.name in _BY_PAGE]
    follows = tuple(chain.from_iterable(_BY_PAGE[name] for name in pages))
    return [
        one for one in differences if one.name in pages or ".sampling." in one.name or not one.name.startswith(follows)
    ]

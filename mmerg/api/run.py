"""Runs from Python: `mmerg.run` does what the command does, and returns samples and scores as data frames."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mmerg.errors import ConfigError
from mmerg.tidy.frames import Tidy

if TYPE_CHECKING:
    from os import PathLike

    from pandas import DataFrame

SHOWN_COLUMNS = ["sample", "gold_emotion", "emotion", "response"]


class Run(Tidy):
    """A finished run in the folder `path`, with the data frames of `mmerg.load`. If the run has no scores yet, `scores`
    and other data frames of scores compute and store them first."""

    def __init__(self, path: Path) -> None:
        from mmerg.runs.manifest import read_run_refs

        super().__init__(read_run_refs([path]))
        self.path = path

    def __getattr__(self, table: str) -> DataFrame:
        from mmerg.scoring.run_results import read_run
        from mmerg.scoring.score import UnscoredError
        from mmerg.scoring.scorer import score_run, write_scores
        from mmerg.scoring.standard import Options

        try:
            return super().__getattr__(table)
        except UnscoredError:
            write_scores(self.path, score_run(read_run(self.path), Options()))
            return super().__getattr__(table)

    @property
    def failed(self) -> DataFrame:
        """The samples that failed, and why."""
        return self.samples.loc[self.samples.status == "failed", ["sample", "failure", "failure_text"]]

    def __repr__(self) -> str:
        from mmerg.console.terminal import plural

        return f"Run({str(self.path)!r}): {plural(len(self.samples), 'sample')}, {len(self.failed)} failed"

    def _repr_html_(self) -> str:
        from html import escape

        table = self.samples[SHOWN_COLUMNS].head(10).to_html(index=False)
        return f"<p>{escape(repr(self))}</p>{table}"


def run(*overrides: str, config_dir: str | PathLike[str] | None = None, **settings: object) -> Run:
    """Does what `mmerg run` does: starts a run, resumes an interrupted one, or reads a finished one. A failed sample
    raises no error; it is a row of `failed`. Raises MmergError if the run cannot start."""
    from mmerg.api.overrides import compose_settings
    from mmerg.experiment.launch import launch
    from mmerg.settings.model import RunSettings

    parsed = compose_settings("config", RunSettings, overrides, settings, config_dir)
    if parsed.shard:
        what = "mmerg.run makes a single run of all samples"
        raise ConfigError(what, where="shard", hint="use the command mmerg run")
    return Run(Path(launch(parsed, brief=True).run))

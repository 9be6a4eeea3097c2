"""How many candidates of best_of_n cost as many tokens as another system, read from finished runs of the same settings.

settings, note = with_equal_tokens(settings, plan)
settings.system.n, note    # 11, "system.n=11, as merg takes 5140 tokens a sample (…) and one_pass 448 (…)"
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean
from typing import TYPE_CHECKING

from mmerg.errors import ConfigError
from mmerg.experiment.work import is_new
from mmerg.runs.folder import read_results
from mmerg.settings.compose import compose
from mmerg.settings.groups import list_options
from mmerg.settings.model import RunSettings
from mmerg.settings.parse import parse

if TYPE_CHECKING:
    from mmerg.experiment.plan import Plan


def with_equal_tokens(settings: RunSettings, plan: Callable[[RunSettings], Plan]) -> tuple[RunSettings, str]:
    """The settings with their number of candidates, and how it was computed. plan: gives the plan of a run to read.
    Raises ConfigError if that run does not exist, or lacks a sample."""
    wanted = settings.system.equal_tokens
    assert wanted
    (of, of_run), (each, each_run) = (_tokens(settings, name, plan) for name in (wanted.of, wanted.candidate))
    n = max(1, round(of / each))
    system = settings.system.model_copy(update={"n": n, "equal_tokens": None})
    note = f"{wanted.of} takes {of:.0f} tokens a sample ({of_run}) and {wanted.candidate} {each:.0f} ({each_run})"
    return settings.model_copy(update={"system": system}), f"system.n={n}, as {note}"


def _tokens(settings: RunSettings, name: str, plan: Callable[[RunSettings], Plan]) -> tuple[float, str]:
    """The mean tokens of a system per wanted sample with a reply, and the name of its run."""
    dataset = settings.dataset.name  # its config may set parts of a system
    words = [f"dataset={dataset if dataset in list_options('dataset') else 'folder'}", f"system={name}"]
    words += [] if dataset == "demo" else ["dataset.root=/"]
    defaults = parse(compose("config", words), RunSettings)
    sources = defaults.sources | {symbol: node for symbol, node in settings.sources.items() if symbol in ("M", "S")}
    other = plan(settings.model_copy(update={"system": defaults.system, "sources": sources}))
    ids = [sample.id for sample in other.samples.wanted]
    results = {} if is_new(other.run) else read_results(other.run)
    tokens = [one.prompt_tokens + one.response_tokens for id in ids if (one := results.get(id)) and one.ok]
    missing = sum(id not in results for id in ids)
    if missing or not sum(tokens):
        what = f"{missing or len(ids)} of {len(ids)} samples have no reply of system={name}, so n is unknown"
        hint = f"first run the same command with system={name}; in a sweep, put its row first"
        raise ConfigError(what, where=str(other.run), hint=hint)
    return fmean(tokens), other.run.name

"""The number of candidates of best_of_n that cost as many tokens as another system, from finished runs with the same
settings.

settings, note = with_equal_tokens(settings, plan)
settings.system.n, note    # 11, "system.n=11, as merg takes 5140 tokens a sample (…) and one_pass 448 (…)"
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean
from typing import TYPE_CHECKING

from mmerg.errors import ConfigError
from mmerg.runs.folder import read_results
from mmerg.settings.compose import compose
from mmerg.settings.groups import list_options
from mmerg.settings.model import RunSettings
from mmerg.settings.parse import parse

if TYPE_CHECKING:
    from mmerg.experiment.plan import Plan


def with_equal_tokens(settings: RunSettings, plan: Callable[[RunSettings], Plan]) -> tuple[RunSettings, str]:
    """Returns the settings with the number of candidates, and a note on how it was computed. plan: makes the plan of a
    run, whose tokens are then read. Raises ConfigError if that run does not exist, or lacks a sample."""
    systems = settings.system.equal_tokens
    assert systems
    tokens, run = _read_mean_tokens(settings, systems.of, plan)
    candidate_tokens, candidate_run = _read_mean_tokens(settings, systems.candidate, plan)
    n = max(1, round(tokens / candidate_tokens))
    system = settings.system.model_copy(update={"n": n, "equal_tokens": None})
    note = (
        f"system.n={n}, as {systems.of} takes {tokens:.0f} tokens a sample ({run}) and {systems.candidate} "
        f"{candidate_tokens:.0f} ({candidate_run})"
    )
    return settings.model_copy(update={"system": system}), note


def _read_mean_tokens(settings: RunSettings, name: str, plan: Callable[[RunSettings], Plan]) -> tuple[float, str]:
    """Reads the tokens per selected sample of a system, as the mean over samples with a reply; and names its run."""
    dataset = settings.dataset.name  # its config may change the system
    overrides = [f"dataset={dataset if dataset in list_options('dataset') else 'folder'}", f"system={name}"]
    if dataset != "demo":
        overrides.append("dataset.root=/")
    defaults = parse(compose("config", overrides), RunSettings)
    sources = defaults.sources | {symbol: node for symbol, node in settings.sources.items() if symbol in ("M", "S")}
    other = plan(settings.model_copy(update={"system": defaults.system, "sources": sources}))
    ids = [sample.id for sample in other.samples.wanted]
    results = read_results(other.run) if other.run.exists() else {}
    found = [results[id] for id in ids if id in results]
    tokens = [result.prompt_tokens + result.response_tokens for result in found if result.ok]
    missing = sum(id not in results for id in ids)
    if missing or not sum(tokens):
        what = f"{missing or len(ids)} of {len(ids)} samples have no reply of system={name}, so n is unknown"
        hint = f"first run the same command with system={name}; in a sweep, put its row first"
        raise ConfigError(what, where=str(other.run), hint=hint)
    return fmean(tokens), other.run.name

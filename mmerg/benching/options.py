"""The options of figures in a bench: told as they are typed, tried before the first run, and without outside models.

    check_scorer(options)                   # ConfigError for a model that cannot be loaded
    scored(row, without_models(options))

A model that scores would take memory from the one that is measured: it is tried in a process of its own, and scores
once all have run.
"""

from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import get_context

from mmerg.backends.protocol import Engine
from mmerg.errors import ConfigError
from mmerg.scoring.standard import DEFAULTS, Options, check, standard_metrics

_OTHERWISE = {"lower": "--keep-case", "metrics": "--metric", "bert": "--bert --bert-model"}


def spelled(options: Options) -> tuple[str, ...]:
    """The options that are not the defaults, as a command line has them."""
    told = []
    for name, value in vars(options).items():
        if value != getattr(DEFAULTS, name):
            option = _OTHERWISE.get(name, f"--{name.replace('_', '-')}")
            values = value if isinstance(value, tuple) else (value,)
            told.append(option if isinstance(value, bool) else " ".join(f"{option} {one}" for one in values))
    return tuple(told)


def without_models(options: Options) -> Options:
    """The same for the figures that take no model of their own."""
    return replace(options, bert=None, bert_layers=None, ref_ppl=None, ref_context=False)


def check_scorer(options: Options) -> None:
    """Raises ConfigError for options that mean nothing, and where a model that scores cannot be loaded."""
    check(options)
    _try(without_models(options))
    if options == without_models(options):
        return
    try:
        with ProcessPoolExecutor(1, get_context("spawn")) as apart:
            apart.submit(_try, options).result()
    except BrokenProcessPool as error:
        raise ConfigError(
            "the model that scores cannot be loaded: the process that tried has died",
            where=" ".join(spelled(options)),
            hint="is there memory enough for it? a smaller model, or none",
        ) from error


def _try(options: Options) -> None:
    standard_metrics(Engine(backend="", version="", model="", digest=""), options)

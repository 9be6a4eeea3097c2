"""Types, bounds and words of every setting, as a command line meets them."""

import pytest

from mmerg.errors import ConfigError
from mmerg.settings.compose import compose
from tests.configs import BASE, dump_settings


def refused(*settings: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        dump_settings(*BASE, "memory=minilm", *settings)
    return caught.value


@pytest.mark.parametrize(
    ("setting", "what", "hint"),
    [
        ("limit=0", "limit is 0", "greater than 0"),
        ("limit=true", "limit is true", "a valid integer"),
        ("cache=of", "cache is 'of'", "one of off, read, on; did you mean off?"),
        ("cache=true", "cache is true", 'one of off, read, on; in YAML write "on" or "off" in quotes'),
        ("runs=null", "runs is null", "a valid string"),
        ("backend.adapter.model=null", "backend.adapter.model is null", "a valid string"),
        ("backbone.name=a b", "backbone.name is 'a b'", "letters, digits and . _ + - / : only"),
        ("backbone.load.num_ctx=3", "backbone.load.num_ctx is 3", "greater than or equal to 4"),
        (
            "backbone.load.num_ctx=null",
            "backbone.load.num_ctx is null",
            "a value, not null; without the setting, the default is used",
        ),
        ("+backbone.load.num_batch=0", "backbone.load.num_batch is 0", "greater than 0"),
        ("+backbone.load.num_gpu=-2", "backbone.load.num_gpu is -2", "greater than or equal to -1"),
        ("+backbone.load.main_gpu=-1", "backbone.load.main_gpu is -1", "greater than or equal to 0"),
        ("+backbone.load.num_thread=-1", "backbone.load.num_thread is -1", "greater than or equal to 0"),
        ("+backbone.load.use_mmap=1", "backbone.load.use_mmap is 1", "a valid boolean"),
        ("protocol.emotions=[]", "protocol.emotions is []", "all, nonneutral, or a list: [joy,anger]"),
        (
            "backbone.sampling.seed=3",
            "there is no setting backbone.sampling.seed",
            "seed or protocol.seed?",
        ),
        ("backbone.sampling.temprature=1", "there is no setting backbone.sampling.temprature", "temperature?"),
        ("memory.min_similarity=nan", "memory.min_similarity is nan", "a finite number"),
    ],
)
def test_an_invalid_value_is_refused_with_the_valid_ones(setting: str, what: str, hint: str) -> None:
    error = refused(setting)
    assert error.what == what
    assert error.hint.endswith(hint)


def test_all_problems_are_reported_at_once() -> None:
    wrong = ("limt=3", "frames=pape", "system.max_iterations=abc", "cache=of", "seed=-1")
    with pytest.raises(ConfigError) as caught:
        compose("config", [*BASE, *wrong])
    assert str(caught.value).splitlines() == [
        "5 settings are wrong",
        "  there is no setting limt; did you mean limit?",
        "  there is no frames=pape; did you mean frames=paper? one of all, apex, blank, none, paper, shuffled",
        "  seed is -1; it must be greater than or equal to 0",
        "  cache is 'of'; one of off, read, on; did you mean off?",
        "  system.max_iterations is 'abc'; it must be a valid integer",
        "  where: command line, configuration",
    ]

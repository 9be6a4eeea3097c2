"""Types, bounds and words of every setting, as a command line meets them."""

import pytest

from mmerg.errors import ConfigError
from mmerg.settings.compose import compose
from tests.composed import BASE, plain_of

LEAST = {
    "limit": 1,
    "repeats": 1,
    "seed": 0,
    "backend.attempts": 1,
    "backend.revive_after": 0,
    "backbone.max_images": 1,
    "backbone.image_side": 32,
    "backbone.concurrency": 1,
    "backbone.threads": 0,
    "backbone.sampling.temperature": 0,
    "system.stages.sgrg.sampling.temperature": 0,
    "frames.last_turns": 1,
    "frames.max_frames": 1,
    "frames.per_clip": 1,
    "frames.long_side": 32,
    "frames.jpeg_quality": 1,
    "protocol.max_per_dialogue": 1,
    "protocol.sample": 1,
    "protocol.seed": 0,
    "protocol.history": 1,
    "memory.top_k": 0,
    "memory.key.turns": 1,
    "memory.min_words": 1,
    "memory.min_similarity": -1,
    "memory.exclude_similarity": -1,
    "memory.embedder.threads": 0,
    "memory.embedder.max_length": 8,
    "system.max_iterations": 0,
    "system.max_repairs": 0,
    "system.rerun_temperature": 0,
}
MOST = {"frames.jpeg_quality": 100, "memory.top_k": 50, "memory.min_similarity": 1, "memory.exclude_similarity": 1}
SECONDS = (
    "frames.max_seconds",
    "backend.adapter.total",
    *(f"backend.adapter.deadlines.{phase}" for phase in ("connect", "first_token", "stall", "total")),
)
WORDS = {
    "cache": ("off", "read", "on"),
    "protocol.targets": ("last", "all", "labelled"),
    "system.organization": ("cascaded", "independent"),
    "system.final_selection": ("lexicographic", "last"),
    "frames.seen_by": ("paper", "all", "none"),
    "frames.method": ("representative", "uniform", "apex"),
    "memory.key.text": ("history", "situation", "situation_or_history"),
    "memory.emotion": ("any", "prefer", "require", "require_or_any"),
}


def refused(*settings: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        plain_of(*BASE, "memory=minilm", *settings)
    return caught.value


def refused_each(*settings: str) -> set[str]:
    """A line for each of the settings, all of which are wrong: "limit is 0; at least 1"."""
    first, *lines, _ = str(refused(*settings)).splitlines()
    assert first == f"{len(settings)} settings are wrong"
    return {line.strip().removesuffix(".0") for line in lines}


def test_numbers_have_a_least_value() -> None:
    plain_of(*BASE, "memory=minilm", *(f"{key}={least}" for key, least in LEAST.items()))
    lines = refused_each(*(f"{key}={least - 1}" for key, least in LEAST.items()))
    assert lines == {f"{key} is {least - 1}; at least {least}" for key, least in LEAST.items()}


def test_numbers_have_a_greatest_value() -> None:
    plain_of(*BASE, "memory=minilm", *(f"{key}={most}" for key, most in MOST.items()))
    lines = refused_each(*(f"{key}={most + 1}" for key, most in MOST.items()))
    assert lines == {f"{key} is {most + 1}; at most {most}" for key, most in MOST.items()}


@pytest.mark.parametrize("value", ["0", "-1.0", "inf", "nan", "1e300", "long", "true", "null"])
def test_seconds_are_over_zero_and_end(value: str) -> None:
    plain_of(*BASE, *(f"{key}=0.1" for key in SECONDS))
    keys = [key for key in SECONDS if (key, value) != ("backend.adapter.total", "null")]  # Ollama's has none
    assert {line.split()[0] for line in refused_each(*(f"{key}={value}" for key in keys))} == set(keys)


def test_words_are_of_a_fixed_set() -> None:
    for number in range(max(map(len, WORDS.values()))):
        plain_of(*BASE, *(f"{key}={words[number % len(words)]}" for key, words in WORDS.items()))
    lines = refused_each(*(f"{key}={words[1]}x" for key, words in WORDS.items()))
    assert lines == {
        f"{key} is '{words[1]}x'; one of {', '.join(words)}; did you mean {words[1]}?" for key, words in WORDS.items()
    }


@pytest.mark.parametrize(
    ("setting", "what", "hint"),
    [
        ("system.max_iterations=abc", "system.max_iterations is 'abc'", "a whole number"),
        ("limit=1.5", "limit is 1.5", "a whole number"),
        ("limit=true", "limit is true", "a whole number"),
        ("backbone.think=maybe", "backbone.think is 'maybe'", "true or false"),
        ("system.without=mpa", "system.without is 'mpa'", "a list: [a,b]"),
        ("ids=[]", "ids is []", "at least one, or leave it out"),
        ("runs=null", "runs is null", "a path; in quotes where it looks like something else"),
        ("backend.adapter.model=null", "backend.adapter.model is null", "a text"),
        ("backbone.name=a b", "backbone.name is 'a b'", "letters, digits and . _ + - / : only"),
        ("protocol.emotions=[]", "protocol.emotions is []", "all, nonneutral, or a list: [joy,anger]"),
        (
            "backbone.sampling.seed=3",
            "there is no setting backbone.sampling.seed",
            "seed or protocol.seed?",
        ),
        ("backbone.sampling.temprature=1", "there is no setting backbone.sampling.temprature", "temperature?"),
        ("backbone.sampling.temperature=hot", "backbone.sampling.temperature is 'hot'", "a number"),
        ("backbone.sampling.top_k=1.5", "backbone.sampling.top_k is 1.5", "a whole number"),
        ("memory.min_similarity=nan", "memory.min_similarity is nan", "a number, which nan and inf are not"),
        ("+sources.N={_target_:a.B,far:-inf}", "sources.N.far is -inf", "numbers, which nan and inf are not"),
        ("+sources.N={_target_:a.B,k:{n:[nan]}}", "sources.N.k is {'n': [nan]}", "numbers, which nan and inf are not"),
        (
            "dataset.reader=3",
            "dataset.reader is 3, and it holds several settings",
            "and what it is made with",
        ),
    ],
)
def test_what_a_setting_may_be(setting: str, what: str, hint: str) -> None:
    error = refused(setting)
    assert error.what == what
    assert error.hint.endswith(hint)


def test_every_repeat_has_a_seed_in_bounds() -> None:
    plain_of(*BASE, f"seed={2**31 - 2}", "repeats=2")
    error = refused(f"seed={2**31 - 1}", "repeats=2")
    hint = "at most 1, as each repeat has the next seed, and seeds are under 2147483648"
    assert (error.what, error.hint) == ("repeats is 2", hint)


def test_a_class_has_no_empty_list_of_settings() -> None:
    assert refused("sources.M=3").hint == "its settings by name: _target_, a class, and what it is made with"


def test_all_that_is_wrong_is_told_at_once() -> None:
    wrong = ("limt=3", "frames=pape", "system.max_iterations=abc", "cache=of", "seed=-1")
    with pytest.raises(ConfigError) as caught:
        compose("config", [*BASE, *wrong])
    assert str(caught.value).splitlines() == [
        "5 settings are wrong",
        "  there is no setting limt; did you mean limit?",
        "  there is no frames=pape; did you mean frames=paper? one of all, apex, blank, none, paper, shuffled",
        "  seed is -1; at least 0",
        "  cache is 'of'; one of off, read, on; did you mean off?",
        "  system.max_iterations is 'abc'; a whole number",
        "  where: command line, configuration",
    ]

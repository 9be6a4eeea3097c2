"""Options of figures: as they are typed, and tried before anything runs."""

import argparse
import shlex
from dataclasses import fields

import pytest

from mmerg.benching.options import check_scorer, spelled, without_models
from mmerg.errors import ConfigError
from mmerg.scoring.standard import DEFAULTS, Options, add_arguments, options_of

ALL = Options(
    "13a", "response", False, 7, "a-model", 3, "another", True, 9, 8, ("a.py:One", "b.Other"), ("acc", "dist2")
)


def test_the_defaults_are_not_told() -> None:
    assert spelled(DEFAULTS) == ()
    assert spelled(Options(level="response")) == ("--level response",)


def test_every_option_is_told_as_it_is_typed() -> None:
    assert all(getattr(ALL, field.name) != getattr(DEFAULTS, field.name) for field in fields(Options))
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    parser.add_argument("--primary", action="append")
    given = parser.parse_args(shlex.split(" ".join(spelled(ALL))))
    assert options_of(given) == ALL


def test_without_models_all_else_stays() -> None:
    left = without_models(ALL)
    assert (left.bert, left.bert_layers, left.ref_ppl, left.ref_context) == (None, None, None, False)
    assert (left.tokenizer, left.level, left.lower, left.vocabulary, left.resamples, left.seed) == (
        *("13a", "response", False, 7),
        *(9, 8),
    )
    assert without_models(left) == left


@pytest.mark.parametrize("wrong", [{"bert_layers": 3}, {"ref_context": True}, {"vocabulary": 0}, {"resamples": 0}])
def test_options_that_mean_nothing_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong)).replace("_", "[-_]")):
        check_scorer(Options(**wrong))  # type: ignore[arg-type]

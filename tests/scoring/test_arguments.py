"""The options of figures on a command line."""

import argparse
from pathlib import Path

import pytest

from mmerg.scoring.standard import add_arguments, options_of


@pytest.mark.parametrize(
    ("given", "model"),
    [
        (["--bert", "runs/a"], "roberta-large"),
        (["runs/a", "--bert"], "roberta-large"),
        (["--bert", "--bert-model", "folder", "runs/a"], "folder"),
        (["runs/a"], None),
    ],
)
def test_bert_takes_no_run_for_its_model(given: list[str], model: str | None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="+", type=Path)
    add_arguments(parser)
    found = parser.parse_args(given)
    assert (found.runs, options_of(found).bert) == ([Path("runs/a")], model)

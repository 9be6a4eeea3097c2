"""Reports to open in a browser, written once for all files of tests; nobody changes them."""

from dataclasses import replace
from pathlib import Path

import pytest

from mmerg.reporting.write import write_report
from mmerg.score import main as score
from tests.reporting.parts import HOSTILE, HOSTILE_IDS, USUAL, Told, build
from tests.scoring.run_builder import build_run, result

MANY = 450  # samples of a run with more than are shown at once


def say_nothing(told: str) -> None:
    """Takes progress."""


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run with samples of every kind."""
    run = build(tmp_path_factory.mktemp("usual") / "demo-merg-tiny", USUAL)
    write_report([run], run / "report", faces="keep", say=say_nothing)
    return run / "report"


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run whose every text is hostile."""
    word = "w" * 100_000
    told = [Told(id, ("0111", "1111"), HOSTILE, "<b>joy</b>", mark=HOSTILE) for id in HOSTILE_IDS]
    turns = ((HOSTILE, HOSTILE), ("Ben", word), ("\u202eAna", HOSTILE))
    told.append(Told("words", mark=word, history=turns))
    config = {"backbone": {"name": "odd", "model": HOSTILE}}
    run = build(tmp_path_factory.mktemp("hostile") / "<i>run & co", told, model=HOSTILE, config=config)
    write_report([run], run / "report", faces="keep", say=say_nothing)
    return run / "report"


@pytest.fixture(scope="session")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of two runs on the same samples, both scored, with different settings."""
    folder = tmp_path_factory.mktemp("two")
    one = build(folder / "demo-merg-tiny-1", USUAL)
    other = [replace(told, passes=("1111",), emotion="joy") for told in USUAL[:-1]]
    two = build(folder / "demo-merg-tiny-2", other, config={"seed": 7})
    for run in (one, two):
        assert score([str(run)]) == 0
    write_report([one, two], folder / "report", faces="keep", say=say_nothing)
    return folder / "report"


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table of a run with more samples than are shown at once."""
    folder = tmp_path_factory.mktemp("many")
    results = [result(f"d{number}/2", f"Reply {number}.", selected_pass=number % 2) for number in range(MANY)]
    run = build_run(folder / "run", results)
    write_report([run], folder / "report", faces="keep", say=say_nothing)
    return folder / "report" / "samples.html"

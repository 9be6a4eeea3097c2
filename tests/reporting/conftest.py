"""Reports to open in a browser, written once for all tests of the folder. No test changes them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from mmerg.reporting.write import write_report
from mmerg.score import main as score
from tests.browser import chromium
from tests.reporting.parts import HOSTILE, HOSTILE_IDS, USUAL, SampleSpec, build

TURNS = tuple(("Ben" if number % 2 else "Ana", f"This is turn {number}. " * 5) for number in range(1, 61))
LONG = (
    SampleSpec("long/61", history=TURNS, frames=0),
    SampleSpec("many/4", ("0111", "1011", "1101", "1110", "1111"), frames=24),
)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Writes the report of a run with samples of every kind."""
    run = build(tmp_path_factory.mktemp("usual") / "demo-merg-tiny", USUAL)
    write_report([run], run / "report")
    return run / "report"


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Writes the report of two runs, one of which has hostile texts everywhere."""
    folder, word = tmp_path_factory.mktemp("hostile"), "w" * 20_000
    specs = [SampleSpec(id, ("0111", "1111"), HOSTILE, "<b>joy</b>", mark=HOSTILE) for id in HOSTILE_IDS]
    turns = ((HOSTILE, HOSTILE), ("Ben", word), ("\u202eAna", HOSTILE))
    specs.append(SampleSpec("words", mark=word, history=turns))
    vocabulary = {f"a.{HOSTILE}": [HOSTILE], "b" * 500: ["c" * 5000]}
    config = {"backbone": {"name": "odd", "model": HOSTILE}, "system": {"vocabulary": vocabulary}}
    runs = [build(folder / "<i>run & co", specs, model=HOSTILE, config=config), build(folder / "two", USUAL[:1])]
    write_report(runs, folder / "report")
    return folder / "report"


@pytest.fixture(scope="session")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Writes the report of two scored runs on the same samples with different settings."""
    folder = tmp_path_factory.mktemp("two")
    one = build(folder / "demo-merg-tiny-1", USUAL)
    other = [replace(spec, passes=("1111",), emotion="joy") for spec in USUAL[:-1]]
    two = build(folder / "demo-merg-tiny-2", other, config={"seed": 7})
    for run in (one, two):
        assert score([str(run)]) == 0
    write_report([one, two], folder / "report")
    return folder / "report"


@pytest.fixture(scope="session")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Writes the report of two large samples: sixty turns without a frame, and two dozen frames in five passes."""
    run = build(tmp_path_factory.mktemp("long") / "run", LONG)
    write_report([run], run / "report")
    return run / "report"

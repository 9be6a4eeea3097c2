"""Reports to open in a browser, written once for all files of tests; nobody changes them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from mmerg.reporting.write import write_report
from mmerg.score import main as score
from tests.browser import chromium
from tests.reporting.parts import HISTORY, HOSTILE, HOSTILE_IDS, USUAL, Told, build
from tests.scoring.run_builder import build_run, result

MANY = 501  # samples of a run with more than are shown at once, and than are written without a word
TURNS = tuple(("Ben" if number % 2 else "Ana", f"This is turn {number}. " * 5) for number in range(1, 61))
LONG = (Told("long/61", history=TURNS, frames=0), Told("many/4", ("0111", "1011", "1101", "1110", "1111"), frames=24))


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One for all tests of the folder."""
    with chromium() as started:
        yield started


def say_nothing(told: str) -> None:
    """Takes progress."""


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run with samples of every kind."""
    run = build(tmp_path_factory.mktemp("usual") / "demo-merg-tiny", USUAL)
    write_report([run], run / "report", say=say_nothing)
    return run / "report"


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of two runs whose every text is hostile."""
    folder, word = tmp_path_factory.mktemp("hostile"), "w" * 100_000
    told = [Told(id, ("0111", "1111"), HOSTILE, "<b>joy</b>", mark=HOSTILE) for id in HOSTILE_IDS]
    turns = ((HOSTILE, HOSTILE), ("Ben", word), ("\u202eAna", HOSTILE))
    told.append(Told("words", mark=word, history=turns))
    vocabulary = {f"a.{HOSTILE}": [HOSTILE], "b" * 500: ["c" * 5000]}
    config = {"backbone": {"name": "odd", "model": HOSTILE}, "system": {"vocabulary": vocabulary}}
    runs = [build(folder / "<i>run & co", told, model=HOSTILE, config=config), build(folder / "two", USUAL[:1])]
    write_report(runs, folder / "report", say=say_nothing)
    return folder / "report"


@pytest.fixture(scope="session")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of two runs on the same samples, both scored, with different settings."""
    folder = tmp_path_factory.mktemp("two")
    one = build(folder / "demo-merg-tiny-1", USUAL)
    other = [replace(told, passes=("1111",), emotion="joy") for told in USUAL[:-1]]
    two = build(folder / "demo-merg-tiny-2", other, config={"seed": 7})
    for run in (one, two):
        assert score([str(run)]) == 0
    write_report([one, two], folder / "report", say=say_nothing)
    return folder / "report"


@pytest.fixture(scope="session")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Samples at both ends of what a page must hold: sixty turns without a frame, two dozen frames in five passes."""
    run = build(tmp_path_factory.mktemp("long") / "run", LONG)
    write_report([run], run / "report", say=say_nothing)
    return run / "report"


@pytest.fixture(scope="session")
def many_told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The table of a run with more samples than are shown at once, and what was said while it was written."""
    folder = tmp_path_factory.mktemp("many")
    results = [result(f"d{number}/2", f"Reply {number}.", selected_pass=number % 2) for number in range(MANY)]
    run = build_run(folder / "run", results)
    progress: list[str] = []
    write_report([run], folder / "report", say=progress.append)
    return folder / "report" / "samples.html", progress


@pytest.fixture
def many(many_told: tuple[Path, list[str]]) -> Path:
    return many_told[0]


@pytest.fixture(scope="session")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table in which every word of interest is in one place only."""
    folder, room = tmp_path_factory.mktemp("found"), "and so on " * 40
    results = [
        result("dia0/heading", "A plain reply.", "sadness", gold="joy"),
        result("dia1/2", f"A reply {room} to the end: gannet", "surprise", gold="surprise"),
        result("dia2/2", None, failure="thinking_exhausted", failure_text="all 300 tokens of thinking", gold="fear"),
        result("dia3/2", "A plain reply."),
    ]
    last = ("Ana", f"a heron {room} with a curlew")
    run = build_run(folder / "run", results, history={"dia3/2": (*HISTORY, last)})
    write_report([run], folder / "report", say=say_nothing)
    return folder / "report" / "samples.html"

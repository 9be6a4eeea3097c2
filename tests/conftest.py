"""Fixtures and settings for every folder of tests."""

import gc
import os
import signal
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["tests.browser", "tests.ollama_server"]

# No test depends on how fast the machine is. A test that needs more than 30 examples says so.
settings.register_profile("mmerg", deadline=None, max_examples=30)
settings.load_profile("mmerg")

# A shell starts background jobs with Ctrl-C ignored, which the commands that tests interrupt would inherit.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The processes of all tests share matplotlib's list of fonts, which takes a second to build.
os.environ.setdefault("MPLCONFIGDIR", str(Path(tempfile.gettempdir()) / f"mmerg-tests-matplotlib-{os.getuid()}"))

gc.set_threshold(100_000, 10, 20)  # collect seldom: each collection visits all tests and libraries in memory


def pytest_collection_finish(session: pytest.Session) -> None:
    """Excludes the objects that exist before the first test from garbage collection: they live until the end."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Escapes lone surrogates in reports, such as those of a file name that is not UTF-8: pytest-xdist would abort."""
    report = yield
    report.sections = [(name, _escape_surrogates(text)) for name, text in report.sections]
    if _escape_surrogates(str(report.longrepr)) != str(report.longrepr):
        report.longrepr = _escape_surrogates(str(report.longrepr))
    return report


def _escape_surrogates(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()

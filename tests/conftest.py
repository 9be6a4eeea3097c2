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

# A shell starts what it puts into the background with Ctrl-C ignored; commands that tests interrupt would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The processes of all tests share matplotlib's list of fonts, which takes a second to make.
os.environ.setdefault("MPLCONFIGDIR", str(Path(tempfile.gettempdir()) / f"mmerg-tests-matplotlib-{os.getuid()}"))

gc.set_threshold(100_000, 10, 20)  # seldom, as each collection looks at all tests and libraries in memory


def pytest_collection_finish(session: pytest.Session) -> None:
    """Objects made before the first test live until the end: the garbage collector need not look at them again."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """pytest-xdist ends all tests where a report holds half a surrogate pair, as of a file name that is not UTF-8."""
    report = yield
    report.sections = [(name, _utf8(text)) for name, text in report.sections]
    if _utf8(str(report.longrepr)) != str(report.longrepr):
        report.longrepr = _utf8(str(report.longrepr))
    return report


def _utf8(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()

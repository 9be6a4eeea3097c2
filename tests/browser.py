"""A real browser, for tests of pages."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright


@contextmanager
def chromium(*options: str) -> Iterator[Browser]:
    """Debian's Chromium without a window; where it is absent tests are skipped, or fail if MMERG_REQUIRE_BROWSER=1."""
    program = shutil.which("chromium")
    if program is None:
        if os.environ.get("MMERG_REQUIRE_BROWSER") == "1":
            pytest.fail("MMERG_REQUIRE_BROWSER=1, and there is no chromium")
        pytest.skip("no chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", *options])
        try:
            yield started
        finally:
            started.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for all tests of a file."""
    with chromium() as started:
        yield started

"""A real browser, for tests of pages."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright


@contextmanager
def chromium(*options: str) -> Iterator[Browser]:
    """Starts Debian's Chromium without a window. Without it, skips tests, or fails them if MMERG_REQUIRE_BROWSER=1."""
    program = shutil.which("chromium")
    if program is None:
        if os.environ.get("MMERG_REQUIRE_BROWSER") == "1":
            pytest.fail("MMERG_REQUIRE_BROWSER=1, but chromium is not installed")
        pytest.skip("no chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", *options])
        try:
            yield browser
        finally:
            browser.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started_browser:
        yield started_browser

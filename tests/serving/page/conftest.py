"""The page on the real server, whose agents are scripted."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.reporting.watched import watched
from tests.serving.page.scripted import Agents
from tests.serving.running import running


@contextmanager
def visiting(browser: Browser, agents: Agents | None, *overrides: str, **more: Any) -> Iterator[Page]:
    """The page of a server of its own, the dry one without `agents`; fails on anything that it does and should not.
    more: see `watched`."""
    with (
        running(agents.backend if agents else None, *overrides) as server,
        watched(browser, origins=(server.url, f"blob:{server.url}"), **more) as view,
    ):
        view.page.goto(server.url)
        view.page.locator("#works article").first.wait_for(state="attached")
        yield view.page
        view.check()


@pytest.fixture
def agents() -> Agents:
    return Agents()


@pytest.fixture
def page(browser: Browser, agents: Agents) -> Iterator[Page]:
    """On a laptop, in light."""
    with visiting(browser, agents) as page:
        yield page


def say(page: Page, words: str) -> None:
    """Write it and send it; the camera's clip may take a moment."""
    page.get_by_label("Your message").fill(words)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_label("Your message")).to_have_value("")


def answered(page: Page) -> None:
    """Wait for the end of the turn."""
    page.get_by_role("button", name="Send").wait_for()


def step(page: Page, title: str) -> str:
    """What a step of the agents' work shows, as text."""
    return page.locator(".step", has=page.get_by_role("heading", name=title)).inner_text()

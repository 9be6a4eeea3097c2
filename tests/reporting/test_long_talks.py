"""Samples at both ends of what a page must hold: sixty turns without a frame, forty frames in five passes."""

from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, expect

from mmerg.reporting.render import file_name
from mmerg.reporting.write import write_report
from tests.reporting.conftest import say_nothing
from tests.reporting.parts import Told, build
from tests.reporting.test_accessible import RULES
from tests.reporting.watched import watched

TURNS = tuple(("Ben" if number % 2 else "Ana", f"This is turn {number}. " * 5) for number in range(1, 61))
LONG = (Told("long/61", history=TURNS, frames=0), Told("many/4", ("0111", "1011", "1101", "1110", "1111"), frames=40))


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = build(tmp_path_factory.mktemp("long") / "run", LONG)
    write_report([run], run / "report", faces="keep", say=say_nothing)
    return run / "report" / "samples"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_they_fit_and_axe_finds_nothing(
    browser: Browser, talks: Path, width: int, scheme: Literal["light", "dark"]
) -> None:
    with watched(browser, width=width, scheme=scheme) as view:
        for told in LONG:
            page = view.open(talks / file_name(told.id))
            page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.locator(".turn").count() == len(told.history)
            assert page.locator(".shot").count() == told.frames
            found = Axe().run(page, options=RULES)
            assert found.violations_count == 0, found.generate_report()


def test_beside_a_long_dialogue_the_reply_is_in_sight(browser: Browser, talks: Path) -> None:
    """The dialogue scrolls by itself, by keyboard too, and evidence brings what it cites into sight."""
    with watched(browser) as view:
        page = view.open(talks / file_name("long/61"))
        talk = page.locator(".talk")
        assert talk.evaluate("(part) => part.scrollHeight > part.clientHeight")
        assert page.get_by_role("heading", name="Reply", exact=True).bounding_box()["y"] < 900  # type: ignore[index]
        talk.focus()
        page.keyboard.press("End")
        expect(page.locator("#turn-60")).to_be_in_viewport()  # the key scrolls smoothly
        page.locator("[data-cites='turn-3'] a").first.click()
        page.wait_for_url("**#turn-3")
        expect(page.locator("#turn-3")).to_be_in_viewport()
        view.check()


def test_the_fortieth_frame_is_enlarged(browser: Browser, talks: Path) -> None:
    with watched(browser) as view:
        page = view.open(talks / file_name("many/4"))
        page.locator("#frame-40 a").click()
        assert "clip_40.mp4" in page.locator("dialog.viewer").inner_text()
        page.keyboard.press("ArrowLeft")
        assert "clip_39.mp4" in page.locator("dialog.viewer").inner_text()
        view.check()

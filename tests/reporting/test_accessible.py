"""What axe-core finds on each kind of page, in light and in dark: nothing."""

from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser

from mmerg.reporting.render import file_name
from tests.reporting.watched import watched

RULES = {
    "preload": False,
    "resultTypes": ["violations"],
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
}  # preload: axe would fetch the style sheet; resultTypes: what passes is not told, which takes longer than to look


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing(
    browser: Browser, report: Path, two_runs: Path, scheme: Literal["light", "dark"], width: int
) -> None:
    files = [report / "index.html", report / "samples.html", two_runs / "index.html", two_runs / "samples.html"]
    files += [report / "samples" / file_name(id) for id in ("d0/4", "d1/5", "d2/5")]
    with watched(browser, width=width, scheme=scheme) as view:
        for file in files:
            page = view.open(file)
            page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
            found = Axe().run(page, options=RULES)
            assert found.violations_count == 0, found.generate_report()


def test_axe_finds_nothing_in_the_dialogs(browser: Browser, report: Path) -> None:
    with watched(browser) as view:
        page = view.open(report / "samples" / file_name("d0/4"))
        page.keyboard.press("?")
        assert Axe().run(page, options=RULES).violations_count == 0
        page.keyboard.press("Escape")
        page.locator("#call-1 summary").click()
        assert Axe().run(page, options=RULES).violations_count == 0
        page.keyboard.press("Escape")
        page.locator("a.enlarge").first.click()
        assert Axe().run(page, options=RULES).violations_count == 0


@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_in_a_table_that_is_filtered_and_sorted(browser: Browser, report: Path, width: int) -> None:
    with watched(browser, width=width) as view:
        for fragment in ("#outcome=failed&sort=-sample", "#q=nobody+says+this"):
            page = view.open(report / "samples.html", fragment)
            assert Axe().run(page, options=RULES).violations_count == 0
            page.goto("about:blank")


@pytest.mark.parametrize("width", [1280, 700])
def test_axe_finds_nothing_on_paper(browser: Browser, report: Path, width: int) -> None:
    with watched(browser, width=width) as view:
        page = view.open(report / "samples.html")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        found = Axe().run(page, options=RULES)
        assert found.violations_count == 0, found.generate_report()

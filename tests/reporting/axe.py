"""What axe-core finds on a page."""

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page

RULES = {
    "preload": False,
    "resultTypes": ["violations"],
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
}  # preload: axe would fetch the style sheet; resultTypes: what passes is not told, which takes longer than to look


def check_axe(page: Page) -> None:
    """Fails on anything that it finds."""
    found = Axe().run(page, options=RULES)
    assert found.violations_count == 0, found.generate_report()

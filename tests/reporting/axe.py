"""Checks of accessibility with axe-core."""

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page

RULES = {
    "preload": False,
    "resultTypes": ["violations"],
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
}  # no preload: it would fetch the style sheet; only violations: a list of passed rules takes longer than the checks


def check_axe(page: Page) -> None:
    results = Axe().run(page, options=RULES)
    assert results.violations_count == 0, results.generate_report()

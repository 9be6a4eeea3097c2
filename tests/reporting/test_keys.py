"""Keys: what they lead to, and that who needs it is rid of them, on any width, and by keyboard alone."""

from pathlib import Path

from playwright.sync_api import Browser, Page

from mmerg.reporting.render import file_name
from tests.reporting.parts import USUAL
from tests.reporting.watched import watched

IDS = [told.id for told in USUAL]


def sample(report: Path, id: str) -> Path:
    return report / "samples" / file_name(id)


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.textContent"))


def test_keys_lead_from_sample_to_sample(browser: Browser, report: Path) -> None:
    with watched(browser) as view:
        page = view.open(sample(report, IDS[0]))
        for key, wanted in (("j", IDS[1]), ("k", IDS[0]), ("f", "d1/5"), ("f", "d3/1")):
            page.keyboard.press(key)
            page.wait_for_url(sample(report, wanted).as_uri())
        page.keyboard.press("j")  # the last: nothing follows
        page.keyboard.press("s")
        page.wait_for_url((report / "samples.html").as_uri())
        page.keyboard.press("u")
        page.wait_for_url((report / "index.html").as_uri())
        page.keyboard.press("s")
        page.wait_for_url((report / "samples.html").as_uri())
        page.keyboard.press("j")
        page.keyboard.press("j")
        assert focused(page) == IDS[1]
        page.keyboard.press("/")
        page.keyboard.type("d1/j")
        assert page.get_by_label("Search").input_value() == "d1/j"
        page = view.open(sample(report, "d0/4"))
        page.keyboard.press("c")
        page.wait_for_url(sample(report, "d0/5").as_uri())
        page.keyboard.press("/")
        page.wait_for_url("**/samples.html?find")
        assert page.evaluate("document.activeElement.name") == "q"
        view.check()

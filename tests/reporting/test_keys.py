"""Keys: what they lead to, and that who needs it is rid of them, on any width, and by keyboard alone."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from mmerg.reporting.render import file_name
from tests.reporting.parts import USUAL
from tests.reporting.watched import watched

IDS = [told.id for told in USUAL]
REFUSED = (
    """Object.defineProperty(window, "localStorage", { get() { throw new DOMException("no", "SecurityError"); } });"""
)


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


@pytest.mark.parametrize(("name", "width"), [("index.html", 1280), (f"samples/{file_name(IDS[0])}", 390)])
def test_keys_are_switched_off_and_on_again_by_keyboard_alone(
    browser: Browser, report: Path, name: str, width: int
) -> None:
    with watched(browser, width=width, fresh=True) as view:
        page = view.open(report / name)
        button, dialog = page.get_by_role("button", name="Keys"), page.get_by_role("dialog", name="Keys")
        switch = page.get_by_label("Keys are on")
        page.keyboard.press("?")
        assert dialog.is_visible()
        box = dialog.bounding_box()
        assert box is not None
        assert 0 <= box["x"] <= box["x"] + box["width"] <= width
        assert switch.is_checked()
        switch.focus()
        page.keyboard.press("Space")
        page.keyboard.press("Escape")
        for _ in range(2):
            assert button.inner_text() == "Keys off"
            page.keyboard.press("?")
            assert not dialog.is_visible()
            page.reload()
        while not button.evaluate("(one) => one === document.activeElement"):
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert dialog.is_visible()
        assert not switch.is_checked()
        switch.focus()
        page.keyboard.press("Space")
        page.keyboard.press("Escape")
        assert button.evaluate("(one) => one === document.activeElement")
        page.keyboard.press("?")
        assert dialog.is_visible()
        view.check()

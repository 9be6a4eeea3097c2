"""Accessibility of each state of the page: axe-core, the keyboard, and little room."""

import re
from typing import Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT, AxeResults  # type: ignore[import-untyped]
from playwright.sync_api import Page, expect

from mmerg.errors import CallError, Failure
from tests.reporting.axe import RULES
from tests.serving.page.conftest import CLIP, say, wait_for_reply
from tests.serving.page.scripted import REPLY, Agents

LOOKS: tuple[tuple[int, Literal["light", "dark"]], ...] = ((1280, "light"), (390, "dark"))


def check(page: Page) -> None:
    """Checks the page on a laptop, and on a phone with dark colours."""
    for width, scheme in LOOKS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        violations = page.evaluate("async (options) => (await axe.run(options)).violations", RULES)
        assert violations == [], f"{width} {scheme}: {AxeResults({'violations': violations}).generate_report()}"


@pytest.mark.slow
def test_no_state_of_the_page_violates_a_rule_of_axe(page: Page, agents: Agents) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.evaluate(AXE_SCRIPT)
    check(page)
    page.get_by_role("button", name="More").click()
    check(page)
    page.get_by_role("button", name="Settings").click()
    check(page)
    page.get_by_label("Compare with").select_option("mmerg-one_pass")
    page.keyboard.press("Escape")
    page.locator("#file-input").set_input_files(CLIP)
    expect(page.locator("#attachments li")).to_have_count(1)
    with agents.held("psp"):
        say(page, "It's fine. Really.")
        expect(page.locator(".progress").first).to_contain_text("Plan")
        check(page)
    wait_for_reply(page)
    page.locator(".inspect").first.click()
    check(page)
    page.get_by_role("button", name="Draft 1").click()
    page.locator(".enlarge").first.click()
    check(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Close").first.click()
    page.get_by_role("button", name="Chats").click()
    check(page)
    page.get_by_role("button", name=re.compile("Delete the chat")).click()
    check(page)
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    agents.instead["mpa"] = CallError(Failure.OOM, "no memory", hint="take a smaller model")
    page.get_by_role("button", name="Edit turn 1").click()
    page.get_by_role("button", name="Send").click()
    wait_for_reply(page)
    page.get_by_role("button", name="Send").click()
    check(page)


def test_a_chat_works_by_keyboard_alone(page: Page) -> None:
    page.evaluate(
        """() => {
          window.announced = [];
          const status = document.querySelector("[role=status]");
          new MutationObserver(() => announced.push(status.textContent)).observe(status, { childList: true });
        }"""
    )
    expect(page.get_by_label("Your message")).to_be_focused()
    page.keyboard.type("It's fine.")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("Really.")
    page.keyboard.press("Enter")
    wait_for_reply(page)
    assert page.locator(".user .text").inner_text() == "It's fine.\nReally."
    assert page.evaluate("announced") == ["Sent.", f"mmerg: {REPLY}"]  # only the start and end of a turn
    assert page.locator("[aria-live], body > [role=status], [role=alert], [role=log]").count() == 2
    while page.evaluate("document.activeElement.textContent") != "Try again":
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".tries")).to_contain_text("2 of 2")
    wait_for_reply(page)
    assert page.evaluate("document.activeElement.textContent") == "Try again"


def test_nothing_is_cut_at_any_size(page: Page) -> None:
    say(page, "It's fine. Really.")
    wait_for_reply(page)
    wide = "all => all.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.className)"
    for width, height in ((320, 256), (1920, 900)):
        page.set_viewport_size({"width": width, "height": height})
        for _ in range(2):
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.eval_on_selector_all("main section, .card, .message", wide) == []
            page.keyboard.press("Alt+a")
        page.get_by_label("Your message").scroll_into_view_if_needed()
        assert page.get_by_label("Your message").is_visible()

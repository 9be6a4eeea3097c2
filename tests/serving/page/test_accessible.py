"""What axe-core finds in each state of the page (nothing), and that it is used by keyboard, small, and in peace."""

from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect

from mmerg.corpora.folder import demo_root
from mmerg.errors import CallError, Failure
from tests.reporting.axe import RULES
from tests.serving.page.conftest import answered, say, visiting
from tests.serving.page.scripted import REPLY, Agents


def check(page: Page) -> None:
    found = Axe().run(page, options=RULES)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_nothing(browser: Browser, agents: Agents, width: int, scheme: Literal["light", "dark"]) -> None:
    with visiting(browser, agents, width=width, scheme=scheme) as page:
        check(page)
        page.get_by_label("Beside it").select_option("mmerg-one_pass")
        page.locator("#files").set_input_files(demo_root() / "fine_1.mp4")
        check(page)
        with agents.held("psp"):
            say(page, "It's fine. Really.")
            expect(page.locator(".under-way").first).to_contain_text("Plan")
            check(page)
        answered(page)
        check(page)
        page.get_by_role("button", name="How it came").first.click()
        check(page)
        page.get_by_role("button", name="Pass 0").click()
        check(page)
        page.locator(".enlarge").first.click()
        check(page)
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Forget").click()
        check(page)
        page.keyboard.press("Escape")
        if width == 390:
            page.get_by_role("button", name="Conversation").click()
        agents.instead["mpa"] = CallError(Failure.OOM, "no memory", hint="take a smaller model")
        page.get_by_role("button", name="Edit turn 1").click()
        check(page)
        page.get_by_role("button", name="Send").click()
        answered(page)
        page.get_by_role("button", name="Send").click()
        check(page)


def test_a_talk_by_keyboard_alone(page: Page) -> None:
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # to the message
    page.keyboard.type("It's fine.")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("Really.")
    page.keyboard.press("Enter")
    answered(page)
    assert page.locator(".mine .text").inner_text() == "It's fine.\nReally."
    while page.evaluate("document.activeElement.textContent") != "Try again":
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".tries")).to_contain_text("2 of 2")
    answered(page)
    assert page.evaluate("document.activeElement.textContent") == "Try again"


def test_the_focus_goes_from_send_to_stop_and_back(page: Page, agents: Agents) -> None:
    page.get_by_label("Your message").fill("It's fine.")
    page.get_by_role("button", name="Send").focus()
    with agents.held("mpa"):
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Stop")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Send")).to_be_focused()


def test_only_the_start_and_the_end_of_a_turn_are_announced(page: Page) -> None:
    page.evaluate(
        """() => {
          window.told = [];
          const status = document.querySelector("[role=status]");
          new MutationObserver(() => window.told.push(status.textContent)).observe(status, { childList: true });
        }"""
    )
    say(page, "It's fine.")
    answered(page)
    assert page.evaluate("window.told") == ["Sent.", f"mmerg: {REPLY}"]
    assert page.locator("[aria-live], [role=status], [role=alert], [role=log]").count() == 2


@pytest.mark.parametrize(("width", "height"), [(320, 256), (320, 800), (860, 600)])
def test_nothing_is_cut_where_there_is_little_room(browser: Browser, agents: Agents, width: int, height: int) -> None:
    with visiting(browser, agents, width=width) as page:
        page.set_viewport_size({"width": width, "height": height})
        say(page, "It's fine. Really.")
        answered(page)
        page.get_by_role("button", name="How it came").click()
        for _ in range(2):
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            wide = "all => all.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.className)"
            assert page.eval_on_selector_all("main section, .card, .turn", wide) == []
            if width < 800:
                page.get_by_role("button", name="Conversation").click()
        page.get_by_label("Your message").scroll_into_view_if_needed()
        assert page.get_by_label("Your message").is_visible()


def test_who_wants_no_motion_has_none(browser: Browser, agents: Agents) -> None:
    with visiting(browser, agents, reduced_motion="reduce") as page, agents.held("mpa"):
        say(page, "It's fine.")
        expect(page.locator(".step.asked")).to_be_visible()
        assert page.evaluate("document.getAnimations().length") == 0

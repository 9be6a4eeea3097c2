"""Every page from disk in a real browser: nothing is asked of a network, and all that can be done with it works."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from mmerg.reporting.render import file_name
from tests.reporting.parts import HISTORY, USUAL
from tests.reporting.watched import watched

WIDTHS = (1280, 390)


def sample(report: Path, id: str) -> Path:
    return report / "samples" / file_name(id)


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_opens_without_a_word_and_fits(browser: Browser, report: Path, width: int) -> None:
    files = sorted(report.rglob("*.html"))
    assert len(files) == len(USUAL) + 2
    with watched(browser, width=width) as view:
        for file in files:
            page = view.open(file)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.locator("h1").count() == 1
            assert page.locator("main").count() == 1


def test_every_link_of_every_page_leads_to_a_file(browser: Browser, report: Path, two_runs: Path) -> None:
    with watched(browser) as view:
        for root in (report, two_runs):
            for file in sorted(root.rglob("*.html")):
                links = view.open(file).eval_on_selector_all(
                    "a[href], img[src]", "all => all.map((one) => one.href || one.src)"
                )
                wanted = [Path(link.removeprefix("file://").split("#")[0].split("?")[0]) for link in links]
                assert not [link for link in wanted if not link.is_file() or not link.is_relative_to(root)]


def test_without_scripts_all_is_there_to_read(browser: Browser, report: Path) -> None:
    with watched(browser, java_script_enabled=False) as view:
        view.page.goto((report / "samples.html").as_uri())
        assert view.page.locator("#samples tbody tr:visible").count() == len(USUAL)
        assert not view.page.locator("form").is_visible()
        view.page.goto(sample(report, "d0/4").as_uri())
        view.page.locator("details.call summary").first.click()
        assert view.page.locator("details.call pre").first.is_visible()
        view.page.locator("a.enlarge").first.click()
        view.page.wait_for_url("**/*.jpg")


def test_evidence_and_what_it_cites_light_up_together(browser: Browser, report: Path) -> None:
    with watched(browser) as view:
        page = view.open(sample(report, "d0/4"))
        cue = page.locator("[data-cites='frame-2']").first
        cue.hover()
        assert page.locator(".pointed").count() == 2
        assert "pointed" in (page.locator("#frame-2").get_attribute("class") or "")
        page.mouse.move(0, 0)
        assert page.locator(".pointed").count() == 0
        page.locator("[data-cites='turn-3'] a").first.focus()
        assert "pointed" in (page.locator("#turn-3").get_attribute("class") or "")
        page.locator("#frame-2 a").focus()
        assert page.locator(".pointed[data-cites='frame-2']").count() == 2  # of both passes that say it
        page.locator("[data-cites='turn-3'] a").first.click()
        page.wait_for_url("**#turn-3")
        view.check()


def test_a_keyframe_is_enlarged_and_left_again_by_keyboard(browser: Browser, report: Path) -> None:
    with watched(browser) as view:
        page = view.open(sample(report, "d0/4"))
        page.locator("#frame-2 a").focus()
        page.keyboard.press("Enter")
        dialog = page.locator("dialog.viewer")
        assert dialog.is_visible()
        assert "1.00 s" in dialog.inner_text()
        assert "clip_2.mp4" in dialog.inner_text()
        page.keyboard.press("ArrowRight")
        assert "clip_3.mp4" in dialog.inner_text()
        assert dialog.get_by_role("button", name="Next").is_disabled()
        page.keyboard.press("Escape")
        assert not dialog.is_visible()
        assert page.evaluate("document.activeElement.closest('figure').id") == "frame-2"
        view.check()


def test_a_call_opens_in_a_drawer(browser: Browser, report: Path) -> None:
    with watched(browser) as view:
        page = view.open(sample(report, "d0/4"), "#call-2")
        drawer = page.locator("dialog.drawer")
        assert drawer.locator("h3").inner_text().startswith("Call 2")
        assert drawer.get_by_text('{\n  "type": "object"\n}').count() == 1  # laid out to be read
        page.evaluate("navigator.clipboard.writeText = (text) => { window.__copied = text; return Promise.resolve(); }")
        drawer.locator("pre:has-text('object') + button").click()
        assert page.evaluate("window.__copied") == '{"type":"object"}'  # as it was sent
        assert drawer.get_by_role("meter").count() == 3
        drawer.locator("a[href='#call-1']").first.click()
        page.locator("dialog.drawer h3:has-text('Call 1')").wait_for()
        page.keyboard.press("Escape")
        assert not drawer.is_visible()
        page.locator("#call-3 summary").click()
        assert drawer.locator("h3").inner_text().startswith("Call 3")
        view.check()


def test_what_cannot_be_copied_is_selected(browser: Browser, report: Path) -> None:
    with watched(browser) as view:
        page = view.open(sample(report, "d0/4"), "#call-1")
        page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }")
        page.locator("dialog.drawer .copy").first.click()
        page.get_by_role("button", name="Selected").wait_for()
        assert page.evaluate("getSelection().toString()")


def test_a_page_says_why(browser: Browser, report: Path) -> None:
    with watched(browser) as view:
        text = view.open(sample(report, "d0/4")).locator("main").inner_text()
        assert "Pass 2 won: it passed the check of psp, which pass 1 did not" in text
        assert "Never shown to the model" in text
        assert "the same reply" not in text
        assert view.page.locator("ins").count() > 2
        assert view.page.locator(".cell.chosen").count() == 7  # five of pass 2, and two that it kept from pass 1
        assert text.count("kept in selected pass 2") == 2
        view.page.locator(".cell.kept.chosen a").first.click()
        view.page.wait_for_url("**#stage-1-pass-1")
        assert "by caef, which sees dialogue, keyframes and evidence" in text
        assert text.index("That must hurt.") < text.index("The human’s reply") < text.index("Dialogue")
        assert view.page.locator(".chip.conflict").count() == 2
        assert "same reply" in view.page.locator("details.unfold").first.text_content()  # type: ignore[operator]
        failed = view.open(sample(report, "d1/5")).locator("main").inner_text()
        assert "Failed: truncated" in failed
        assert "give the stage more tokens" in failed
        assert "Not reached." in failed
        assert HISTORY[0][1] in failed


def test_on_paper_folds_that_matter_are_open_and_ways_are_gone(browser: Browser, report: Path) -> None:
    with watched(browser) as view:
        page = view.open(sample(report, "d0/4"))
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        assert page.locator("details.unfold .exemplar").first.is_visible()
        assert not page.locator("nav.ways").is_visible()
        assert not page.locator("details.call").first.is_visible()

"""The page of a sample in a real browser: all that can be done with it works, and without scripts all can be read."""

from pathlib import Path

from playwright.sync_api import Browser

from mmerg.reporting.render import file_name
from tests.reporting.parts import HISTORY, USUAL
from tests.reporting.watched import watched


def sample(report: Path, id: str) -> Path:
    return report / "samples" / file_name(id)


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
        page.locator("[data-cites='frame-2']").first.hover()
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
        assert {"1.00 s", "clip_2.mp4"} <= set(dialog.inner_text().replace(" · ", "\n").split("\n"))
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
        page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }")
        drawer.locator(".copy").first.click()
        page.get_by_role("button", name="Selected").wait_for()  # what cannot be copied
        assert page.evaluate("getSelection().toString()")
        assert drawer.get_by_role("meter").count() == 3
        page.keyboard.press("Escape")
        assert not drawer.is_visible()
        page.locator("#call-3 summary").click()
        assert drawer.locator("h3").inner_text().startswith("Call 3")
        view.check()


def test_a_page_says_why(browser: Browser, report: Path) -> None:
    with watched(browser) as view:
        page = view.open(sample(report, "d0/4"))
        text = page.locator("main").inner_text()
        assert "Pass 2 won: it passed the check of psp, which pass 1 did not" in text
        assert "Never shown to the model" in text
        assert "the same reply" not in text
        assert page.locator("ins").count() > 2
        assert page.locator(".cell.chosen").count() == 7  # five of pass 2, and two that it kept from pass 1
        assert text.count("kept in selected pass 2") == 2
        page.locator(".cell.kept.chosen a").first.click()
        page.wait_for_url("**#stage-1-pass-1")
        assert "by caef" in text
        assert text.index("That must hurt.") < text.index("The human’s reply") < text.index("Dialogue")
        assert page.locator(".chip.conflict").count() == 2
        assert "same reply" in page.locator("details.unfold").first.text_content()  # type: ignore[operator]
        page.evaluate("dispatchEvent(new Event('beforeprint'))")  # on paper folds that matter are open
        page.emulate_media(media="print")
        assert page.locator("details.unfold .exemplar").first.is_visible()
        assert not page.locator("nav.ways").is_visible()
        assert not page.locator("details.call").first.is_visible()
        page.emulate_media(media="screen")
        failed = view.open(sample(report, "d1/5")).locator("main").inner_text()
        for words in ("Failed: truncated", "give the stage more tokens", "Not reached.", HISTORY[0][1]):
            assert words in failed

"""The page of a sample in a real browser, with scripts and without."""

from pathlib import Path

from playwright.sync_api import Browser

from mmerg.reporting.render import file_name
from tests.reporting.parts import HISTORY, USUAL
from tests.reporting.watched import watched


def sample(report: Path, id: str) -> Path:
    return report / "samples" / file_name(id)


def test_everything_can_be_read_without_scripts(browser: Browser, report: Path) -> None:
    with watched(browser, java_script_enabled=False) as view:
        view.page.goto((report / "samples.html").as_uri())
        assert view.page.locator("#samples tbody tr:visible").count() == len(USUAL)
        assert not view.page.locator("form").is_visible()
        view.page.goto(sample(report, "d0/4").as_uri())
        view.page.locator("details.call summary").first.click()
        assert view.page.locator("details.call pre").first.is_visible()
        view.page.locator(".keyframe a").first.click()
        view.page.wait_for_url("**/*.jpg")


def test_a_page_shows_passes_with_their_reasons_and_changes(browser: Browser, report: Path) -> None:
    with watched(browser) as view:
        page = view.open(sample(report, "d0/4"), "#call-2")
        assert page.locator("#call-2 pre").first.is_visible()
        assert not page.locator("#call-3 pre").first.is_visible()
        text = page.locator("main").inner_text()
        assert "Pass 2 won: it passed the check of psp, which pass 1 did not" in text
        assert "Never shown to the model" in text
        assert "the same reply" not in text
        assert page.locator("ins").count() > 2
        assert page.locator(".cell.selected").count() == 7  # five of pass 2, and two that it kept from pass 1
        assert text.count("kept in selected pass 2") == 2
        assert "by caef" in text
        assert text.index("That must hurt.") < text.index("The human’s reply") < text.index("Dialogue")
        assert page.locator(".chip.conflict").count() == 2
        assert "same reply" in page.locator("details.print-open").first.text_content()  # type: ignore[operator]
        for link, target in ((".cell.kept.selected a", "stage-1-pass-1"), (".citation[href='#turn-3']", "turn-3")):
            page.locator(link).first.click()
            page.wait_for_url(f"**#{target}")
        evidence = page.locator("li", has=page.locator(".citation[href='#frame-2']")).first
        small = page.locator("#frame-2").bounding_box()
        evidence.hover()
        for highlighted in (evidence, page.locator("#frame-2")):
            assert "highlighted" in (highlighted.get_attribute("class") or "")
        evidence.locator(".citation").click()
        large = page.locator("#frame-2").bounding_box()
        assert small
        assert large
        assert large["width"] > 1.5 * small["width"]
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        assert page.locator("details.print-open .exemplars li").first.is_visible()
        assert not page.locator("nav.sample-nav").is_visible()
        page.emulate_media(media="screen")
        page.locator("body").press("ArrowRight")
        page.wait_for_url(sample(report, USUAL[1].id).as_uri())
        page.locator("body").press("ArrowLeft")
        page.wait_for_url(sample(report, USUAL[0].id).as_uri())
        failed = view.open(sample(report, "d1/5")).locator("main").inner_text()
        for words in ("Failed: truncated", "give the stage more tokens", "Not reached.", HISTORY[0][1]):
            assert words in failed

"""Every page from disk in a real browser: nothing is asked of a network, and all that can be done with it works."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from mmerg.reporting.text import file_name
from mmerg.reporting.write import write_report
from tests.reporting.conftest import say_nothing
from tests.reporting.parts import HISTORY, USUAL
from tests.reporting.watched import watched
from tests.scoring.run_builder import build_run, result

WIDTHS = (1280, 390)


def sample(report: Path, id: str) -> Path:
    return report / "samples" / file_name(id)


def shown(page: Page) -> list[str]:
    return page.locator("#samples tbody tr:visible th").all_inner_texts()


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


def test_the_table_is_searched_and_filtered_and_the_address_says_so(browser: Browser, report: Path) -> None:
    with watched(browser) as view:
        page = view.open(report / "samples.html")
        assert len(shown(page)) == len(USUAL)
        page.get_by_label("Search").fill("D1/ CUT")
        page.wait_for_url(lambda url: url.endswith("#q=D1%2F+CUT"))
        assert shown(page) == ["d1/5"]
        assert page.locator("output").inner_text() == f"1 of {len(USUAL)}"
        page.get_by_role("button", name="Clear").click()
        page.wait_for_url(lambda url: "#" not in url)
        page.get_by_label("Outcome").select_option("failed")
        page.get_by_label("Passes").select_option("1")
        page.wait_for_url(lambda url: "passes" in url)
        found = shown(page)
        page.reload()
        assert shown(page) == found
        page = view.open(report / "index.html")
        page.get_by_role("link", name="schema_invalid").click()
        page.wait_for_url("**/samples.html#*")
        assert shown(page) == ["d3/1"]
        page = view.open(report / "samples.html", "#blamed=caef&q=d0")
        assert shown(page) == ["d0/5"]
        page.goto((report / "samples.html").as_uri() + "#wrong=1")
        page.get_by_text(f"1 of {len(USUAL)}", exact=True).wait_for()
        assert shown(page) == ["d0/5"]
        page.get_by_label("Search").fill("nobody says this")
        page.get_by_text("No sample is like that.").wait_for()
        view.check()


def test_the_table_is_sorted_by_any_column_both_ways(browser: Browser, report: Path) -> None:
    with watched(browser) as view:
        page = view.open(report / "samples.html")
        head = page.get_by_role("columnheader", name="passes")
        button = head.get_by_role("button")
        button.click()
        assert head.get_attribute("aria-sort") == "ascending"
        button.click()
        assert head.get_attribute("aria-sort") == "descending"
        counts = [int(text) for text in page.locator("#samples tbody td:nth-child(6)").all_inner_texts()]
        assert counts == sorted(counts, reverse=True)
        assert page.locator("th[aria-sort]").count() == 1
        first = shown(page)
        page.reload()
        assert shown(page) == first
        page.get_by_role("button", name="#").click()
        assert shown(page) == [told.id for told in USUAL]
        assert page.url.endswith("samples.html")


def test_a_long_table_shows_more_when_asked_and_filters_all_of_it(browser: Browser, tmp_path: Path) -> None:
    results = [result(f"d{number}/2", f"Reply {number}.", selected_pass=number % 2) for number in range(450)]
    run = build_run(tmp_path / "run", results)
    write_report([run], run / "report", faces="keep", say=say_nothing)
    with watched(browser) as view:
        page = view.open(run / "report" / "samples.html")
        assert page.locator("output").inner_text() == "450 of 450"
        assert page.locator("#samples tbody tr:visible").count() == 200
        more = page.get_by_role("button", name="Show more")
        more.click()
        assert page.locator("#samples tbody tr:visible").count() == 400
        page.locator("#samples tbody tr:visible th a").last.focus()
        page.keyboard.press("j")
        assert page.locator("#samples tbody tr:visible").count() == 450
        assert not more.is_visible()
        assert page.evaluate("document.activeElement.textContent") == "d400/2"
        page.get_by_label("Search").fill("reply 449.")
        page.wait_for_url(lambda url: "#" in url)
        assert shown(page) == ["d449/2"]
        view.check()


def test_without_scripts_all_is_there_to_read(browser: Browser, report: Path) -> None:
    with watched(browser, java_script_enabled=False) as view:
        view.page.goto((report / "samples.html").as_uri())
        assert len(shown(view.page)) == len(USUAL)
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


def test_keys_lead_from_sample_to_sample(browser: Browser, report: Path) -> None:
    ids = [told.id for told in USUAL]
    with watched(browser) as view:
        page = view.open(sample(report, ids[0]))
        for key, wanted in (("j", ids[1]), ("k", ids[0]), ("f", "d1/5"), ("f", "d3/1")):
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
        assert page.evaluate("document.activeElement.textContent") == ids[1]
        page.keyboard.press("/")
        page.keyboard.type("d1/j")
        assert page.get_by_label("Search").input_value() == "d1/j"
        view.check()


def test_keys_are_listed_and_can_be_switched_off(browser: Browser, report: Path) -> None:
    with watched(browser) as view:
        page = view.open(sample(report, "d0/4"))
        page.keyboard.press("?")
        assert page.get_by_role("dialog", name="Keys").is_visible()
        page.get_by_label("Keys are on").uncheck()
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.reload()
        page.keyboard.press("j")
        assert page.url == sample(report, "d0/4").as_uri()
        page.get_by_role("button", name="Keys").click()
        page.get_by_label("Keys are on").check()
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.wait_for_url(sample(report, "d0/5").as_uri())


def test_a_slash_leads_from_a_sample_to_the_search(browser: Browser, report: Path) -> None:
    with watched(browser) as view:
        page = view.open(sample(report, "d0/4"))
        page.keyboard.press("/")
        page.wait_for_url("**/samples.html?find")
        assert page.evaluate("document.activeElement.name") == "q"


def test_a_link_to_a_folded_call_opens_it(browser: Browser, report: Path) -> None:
    with watched(browser) as view:
        page = view.open(sample(report, "d0/4"), "#call-2")
        assert page.locator("#call-2").get_attribute("open") is not None
        assert page.locator("#call-1").get_attribute("open") is None
        page.locator("#call-2 a[href='#call-1']").first.click()
        page.locator("#call-1[open]").wait_for()


def test_a_page_says_why(browser: Browser, report: Path) -> None:
    with watched(browser) as view:
        text = view.open(sample(report, "d0/4")).locator("main").inner_text()
        assert "Pass 2 won: (1, 1, 1, 1, −2) beats (1, 1, 0, 1, −1) of pass 1 at the check of psp" in text
        assert "Never shown to the model" in text
        assert "the same reply" not in text
        assert view.page.locator("ins").count() > 2
        assert view.page.locator(".cell.chosen").count() == 5
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


def test_two_runs_side_by_side(browser: Browser, two_runs: Path) -> None:
    with watched(browser) as view:
        for file in sorted(two_runs.rglob("*.html")):
            view.open(file)
        page = view.open(two_runs / "index.html")
        assert "demo-merg-tiny-2 less demo-merg-tiny-1" in page.locator("main").inner_text()
        row = page.get_by_role("row", name="acc ").last
        assert "6" in row.inner_text()
        page.get_by_role("link", name="demo-merg-tiny-1").click()
        page.get_by_role("link", name="Samples").click()
        page.get_by_role("link", name="d0/5").click()
        page.get_by_role("link", name="In demo-merg-tiny-2").click()
        page.wait_for_url((two_runs / "run-2" / "samples" / file_name("d0/5")).as_uri())
        assert view.open(two_runs / "run-1" / "samples" / file_name("d3/1")).get_by_text("In demo").count() == 0
        view.check()

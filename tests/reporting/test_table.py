"""The tables of samples in a real browser: search, filters, order and layout."""

import shutil
from collections import Counter
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from mmerg.reporting.render import file_name
from tests.reporting.parts import USUAL
from tests.reporting.watched import watched

HEADS = ["#", "sample", "outcome", "emotion", "blamed", "passes", "last turn, and the reply"]


def shown(page: Page) -> list[str]:
    return page.locator("#samples tbody tr:visible th").all_inner_texts()


def test_search_filters_and_order_are_in_the_address(browser: Browser, report: Path) -> None:
    with watched(browser) as view:
        page = view.open(report / "samples.html")
        assert len(shown(page)) == len(USUAL)
        page.get_by_label("Search").fill("D1/ CUT")
        page.wait_for_url(lambda url: url.endswith("#q=D1%2F+CUT"))
        assert shown(page) == ["d1/5"]
        assert page.locator("output").inner_text() == f"1 of {len(USUAL)}"
        page.get_by_role("button", name="Clear").click()
        page.wait_for_url(lambda url: "#" not in url)
        offered = page.get_by_label("Failure").locator("option").evaluate_all("all => all.map((one) => one.label)")
        counts = Counter(str(spec.failure) for spec in USUAL if spec.failure)
        assert offered == ["any or none", *(f"{name} ({count})" for name, count in sorted(counts.items()))]
        page.get_by_label("Failure").select_option("schema_invalid")
        page.get_by_label("Passes").select_option("0")
        page.wait_for_url(lambda url: "failure=schema_invalid&passes=0" in url)
        assert shown(page) == ["d3/1"]
        page.reload()
        assert shown(page) == ["d3/1"]
        page.get_by_role("button", name="Clear").click()
        page.get_by_label("completion rejected").check()
        page.wait_for_url(lambda url: url.endswith("#rejected=1"))
        assert shown(page) == [spec.id for spec in USUAL if spec.mended or spec.failure]
        page.get_by_label("Search").fill("nobody says this")
        page.get_by_text("No sample matches.").wait_for()
        assert not page.locator("#samples").is_visible()
        for fragment, ids in (("#blamed=caef&q=d0", ["d0/5"]), ("#wrong=1", ["d0/5"])):
            page.goto("about:blank")
            assert shown(view.open(report / "samples.html", fragment)) == ids
        page = view.open(report / "index.html")
        page.get_by_role("link", name="schema_invalid", exact=True).click()
        page.wait_for_url("**/samples.html#*")
        assert shown(page) == ["d3/1"]
        page.get_by_role("button", name="Clear").click()
        head = page.get_by_role("columnheader", name="passes")
        for direction in ("ascending", "descending"):
            head.get_by_role("button").click()
            assert head.get_attribute("aria-sort") == direction
        counts_shown = [int(text) for text in page.locator("#samples td.passes").all_inner_texts()]
        assert counts_shown == sorted(counts_shown, reverse=True)
        page.wait_for_url("**#sort=-passes")
        page.goto("about:blank")
        view.open(report / "samples.html", "#sort=-blamed")  # samples without a value come last in both directions
        names = page.locator("#samples td.blamed").all_inner_texts()
        named = [name for name in names if name]
        assert names == [*sorted(named, reverse=True), *[""] * (len(names) - len(named))]
        view.check()


@pytest.mark.parametrize(("width", "scripts"), [(1280, True), (390, True), (390, False)])
def test_every_width_has_every_column_and_a_table_for_screen_readers(
    browser: Browser, report: Path, width: int, scripts: bool
) -> None:
    """Some browsers drop the roles of a table that the style sheet lays out as blocks."""
    with watched(browser, width=width, java_script_enabled=scripts) as view:
        page = view.page
        page.goto((report / "samples.html").as_uri())
        boxes = page.locator("#samples tbody :is(th, td):not(:empty)").evaluate_all(
            """(cells) => cells.map((cell) => {
              const { left, right, width, height } = cell.getBoundingClientRect();
              return [cell.textContent, left, right, Math.min(width, height)];
            })"""
        )
        assert len(boxes) > 5 * len(USUAL)
        assert [box for box in boxes if box[0].strip() and not (0 <= box[1] <= box[2] <= width and box[3] > 8)] == []
        nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
        roles = Counter(node["role"]["value"] for node in nodes if not node["ignored"])
        assert (roles["table"], roles["columnheader"]) == (1, len(HEADS))
        assert (roles["row"], roles["rowheader"]) == (1 + len(USUAL), len(USUAL))
        assert roles["cell"] == (len(HEADS) - 1) * len(USUAL)
        if scripts:
            for name in HEADS:
                assert page.get_by_role("columnheader", name=name, exact=True).get_by_role("button").is_visible()


def test_more_rows_are_shown_on_request_and_all_are_printed(browser: Browser, report: Path, tmp_path: Path) -> None:
    page_file = shutil.copytree(report, tmp_path / "report") / "samples.html"
    page_file.write_text(page_file.read_text().replace('data-page-size="200"', 'data-page-size="2"'))
    with watched(browser) as view:
        page = view.open(page_file)
        assert len(shown(page)) == 2
        page.get_by_role("button", name=f"Show more: 2 of {len(USUAL)} are shown").click()
        assert len(shown(page)) == 4
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        assert len(shown(page)) == len(USUAL)
        assert not page.get_by_label("Outcome").is_visible()
        page.get_by_label("Failure").evaluate("field => { field.value = 'schema_invalid' }")
        assert page.get_by_label("Failure").is_visible()


def test_several_runs_are_compared_as_a_whole_and_by_sample(browser: Browser, two_runs: Path) -> None:
    with watched(browser, width=390) as view:
        page = view.open(two_runs / "index.html")
        assert page.locator("main h2").all_inner_texts() == [
            *("How the runs differ", "Outcomes of the samples", "Metrics", "Paired differences")
        ]
        settings = page.get_by_role("group", name="How the runs differ").get_by_role("row").all_inner_texts()
        assert [row.split() for row in settings[1:]] == [["seed", "0", "7"]]
        scores = page.get_by_role("group", name="Metrics").get_by_role("row", name="acc ", exact=False).first
        assert "n=" in scores.inner_text()
        assert "demo-merg-tiny-2 minus demo-merg-tiny-1" in page.locator("main").inner_text()
        row = page.get_by_role("group", name="Differences with").get_by_role("row", name="passes").inner_text()
        assert "\u22121.00" in row  # 2 passes in the first run, 1 in the second, over the five samples of both
        page.get_by_role("link", name="worse in 3").click()
        rows = page.locator("#samples tbody tr:visible")
        expect(rows.locator("th")).to_have_text(["d0/4", "d1/4", "d2/5"])
        assert "That must hurt." in rows.first.inner_text()
        assert "That is fine then" in rows.first.inner_text()
        page.get_by_label("worse").uncheck()
        page.get_by_label("changed").check()
        expect(rows).to_have_count(5)
        page.locator("#samples td.text a").nth(1).click()
        page.wait_for_url((two_runs / "run-2" / "samples" / file_name("d0/4")).as_uri())
        page.get_by_role("link", name="In demo-merg-tiny-1").click()
        page.wait_for_url((two_runs / "run-1" / "samples" / file_name("d0/4")).as_uri())
        assert view.open(two_runs / "run-1" / "samples" / file_name("d3/1")).get_by_text("In demo").count() == 0
        view.check()

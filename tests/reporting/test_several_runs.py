"""The pages of several runs in a real browser: settings, scores, paired differences, and the way from run to run."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from mmerg.reporting.render import file_name
from tests.reporting.watched import watched


def test_it_says_first_how_the_runs_differ_and_then_by_how_much(browser: Browser, two_runs: Path) -> None:
    with watched(browser) as view:
        page = view.open(two_runs / "index.html")
        assert page.locator("main h2").all_inner_texts() == [
            *("How the runs differ", "Outcomes of the samples", "Metrics", "Paired differences")
        ]
        settings = page.get_by_role("group", name="How the runs differ").get_by_role("row").all_inner_texts()
        assert [row.split() for row in settings[1:]] == [["seed", "0", "7"]]
        scores = page.get_by_role("group", name="Metrics").get_by_role("row", name="acc ", exact=False).first
        assert "n=" in scores.inner_text()
        assert "demo-merg-tiny-2 minus demo-merg-tiny-1" in page.locator("main").inner_text()
        differences = page.get_by_role("group", name="Differences with demo-merg-tiny-2")
        row = differences.get_by_role("row", name="passes").inner_text().split()
        assert row[1] != row[2]
        assert row[3] == "\u22121.00"  # 2 passes in the first run, 1 in the second, over the five samples of both
        assert page.locator("img").count() == 2  # scores, and differences from the first run
        assert page.locator("img").first.evaluate("(image) => image.complete && image.naturalWidth > 0")
        page.get_by_role("link", name="demo-merg-tiny-1").click()
        page.get_by_role("link", name="Samples", exact=True).click()
        page.get_by_role("link", name="d0/5").click()
        page.get_by_role("link", name="In demo-merg-tiny-2").click()
        page.wait_for_url((two_runs / "run-2" / "samples" / file_name("d0/5")).as_uri())
        assert view.open(two_runs / "run-1" / "samples" / file_name("d3/1")).get_by_text("In demo").count() == 0
        view.check()


@pytest.mark.parametrize("width", [1280, 390])
def test_runs_sample_by_sample(browser: Browser, two_runs: Path, width: int) -> None:
    with watched(browser, width=width) as view:
        page = view.open(two_runs / "index.html")
        page.get_by_role("link", name="worse in 3").click()
        rows = page.locator("#samples tbody tr:visible")
        expect(rows.locator("th")).to_have_text(["d0/4", "d1/4", "d2/5"])
        assert "That must hurt." in rows.first.inner_text()
        assert "That is fine then" in rows.first.inner_text()
        page.get_by_label("worse").uncheck()
        page.get_by_label("changed").check()
        expect(rows).to_have_count(5)
        page.get_by_label("better").check()
        page.get_by_text("No sample matches.").wait_for()
        page.get_by_role("button", name="Clear").click()
        assert page.locator("#samples tbody tr").count() == 7
        page.locator("#samples td.text a").nth(1).click()
        page.wait_for_url((two_runs / "run-2" / "samples" / file_name("d0/4")).as_uri())
        view.check()

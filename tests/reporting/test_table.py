"""The table of samples in a real browser: searched, filtered and sorted, at a desk, on a phone, on paper, by who
listens, and by who has only keys."""

from collections import Counter
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.reporting.parts import USUAL
from tests.reporting.watched import watched

WIDTHS = (1280, 820, 390)
HEADS = ["#", "sample", "outcome", "emotion", "blamed", "passes", "last turn, and the reply"]


def shown(page: Page) -> list[str]:
    return page.locator("#samples tbody tr:visible th").all_inner_texts()


def visible(page: Page) -> int:
    return page.locator("#samples tbody tr:visible").count()


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
        failures = page.get_by_label("Failure")
        offered = failures.locator("option").evaluate_all("all => all.map((one) => one.label)")
        counts = Counter(str(told.failure) for told in USUAL if told.failure)
        assert offered == ["any or none", *(f"{name} ({count})" for name, count in sorted(counts.items()))]
        failures.select_option("schema_invalid")
        page.get_by_label("Passes").select_option("0")
        page.wait_for_url(lambda url: "failure=schema_invalid&passes=0" in url)
        assert shown(page) == ["d3/1"]
        page.reload()
        assert shown(page) == ["d3/1"]
        page.get_by_role("button", name="Clear").click()
        page.get_by_label("reply repaired").check()
        page.wait_for_url(lambda url: url.endswith("#repaired=1"))
        assert shown(page) == [told.id for told in USUAL if told.mended]
        page.reload()
        assert page.get_by_label("reply repaired").is_checked()
        for fragment, ids in (("#blamed=caef&q=d0", ["d0/5"]), ("#wrong=1", ["d0/5"])):
            page.goto("about:blank")
            assert shown(view.open(report / "samples.html", fragment)) == ids
        page.get_by_label("Search").fill("nobody says this")
        page.get_by_text("No sample matches.").wait_for()
        assert not page.locator("#samples").is_visible()
        for name, ids in (("schema_invalid", ["d3/1"]), ("1 sample", ["d1/4"])):  # the overview leads to what it counts
            page = view.open(report / "index.html")
            page.get_by_role("link", name=name, exact=True).click()
            page.wait_for_url("**/samples.html#*")
            assert shown(page) == ids
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
        assert page.get_by_role("status").filter(has_text="sorted by passes, descending").count() == 1
        counts = [int(text) for text in page.locator("#samples td.passes").all_inner_texts()]
        assert counts == sorted(counts, reverse=True)
        assert page.locator("th[aria-sort]").count() == 1
        first = shown(page)
        assert page.url.endswith("#sort=-passes")
        page.reload()
        assert shown(page) == first
        page.get_by_role("button", name="#").click()
        assert shown(page) == [told.id for told in USUAL]
        assert page.url.endswith("samples.html")
        for fragment in ("#sort=blamed", "#sort=-blamed"):  # samples without a value are last whichever way
            page.goto("about:blank")
            view.open(report / "samples.html", fragment)
            names = page.locator("#samples td.blamed").all_inner_texts()
            named = [name for name in names if name]
            assert names == [*named, *[""] * (len(names) - len(named))]
            assert named == sorted(named, reverse="-" in fragment)


@pytest.mark.parametrize("scripts", [True, False])
def test_every_width_has_every_column_and_a_table_for_who_listens(
    browser: Browser, report: Path, scripts: bool
) -> None:
    with watched(browser, java_script_enabled=scripts) as view:
        page = view.page
        page.goto((report / "samples.html").as_uri())
        client = page.context.new_cdp_session(page)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            boxes = page.locator("#samples tbody :is(th, td):not(:empty)").evaluate_all(
                """(cells) => cells.map((cell) => {
                  const { left, right, width, height } = cell.getBoundingClientRect();
                  return [cell.textContent, left, right, Math.min(width, height)];
                })"""
            )
            assert len(boxes) > 5 * len(USUAL)
            wrong = [box for box in boxes if box[0].strip() and not (0 <= box[1] <= box[2] <= width and box[3] > 8)]
            assert wrong == []
            nodes = client.send("Accessibility.getFullAXTree")["nodes"]
            roles = Counter(node["role"]["value"] for node in nodes if not node["ignored"])
            assert (roles["table"], roles["columnheader"]) == (1, len(HEADS))
            assert (roles["row"], roles["rowheader"]) == (1 + len(USUAL), len(USUAL))
            assert roles["cell"] == (len(HEADS) - 1) * len(USUAL)
            if not scripts:
                continue
            for name in HEADS:
                assert page.get_by_role("columnheader", name=name, exact=True).get_by_role("button").is_visible()
            sizes = page.locator("button:visible, select:visible, input:visible, #samples a:visible").evaluate_all(
                """(all) => all.map((one) => {
                  const box = (one.type === "checkbox" ? one.closest("label") : one).getBoundingClientRect();
                  return [one.outerHTML, Math.min(box.width, box.height)];
                })"""
            )
            assert len(sizes) > len(HEADS) + len(USUAL)
            assert [size for size in sizes if size[1] < 24] == []  # what is pressed is large enough

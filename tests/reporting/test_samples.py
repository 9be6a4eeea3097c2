"""The table of samples in a real browser: searched, filtered and sorted, at a desk, on a phone and on paper."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from mmerg.reporting.write import write_report
from tests.reporting.conftest import MANY, say_nothing
from tests.reporting.parts import HISTORY, USUAL, Told, build
from tests.reporting.watched import watched
from tests.scoring.run_builder import build_run, result

WIDTHS = (1280, 820, 390)
HEADS = ["#", "sample", "outcome", "emotion", "blamed", "passes", "last turn, and the reply"]


def shown(page: Page) -> list[str]:
    return page.locator("#samples tbody tr:visible th").all_inner_texts()


def visible(page: Page) -> int:
    return page.locator("#samples tbody tr:visible").count()


def asks(words: str) -> Callable[[str], bool]:
    """Whether an address does."""
    return lambda url: words in url


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
        page.wait_for_url(asks("passes"))
        found = shown(page)
        page.reload()
        assert shown(page) == found
        page = view.open(report / "samples.html", "#blamed=caef&q=d0")
        assert shown(page) == ["d0/5"]
        page.goto((report / "samples.html").as_uri() + "#wrong=1")
        page.get_by_text(f"1 of {len(USUAL)}", exact=True).wait_for()
        assert shown(page) == ["d0/5"]
        page.get_by_label("Search").fill("nobody says this")
        page.get_by_text("No sample is like that.").wait_for()
        assert not page.locator("#samples").is_visible()
        view.check()


def test_samples_are_found_by_how_they_failed_and_by_replies_that_were_mended(browser: Browser, report: Path) -> None:
    with watched(browser) as view:
        page = view.open(report / "samples.html")
        failures = page.get_by_label("Failure")
        offered = failures.locator("option").evaluate_all("all => all.map((one) => one.label)")
        counts = Counter(str(told.failure) for told in USUAL if told.failure)
        assert offered == ["any or none", *(f"{name} ({count})" for name, count in sorted(counts.items()))]
        failures.select_option("schema_invalid")
        page.wait_for_url(lambda url: url.endswith("#failure=schema_invalid"))
        assert shown(page) == ["d3/1"]
        page.reload()
        assert shown(page) == ["d3/1"]
        page.get_by_role("button", name="Clear").click()
        page.get_by_label("reply repaired").check()
        page.wait_for_url(lambda url: url.endswith("#repaired=1"))
        assert shown(page) == [told.id for told in USUAL if told.mended]
        page.reload()
        assert page.get_by_label("reply repaired").is_checked()
        view.check()


def test_the_overview_leads_to_the_samples_it_counts(browser: Browser, report: Path) -> None:
    with watched(browser) as view:
        for name, ids in (("schema_invalid", ["d3/1"]), ("1 sample", ["d1/4"])):
            page = view.open(report / "index.html")
            page.get_by_role("link", name=name, exact=True).click()
            page.wait_for_url("**/samples.html#*")
            assert shown(page) == ids
        view.check()


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table in which every word of interest is in one place only."""
    folder = tmp_path_factory.mktemp("found")
    last = ("Ana", f"a heron {'and so on ' * 40} with a curlew")
    results = [
        result("dia0/heading", "A plain reply.", "sadness", gold="joy"),
        result("dia1/2", f"A reply {'and so on ' * 40} to the end: gannet", "surprise", gold="surprise"),
        result(
            "dia2/2", None, failure="thinking_exhausted", failure_text="all 300 tokens went into thinking", gold="fear"
        ),
        result("dia3/2", "A plain reply."),
    ]
    run = build_run(folder / "run", results, history={"dia3/2": (*HISTORY, last)})
    write_report([run], folder / "report", faces="keep", say=say_nothing)
    return folder / "report" / "samples.html"


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ("DIA1", ["dia1/2"]),  # the id
        ("heron", ["dia3/2"]),  # the last turn
        ("curlew heron", ["dia3/2"]),  # what of it is not shown
        ("gannet", ["dia1/2"]),  # the same of a reply
        ("surprise", ["dia1/2"]),  # the forecast
        ("joy", ["dia0/heading"]),  # the data's label
        ("fear", ["dia2/2"]),  # the same where there is no forecast
        ("thinking_exhausted", ["dia2/2"]),  # the class of the failure
        ("300 tokens", ["dia2/2"]),  # its words
        ("not", []),  # the page's own words are none of the samples'
        ("gold", []),
    ],
)
def test_the_search_looks_where_it_says(browser: Browser, found: Path, words: str, ids: list[str]) -> None:
    with watched(browser) as view:
        page = view.open(found)
        page.get_by_label("Search").fill(words)
        page.wait_for_url(asks("#q="))
        assert shown(page) == ids
        view.check()


def test_an_address_that_asks_for_what_is_not_there_shows_all(browser: Browser, report: Path) -> None:
    with watched(browser) as view:
        page = view.open(report / "samples.html", "#failure=oom&sort=colour&blamed=nobody&repaired=7&x=1")
        assert shown(page) == [told.id for told in USUAL]
        page = view.open(report / "samples.html", "#q=%")
        assert page.get_by_label("Search").input_value() == "%"
        view.check()


def test_the_way_past_the_filters_leaves_them_as_they_are(browser: Browser, report: Path) -> None:
    with watched(browser) as view:
        page = view.open(report / "samples.html", "#outcome=failed")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        assert page.url.endswith("#outcome=failed")
        assert shown(page) == [told.id for told in USUAL if told.failure]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_table_is_sorted_by_any_column_both_ways(browser: Browser, report: Path, width: int) -> None:
    with watched(browser, width=width) as view:
        page = view.open(report / "samples.html")
        for name in HEADS:
            assert page.get_by_role("columnheader", name=name, exact=True).get_by_role("button").is_visible()
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


def test_samples_without_a_value_are_last_whichever_way(browser: Browser, report: Path) -> None:
    with watched(browser) as view:
        page = view.open(report / "samples.html")
        for fragment in ("#sort=blamed", "#sort=-blamed"):
            page.goto((report / "samples.html").as_uri() + fragment)
            page.locator("th[data-by='blamed'][aria-sort]").wait_for()
            names = page.locator("#samples td.blamed").all_inner_texts()
            named = [name for name in names if name]
            assert names == [*named, *[""] * (len(names) - len(named))]
            assert named == sorted(named, reverse="-" in fragment)
            page.goto("about:blank")


def test_a_long_table_shows_more_when_asked_and_filters_all_of_it(browser: Browser, many: Path) -> None:
    with watched(browser) as view:
        page = view.open(many)
        assert page.locator("output").inner_text() == f"{MANY} of {MANY}"
        assert visible(page) == 200
        more = page.get_by_role("button", name="Show more")
        more.click()
        assert visible(page) == 400
        assert page.evaluate("document.activeElement.textContent") == "d200/2"
        page.locator("#samples tbody tr:visible th a").last.focus()
        page.keyboard.press("j")
        assert visible(page) == MANY
        assert not more.is_visible()
        assert page.evaluate("document.activeElement.textContent") == "d400/2"
        page.get_by_label("Search").fill("reply 449.")
        page.wait_for_url(asks("#"))
        assert shown(page) == ["d449/2"]
        view.check()


def test_a_table_of_nobody_has_no_rows(browser: Browser, tmp_path: Path) -> None:
    run = build(tmp_path / "run", list[Told]())
    write_report([run], run / "report", faces="keep", say=say_nothing)
    with watched(browser) as view:
        page = view.open(run / "report" / "samples.html")
        assert page.locator("output").inner_text() == "0 of 0"
        assert page.get_by_label("Failure").count() == 0
        assert page.get_by_role("checkbox").count() == 0


def test_a_name_breaks_where_it_may(browser: Browser, found: Path) -> None:
    """Between its words if it must, not within one."""
    with watched(browser) as view:
        page = view.open(found)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            lines = page.locator("#samples small bdi").evaluate(
                """(name) => {
                  const parts = Array.from(name.childNodes).filter((node) => node.nodeType === Node.TEXT_NODE);
                  return parts.map((part) => {
                    const range = document.createRange();
                    range.selectNodeContents(part);
                    return range.getClientRects().length;
                  });
                }"""
            )
            assert lines == [1, 1]  # each part stands on one line

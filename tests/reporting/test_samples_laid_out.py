"""The table of samples as it is laid out: on every width, for who listens, for who has only keys, and on paper."""

import shutil
from collections import Counter
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.reporting.conftest import MANY
from tests.reporting.parts import USUAL
from tests.reporting.test_samples import HEADS, WIDTHS, visible
from tests.reporting.watched import watched


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scripts", [True, False])
def test_every_width_has_every_column_and_a_table_for_who_listens(
    browser: Browser, report: Path, width: int, scripts: bool
) -> None:
    with watched(browser, width=width, java_script_enabled=scripts) as view:
        page = view.page
        page.goto((report / "samples.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        boxes = page.locator("#samples tbody :is(th, td):not(:empty)").evaluate_all(
            """(cells) => cells.map((cell) => {
              const { left, right, width, height } = cell.getBoundingClientRect();
              return [cell.textContent, left, right, Math.min(width, height)];
            })"""
        )
        assert len(boxes) > 5 * len(USUAL)
        assert [box for box in boxes if box[0].strip() and not (0 <= box[1] <= box[2] <= width and box[3] > 8)] == []
        client = page.context.new_cdp_session(page)
        nodes = client.send("Accessibility.getFullAXTree")["nodes"]
        roles = Counter(node["role"]["value"] for node in nodes if not node["ignored"])
        assert roles["table"] == 1
        assert roles["row"] == 1 + len(USUAL)
        assert roles["columnheader"] == len(HEADS)
        assert roles["rowheader"] == len(USUAL)
        assert roles["cell"] == (len(HEADS) - 1) * len(USUAL)


@pytest.mark.parametrize("width", WIDTHS)
def test_what_is_pressed_is_large_enough(browser: Browser, report: Path, width: int) -> None:
    with watched(browser, width=width) as view:
        page = view.open(report / "samples.html")
        sizes = page.locator("button:visible, select:visible, input:visible, #samples a:visible").evaluate_all(
            """(all) => all.map((one) => {
              const { width, height } = (one.type === "checkbox" ? one.closest("label") : one).getBoundingClientRect();
              return [one.outerHTML, Math.min(width, height)];
            })"""
        )
        assert len(sizes) > len(HEADS) + len(USUAL)
        assert [size for size in sizes if size[1] < 24] == []


@pytest.mark.parametrize("width", WIDTHS)
def test_what_has_the_focus_is_seen(browser: Browser, many: Path, width: int) -> None:
    """Also where the heads stay in view: they lie over no focused link, going down or up."""
    with watched(browser, width=width) as view:
        page = view.open(many)
        page.locator("#samples tbody tr:visible th a").nth(60).focus()
        for key in ["j"] * 6 + ["k"] * 24 + ["Shift+Tab"] * 8 + ["Tab"] * 16:
            page.keyboard.press(key)
            seen = page.evaluate(
                """() => {
                  const link = document.activeElement;
                  const box = link.getBoundingClientRect();
                  const seen = (y) => link.contains(document.elementFromPoint(box.left + box.width / 2, y));
                  return [link.tagName, getComputedStyle(link).outlineStyle, seen(box.top + 2), seen(box.bottom - 2)];
                }"""
            )
            assert seen == ["A", "solid", True, True], key


@pytest.mark.parametrize("width", [1280, 390])
def test_paper_has_all_that_fits_and_says_what_was_asked(browser: Browser, many: Path, width: int) -> None:
    with watched(browser, width=width) as view:
        page = view.open(many, "#q=reply&passes=1&sort=-sample")
        page.evaluate(
            """() => addEventListener("beforeprint", () => {
              window.__printed = document.querySelectorAll("#samples tbody tr:not([hidden])").length;
            })"""
        )
        page.pdf()
        assert page.evaluate("window.__printed") == MANY
        assert visible(page) == 200
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        assert visible(page) == MANY
        told = page.locator(".asked").inner_text()
        assert told == f"{MANY} of {MANY} samples of run; search “reply”; passes 1; sorted by sample, descending"
        for gone in ("header.site", "form.filters", "button.more"):
            assert not page.locator(gone).first.is_visible(), gone
        assert page.locator("#samples thead").inner_text().split("\t")[1].strip() == "sample"
        assert page.locator("#samples").evaluate("(table) => getComputedStyle(table).display") == "table"
        page.emulate_media(media="screen")
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert visible(page) == 200
        assert not page.locator(".asked").is_visible()
        view.check()


def test_where_the_script_does_not_load_every_row_is_there(browser: Browser, many: Path, tmp_path: Path) -> None:
    """As where only the page was passed on; and a script that breaks hides nothing either."""
    report = shutil.copytree(many.parent, tmp_path / "report")
    script = report / "assets" / "report.js"
    whole = script.read_text(encoding="utf-8")
    for text in (None, whole.replace("const step =", "const step = nothing;")):
        if text is None:
            script.unlink()
        else:
            script.write_text(text, encoding="utf-8")
        with watched(browser) as view:
            view.page.goto((report / many.name).as_uri())
            view.page.wait_for_load_state()
            assert visible(view.page) == MANY


@pytest.mark.parametrize("shown", [1, 7])
def test_a_page_says_itself_how_many_rows_are_shown_at_once(
    browser: Browser, many: Path, tmp_path: Path, shown: int
) -> None:
    report = shutil.copytree(many.parent, tmp_path / "report")
    page = (report / many.name).read_text(encoding="utf-8").replace('data-step="200"', f'data-step="{shown}"')
    (report / many.name).write_text(page, encoding="utf-8")
    with watched(browser) as view:
        view.open(report / many.name)
        assert visible(view.page) == shown
        view.page.locator("button.more").click()
        assert visible(view.page) == 2 * shown


def test_without_scripts_paper_and_screen_have_every_row(browser: Browser, many: Path) -> None:
    with watched(browser, java_script_enabled=False) as view:
        view.page.goto(many.as_uri())
        assert visible(view.page) == MANY
        view.page.emulate_media(media="print")
        assert view.page.locator(".asked").inner_text() == f"{MANY} samples of run"

"""Every kind of page in a real browser, from disk.

Pages fit a desktop and a phone, are accessible in light and dark colours, load nothing from a network, and show hostile
text as text.
"""

import re
from itertools import cycle
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page

from mmerg.reporting.render import file_name
from tests.reporting.axe import check_axe
from tests.reporting.conftest import LONG
from tests.reporting.parts import HOSTILE_IDS, USUAL
from tests.reporting.watched import watched

LOOKS: tuple[tuple[int, Literal["light", "dark"]], ...] = ((1280, "light"), (390, "dark"))
OPEN = "document.querySelectorAll('details:not(.call), #call-1').forEach((fold) => { fold.open = true; })"


def check_fit(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_links_lead_to_files_of_the_report(report: Path, two_runs: Path, long: Path) -> None:
    files = {root: sorted(root.rglob("*.html")) for root in (report, two_runs, long)}
    assert list(map(len, files.values())) == [len(USUAL) + 2, 2 * len(USUAL) + 5, len(LONG) + 2]
    for root, pages in files.items():
        for file in pages:
            text = file.read_text(encoding="utf-8")
            assert text.count("<h1") == text.count("<main") == 1
            links = re.findall(r'<(?:a|img)\b[^>]* (?:href|src)="([^"#?]+)', text)
            assert links
            wanted = [(file.parent / link).resolve() for link in links]
            assert not [link for link in wanted if not link.is_file() or not link.is_relative_to(root.resolve())]


@pytest.mark.slow
def test_every_kind_of_page_fits_and_is_accessible(browser: Browser, report: Path, two_runs: Path, long: Path) -> None:
    """Checks each page with axe in one of the two looks."""
    files = [report / "index.html", report / "samples.html", two_runs / "index.html"]
    files.append(report / "samples" / file_name("d0/4"))
    with watched(browser) as view:
        for file, (width, scheme) in zip(files, cycle((*LOOKS, *reversed(LOOKS))), strict=False):
            page = view.open(file)
            page.emulate_media(color_scheme=scheme)
            check_fit(page, next(other for other, _ in LOOKS if other != width))
            check_fit(page, width)
            page.evaluate(OPEN)
            check_axe(page)
        for spec in LONG:
            page = view.open(long / "samples" / file_name(spec.id))
            for width, _ in LOOKS:
                check_fit(page, width)
            assert page.locator(".turn").count() == len(spec.history)
            assert page.locator(".keyframe").count() == spec.frames
        call = page.locator(".cells-4 details.call").first
        call.locator("summary").click()
        for width, readable in ((390, 280), (1280, 600)):
            check_fit(page, width)
            box = call.locator("pre").first.bounding_box()
            assert box
            assert box["width"] > readable


@pytest.mark.slow
def test_hostile_text_neither_runs_nor_reorders(browser: Browser, hostile: Path) -> None:
    assert len(list(hostile.rglob("*.html"))) == len(HOSTILE_IDS) + 1 + 1 + 6
    samples = [hostile / "run-1" / "samples" / file_name(id) for id in (HOSTILE_IDS[0], "x" * 4000, "words")]
    tables = [hostile / folder / name for folder in ("", "run-1") for name in ("index.html", "samples.html")]
    with watched(browser, width=390) as view:
        for file in (*samples, *tables):
            page = view.open(file)
            check_fit(page, 390)
            found = page.eval_on_selector_all(
                "*", "all => all.flatMap((one) => one.getAttributeNames().filter((name) => name.startsWith('on')))"
            )
            assert found == []
            assert page.locator("script:not([src]), iframe, base, object, embed, [style], style").count() == 0
            assert page.locator("main img:not(.plot img, .keyframe img)").count() == 0
            assert set(page.eval_on_selector_all("a", "all => all.map((one) => one.protocol)")) == {"file:"}
            text = page.locator("body").inner_text()
            assert not set(text) & set("\x00\x1b\u202a\u202e\u2066")
        page = view.open(hostile / "index.html")
        settings = page.get_by_role("group", name="How the runs differ").inner_text()
        assert "<script>window.__pwned=1" in settings
        assert "\\u202e" in settings
        page = view.open(hostile / "run-1" / "samples.html")
        page.get_by_label("Search").fill("</script><!--\\u202e gnp.exe\\u202c \\u0000")
        page.wait_for_url(lambda url: "#" in url)
        assert page.locator("#samples tbody tr:visible").count() >= len(HOSTILE_IDS)
        page.locator("#samples tbody tr:visible a").nth(1).click()
        page.wait_for_url("**/samples/*.html")
        assert "javascript:window.__pwned=1" in page.locator("main").inner_text()
        assert "49" not in page.locator("main .quote").first.inner_text()
        view.check()

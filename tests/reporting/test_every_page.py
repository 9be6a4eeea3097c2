"""Every page from disk in a real browser: it fits a desk and a phone, is accessible in light and in dark, asks nothing
of a network, leads nowhere else, and what is hostile in transcripts, replies and names is text."""

import re
from itertools import cycle
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page

from mmerg.reporting.render import file_name
from tests.reporting.axe import check_axe
from tests.reporting.conftest import LONG
from tests.reporting.parts import HOSTILE_IDS, USUAL
from tests.reporting.watched import watched

LOOKS: tuple[tuple[int, Literal["light", "dark"]], ...] = ((1280, "light"), (390, "dark"))
OPEN = "document.querySelectorAll('details').forEach((fold) => { fold.open = true; })"


def check_fit(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_every_page_fits_is_accessible_and_leads_to_files(
    browser: Browser, report: Path, two_runs: Path, long: Path
) -> None:
    looked = {root / name: LOOKS for root in (report, two_runs) for name in ("index.html", "samples.html")}
    samples = [(report, id) for id in ("d0/4", "d1/5", "d2/5")] + [(long, told.id) for told in LONG]
    for (root, id), look in zip(samples, cycle(LOOKS), strict=False):  # large pages, a look each
        looked[root / "samples" / file_name(id)] = (look,)
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
    others = [two_runs / "run-1" / name for name in ("index.html", f"samples/{file_name('d0/4')}")]
    with watched(browser) as view:
        for file in dict.fromkeys((*files[report], *files[long], *others, *looked)):
            page = view.open(file)
            for width, scheme in LOOKS:
                page.emulate_media(color_scheme=scheme)
                check_fit(page, width)
                if (width, scheme) in looked.get(file, ()):
                    page.evaluate(OPEN)
                    check_axe(page)
        for told in LONG:
            page = view.open(long / "samples" / file_name(told.id))
            assert page.locator(".turn").count() == len(told.history)
            assert page.locator(".shot").count() == told.frames


def test_axe_finds_nothing_in_dialogs_filtered_tables_and_on_paper(browser: Browser, report: Path) -> None:
    with watched(browser) as view:
        page = view.open(report / "samples" / file_name("d0/4"))
        page.keyboard.press("?")
        check_axe(page)
        page.keyboard.press("Escape")
        page.locator("#call-1 summary").click()
        check_axe(page)
        page.keyboard.press("Escape")
        page.locator("a.enlarge").first.click()
        check_axe(page)
        page = view.open(report / "samples.html", "#q=nobody+says+this")
        check_axe(page)
        page.goto("about:blank")
        page.set_viewport_size({"width": 390, "height": 900})
        page = view.open(report / "samples.html", "#outcome=failed&sort=-sample")
        check_axe(page)
        page.set_viewport_size({"width": 700, "height": 900})
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        check_axe(page)


def test_nothing_hostile_runs_or_reorders(browser: Browser, hostile: Path) -> None:
    files = sorted(hostile.rglob("*.html"))
    assert len(files) == len(HOSTILE_IDS) + 1 + 1 + 6
    with watched(browser) as view:
        for file in files:
            page = view.open(file)
            for width, _ in LOOKS:
                check_fit(page, width)
            found = page.eval_on_selector_all(
                "*", "all => all.flatMap((one) => one.getAttributeNames().filter((name) => name.startsWith('on')))"
            )
            assert found == []
            assert page.locator("script:not([src]), iframe, base, object, embed, [style], style").count() == 0
            assert page.locator("main img:not(.plot img, .shot img)").count() == 0
            links = page.eval_on_selector_all("a", "all => all.map((one) => one.protocol)")
            assert set(links) == {"file:"}
            text = page.locator("body").inner_text()
            assert not set(text) & set("\x00\x1b\u202a\u202e\u2066")


def test_what_is_hostile_can_be_read_as_it_is(browser: Browser, hostile: Path) -> None:
    with watched(browser) as view:
        settings = view.open(hostile / "index.html").get_by_role("group", name="How the runs differ")
        assert "<script>window.__pwned=1" in settings.inner_text()
        assert "\\u202e" in settings.inner_text()
        page = view.open(hostile / "run-1" / "samples.html")
        page.get_by_label("Search").fill("</script><!--\\u202e gnp.exe\\u202c \\u0000")
        page.wait_for_url(lambda url: "#" in url)
        assert page.locator("#samples tbody tr:visible").count() >= len(HOSTILE_IDS)
        page.locator("#samples tbody tr:visible a").nth(1).click()
        page.wait_for_url("**/samples/*.html")
        assert "javascript:window.__pwned=1" in page.locator("main").inner_text()
        assert "49" not in page.locator("main .said").first.inner_text()
        view.page.keyboard.press("?")
        view.check()

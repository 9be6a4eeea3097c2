"""Transcripts, replies and names that want to do something: they are text, on every page."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from mmerg.reporting.write import write_report
from tests.reporting.conftest import say_nothing
from tests.reporting.parts import HOSTILE, HOSTILE_IDS, USUAL, build
from tests.reporting.watched import watched


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_hostile_runs_or_reorders(browser: Browser, hostile: Path, width: int) -> None:
    files = sorted(hostile.rglob("*.html"))
    assert len(files) == len(HOSTILE_IDS) + 1 + 2
    with watched(browser, width=width) as view:
        for file in files:
            page = view.open(file)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            found = page.eval_on_selector_all(
                "*", "all => all.flatMap((one) => one.getAttributeNames().filter((name) => name.startsWith('on')))"
            )
            assert found == []
            assert page.locator("script:not([src]), iframe, base, object, embed, [style]").count() == 0
            assert page.locator("head style, body style").count() == 0
            links = page.eval_on_selector_all("a", "all => all.map((one) => one.protocol)")
            assert set(links) == {"file:"}
            text = page.locator("body").inner_text()
            assert not set(text) & set("\x00\x1b\u202a\u202e\u2066")


def test_hostile_settings_are_text_where_runs_are_compared(browser: Browser, tmp_path: Path) -> None:
    one = build(tmp_path / "one", USUAL[:1], config={"x": HOSTILE, f"a.{HOSTILE}": {"b" * 500: "c" * 5000}})
    two = build(tmp_path / "two", USUAL[:1])
    write_report([one, two], tmp_path / "report", faces="keep", say=say_nothing)
    for width in (1280, 390):
        with watched(browser, width=width) as view:
            page = view.open(tmp_path / "report" / "index.html")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            settings = page.get_by_role("group", name="How the runs differ")
            assert settings.get_by_role("row").count() == 3
            text = settings.inner_text()
            assert "<script>window.__pwned=1" in text
            assert "\\u202e" in text
            assert not set(text) & set("\x00\x1b\u202e")
            assert page.locator("script:not([src]), iframe, [style], main img:not(.plot img)").count() == 0


def test_what_is_hostile_can_be_read_as_it_is(browser: Browser, hostile: Path) -> None:
    with watched(browser) as view:
        page = view.open(hostile / "samples.html")
        page.get_by_label("Search").fill("</script><!--\\u202e gnp.exe\\u202c \\u0000")
        page.wait_for_url(lambda url: "#" in url)
        assert page.locator("#samples tbody tr:visible").count() >= len(HOSTILE_IDS)
        page.locator("#samples tbody tr:visible a").nth(1).click()
        page.wait_for_url("**/samples/*.html")
        assert "javascript:window.__pwned=1" in page.locator("main").inner_text()
        assert "49" not in page.locator("main .said").first.inner_text()
        view.page.keyboard.press("?")
        view.check()


def test_markup_that_got_in_all_the_same_would_do_nothing(browser: Browser, hostile: Path) -> None:
    """The policy, apart from the escaping: no inline script, no handler, no style, no other host."""
    with watched(browser) as view:
        page = view.open(hostile / "index.html")
        page.evaluate(
            """() => {
              const box = document.createElement("div");
              document.body.append(box);
              box.innerHTML = `<img src="missing.png" onerror="window.__pwned=1"><b style="color:red">x</b>`;
              const script = document.createElement("script");
              script.textContent = "window.__pwned=1";
              document.body.append(script);
              const picture = document.createElement("img");
              picture.src = "https://127.0.0.1:9/x.png";
              document.body.append(picture);
            }"""
        )
        wanted = {"script-src-attr", "script-src-elem", "style-src-attr", "img-src"}
        for _ in range(200):  # not wait_for_function: it polls with eval, which the policy refuses as well
            if wanted <= set(page.evaluate("window.__refused")):
                break
            page.wait_for_timeout(50)
        assert wanted <= set(page.evaluate("window.__refused"))
        assert page.evaluate("typeof window.__pwned") == "undefined"
        assert page.evaluate("fetch('data:,x').then(() => 'had', () => 'refused')") == "refused"

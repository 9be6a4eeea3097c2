"""Hostile texts stay text, and the page is small and loads nothing from elsewhere."""

import json
from pathlib import Path

from playwright.sync_api import Page

import mmerg.serving
from tests.reporting.parts import HOSTILE
from tests.serving.page.conftest import NOTE, open_work, say, wait_for_reply
from tests.serving.page.scripted import Agents

FILES = sorted((Path(mmerg.serving.__file__).parent / "page").iterdir())
EMOJI = "👩‍👩‍👧 🏳️‍🌈 é"
LONG = "w" * 3000


def test_hostile_text_stays_text(page: Page, agents: Agents) -> None:
    assert page.locator("#backbone-note").inner_text() == NOTE
    cues = {"textual_cues": [{"turn": 1, "cue": HOSTILE[:200]}]}
    agents.instead |= {"sgrg": f"Oh. {EMOJI} {HOSTILE}", "mpa": json.dumps(cues)}
    say(page, f"{HOSTILE} {EMOJI} {LONG}")
    wait_for_reply(page)
    open_work(page)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("button", name="Close").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("script:not([src]), iframe, base, object, embed, style, [style], .text a").count() == 0
    handlers = page.eval_on_selector_all(
        "*", "all => all.flatMap((one) => one.getAttributeNames().filter((name) => name.startsWith('on')))"
    )
    assert handlers == []
    text = page.locator("body").evaluate("(one) => one.textContent")
    assert not set(text) & set("\x00\x1b\u202a\u202e\u2066")
    assert "<script>window.__pwned=1" in text
    assert "\\u202e gnp.exe" in text
    assert text.count(EMOJI) >= 2
    assert LONG in text


def test_the_page_is_small_and_names_no_other_site() -> None:
    assert sum(file.stat().st_size for file in FILES) <= 150_000
    for file in FILES:
        text = (
            file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "").replace("http://127.0.0.1", "")
        )
        assert "http:" not in text, file
        assert "//cdn" not in text, file
        assert "innerHTML" not in text, file

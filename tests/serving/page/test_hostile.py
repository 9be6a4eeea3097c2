"""Texts that want to do something are text, whoever says them; the page is small and whole by itself."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import mmerg.serving
from tests.reporting.parts import HOSTILE
from tests.serving.page.conftest import answered, say, visiting
from tests.serving.page.scripted import Agents

FILES = sorted((Path(mmerg.serving.__file__).parent / "page").iterdir())
EMOJI = "👩‍👩‍👧 🏳️‍🌈 é"
LONG = "w" * 3000


@pytest.mark.parametrize("width", [1280, 390])
def test_hostile_texts_are_text(browser: Browser, width: int) -> None:
    said = {"textual_cues": [{"turn": 1, "cue": HOSTILE[:200]}]}
    agents = Agents(sgrg=f"Oh. {EMOJI} {HOSTILE}", mpa=json.dumps(said))
    with visiting(browser, agents, "limits.text=20000", width=width) as page:
        say(page, f"{HOSTILE} {EMOJI} {LONG}")
        answered(page)
        page.get_by_role("button", name="How it came").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("script:not([src]), iframe, base, object, embed, style, [style]").count() == 0
        found = page.eval_on_selector_all(
            "*", "all => all.flatMap((one) => one.getAttributeNames().filter((name) => name.startsWith('on')))"
        )
        assert found == []
        text = page.locator("body").evaluate("(one) => one.textContent")
        assert not set(text) & set("\x00\x1b\u202a\u202e\u2066")
        assert "<script>window.__pwned=1" in text
        assert "\\u202e gnp.exe" in text
        assert text.count(EMOJI) >= 2
        assert LONG in text


def test_ten_thousand_characters_are_said_and_shown(browser: Browser) -> None:
    agents = Agents()
    with visiting(browser, agents, "limits.text=10000") as page:
        words = ("It is fine. " * 1000)[:10_000].strip()
        say(page, words)
        answered(page)
        expect(page.locator(".mine .text")).to_have_text(words)
        assert words in agents.prompts("mpa")[0]


def test_what_the_server_calls_things_is_text_as_well(browser: Browser) -> None:
    with visiting(browser, Agents(), "backbone.note='<b>x</b>'") as page:
        assert page.locator("#note").inner_text() == "<b>x</b>"


def test_the_page_is_small_and_names_no_other_place() -> None:
    assert sum(file.stat().st_size for file in FILES) <= 150_000
    for file in FILES:
        text = (
            file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "").replace("http://127.0.0.1", "")
        )
        assert "http:" not in text, file
        assert "//cdn" not in text, file
        assert "innerHTML" not in text, file

"""A page that is watched while it is used: what it asks for, what it logs, and what its policy forbids it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from weakref import WeakKeyDictionary

from playwright.sync_api import Browser, Dialog, Page, Request

LISTEN = """
window.__refused = [];
addEventListener("securitypolicyviolation", (event) => window.__refused.push(event.violatedDirective));
"""


class Watched:
    """A page, and what it did that it never does. origins: what addresses begin with that it may ask for."""

    def __init__(self, page: Page, *origins: str) -> None:
        self.page = page
        self.origins = origins
        self.wrong: list[str] = []
        page.on("console", lambda message: self.wrong.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("dialog", self._dialog)
        page.on("requestfailed", self._failed)
        page.on("request", self._asked)
        page.add_init_script(LISTEN)

    def open(self, file: Path, fragment: str = "") -> Page:
        """The page of a file from disk; fails on anything that it did and should not."""
        self.page.goto(file.as_uri() + fragment)
        self.page.wait_for_load_state()
        self.check()
        return self.page

    def _asked(self, request: Request) -> None:
        if not request.url.startswith(self.origins):
            self.wrong.append(f"asked: {request.url}")

    def _dialog(self, dialog: Dialog) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _failed(self, request: Request) -> None:
        """A picture that was still to come when the page was left is no failure."""
        if request.failure != "net::ERR_ABORTED":
            self.wrong.append(f"failed: {request.url}: {request.failure}")

    def check(self) -> None:
        assert self.wrong == [], self.wrong
        assert self.page.evaluate("window.__refused") == [], "the policy was broken"
        assert self.page.evaluate("typeof window.__pwned") == "undefined"


_SHARED: WeakKeyDictionary[Browser, Watched] = WeakKeyDictionary()


def _shared(browser: Browser) -> Watched:
    """The page that tests of this browser share, blank."""
    if browser not in _SHARED:
        _SHARED[browser] = Watched(browser.new_page(), "file:")
    view = _SHARED[browser]
    view.page.goto("about:blank")
    view.page.mouse.move(0, 0)
    view.wrong.clear()
    return view


@contextmanager
def watched(
    browser: Browser,
    *,
    width: int = 1280,
    scheme: Literal["light", "dark"] = "light",
    origins: tuple[str, ...] = ("file:",),
    fresh: bool = False,
    **more: Any,
) -> Iterator[Watched]:
    """A page. fresh: in a context of its own, as for one that keeps something or has special options; others share one,
    which halves what a test takes."""
    if not (fresh or more or origins != ("file:",)):
        view = _shared(browser)
        view.page.emulate_media(media="null", color_scheme=scheme)
        view.page.set_viewport_size({"width": width, "height": 900})
        yield view
        return
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **more)
    try:
        yield Watched(context.new_page(), *origins)
    finally:
        context.close()

"""A page that is watched while a test uses it: its requests, its console, its dialogs and violations of its policy."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from playwright.sync_api import Browser, Dialog, Page, Request

LISTEN = """
window.__refused = [];
addEventListener("securitypolicyviolation", (event) => window.__refused.push(event.violatedDirective));
"""


class Watched:
    """A page and its faults. origins: the starts of the addresses that it may request."""

    def __init__(self, page: Page, *origins: str) -> None:
        self.page = page
        self.origins = origins
        self.wrong: list[str] = []
        page.on("console", lambda message: self.wrong.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("dialog", self._dialog)
        page.on("requestfailed", self._failed)
        page.on("request", self._requested)
        page.add_init_script(LISTEN)

    def open(self, file: Path, fragment: str = "") -> Page:
        """Opens a file from disk. Fails if the page has a fault."""
        self.page.goto(file.as_uri() + fragment)
        self.page.wait_for_load_state()
        self.check()
        return self.page

    def _requested(self, request: Request) -> None:
        if not request.url.startswith(self.origins):
            self.wrong.append(f"requested: {request.url}")

    def _dialog(self, dialog: Dialog) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _failed(self, request: Request) -> None:
        """Records a failed request. One that was aborted as the page was left is no fault."""
        if request.failure != "net::ERR_ABORTED":
            self.wrong.append(f"failed: {request.url}: {request.failure}")

    def check(self) -> None:
        assert self.wrong == [], self.wrong
        assert self.page.evaluate("window.__refused") == [], "the policy was broken"
        assert self.page.evaluate("typeof window.__pwned") == "undefined"


_SHARED: WeakKeyDictionary[Browser, Watched] = WeakKeyDictionary()


def _shared(browser: Browser) -> Watched:
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
    origins: tuple[str, ...] = ("file:",),
    **more: Any,
) -> Iterator[Watched]:
    """Opens a page. Pages without special options share a context, which halves the time of a test."""
    if not (more or origins != ("file:",)):
        view = _shared(browser)
        view.page.emulate_media(media="null", color_scheme="light")
        view.page.set_viewport_size({"width": width, "height": 900})
        yield view
        return
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme="light", **more)
    try:
        yield Watched(context.new_page(), *origins)
    finally:
        context.close()

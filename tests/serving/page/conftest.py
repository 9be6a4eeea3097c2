"""The page on the real server, whose agents are scripted: one browser and one server for all tests of this folder."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from mmerg.backends.dry import Dry
from mmerg.backends.protocol import Backend, Completion, Request
from mmerg.backends.scripted import Scripted
from mmerg.corpora.folder import demo_root
from tests.browser import chromium
from tests.reporting.watched import Watched, watched
from tests.serving.page.film import filming
from tests.serving.page.scripted import Agents
from tests.serving.running import running

CLIP = demo_root() / "fine_1.mp4"
SOUND = Path(__file__).parent / "speech.wav"  # "I did not get the job.", by a synthesizer
NOTE = "<b>x</b>"  # the note of the backbone
expect.set_options(timeout=60_000)  # milliseconds: no test depends on how fast the machine is


@dataclass
class Site:
    """The server's address and settings, and its model, which each test replaces."""

    url: str = ""
    overrides: tuple[str, ...] = ()
    model: Backend = field(default_factory=Dry)

    def complete(self, request: Request) -> Completion:
        return self.model.complete(request)


@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Starts a browser with a camera that films the demo's clip, and a microphone that hears SOUND once. A page needs
    the permission to use them."""
    microphone = f"--use-file-for-fake-audio-capture={SOUND}%noloop"
    with chromium(*filming(CLIP, tmp_path_factory.mktemp("film")), microphone) as started:
        yield started


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = Site()
    runs = f"runs={tmp_path_factory.mktemp('runs')}"
    site.overrides = (runs, f"backbone.note='{NOTE}'", "limits.text=20000", "limits.picture_mb=1")
    with running(Scripted(site.complete), *site.overrides) as server:
        site.url = server.url
        yield site


@pytest.fixture
def agents(site: Site) -> Agents:
    """Makes new agents, which become the model of the site."""
    agents = Agents()
    site.model = agents.backend
    return agents


def ready(page: Page, url: str = "") -> None:
    """Opens a URL of the page, if given, and waits until the page can be used."""
    if url:
        page.goto(url)
    page.locator("body[data-ready]").wait_for()


@pytest.fixture(scope="package")
def window(browser: Browser, site: Site) -> Iterator[Watched]:
    """Opens a window for most tests, as opening one takes longer than emptying it."""
    with watched(browser, origins=(site.url, f"blob:{site.url}")) as view:
        yield view


@pytest.fixture
def page(window: Watched, site: Site, agents: Agents) -> Iterator[Page]:
    """Opens the page on a laptop, in light colours, in a browser without stored data."""
    page = window.page
    page.goto(f"{site.url}/health")
    page.evaluate("sessionStorage.clear()")
    page.context.new_cdp_session(page).send(
        "Storage.clearDataForOrigin", {"origin": site.url, "storageTypes": "indexeddb,local_storage"}
    )
    page.context.clear_permissions()
    page.unroute_all()
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(color_scheme="light", reduced_motion="no-preference")
    window.wrong.clear()
    ready(page, site.url)
    yield page
    window.check()


@pytest.fixture
def filmed(page: Page) -> Page:
    """Gives the page permission to use the camera."""
    page.context.grant_permissions(["camera"])
    return page


def say(page: Page, words: str) -> None:
    """Writes a message and sends it. The camera's clip may take a moment."""
    page.get_by_label("Your message").fill(words)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_label("Your message")).to_have_value("")


def wait_for_reply(page: Page) -> None:
    """Waits for the end of the turn."""
    page.get_by_role("button", name="Send").wait_for()


def choose(page: Page, name: str, system: str) -> None:
    """Chooses a system in the settings. name: "Reply with" or "Compare with"."""
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Settings").click()
    page.get_by_label(name).select_option(f"mmerg-{system}")
    page.keyboard.press("Escape")


def open_work(page: Page) -> None:
    """Opens the agents' work on the last reply."""
    page.locator(".assistant .text-button").last.click()


def read_step(page: Page, title: str) -> str:
    """Returns the text of a step of the agents' work."""
    return page.locator(".step", has=page.get_by_role("heading", name=title)).inner_text()

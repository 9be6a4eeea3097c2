"""Takes the screenshot docs/chat.png: a turn with a clip of the demo as camera, its reply, and the agents' work.

The completions are scripted, because a model that is small enough for any machine writes nonsense.

python tools/picture_chat.py docs/chat.png
"""

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page

from mmerg.backends.protocol import Request
from mmerg.backends.scripted import Scripted
from mmerg.corpora.folder import demo_root
from tests.browser import chromium
from tests.serving.page.film import filming
from tests.serving.page.scripted import Agents
from tests.serving.running import running

MESSAGE = "I did not get the job. It's fine. Really."
SENTENCES = {"caef looked at": "joy does not fit a face that falls", "mend caef": "weigh her face over her words"}


def send_turn(page: Page) -> None:
    """Sends a turn, waits for its reply, and opens the agents' work beside it."""
    page.get_by_role("button", name="Camera").click()
    page.locator(".recording-light").wait_for()
    page.wait_for_timeout(6000)  # the camera needs a few seconds to record
    page.get_by_label("Your message").fill(MESSAGE)
    page.get_by_role("button", name="Send").click()
    page.locator(".inspect").wait_for()
    page.get_by_role("button", name="Turn it off").click()
    page.locator(".inspect").click()
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")


def build_backend() -> Scripted:
    """Builds the backend of the page's tests, but with audits in whole sentences."""
    agents = Agents().backend

    def complete(request: Request) -> str:
        text = agents.complete(request).text
        for fragment, sentence in SENTENCES.items():
            text = text.replace(fragment, sentence)
        return text

    return Scripted(complete)


def main(out: Path) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        running(build_backend(), "backbone.name=scripted-replies") as server,
        chromium(*filming(demo_root() / "fine_1.mp4", Path(folder))) as browser,
    ):
        page = browser.new_page(viewport={"width": 1280, "height": 800}, permissions=["camera"])
        page.goto(server.url)
        send_turn(page)
        screenshot = Image.open(io.BytesIO(page.screenshot(animations="disabled")))
    screenshot.convert("RGB").quantize(256).save(out, optimize=True)
    print(f"{out}: {out.stat().st_size:,} bytes")  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]))

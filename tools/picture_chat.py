"""Takes docs/chat.png: a turn with a clip of the demo in front of the camera, and how its reply came.

The agents are those of the page's tests, since the words of a model that is small enough for any machine make no sense.

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

WORDS = "I did not get the job. It's fine. Really."
PLAIN = {"caef looked at": "joy does not fit a face that falls", "mend caef": "weigh her face over her words"}


def talk(page: Page) -> None:
    """One turn, to its end, with the agents beside it."""
    page.get_by_role("button", name="Camera").click()
    page.locator(".light").wait_for()
    page.wait_for_timeout(6000)  # until the camera's last seconds are seconds
    page.get_by_label("Your message").fill(WORDS)
    page.get_by_role("button", name="Send").click()
    page.locator(".look").wait_for()
    page.get_by_role("button", name="Turn it off").click()
    page.locator(".look").click()
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")


def answers() -> Scripted:
    """The agents of the tests, with an audit in whole sentences."""
    agents = Agents().backend

    def answer(request: Request) -> str:
        text = agents.complete(request).text
        for words, plain in PLAIN.items():
            text = text.replace(words, plain)
        return text

    return Scripted(answer)


def main(out: Path) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        running(answers(), "backbone.name=scripted-replies") as server,
        chromium(*filming(demo_root() / "fine_1.mp4", Path(folder))) as browser,
    ):
        page = browser.new_page(viewport={"width": 1280, "height": 800}, permissions=["camera"])
        page.goto(server.url)
        talk(page)
        taken = Image.open(io.BytesIO(page.screenshot(animations="disabled")))
    taken.convert("RGB").quantize(256).save(out, optimize=True)
    print(f"{out}: {out.stat().st_size:,} bytes")  # noqa: T201 - a tool of ours


if __name__ == "__main__":
    main(Path(sys.argv[1]))

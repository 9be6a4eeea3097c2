"""Takes docs/chat.png: a turn on the small model of the demo, with a clip of the demo in front of the camera.

python tools/picture_chat.py docs/chat.png     # minutes: the small model is slow on a processor
"""

import io
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page

from mmerg.corpora.folder import demo_root
from tests.browser import chromium
from tests.serving.page.film import filming

WORDS = "I did not get the job. It's fine. Really."
MINUTES = 15


@contextmanager
def served(*settings: str) -> Iterator[str]:
    """The page's address."""
    command = [sys.executable, "-m", "mmerg.serve", "dataset=demo", "port=0", *settings]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        try:
            for line in server.stdout:
                if match := re.match(r"page: (\S+)", line):
                    yield match[1]
                    return
            raise SystemExit("the server did not start: see above")
        finally:
            server.terminate()


def talk(page: Page) -> None:
    """One turn, to its end, seen from its beginning."""
    page.get_by_role("button", name="Camera").click()
    page.locator(".light").wait_for()
    page.wait_for_timeout(6000)  # until the camera's last seconds are seconds
    page.get_by_label("Your message").fill(WORDS)
    page.get_by_role("button", name="Send").click()
    page.get_by_role("button", name="Stop").wait_for()
    page.get_by_role("button", name="Send").wait_for(timeout=MINUTES * 60_000)
    page.locator("#work").evaluate("(one) => { one.scrollTop = 0; }")


def main(out: Path, *settings: str) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        served(f"cache_dir={folder}", *settings) as address,
        chromium(*filming(demo_root() / "fine_1.mp4", Path(folder))) as browser,
    ):
        page = browser.new_page(viewport={"width": 1280, "height": 900}, permissions=["camera"])
        page.goto(address)
        talk(page)
        taken = Image.open(io.BytesIO(page.screenshot(animations="disabled")))
    taken.convert("RGB").quantize(256).save(out, optimize=True)
    print(f"{out}: {out.stat().st_size:,} bytes")  # noqa: T201 - a tool of ours


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])

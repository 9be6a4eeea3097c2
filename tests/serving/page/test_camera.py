"""The camera, clips and pictures of a message."""

import re
import socket
from base64 import b64encode

from playwright.sync_api import Page, Route, expect

from tests.serving.page.conftest import Site, open_work, read_step, ready, say, wait_for_reply
from tests.serving.page.scripted import REPLY
from tests.serving.scripts import picture


def has_camera(page: Page) -> bool:
    return bool(page.evaluate("document.querySelector('#camera-preview').srcObject?.active ?? false"))


def turn_on(page: Page) -> None:
    page.get_by_role("button", name="Camera").click()
    expect(page.get_by_text("The camera is on.")).to_be_visible()


def test_the_camera_is_off_until_turned_on_and_a_light_shows_it(filmed: Page) -> None:
    server = f"the mmerg server on the computer named {socket.gethostname()}"
    sentence = f"What you write and show goes to {server} and nowhere else; this chat is kept in this browser."
    assert filmed.get_by_text(sentence).is_visible()
    assert not has_camera(filmed)
    assert not filmed.locator(".recording-light").is_visible()
    turn_on(filmed)
    assert has_camera(filmed)
    assert filmed.locator(".recording-light").is_visible()
    expect(filmed.get_by_role("button", name="Turn it off")).to_be_focused()
    track = filmed.evaluate_handle("document.querySelector('#camera-preview').srcObject.getVideoTracks()[0]")
    filmed.get_by_role("button", name="Turn it off").click()
    assert track.evaluate("(one) => one.readyState") == "ended"
    assert not filmed.locator(".recording-light").is_visible()
    assert filmed.get_by_role("button", name="Camera").evaluate("(one) => one === document.activeElement")


def shorten_clips(route: Route) -> None:
    """Replaces the limit of clips in the setup with two seconds."""
    response = route.fetch()
    fields = response.json()
    fields["limits"]["clip_seconds"] = 2
    route.fulfill(response=response, json=fields)


def test_the_last_seconds_become_keyframes_that_evidence_cites(filmed: Page, site: Site) -> None:
    page = filmed
    page.route("**/page/setup", shorten_clips)
    ready(page, f"{site.url}/?")
    page.evaluate("""() => {
      const { start } = MediaRecorder.prototype;
      window.begun = [];
      begun.fourth = new Promise((resolve) => {
        MediaRecorder.prototype.start = function () {
          start.call(this);
          if (begun.push(performance.now()) === 4) resolve();
        };
      });
    }""")
    turn_on(page)
    page.evaluate("begun.fourth")  # of the four the last two are held
    say(page, "It's fine. Really.")
    since_second = page.evaluate("(performance.now() - begun[1]) / 1000")
    wait_for_reply(page)
    open_work(page)
    keyframes = page.locator(".keyframe img")
    assert keyframes.count() >= 2
    assert keyframes.evaluate_all("all => all.every((one) => one.naturalWidth > 100)")
    citation = page.locator(".citation", has_text="frame 2").first
    citation.focus()
    expect(page.locator("[data-frame='2']")).to_have_class("keyframe highlighted")
    citation.press("Enter")
    expect(page.get_by_role("dialog", name="Keyframe")).to_contain_text("Keyframe 2 of turn 1")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("dialog", name="Keyframe")).to_contain_text("Keyframe 1 of turn 1")
    page.keyboard.press("Escape")
    assert page.locator(".message.user video").count() == 1
    assert has_camera(page)
    seconds = page.locator(".user video").evaluate(
        """async (video) => {
          video.currentTime = 1e6;  // a recorded clip knows its length once it was looked for
          await new Promise((resolve) => { video.onseeked = resolve; });
          return video.currentTime;
        }"""
    )
    assert 0 < seconds < since_second


def test_without_permission_for_the_camera_the_chat_goes_on(page: Page) -> None:
    page.get_by_role("button", name="Camera").click()
    expect(page.get_by_role("alert")).to_contain_text("The camera was not allowed")
    assert not page.locator(".recording-light").is_visible()
    say(page, "Then in words.")
    wait_for_reply(page)
    open_work(page)
    assert "text only" in read_step(page, "Keyframes")
    assert page.get_by_role("alert").inner_text() == ""


def drop(page: Page, *files: tuple[str, str, bytes]) -> None:
    """Drops files, given as (name, type, bytes), on the page."""
    held = page.evaluate_handle(
        """(files) => {
          const held = new DataTransfer();
          const bytes = (data) => Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
          for (const [name, type, data] of files) held.items.add(new File([bytes(data)], name, { type }));
          return held;
        }""",
        [[name, kind, b64encode(data).decode()] for name, kind, data in files],
    )
    page.dispatch_event("header", "drop", {"dataTransfer": held})


def test_pictures_are_dropped_removed_and_sent(filmed: Page) -> None:
    drop(filmed, ("a.png", "image/png", picture()), ("b.jpg", "image/jpeg", picture(".jpg", 200)))
    expect(filmed.locator("#attachments li")).to_have_count(2)
    filmed.get_by_role("button", name="Remove a.png").click()
    say(filmed, "Look at that.")
    wait_for_reply(filmed)
    open_work(filmed)
    assert filmed.locator(".keyframe").count() == 1
    assert "1 frame" in read_step(filmed, "Keyframes")
    filmed.get_by_role("button", name="Try again").click()
    wait_for_reply(filmed)
    assert filmed.locator(".keyframe").count() == 1


def test_the_reply_names_a_picture_that_cannot_be_used(page: Page) -> None:
    page.route("**/page/file", lambda route: route.fulfill(body=picture(".jpg"), content_type="image/jpeg"))
    drop(page, ("a.png", "image/png", b"no picture"))
    expect(page.locator("#attachments li")).to_have_count(1)
    say(page, "Look at that.")
    wait_for_reply(page)
    expect(page.locator(".assistant .text")).to_have_text(REPLY)  # to the text alone
    note = "Answered without your picture: a picture cannot be decoded: export it as JPEG or PNG."
    expect(page.locator(".unused-media")).to_have_text(note)


def test_unusable_files_are_not_attached(page: Page) -> None:
    refused = {
        "a.txt is neither a clip nor a picture": [("a.txt", "text/plain", b"x")],
        "at most 8 pictures": [("a.png", "image/png", b"x")] * 9,
        "the limit is 1 MB": [("a.png", "image/png", b"\0" * (2**20 + 1))],
        "a.png cannot be used: a picture cannot be decoded. Export it as JPEG or PNG.": [("a.png", "image/png", b"x")],
        "b.mkv cannot be used": [("b.mkv", "", b"\x1aE\xdf\xa3" + b"\0" * 99)],
    }
    for why, files in refused.items():
        drop(page, *files)
        expect(page.get_by_role("alert")).to_have_text(re.compile(re.escape(why).replace(r"\.\ ", r"\.\s*")))
        assert page.locator("#attachments li").count() == 0

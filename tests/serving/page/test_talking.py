"""A conversation on the page: agents at work, stopping, trying again, editing, and comparing with another system."""

import json
import re
import threading
from contextlib import ExitStack
from pathlib import Path

from playwright.sync_api import APIResponse, Browser, Page, Route, expect

from mmerg.backends.dry import Dry
from mmerg.backends.protocol import Completion, Request
from mmerg.backends.streaming import current_listener
from mmerg.errors import CallError, Failure
from mmerg.runs.folder import read_results
from tests.reporting.watched import watched
from tests.serving.page.conftest import CLIP, Site, choose, open_work, read_step, ready, say, wait_for_reply
from tests.serving.page.scripted import FIRST, REPLY, Agents
from tests.serving.running import running

WORDS = "I did not get the job. It's fine. Really."
MERG = ["Keyframes", "Perception", "Emotion forecast", "Plan", "Reply", "Audit"]


def bubbles(page: Page) -> list[str]:
    return page.locator(".message .text:not(.draft)").all_inner_texts()


def test_the_work_of_agents_appears_as_it_happens(page: Page, agents: Agents) -> None:
    page.keyboard.press("Alt+a")
    assert page.locator(".step h4").all_inner_texts() == MERG
    assert page.locator(".step.pending").count() == len(MERG)
    with agents.held("psp"):
        say(page, WORDS)
        expect(page.locator(".step.running h4")).to_contain_text("Plan")
        assert "“Really.” stands alone" in read_step(page, "Perception")
        assert "joy" in read_step(page, "Emotion forecast")
        assert page.locator(".step.pending h4").all_inner_texts()[-2:] == ["Reply", "Audit"]
        expect(page.locator(".progress")).to_contain_text(re.compile(r"Planning the reply …\s*\d"))
        assert bubbles(page) == [WORDS]
    wait_for_reply(page)
    assert bubbles(page) == [WORDS, REPLY]
    assert page.locator(".progress").count() == 0
    assert page.locator(".inspect").inner_text() == "sadness · comfort, gentle · 4 of 4 checks · draft 2"


def test_passes_are_shown_with_the_fault_and_evidence_leads_to_its_turn(page: Page) -> None:
    say(page, WORDS)
    wait_for_reply(page)
    open_work(page)
    passes = page.get_by_role("group", name="Drafts").get_by_role("button")
    assert [one.get_attribute("aria-pressed") for one in passes.all()] == ["false", "true"]
    assert "3 of 4 checks passed" in (passes.nth(0).text_content() or "")
    assert "sent" in (passes.nth(1).text_content() or "")
    assert "same as in draft 1" in read_step(page, "Perception")
    assert "Rerun from here" in read_step(page, "Emotion forecast")
    assert "sadness" in read_step(page, "Emotion forecast")
    assert REPLY in read_step(page, "Reply")
    assert "all checks passed" in read_step(page, "Draft 2 was sent")
    passes.nth(0).press("Enter")
    assert passes.nth(0).evaluate("(one) => one === document.activeElement")
    assert "joy" in read_step(page, "Emotion forecast")
    assert FIRST in read_step(page, "Reply")
    assert "first fault" in read_step(page, "Audit")
    assert "mend caef" in read_step(page, "Audit")
    turn = page.locator(".message.user")
    page.get_by_role("button", name="turn 1", exact=True).focus()
    assert "highlighted" in (turn.get_attribute("class") or "")
    page.keyboard.press("Tab")
    assert "highlighted" not in (turn.get_attribute("class") or "")
    choose(page, "Reply with", "one_pass")
    say(page, "Two.")
    wait_for_reply(page)
    assert "Good for you." in page.locator("#panel-content").inner_text()
    page.locator(".inspect").first.click()
    assert FIRST in page.locator("#panel-content").inner_text()  # the selected draft
    assert page.locator("[data-inspect][aria-expanded=true]").count() == 1


def test_a_turn_is_stopped_and_tried_again(page: Page, agents: Agents) -> None:
    with agents.held("caef"):
        say(page, WORDS)
        open_work(page)
        expect(page.locator(".step.running h4")).to_contain_text("Emotion")
        page.get_by_role("button", name="Stop").click()
        expect(page.locator(".assistant .note")).to_have_text("Stopped.")
        assert "not finished" in read_step(page, "Emotion forecast")
    wait_for_reply(page)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".assistant .text")).to_have_text(REPLY)
    wait_for_reply(page)
    assert len(agents.seeds()) == 2
    expect(page.locator(".tries")).to_contain_text("2 of 2")
    page.get_by_role("button", name="Previous try").click()
    expect(page.locator(".assistant .note")).to_have_text("Stopped.")
    page.get_by_role("button", name="Next try").click()
    expect(page.locator(".assistant .text")).to_have_text(REPLY)


def test_an_edited_turn_drops_those_after_it(page: Page, agents: Agents) -> None:
    say(page, "One.")
    wait_for_reply(page)
    say(page, "Two.")
    wait_for_reply(page)
    assert bubbles(page) == ["One.", REPLY, "Two.", REPLY]
    assert REPLY in agents.prompts("mpa")[-1]
    page.get_by_role("button", name="Edit turn 1").click()
    assert page.get_by_label("Your message").input_value() == "One."
    page.keyboard.press("Escape")
    assert page.get_by_label("Your message").input_value() == ""
    page.get_by_role("button", name="Edit turn 1").click()
    say(page, "Three.")
    wait_for_reply(page)
    assert bubbles(page) == ["Three.", REPLY]
    assert not {"One.", "Two."} & set(agents.prompts("mpa")[-1].split())


def test_two_systems_reply_side_by_side_each_with_its_history(page: Page, agents: Agents) -> None:
    assert page.locator("#compared-system option[value='mmerg-merg']").is_disabled()
    choose(page, "Compare with", "one_pass")
    say(page, "One.")
    wait_for_reply(page)
    say(page, "Two.")
    wait_for_reply(page)
    assert bubbles(page) == ["One.", REPLY, "Good for you.", "Two.", REPLY, "Good for you."]
    assert "Good for you." in agents.prompts("answer")[-1]
    assert REPLY not in agents.prompts("answer")[-1]
    page.set_viewport_size({"width": 1920, "height": 900})
    open_work(page)
    columns = page.locator("#panel-content > article")
    assert columns.locator("h3").all_inner_texts() == ["MERG", "One pass"]
    left, right = (one.bounding_box() for one in columns.all())
    assert left
    assert right
    assert (left["y"], left["x"] + left["width"] < right["x"]) == (right["y"], True)


def test_failures_are_shown_and_can_be_tried_again(page: Page, agents: Agents) -> None:
    agents.instead["psp"] = CallError(Failure.OOM, "the model needs more memory", hint="take a smaller one")
    say(page, WORDS)
    wait_for_reply(page)
    failure = page.locator(".failure")
    assert "The model needs more memory." in failure.inner_text()
    assert "Take a smaller one." in failure.inner_text()
    open_work(page)
    assert "not finished" in read_step(page, "Plan")
    assert "not reached" in read_step(page, "Audit")
    agents.instead = {"mpa": '{"textual_cues": [{"turn": 9, "cue": "x"}]}'}
    page.get_by_role("button", name="Try again").click()
    wait_for_reply(page)
    assert "there is no turn 9" in read_step(page, "Perception")
    agents.instead = {"gra": "fine, all of it"}  # an unreadable audit is not a pass
    page.get_by_role("button", name="Try again").click()
    wait_for_reply(page)
    assert "the audit cannot be read" in read_step(page, "Audit")
    assert page.locator(".step.bad h4").all_inner_texts() == ["Audit"]


def test_a_chat_survives_its_server(browser: Browser, site: Site, agents: Agents) -> None:
    with ExitStack() as going:
        server = going.enter_context(running(agents.backend, *site.overrides))
        with watched(browser, origins=(site.url, server.url, "blob:")) as view:
            page = view.page
            ready(page, server.url)
            say(page, WORDS)
            wait_for_reply(page)
            with agents.held("psp"):
                say(page, "Still there?")
                expect(page.locator(".progress")).to_contain_text("Planning")
                ending = threading.Thread(target=going.pop_all().close)  # waits for the held agent
                ending.start()
                expect(page.locator(".failure")).to_contain_text("The server was stopped in the middle of this reply.")
            ending.join()
            page.route(f"{server.url}/page/save", lambda route: route.fulfill(response=send_to_another(site, route)))
            run = save_as_run(page)
            assert bubbles(page) == [WORDS, REPLY, "Still there?"]
    assert [one.response for one in read_results(run).values()] == [REPLY]


def send_to_another(server: Site, route: Route) -> APIResponse:
    """Sends a request to another server, and returns the response."""
    return route.fetch(url=f"{server.url}/page/save", headers={**route.request.headers, "origin": server.url})


def save_as_run(page: Page) -> Path:
    """Saves the chat as a run, and returns its folder."""
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Save as a run").click()
    with page.expect_response("**/page/save") as asked:
        page.get_by_role("button", name="Save", exact=True).click()
    run = json.loads(asked.value.body())["runs"][0]
    expect(page.get_by_role("dialog", name="Save as a run")).to_contain_text(f"mmerg show {run}")
    page.get_by_role("button", name="Close").last.click()
    return Path(run)


def test_a_chat_survives_a_reload_and_is_in_the_list(page: Page, site: Site, agents: Agents) -> None:
    page.locator("#file-input").set_input_files(CLIP)
    expect(page.locator("#attachments li")).to_have_count(1)
    say(page, WORDS)
    wait_for_reply(page)
    with agents.held("caef"):
        say(page, "And?")
        expect(page.locator(".progress")).to_contain_text("Working out")
        page.get_by_label("Your message").fill("not yet said")
        page.reload()
    ready(page)
    assert bubbles(page) == [WORDS, REPLY, "And?"]
    expect(page.locator(".assistant .note")).to_have_text("The page was closed before the reply arrived.")
    expect(page.get_by_label("Your message")).to_have_value("not yet said")
    expect(page.locator(".user .media :is(img, video)")).to_have_count(1)
    page.locator(".inspect").first.click()
    loaded = "all => all.length > 1 && all.every((one) => one.naturalWidth > 100)"
    assert page.locator(".keyframe img").evaluate_all(loaded)
    page.get_by_role("button", name="Try again").click()
    wait_for_reply(page)
    assert bubbles(page)[-1] == REPLY
    page.get_by_role("button", name="New chat").click()
    expect(page.locator(".message")).to_have_count(0)
    assert page.get_by_label("Your message").input_value() == ""
    say(page, "Another one.")
    wait_for_reply(page)
    page.go_back()
    expect(page.locator(".message")).to_have_count(4)
    assert bubbles(page)[0] == WORDS
    page.get_by_role("button", name="Chats").click()
    expect(page.locator("#chat-list .chat-link")).to_have_count(2)  # the list is read after the click
    listed = page.locator("#chat-list .chat-link").all_inner_texts()
    assert [text.split("\n")[0] for text in listed] == ["Another one.", WORDS]
    page.get_by_role("button", name="Delete the chat Another one.").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#chat-list .chat-link")).to_have_count(2)
    page.get_by_role("button", name=f"Delete the chat {WORDS}").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator(".message")).to_have_count(0)
    expect(page.locator("#chat-list .chat-link")).to_have_count(1)
    page.locator("#chat-list .chat-link").click()
    expect(page.locator(".message")).to_have_count(2)
    assert bubbles(page) == ["Another one.", REPLY]


def test_two_windows_lose_nothing(page: Page, agents: Agents) -> None:
    say(page, "One.")
    wait_for_reply(page)
    expect(page).to_have_url(re.compile("#"))
    other = page.context.new_page()
    ready(other, page.url)
    assert bubbles(other) == ["One.", REPLY]
    with agents.held("mpa"):
        say(page, "Here.")
        say(other, "There.")
    for one, words in ((page, "Here."), (other, "There.")):
        wait_for_reply(one)
        assert bubbles(one) == ["One.", REPLY, words, REPLY]
    page.wait_for_timeout(300)  # milliseconds, until both are stored
    for one in (page, other):
        one.reload()
        ready(one)
    assert sorted([bubbles(page)[2], bubbles(other)[2]]) == ["Here.", "There."]
    other.close()


def test_drafts_are_not_overwritten(page: Page) -> None:
    text = page.get_by_label("Your message")
    text.fill("A draft.")
    page.locator(".example").first.click()
    assert text.input_value().startswith("A draft. I didn’t")
    say(page, "One.")
    wait_for_reply(page)
    text.fill("A draft.")
    for end in ("Escape", "Enter"):
        page.get_by_role("button", name="Edit turn 1").click()
        expect(text).to_have_value("One.")
        text.press(end)
        expect(text).to_have_value("A draft.")
        wait_for_reply(page)


def test_a_chat_is_copied_and_downloaded(page: Page) -> None:
    say(page, WORDS)
    wait_for_reply(page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the reply").click()
    assert page.evaluate("navigator.clipboard.readText()") == REPLY
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Copy the chat").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"# {WORDS}\n\n**You**\n\n{WORDS}\n\n**mmerg** (sadness)\n\n{REPLY}\n"
    files = []
    for name in ("Markdown", "JSON"):
        page.get_by_role("button", name="More").click()
        with page.expect_download() as loading:
            page.get_by_role("button", name=f"Download as {name}").click()
        files.append(loading.value.path().read_text(encoding="utf-8"))
    assert files[0] == copied
    turns = json.loads(files[1])["turns"]
    assert [turn["text"] for turn in turns] == [WORDS, REPLY]
    assert turns[1]["emotion"] == "sadness"


def test_a_reply_appears_while_it_is_written_and_its_markdown_is_rendered(
    page: Page, site: Site, agents: Agents
) -> None:
    class Writing(Dry):
        def complete(self, request: Request) -> Completion:
            completion, hear = agents.backend.complete(request), current_listener()
            for piece in ("", completion.text[:-5], completion.text[-5:]):
                hear(piece)
            return completion

    site.model = Writing()
    agents.instead["answer"] = json.dumps({"emotion": "joy", "response": "That is **good**, `truly`.\n\n- <b>x</b>"})
    choose(page, "Reply with", "one_pass")
    page.evaluate(
        """() => {
          window.drafts = [];
          const see = () => document.querySelectorAll(".draft").forEach((one) => drafts.push(one.textContent));
          const all = { childList: true, subtree: true, characterData: true };
          new MutationObserver(see).observe(document.querySelector("#messages"), all);
        }"""
    )
    say(page, WORDS)
    wait_for_reply(page)
    assert page.evaluate("drafts[0]").startswith("That is **good**, `tru")
    for part, words in (("strong", "good"), ("code", "truly"), ("li", "<b>x</b>")):
        assert page.locator(f".assistant > .text {part}").inner_text() == words


def test_the_agents_are_beside_the_chat_or_over_it(page: Page) -> None:
    say(page, WORDS)
    wait_for_reply(page)
    for width, height, beside in ((1280, 900, True), (390, 844, False)):
        page.set_viewport_size({"width": width, "height": height})
        reply = page.locator(".assistant .text")
        expect(reply).to_be_in_viewport()
        open_work(page)
        assert page.locator("#panel-content").is_visible()
        chat, panel = (page.locator(one).bounding_box() for one in ("#chat", "#panel"))
        assert chat
        assert panel
        assert (chat["x"] + chat["width"] <= panel["x"] + 1) == beside
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.keyboard.press("Escape")
        expect(page.locator("#panel")).to_be_hidden()
        assert page.evaluate("document.activeElement.className").startswith("text-button inspect")

"""A conversation on the page: it fills in as the agents work; stop, try again, edit, another system beside."""

import json
import re
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from mmerg.backends.dry import Dry
from mmerg.errors import CallError, Failure
from tests.reporting.watched import watched
from tests.run_folders import all_events
from tests.serving.page.conftest import Site, answered, say, step
from tests.serving.page.scripted import FIRST, REPLY, Agents
from tests.serving.running import running

WORDS = "I did not get the job. It's fine. Really."
MERG = ["Keyframes", "Perception", "Emotion forecast", "Plan", "Reply", "Audit"]


def bubbles(page: Page) -> list[str]:
    return page.locator(".turn .text").all_inner_texts()


def test_the_work_fills_in_as_it_happens(page: Page, agents: Agents) -> None:
    titles = page.locator(".step h4").all_inner_texts()
    assert [title.split(" by ")[0] for title in titles] == MERG
    assert page.locator(".step.waits").count() == len(MERG)
    assert page.get_by_role("button", name="Forget").is_disabled()
    with agents.held("psp"):
        say(page, WORDS)
        expect(page.locator(".step.asked h4")).to_contain_text("Plan")
        assert "“Really.” stands alone" in step(page, "Perception")
        assert "joy" in step(page, "Emotion forecast")
        assert page.locator(".step.waits h4").all_inner_texts()[-2:] == ["Reply by sgrg", "Audit by gra"]
        expect(page.locator(".under-way")).to_contain_text("Plan")
        assert bubbles(page) == [WORDS]
    answered(page)
    assert bubbles(page) == [WORDS, REPLY]
    assert page.locator(".under-way").count() == 0


def test_passes_are_shown_with_the_fault_and_the_chosen_one_and_evidence_leads_to_its_turn(page: Page) -> None:
    say(page, WORDS)
    answered(page)
    passes = page.get_by_role("group", name="Passes").get_by_role("button")
    assert [one.get_attribute("aria-pressed") for one in passes.all()] == ["false", "true"]
    assert "3 of 4 checks passed" in (passes.nth(0).text_content() or "")
    assert "chosen" in (passes.nth(1).text_content() or "")
    assert "kept from pass 0" in step(page, "Perception")
    assert "Run again from here" in step(page, "Emotion forecast")
    assert "sadness" in step(page, "Emotion forecast")
    assert REPLY in step(page, "Reply by")
    assert "all checks passed" in step(page, "Pass 1 is the reply")
    passes.nth(0).press("Enter")
    assert passes.nth(0).evaluate("(one) => one === document.activeElement")
    assert "joy" in step(page, "Emotion forecast")
    assert FIRST in step(page, "Reply by")
    assert "first fault" in step(page, "Audit")
    assert "mend caef" in step(page, "Audit")
    turn = page.locator(".turn.mine")
    page.get_by_role("button", name="turn 1", exact=True).focus()
    assert "pointed" in (turn.get_attribute("class") or "")
    page.keyboard.press("Tab")
    assert "pointed" not in (turn.get_attribute("class") or "")


def test_a_turn_is_stopped_and_tried_again(page: Page, agents: Agents) -> None:
    with agents.held("caef"):
        say(page, WORDS)
        expect(page.locator(".step.asked h4")).to_contain_text("Emotion")
        page.get_by_role("button", name="Stop").click()
        expect(page.locator(".theirs .note")).to_have_text("Stopped.")
        assert "not finished" in step(page, "Emotion forecast")
    answered(page)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".theirs .text")).to_have_text(REPLY)
    answered(page)
    assert len(agents.seeds()) == 2
    expect(page.locator(".tries")).to_contain_text("2 of 2")
    page.get_by_role("button", name="The try before").click()
    expect(page.locator(".theirs .note")).to_have_text("Stopped.")
    page.get_by_role("button", name="The try after").click()
    expect(page.locator(".theirs .text")).to_have_text(REPLY)


def test_what_was_said_goes_along_and_an_edited_turn_drops_what_followed(page: Page, agents: Agents) -> None:
    say(page, "One.")
    answered(page)
    say(page, "Two.")
    answered(page)
    assert bubbles(page) == ["One.", REPLY, "Two.", REPLY]
    assert REPLY in agents.prompts("mpa")[-1]
    page.get_by_role("button", name="Edit turn 1").click()
    assert page.get_by_label("Your message").input_value() == "One."
    page.keyboard.press("Escape")
    assert page.get_by_label("Your message").input_value() == ""
    page.get_by_role("button", name="Edit turn 1").click()
    say(page, "Three.")
    answered(page)
    assert bubbles(page) == ["Three.", REPLY]
    assert not {"One.", "Two."} & set(agents.prompts("mpa")[-1].split())


def test_another_system_answers_beside_in_a_talk_of_its_own(page: Page, agents: Agents) -> None:
    beside = page.get_by_label("Beside it")
    assert beside.locator("option[value='mmerg-merg']").is_disabled()
    beside.select_option("mmerg-one_pass")
    say(page, "One.")
    answered(page)
    say(page, "Two.")
    answered(page)
    assert bubbles(page) == ["One.", REPLY, "Good for you.", "Two.", REPLY, "Good for you."]
    assert "Good for you." in agents.prompts("answer")[-1]
    assert REPLY not in agents.prompts("answer")[-1]
    columns = page.locator("#works > article")
    assert columns.locator("h3").all_inner_texts() == ["MERG", "One pass"]
    left, right = (one.bounding_box() for one in columns.all())
    assert left
    assert right
    assert (left["y"], left["x"] + left["width"] < right["x"]) == (right["y"], True)


def test_an_earlier_turn_can_be_looked_at_again(page: Page) -> None:
    say(page, "One.")
    answered(page)
    page.locator("#system").select_option("mmerg-one_pass")
    say(page, "Two.")
    answered(page)
    assert "Good for you." in page.locator("#works").inner_text()
    page.get_by_role("button", name="How it came").first.click()
    assert REPLY in page.locator("#works").inner_text()
    assert page.locator("[data-look][aria-pressed=true]").count() == 1


def test_a_turn_that_failed_says_so_and_can_be_tried_again(page: Page, agents: Agents) -> None:
    agents.instead["psp"] = CallError(Failure.OOM, "the model needs more memory", hint="take a smaller one")
    say(page, WORDS)
    answered(page)
    failure = page.locator(".failure")
    assert "the model needs more memory" in failure.inner_text()
    assert "take a smaller one" in failure.inner_text()
    assert "not finished" in step(page, "Plan")
    assert "not reached" in step(page, "Audit")
    agents.instead.clear()
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".theirs .text")).to_have_text(REPLY)


def test_what_an_agent_says_in_vain_is_shown_and_an_audit_that_cannot_be_read_is_no_pass(
    page: Page, agents: Agents
) -> None:
    agents.instead["mpa"] = '{"textual_cues": [{"turn": 9, "cue": "x"}]}'
    say(page, WORDS)
    answered(page)
    assert "there is no turn 9" in step(page, "Perception")
    agents.instead = {"gra": "fine, all of it"}
    page.get_by_role("button", name="Try again").click()
    answered(page)
    assert "the audit cannot be read" in step(page, "Audit")
    assert page.locator(".step.bad h4").all_inner_texts() == ["Audit by gra"]


def test_other_systems_fill_in_as_well(page: Page, site: Site) -> None:
    site.model = Dry()
    for number, name in enumerate(("self_refine", "best_of_n", "multi_agent_esc", "direct_audit")):
        page.locator("#system").select_option(f"mmerg-{name}")
        say(page, WORDS)
        answered(page)
        assert page.locator(".theirs .text").all_inner_texts() == ["This is a dry run."] * (number + 1)
        assert page.locator(".step.waits h4").all_inner_texts() == ["Keyframes"]
        assert page.locator(".step:is(.asked, .lost)").count() == 0


def test_who_has_to_wait_is_told_how_many_are_before(browser: Browser, page: Page, agents: Agents) -> None:
    with agents.held("mpa"), watched(browser, origins=(page.url,)) as other:
        say(page, WORDS)
        expect(page.locator(".step.asked h4")).to_contain_text("Perception")
        other.page.goto(page.url)
        say(other.page, WORDS)
        expect(other.page.locator(".under-way")).to_have_text("1 before you …")
        other.page.get_by_role("button", name="Stop").click()
        answered(other.page)
    answered(page)
    assert agents.backend.calls == 9


def test_a_server_that_goes_away_in_mid_turn_is_told(browser: Browser, agents: Agents) -> None:
    with ExitStack() as going:
        server = going.enter_context(running(agents.backend))
        with watched(browser, origins=(server.url,)) as view:
            view.page.goto(server.url)
            with agents.held("psp"):
                say(view.page, WORDS)
                expect(view.page.locator(".step.asked h4")).to_contain_text("Plan")
                ending = threading.Thread(target=going.pop_all().close)  # it waits for the agent that is held
                ending.start()
                expect(view.page.locator(".failure")).to_contain_text("mmerg cannot be reached")
            ending.join()
            assert "joy" in step(view.page, "Emotion forecast")
            say(view.page, "Still there?")
            expect(view.page.locator(".failure")).to_have_count(2)


def test_what_cannot_be_sent_is_told_before_it_is(page: Page, agents: Agents) -> None:
    wrong = page.get_by_role("alert")
    page.get_by_role("button", name="Send").click()
    expect(wrong).to_contain_text("nothing to send")
    page.get_by_label("Your message").fill("x" * 20_001)
    page.get_by_role("button", name="Send").click()
    expect(wrong).to_contain_text("20,001 characters, at most 20,000")
    assert page.get_by_label("Your message").input_value() == "x" * 20_001
    assert agents.backend.calls == 0


def test_a_page_that_is_left_is_forgotten(browser: Browser, agents: Agents) -> None:
    with running(agents.backend) as server, watched(browser, origins=(server.url,)) as view:
        view.page.goto(server.url)
        with view.page.expect_request("**/page/turns") as asked:
            say(view.page, WORDS)
        answered(view.page)
        name = re.search(r'"chat":"([^"]+)"', asked.value.post_data or "")
        assert name
        assert name[1] in server.served.chats
        view.page.goto("about:blank")
        for _ in range(200):  # it is asked for while the page goes
            if name[1] not in server.served.chats:
                return
            view.page.wait_for_timeout(50)
        pytest.fail("the chat is still there")


def test_the_agents_are_a_view_of_their_own_on_a_phone(page: Page) -> None:
    say(page, WORDS)
    answered(page)
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.locator("#works").is_visible() == (width == 1280)
        page.get_by_role("button", name="How it came").click()
        assert page.locator("#works").is_visible()
        assert page.locator("#turns").is_visible() == (width == 1280)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_what_is_saved_is_the_try_that_is_shown_and_a_conversation_is_forgotten_only_if_that_is_meant(
    page: Page,
) -> None:
    say(page, WORDS)
    answered(page)
    page.get_by_role("button", name="Try again").click()
    answered(page)
    page.get_by_role("button", name="The try before").click()
    with page.expect_response("**/page/save") as asked:
        page.get_by_role("button", name="Save").click()
    run = json.loads(asked.value.body())["runs"][0]
    saved = page.get_by_role("dialog", name="Saved")
    expect(saved).to_contain_text(f"mmerg show {run}")
    [event] = [one for one in all_events(Path(run)) if one.kind == "called"][:1]
    assert event.sampling["seed"] == 0  # another try has a drawn one
    saved.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Forget").click()
    page.get_by_role("button", name="Keep talking").click()
    assert bubbles(page) == [WORDS, REPLY]
    page.get_by_role("button", name="Forget").click()
    with page.expect_request(lambda request: request.method == "DELETE") as forgetting:
        page.get_by_role("button", name="Forget it").click()
    assert "/page/chats/" in forgetting.value.url
    expect(page.locator(".turn")).to_have_count(0)
    assert page.locator(".step.waits").count() == len(MERG)

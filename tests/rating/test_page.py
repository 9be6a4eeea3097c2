"""The rating page: what its server sends and saves, and raters in a browser."""

import json
import re
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from mmerg.errors import RunError
from mmerg.rating.store import RatingStore, read_log
from mmerg.rating.study import Study, read_key, read_links, read_study
from tests.processes import start_command
from tests.rating.parts import SECRET, Rater, create_study, serving
from tests.reporting.axe import check_axe
from tests.reporting.watched import watched
from tests.test_serve import read_output

GOOD = {"empathy": 4, "coherence": 4, "fluency": 5}


def read_entries(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "ratings.jsonl").read_bytes().splitlines()]


def finish_practice(raters: dict[str, Rater], study: Study) -> None:
    """Completes the practice of all raters."""
    for rater in raters.values():
        for place in range(study.practice):
            rater.rate(place, **GOOD)
            rater.submit(place)


def test_nothing_that_is_served_names_a_run_or_sample(tmp_path: Path) -> None:
    folder = create_study(tmp_path, design="pairwise", gold=0.2, repeats=0.1)
    study = read_study(folder)
    with serving(folder) as raters:
        rater = raters["r1"]
        paths = ["/", "/page/page.js", "/page/page.css", "/study", "/places/999", "/media/x", "/nothing"]
        paths += [f"/places/{place}" for place in range(len(study.orders["r1"]))]
        served = [rater.get(path) for path in paths]
        served.append(rater.answer(3, "empathy", "first"))
    for response in served:
        text = f"{response.url} {response.headers} {response.text}"
        assert not [word for word in SECRET if word in text], response.url
        assert "default-src 'none'" in response.headers["content-security-policy"]
    item = json.loads(served[8].text)
    assert sorted(item) == ["answers", "history", "replies", "responder"]


def test_replies_are_sent_in_the_order_to_show(tmp_path: Path) -> None:
    folder = create_study(tmp_path, design="pairwise")
    study = read_study(folder)
    with serving(folder) as raters:
        for place, shown in enumerate(study.orders["r1"]):
            replies = raters["r1"].get(f"/places/{place}").json()["replies"]
            assert replies == list(study.items[shown.item].replies)[:: -1 if shown.swap else 1]


def test_requests_without_a_valid_link_are_refused(tmp_path: Path) -> None:
    with serving(create_study(tmp_path)) as raters:
        client = raters["r1"].client
        for path in ("/study", "/places/0", "/media/x"):
            assert client.get(path).status_code == 401
            assert client.get(path, headers={"Authorization": "Bearer x"}).status_code == 401
        foreign = {**raters["r1"].headers, "Origin": "http://elsewhere"}
        assert client.get("/study", headers=foreign).status_code == 403
        assert client.get("/study", headers={**raters["r1"].headers, "Host": "elsewhere"}).status_code == 421


def test_bad_answers_are_refused_and_not_saved(tmp_path: Path) -> None:
    folder = create_study(tmp_path)
    with serving(folder) as raters:
        for place, question, value, what in (
            (3, "empathy", 6, "6 is not on the scale"),
            (3, "wit", 3, "no question"),
            (99, "empathy", 3, "no place 99"),
            (3, "comment", "x" * 2001, "longer"),
            (3, "submit", "ok", "not a question"),
        ):
            refused = raters["r1"].answer(place, question, value)
            assert (refused.status_code, what in refused.json()["what"]) == (400, True), question
    assert read_entries(folder) == []


def test_an_answer_that_is_sent_twice_is_saved_once(tmp_path: Path) -> None:
    folder = create_study(tmp_path)
    with serving(folder) as raters:
        rater = raters["r1"]
        for tab, value in (("a", 2), ("b", 4)):
            rater.post("/answers", id=tab, place=3, question="empathy", value=value, browser="same")
            rater.post("/answers", id=tab, place=3, question="empathy", value=value, browser="same")
        assert rater.get("/places/3").json()["answers"] == {"empathy": 4}
    assert [line["value"] for line in read_entries(folder)] == [2, 4]


def test_practice_explains_and_a_loud_check_asks_again(tmp_path: Path) -> None:
    folder = create_study(tmp_path, gold=0.2)
    study, key = read_study(folder), read_key(folder)
    with serving(folder) as raters:
        rater = raters["r1"]
        answer = rater.rate(0, **GOOD)
        assert (answer["fits"], answer["again"], answer["next"]) == (True, False, 1)
        assert "loss" in answer["message"]
        for place, shown in enumerate(study.orders["r1"]):
            item = key.items.get(shown.item)
            if item and item.expect:
                done = rater.rate(place, empathy=5, coherence=5, fluency=5)
                assert done["again"] == item.loud
                assert bool(done["message"]) == item.loud
                assert not rater.submit(place)["again"]


def test_dropped_items_go_to_raters_who_have_not_seen_them(tmp_path: Path) -> None:
    folder = create_study(tmp_path, 4, raters=1, people=2)
    study = read_study(folder)
    with serving(folder) as raters:
        finish_practice(raters, study)
        first_taken, others = len(study.orders["r1"]), [shown.item for shown in study.orders["r2"][study.practice :]]
        for place in range(study.practice, first_taken):
            done = raters["r1"].rate(place, **GOOD)
        assert done["next"] is None  # the other rater is active
    lines = (folder / "ratings.jsonl").read_text()
    (folder / "ratings.jsonl").write_text(re.sub(r'"at":"2\d\d\d', '"at":"2001', lines))
    with serving(folder) as raters:
        place, taken = raters["r1"].get("/study").json()["next"], []
        while place is not None:
            taken.append(place)
            place = raters["r1"].rate(place, **GOOD)["next"]
    assert taken == list(range(first_taken, first_taken + len(others)))
    log, _ = read_log(folder, study)
    assert sorted(shown.item for shown in log.orders["r1"][first_taken:]) == sorted(others)


def test_a_full_disk_makes_the_page_try_again(tmp_path: Path) -> None:
    folder = create_study(tmp_path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with serving(folder) as raters:
        raters["r1"].answer(3, "empathy", 4)
        resource.setrlimit(resource.RLIMIT_FSIZE, ((folder / "ratings.jsonl").stat().st_size + 9, before[1]))
        try:
            failed = raters["r1"].answer(3, "empathy", 5)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert raters["r1"].answer(3, "fluency", 5).status_code == 200
    assert failed.status_code == 503
    assert str(folder) not in failed.text
    assert [line["question"] for line in read_entries(folder)] == ["empathy", "fluency"]


def test_an_incomplete_last_line_is_removed_and_other_damage_is_reported(tmp_path: Path) -> None:
    folder = create_study(tmp_path)
    with serving(folder) as raters:
        raters["r1"].answer(3, "empathy", 4)
    file = folder / "ratings.jsonl"
    complete = file.read_bytes()
    file.write_bytes(complete + b'{"id":"torn","rater":"r1","pla')
    with serving(folder) as raters:
        raters["r1"].answer(3, "fluency", 5)
    assert [line["question"] for line in read_entries(folder)] == ["empathy", "fluency"]
    file.write_bytes(complete.replace(b'"value":4', b'"value":9'))
    with pytest.raises(RunError, match=r"line 1 .* 9 is not on the scale"), RatingStore(folder, read_study(folder)):
        pass


@contextmanager
def serve_in_process(folder: Path, out: Path) -> Iterator[int]:
    """Runs the command in a process that is killed at the end, and gives its port."""
    process = start_command([sys.executable, "-m", "mmerg.rate", "serve", folder, "port=0"], out)
    try:
        while not (match := re.search(r"http://127.0.0.1:(\d+)/#", read_output(out, 1))):
            process.join(0.05)
            assert process.exitcode is None, read_output(out, 2)
        yield int(match[1])
    finally:
        process.kill()
        process.join()


def press(page: Page, keys: str) -> None:
    """Answers an item with the keyboard, and goes to the next."""
    before = page.locator("#position").inner_text()
    for key in keys:
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    moved = "(before) => document.querySelector('#position').textContent !== before"
    page.wait_for_function(
        f"(before) => document.querySelector('#message').textContent || ({moved})(before)", arg=before
    )
    if page.locator("#message").inner_text():
        page.keyboard.press("Enter")
    page.wait_for_function(moved, arg=before)


@pytest.mark.slow
def test_three_raters_lose_nothing_when_the_server_is_killed(tmp_path: Path, browser: Browser) -> None:
    folder = create_study(tmp_path, 1)
    study, links = read_study(folder), read_links(folder)
    with browser.new_context() as first, browser.new_context() as second, browser.new_context() as third:
        pages = dict(zip(links, (context.new_page() for context in (first, second, third)), strict=True))
        with serve_in_process(folder, tmp_path) as port:
            for rater, page in pages.items():
                page.goto(f"http://127.0.0.1:{port}/#{links[rater]}")
                page.get_by_label("I agree").check()
                page.get_by_role("button", name="Start").click()
                expect(page.locator("#position")).to_have_text("Practice 1 of 3")
                for _ in range(study.practice + 1):
                    press(page, "123")
        for page in pages.values():
            page.keyboard.press("5")
            page.keyboard.press("0")
            expect(page.locator("#saved")).to_contain_text("No connection")
        with serving(folder, port):
            for page in pages.values():
                expect(page.locator("#saved")).to_have_text("Saved", timeout=60_000)
                page.reload()
                expect(page.locator("#position")).to_have_text("Item 2 of 2")
                press(page, "4")
                expect(page.locator("#position")).to_have_text("All done")
    log, _ = read_log(folder, study)
    for rater in links:
        rows = [log.answers[rater, place] for place in (3, 4)]
        assert [[row[name] for name in study.form.questions] for row in rows] == [[1, 2, 3], [5, "cannot", 4]]
        assert log.list_submitted(rater) == list(range(5))


def test_the_page_is_accessible_on_laptop_and_phone(tmp_path: Path, browser: Browser) -> None:
    folder = create_study(tmp_path, 3, design="pairwise")
    with serving(folder) as raters:
        url = str(raters["r1"].client.base_url)
        with watched(browser, origins=(url, f"blob:{url}")) as view:
            page = view.page
            page.goto(f"{url}/#{read_links(folder)['r1']}")
            expect(page.get_by_label("I agree")).to_be_visible()
            check_axe(page)
            page.get_by_label("I agree").check()
            page.get_by_role("button", name="Start").click()
            expect(page.locator("#position")).to_contain_text("Practice 1")
            check_axe(page)
            page.set_viewport_size({"width": 390, "height": 844})
            for key in "atb":
                page.keyboard.press(key)
            page.get_by_role("button", name="Next").click()
            expect(page.locator("#message")).not_to_be_empty()
            check_axe(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
            page.get_by_role("button", name="Next").click()
            page.get_by_role("button", name="Back").click()
            expect(page.locator("#position")).to_contain_text("Practice 1")
            assert page.locator("input[type=radio]:checked").count() == 3
            view.check()

"""Chats that are saved: run folders like any other, with frames only where they may be kept."""

import stat
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from rich.console import Console

from mmerg.backends.scripted import Scripted
from mmerg.reporting.write import write_report
from mmerg.runs.folder import read_results
from mmerg.runs.samples import read_events
from mmerg.serving.chats import Chats
from mmerg.show import show_run, show_sample
from tests.serving.running import Running, running
from tests.serving.scripts import echo
from tests.serving.test_page import CLIP, read_updates, turn


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("chats") / "runs"


@pytest.fixture(scope="module")
def server(runs: Path) -> Iterator[Running]:
    with running(Scripted(echo), f"runs={runs}") as server:
        yield server


def save(server: Running, *turns: str) -> httpx.Response:
    return server.client.post("/page/save", json={"turns": turns})


def turn_id(answer: httpx.Response) -> str:
    """The id of a turn that was heard to its end."""
    return str(read_updates(answer)[0][1]["turn"])


def saved(server: Running, *turns: str) -> Path:
    """The one folder."""
    answer = save(server, *turns).json()
    assert answer["missing"] == 0
    [folder] = answer["runs"]
    return Path(folder)


def said(*texts: str) -> list[dict[str, str]]:
    return [{"who": "mmerg" if number % 2 else "you", "text": text} for number, text in enumerate(texts)]


def test_a_saved_chat_is_a_run(server: Running, runs: Path) -> None:
    first = turn_id(turn(server, ("clip", CLIP.read_bytes()), turns=said("Look at me."), keep=True))
    second = turn_id(turn(server, turns=said("Look at me.", "You said: Look at me.", "And now?")))
    folder = saved(server, first, second)
    assert folder.parent == runs
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    results = list(read_results(folder).values())
    assert [(result.id, result.response) for result in results] == [
        ("a/2", "You said: Look at me."),
        ("a/4", "You said: And now?"),
    ]
    assert results[1].history[0] == ("You", "Look at me.")
    [frames] = [event for event in read_events(folder, "a/2") if event.kind == "frames_taken"]
    names = {f"{frame.sha256}.jpg" for frame in frames.turns[0].frames}
    assert {file.name for file in (folder / "frames").iterdir()} == names
    out = Console(record=True, width=200)
    assert show_run(out, folder) == show_sample(out, folder, "a/2", prompts=True) == 0
    assert "You said: Look at me." in out.export_text()
    page = write_report([folder], folder / "report", faces="keep", say=lambda _: None)
    assert "And now?" in (page.parent / "samples.html").read_text(encoding="utf-8")


def test_frames_are_saved_only_where_their_user_said_so(server: Running) -> None:
    folder = saved(server, turn_id(turn(server, ("clip", CLIP.read_bytes()))))
    assert not list((folder / "frames").iterdir())
    write_report([folder], folder / "report", faces="keep", say=lambda _: None)
    assert not [file for file in folder.rglob("*") if file.is_file() and b"\xff\xd8\xff" in file.read_bytes()]


def test_of_several_tries_those_are_saved_that_are_asked_for(server: Running) -> None:
    first = turn_id(turn(server, turns=said("One.")))
    turn_id(turn(server, turns=said("One."), seed=3))
    later = turn_id(turn(server, turns=said("One.", "You said: One.", "Two.")))
    folder = saved(server, first, later)
    assert [result.response for result in read_results(folder).values()] == ["You said: One.", "You said: Two."]
    assert [event.sampling["seed"] for event in read_events(folder, "a/2") if event.kind == "called"] == [0]


def test_what_came_after_an_edited_turn_is_gone(server: Running) -> None:
    turn_id(turn(server, turns=said("One.")))
    later = turn_id(turn(server, turns=said("One.", "You said: One.", "Two.")))
    edited = turn_id(turn(server, turns=said("Uno.")))
    answer = save(server, edited, later).json()
    assert answer["missing"] == 1
    assert [result.response for result in read_results(Path(answer["runs"][0])).values()] == ["You said: Uno."]


def test_each_system_of_a_chat_is_a_run(server: Running) -> None:
    tries = turn_id(turn(server)), turn_id(turn(server, system="mmerg-self_refine", chat="b"))
    folders = save(server, *tries).json()["runs"]
    assert [Path(folder).name.split("-")[1] for folder in folders] == ["one_pass", "self_refine"]


def test_what_is_not_there_cannot_be_saved(server: Running, runs: Path) -> None:
    before = set(runs.glob("*"))
    assert save(server).status_code == save(server, "../x").status_code == 404
    gone = turn_id(turn(server))
    server.client.delete("/page/chats/a")
    assert save(server, gone).json()["what"] == "no reply of this chat is in memory"
    assert set(runs.glob("*")) == before


def test_saving_can_be_switched_off(runs: Path) -> None:
    before = set(runs.glob("*"))
    with running(Scripted(echo), f"runs={runs}", "save=false") as server:
        assert save(server, turn_id(turn(server))).status_code == 403
        assert server.client.get("/page/setup").json()["saves"] is False
    assert set(runs.glob("*")) == before


def test_the_least_recently_used_chats_are_forgotten_first() -> None:
    chats = Chats(most=3)
    for name in "abcad":
        chats.begin(name, "m", 1, kept=False)
    assert [name in chats for name in "abcd"] == [True, False, True, True]

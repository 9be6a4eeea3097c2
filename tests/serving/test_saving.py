"""Chats that are saved: run folders like any other, with frames only where they may be kept."""

from __future__ import annotations

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
from tests.serving.test_page import CLIP, messages, turn


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with running(Scripted(echo), f"runs={tmp_path}/runs") as server:
        yield server


def save(server: Running, chat: str = "a") -> httpx.Response:
    return httpx.post(f"{server.url}/page/save", json={"chat": chat})


def said(*texts: str) -> list[dict[str, str]]:
    return [{"who": "mmerg" if number % 2 else "you", "text": text} for number, text in enumerate(texts)]


def test_a_saved_chat_is_a_run(server: Running, tmp_path: Path) -> None:
    messages(turn(server, ("clip", CLIP.read_bytes()), turns=said("Look at me."), keep=True))
    messages(turn(server, turns=said("Look at me.", "You said: Look at me.", "And now?")))
    folder = Path(save(server).json()["run"])
    assert folder.parent == tmp_path / "runs"
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
    messages(turn(server, ("clip", CLIP.read_bytes())))
    folder = Path(save(server).json()["run"])
    assert not list((folder / "frames").iterdir())
    write_report([folder], folder / "report", faces="keep", say=lambda _: None)
    assert not [file for file in folder.rglob("*") if file.is_file() and b"\xff\xd8\xff" in file.read_bytes()]


def test_another_try_and_an_edit_take_the_place_of_what_was_there(server: Running) -> None:
    messages(turn(server, turns=said("One.")))
    messages(turn(server, turns=said("One.", "You said: One.", "Two.")))
    messages(turn(server, turns=said("Uno."), seed=3))
    folder = Path(save(server).json()["run"])
    assert [result.response for result in read_results(folder).values()] == ["You said: Uno."]


def test_each_system_of_a_chat_is_a_run(server: Running) -> None:
    messages(turn(server))
    messages(turn(server, system="mmerg-self_refine"))
    folders = save(server).json()["runs"]
    assert [Path(folder).name.split("-")[1] for folder in folders] == ["one_pass", "self_refine"]


def test_what_is_not_there_cannot_be_saved(server: Running, tmp_path: Path) -> None:
    assert save(server, "none").status_code == 404
    assert save(server, "../x").status_code == 400
    messages(turn(server))
    httpx.delete(f"{server.url}/page/chats/a")
    assert save(server).json()["what"] == "no reply of this chat is in memory"
    assert not (tmp_path / "runs").exists()


def test_saving_can_be_switched_off(tmp_path: Path) -> None:
    with running(Scripted(echo), f"runs={tmp_path}/runs", "save=off") as server:
        messages(turn(server))
        assert save(server).status_code == 403
        assert httpx.get(f"{server.url}/page/setup").json()["saves"] is False
    assert not (tmp_path / "runs").exists()


def test_the_least_recently_used_chats_are_forgotten_first() -> None:
    chats = Chats(most=3, room=1000)
    for name in "abcad":
        chats.open(name)
    assert [chats.find(name) is not None for name in "abcd"] == [True, False, True, True]
    chats.open("e").begin("m", 1, kept=False).frames["0"] = b"0" * 2000
    chats.open("e")
    assert [chats.find(name) is not None for name in "acde"] == [False, False, False, True]

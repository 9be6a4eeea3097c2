"""Saved chats: run folders like any other, with frames only if the user wants them."""

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from rich.console import Console

from mmerg.backends.dry import Dry
from mmerg.backends.scripted import Scripted
from mmerg.reporting.write import write_report
from mmerg.runs.folder import read_results
from mmerg.runs.samples import read_events
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


def save(server: Running, *replies: dict[str, Any]) -> httpx.Response:
    return server.client.post("/page/save", json={"replies": replies})


def reply(answer: httpx.Response, *, keep: bool = False) -> dict[str, Any]:
    """Returns a reply as the page sends it. keep: with its frames."""
    updates = dict(read_updates(answer))
    return {**updates["trace"], "frames": [frame["jpeg"] for frame in updates["frames"]["frames"]] if keep else []}


def save_one(server: Running, *replies: dict[str, Any]) -> Path:
    """Saves replies of one system, and returns the run folder."""
    [folder] = save(server, *replies).json()["runs"]
    return Path(folder)


def make_turns(*texts: str) -> list[dict[str, str]]:
    return [{"role": "assistant" if number % 2 else "user", "text": text} for number, text in enumerate(texts)]


def test_a_saved_chat_is_a_run(server: Running, runs: Path) -> None:
    first = reply(turn(server, ("clip", CLIP.read_bytes()), turns=make_turns("Look at me.")), keep=True)
    second = reply(turn(server, turns=make_turns("Look at me.", "You said: Look at me.", "And now?")))
    folder = save_one(server, first, second)
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
    page = write_report([folder], folder / "report")
    assert "And now?" in (page.parent / "samples.html").read_text(encoding="utf-8")


def test_frames_are_saved_only_on_request(server: Running) -> None:
    folder = save_one(server, reply(turn(server, ("clip", CLIP.read_bytes()))))
    assert not list((folder / "frames").glob("*"))
    write_report([folder], folder / "report")
    assert not [file for file in folder.rglob("*") if file.is_file() and b"\xff\xd8\xff" in file.read_bytes()]


def test_another_server_can_save_a_chat(runs: Path) -> None:
    with running(Scripted(echo), f"runs={runs}") as server:
        held = reply(turn(server))
    another = Dry().describe().model_copy(update={"model": "another"})
    with running(Scripted(echo, another), f"runs={runs}") as server:
        folders = save(server, held, reply(turn(server, turns=make_turns("One.", "Two.", "Three.")))).json()["runs"]
        assert len(folders) == 2  # of two models
    [result] = read_results(Path(folders[0])).values()
    assert result.response == "You said: I lost my job."


def test_each_system_of_a_chat_is_a_run(server: Running) -> None:
    tries = reply(turn(server)), reply(turn(server, system="mmerg-self_refine", chat="b"))
    folders = save(server, *tries).json()["runs"]
    assert [Path(folder).name.split("-")[1] for folder in folders] == ["one_pass", "self_refine"]


def test_only_replies_of_chats_are_saved(server: Running, runs: Path) -> None:
    before = set(runs.glob("*"))
    assert save(server).json()["what"] == "there is no reply to save"
    held = reply(turn(server))
    named = {**held, "trace": held["trace"].replace('"id":"a/2"', '"id":"../x"')}
    elsewhere = {**held, "trace": held["trace"].replace('"name":"one_pass"', '"name":"../one_pass"')}
    for wrong in ({"trace": "{}"}, {"trace": held["trace"][:-1]}, named, elsewhere):
        assert save(server, wrong).status_code == 400
    assert set(runs.glob("*")) == before

"""The routes of the page: turns with their updates and frames, and checks of files."""

import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mmerg.backends.scripted import Scripted
from mmerg.corpora.folder import demo_root
from mmerg.errors import CallError, Failure
from tests.serving.running import Running, running
from tests.serving.scripts import blaming, echo, picture

CLIP = demo_root() / "fine_1.mp4"
Updates = list[tuple[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(Scripted(echo)) as server:
        yield server


def turn(server: Running, *files: tuple[str, bytes], system: str = "mmerg-one_pass", **more: Any) -> httpx.Response:
    talk = {"chat": "a", "system": system, "turns": [{"role": "user", "text": "I lost my job."}], **more}
    form: list[tuple[str, Any]] = [("talk", (None, json.dumps(talk))), *((name, (name, data)) for name, data in files)]
    return server.client.post("/page/turns", files=form)


def read_updates(answer: httpx.Response) -> Updates:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    updates = []
    for block in answer.text.strip().split("\n\n"):
        name, data = block.split("\n")
        updates.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return updates


def test_the_setup_describes_the_server(server: Running) -> None:
    setup = server.client.get("/page/setup").json()
    merg = setup["systems"][0]
    assert (merg["id"], merg["name"], merg["audits"]) == ("mmerg-merg", "merg", True)
    assert merg["agents"][0] == {"name": "mpa", "title": "Perception", "symbol": "E"}
    assert [agent["name"] for agent in merg["agents"]] == ["mpa", "caef", "psp", "sgrg", "gra"]
    assert setup["backbone"]["note"] == ""
    assert setup["limits"] == {
        **{"clip_mb": 64, "clip_seconds": 60.0, "pictures": 8, "picture_mb": 12},
        **{"text": 4000, "turns": 200, "waiting": 200},
    }


def test_without_a_speech_model_the_server_transcribes_nothing(server: Running) -> None:
    assert server.client.get("/page/setup").json()["speech_seconds"] == 0
    assert server.client.post("/page/speech", content=b"sound").status_code == 403


def test_a_turn_streams_its_updates() -> None:
    with running(Scripted(blaming("psp"))) as server:
        updates = read_updates(turn(server, system="mmerg-merg"))
    names = [f"{name} {fields.get('agent') or fields.get('from') or ''}".strip() for name, fields in updates]
    once = ["agent psp", "output psp", "agent sgrg", "output sgrg", "agent gra", "audit"]
    assert names == [
        *("queued", "frames", "agent mpa", "output mpa", "agent caef", "output caef", *once),
        *("rerun psp", *once, "selected", "trace", "reply", "done"),
    ]
    audits = [fields for name, fields in updates if name == "audit"]
    assert [audit["blamed"] for audit in audits] == ["psp", None]
    assert audits[0]["correction"] == "mend psp"
    assert audits[0]["findings"][2] == {"check": "psp", "passed": False, "reason": "psp looked at"}
    [selected] = [fields for name, fields in updates if name == "selected"]
    assert (selected["pass"], selected["passes"]) == (1, 2)
    assert selected["why"].startswith("Pass 1 won: it passed the check of psp")
    assert updates[-1][1]["calls"] == 8


def jpegs(updates: Updates) -> list[bytes]:
    """The frames of a turn."""
    [frames] = [fields for name, fields in updates if name == "frames"]
    return [b64decode(frame["jpeg"]) for frame in frames["frames"]]


def test_the_page_gets_the_frames_of_a_clip(server: Running) -> None:
    updates = read_updates(turn(server, ("clip", CLIP.read_bytes())))
    [frames] = [fields for name, fields in updates if name == "frames"]
    assert [frame["number"] for frame in frames["frames"]] == [1, 2, 3, 4]
    assert all(frame["turn"] == 1 and frame["time"] > 0 for frame in frames["frames"])
    assert all(data.startswith(b"\xff\xd8\xff") for data in jpegs(updates))


def test_a_file_is_checked_before_it_is_sent(server: Running) -> None:
    def check(kind: str, data: bytes) -> httpx.Response:
        return server.client.post("/page/file", files={kind: (kind, data)})

    for kind, data in (("clip", CLIP.read_bytes()), ("picture", picture())):
        answer = check(kind, data)
        assert (answer.headers["content-type"], answer.content[:3]) == ("image/jpeg", b"\xff\xd8\xff")
    refused = check("picture", b"")
    assert refused.json() == {"what": "a picture cannot be decoded", "where": "", "hint": "export it as JPEG or PNG"}
    assert "copy or download it again" in check("clip", b"").json()["hint"]
    assert server.client.post("/page/file").json()["what"] == "there is no file"


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ([("clip", CLIP.read_bytes()[:2000])], "play it; copy or download it again"),
        ([("picture", picture()[:100])], "a picture cannot be decoded: export it as JPEG or PNG"),
    ],
)
def test_an_undecodable_file_is_named_and_the_turn_goes_on(
    server: Running, files: list[tuple[str, bytes]], problem: str
) -> None:
    updates = dict(read_updates(turn(server, *files)))
    assert updates["frames"]["frames"] == []
    assert updates["frames"]["problem"].startswith("turn 1: ")
    assert problem in updates["frames"]["problem"]
    assert updates["reply"]["text"] == "You said: I lost my job."


@pytest.mark.parametrize(
    ("more", "status", "said"),
    [
        ({"turns": []}, 400, "there is no user turn to reply to"),
        ({"turns": [{"role": "me", "text": "Hi."}]}, 400, "turns.0.role"),
        ({"turns": [{"role": "user", "text": "a" * 4001}]}, 400, "the turn has 4001 characters, over 4000"),
        ({"chat": "../../etc"}, 400, "chat: String should match"),
        ({"system": "gpt"}, 404, "there is no model 'gpt'"),
        ({"system": "mmerg-hef"}, 404, "mmerg-hef is not available"),
        ({"seed": 2**31}, 400, "seed"),
        ({"more": 1}, 400, "more: Extra inputs are not permitted"),
    ],
)
def test_bad_conversations_are_refused(server: Running, more: dict[str, Any], status: int, said: str) -> None:
    answer = turn(server, **more)
    assert answer.status_code == status
    assert set(answer.json()) == {"what", "where", "hint"}
    assert said in answer.json()["what"]


def test_bad_forms_are_refused_with_the_right_form(server: Running) -> None:
    assert turn(server, *[("picture", picture())] * 9).json()["what"] == "9 pictures are shown, over 8"
    many = turn(server, *[("picture", picture())] * 10)
    assert (many.status_code, many.json()["what"]) == (400, "Too many files. Maximum number of files is 9.")
    empty = server.client.post("/page/turns", data={"other": "x"})
    assert (empty.status_code, empty.json()["what"]) == (400, "the form cannot be read: talk: Field required")
    assert empty.json()["hint"].startswith("send multipart/form-data with one field `talk`")


def test_a_failed_turn_ends_its_stream_with_the_error() -> None:
    dead = CallError(Failure.OOM, "out of memory", where="gpu 1", hint="a smaller model")
    with running(Scripted([dead])) as server:
        name, fields = read_updates(turn(server))[-1]
    assert name == "failed"
    assert fields == {"what": "out of memory", "where": "gpu 1", "hint": "a smaller model", "failure": "oom"}
    with running(Scripted(lambda _: "no JSON")) as server:  # the hint is for a chat, not for a run
        name, fields = read_updates(turn(server))[-1]
    assert (name, fields["failure"], fields["hint"]) == ("failed", "schema_invalid", "try again")
    assert fields["what"] == "the model did not answer in the requested form"
    assert "JSON" in fields["where"]


def test_frames_and_text_are_not_written_to_disk(tmp_path: Path) -> None:
    place = tmp_path / "runs"
    with running(Scripted(echo), f"runs={place}") as server:
        read_updates(turn(server, ("clip", CLIP.read_bytes())))
    assert not list(tmp_path.rglob("*"))

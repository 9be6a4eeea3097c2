"""Replies and runs from Python, with replies that call no model."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import mmerg
from mmerg.api.overrides import to_overrides
from mmerg.runs.events import Event
from mmerg.settings.compose import compose

TURNS = [("Ana", "I didn't get the job."), ("Ben", "Oh no."), ("Ana", "I was so sure.")]


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    Image.fromarray(np.full((240, 320, 3), 90, np.uint8)).save(tmp_path / "ana.jpg")
    return tmp_path / "ana.jpg"


def test_a_reply_contains_the_output_of_each_agent(picture: Path) -> None:
    happened: list[Event] = []
    with mmerg.open("backend=dry", system="merg") as agent:
        assert "joy" in agent.labels
        reply = agent.respond(TURNS, speaker="Ben", frames=[picture], on_event=happened.append)
        one = agent.respond([*TURNS[:2], ("Ana", "", [picture.read_bytes()])], "Ben", seed=1)
    assert reply.text
    assert reply.emotion in agent.labels
    assert isinstance(reply.plan, dict)
    assert [sorted(audit.findings) for audit in reply.audits if audit] == [["caef", "mpa", "psp", "sgrg"]]
    assert list(reply.passes[0].steps) == ["mpa", "caef", "psp", "sgrg", "gra"]
    assert reply.trace.started is not None
    assert (reply.trace.started.responder, reply.trace.started.sample) == ("Ben", "talk/4")
    assert [keyframe.turn for keyframe in reply.trace.keyframes] == [3]
    assert [keyframe.turn for keyframe in one.trace.keyframes] == [3]
    assert happened[0].kind == "sample_started"


def test_one_agent_gives_several_replies_at_once() -> None:
    async def replies(agent: mmerg.Agent) -> list[mmerg.Reply]:
        return await asyncio.gather(*(agent.arespond(TURNS, "Ben") for _ in range(4)))

    with mmerg.open("backend=dry", system="one_pass") as agent:
        assert len({reply.text for reply in asyncio.run(replies(agent))}) == 1


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        ([[]], {}, "there is no turn to reply to"),
        (["Hello."], {}, "a turn is a speaker and a text, not 'H'"),
        ([TURNS], {"frames": "no.jpg"}, "a file cannot be read: [Errno 2] No such file"),
        ([TURNS], {"frames": [b"no picture"]}, "a file cannot be shown to the model"),
        ([TURNS], {"speaker": "ben"}, "did you mean Ben?"),
        ([TURNS], {"config_dir": "nowhere"}, "there is no folder of configs here"),
        ([TURNS], {"sistem": "merg"}, "did you mean system?"),
        ([TURNS], {"backend": "ollama", "backend.hosts": ["http://127.0.0.1:9"]}, "no Ollama server responds"),
    ],
)
def test_every_error_is_an_mmerg_error(arguments: list[Any], settings: dict[str, Any], message: str) -> None:
    with pytest.raises(mmerg.MmergError) as caught:
        mmerg.respond(*arguments, **{"backend": "dry", "system": "one_pass"} | settings)
    assert message in str(caught.value)


def test_a_run_is_made_scored_and_read_back(tmp_path: Path) -> None:
    import_module("mmerg.run")  # the command, which must not hide the function
    made = mmerg.run("dataset=demo", backend="dry", system="one_pass", limit=2, runs=tmp_path / "my runs")
    assert made.path.parent == tmp_path / "my runs"
    assert len(made.samples) == 2
    assert made.failed.empty
    assert {"acc", "macro_f1"} <= set(made.scores.metric)
    assert (made.path / "scores.json").is_file()
    assert "2 samples, 0 failed" in repr(made)
    assert "<table" in made._repr_html_()
    assert "data frames: samples, passes" in repr(mmerg.load(made.path))
    with pytest.raises(mmerg.MmergError, match="makes a single run"):
        mmerg.run("dataset=demo", backend="dry", shard="1/2", runs=tmp_path)


def test_the_package_exports_its_public_names() -> None:
    assert all(getattr(mmerg, name) for name in mmerg.__all__)
    with pytest.raises(AttributeError, match="no attribute 'resond'"):
        _ = mmerg.resond


@pytest.mark.parametrize(
    "value",
    ["it's", "C:\\x\\", "愤怒", "null", "12", ["a b", "c"], {"k": [1.5, True]}, None, 1e-5],
)
def test_hydra_does_not_change_a_value(value: object) -> None:
    from omegaconf import OmegaConf

    config = compose("config", to_overrides(("dataset=demo",), {"+own": value}))
    raw = OmegaConf.to_container(config, resolve=False)
    assert isinstance(raw, dict)
    assert raw["own"] == value


def test_settings_compose_in_several_threads_at_once() -> None:
    with ThreadPoolExecutor(4) as threads:
        made = threads.map(lambda _: mmerg.respond(TURNS, backend="dry", system="one_pass").text, range(8))
        assert len(set(made)) == 1

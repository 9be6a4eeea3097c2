"""Ollama's API, with ollama-python and Ollama's own program."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ollama
import pytest

from mmerg.backends.scripted import Scripted
from mmerg.errors import CallError, Failure
from tests.serving.running import Running, running
from tests.serving.scripts import echo, picture

MODEL = "mmerg-one_pass"
HEY: list[dict[str, Any]] = [{"role": "user", "content": "I lost my job."}]


@pytest.fixture(scope="module")
def scripted() -> Scripted:
    return Scripted(echo)


@pytest.fixture(scope="module")
def server(scripted: Scripted) -> Iterator[Running]:
    with running(scripted) as server:
        yield server


@pytest.fixture(scope="module")
def client(server: Running) -> Iterator[ollama.Client]:
    with ollama.Client(server.url) as client:
        yield client


def test_the_server_looks_like_ollama(server: Running) -> None:
    assert server.client.get("/").text == "Ollama is running"
    assert server.client.head("/").status_code == 200
    assert server.client.get("/api/version").json() == {"version": "0.34.1"}  # VS Code wants 0.6.4 or later
    assert server.client.head("/api/tags").status_code == 200


def test_models_are_listed_and_shown(client: ollama.Client) -> None:
    models = client.list().models
    assert models[0].model == "mmerg-merg:latest"
    assert all(model.modified_at and model.details for model in models)
    assert len({model.digest for model in models}) == len(models)  # equal ones are aliases for llm-ollama
    assert client.show("mmerg-merg:latest").capabilities == ["completion", "vision", "thinking"]
    with pytest.raises(ollama.ResponseError, match="there is no model 'llama3'") as refused:
        client.show("llama3")
    assert refused.value.status_code == 404


def test_a_chat_is_whole_or_streamed(client: ollama.Client) -> None:
    whole = client.chat(MODEL, HEY)
    assert (whole.message.content, whole.done, whole.done_reason) == ("You said: I lost my job.", True, "stop")
    assert whole.message.thinking == "Answer: emotion joy; response You said: I lost my job."
    assert (whole.prompt_eval_count or 0) > 10
    assert (whole.eval_count or 0) > 5
    parts = list(client.chat(MODEL, HEY, stream=True, think=True))
    assert "".join(part.message.content or "" for part in parts) == "You said: I lost my job."
    assert "".join(part.message.thinking or "" for part in parts) == f"{whole.message.thinking}\n"
    assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]


def test_thinking_can_be_switched_off(client: ollama.Client) -> None:
    assert not any(part.message.thinking for part in client.chat(MODEL, HEY, think=False, stream=True))


def test_pictures_options_and_history_work(client: ollama.Client, scripted: Scripted) -> None:
    see: dict[str, Any] = {"role": "user", "content": "See?", "images": [picture()]}
    talk = [*HEY, {"role": "assistant", "content": "Oh no."}, see]
    answer = client.chat(MODEL, talk, options={"seed": 5, "stop": ["?"]})
    assert answer.message.content == "You said: See"
    assert (scripted.requests[-1].sampling.seed, len(scripted.requests[-1].images)) == (5, 1)
    assert "2. mmerg: Oh no." in scripted.requests[-1].messages[-1].text


def test_null_means_absent_and_seed_minus_one_means_random(server: Running, scripted: Scripted) -> None:
    talk = [{"role": "user", "content": None, "images": None}, {**HEY[0], "images": None}]
    body = {"model": MODEL, "messages": talk, "stream": None, "options": {"seed": -1}}
    lines = server.client.post("/api/chat", json=body).text.splitlines()
    assert len(lines) > 1
    assert "You said: I lost my job." in lines[-2]
    assert 0 <= scripted.requests[-1].sampling.seed < 2**31
    empty = {"model": MODEL, "prompt": None, "images": None, "stream": False}
    assert server.client.post("/api/generate", json=empty).json()["done_reason"] == "load"


def test_generate_loads_and_answers(client: ollama.Client, scripted: Scripted) -> None:
    before = scripted.calls
    assert client.generate(MODEL, "").done_reason == "load"
    assert client.generate(MODEL, "", keep_alive=0).done_reason == "unload"
    assert client.chat(MODEL, []).done_reason == "load"
    assert scripted.calls == before
    assert client.generate(MODEL, "Hello?").response == "You said: Hello?"
    parts = list(client.generate(MODEL, "Look", images=[picture()], stream=True))
    assert "".join(part.response or "" for part in parts) == "You said: Look"
    assert len(scripted.requests[-1].images) == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"messages": [HEY[0] | {"images": ["data:image/png;base64,aGk="]}]}, "not valid base64"),
        ({"messages": [HEY[0] | {"images": ["aGk="]}], "stream": False}, "a picture cannot be decoded"),
        ({"messages": "Hi."}, "messages: Input should be a valid array"),
    ],
)
def test_bad_requests_are_refused(server: Running, wrong: dict[str, Any], said: str) -> None:
    answer = server.client.post("/api/chat", json={"model": MODEL, **wrong})
    assert answer.status_code == 400
    assert list(answer.json()) == ["error"]
    assert said in answer.json()["error"]


def test_a_failing_model_is_an_error_in_the_form_of_ollama() -> None:
    dead = CallError(Failure.OOM, "out of memory")
    with running(Scripted([dead, dead])) as server, ollama.Client(server.url) as client:
        with pytest.raises(ollama.ResponseError, match="out of memory") as whole:
            client.chat(MODEL, HEY)
        assert whole.value.status_code == 502
        with pytest.raises(ollama.ResponseError, match="out of memory"):
            list(client.chat(MODEL, HEY, stream=True))


def test_ollamas_program_lists_shows_and_runs_a_system(server: Running, ollama_binary: Path, tmp_path: Path) -> None:
    (tmp_path / "face.png").write_bytes(picture())
    environment = os.environ | {"OLLAMA_HOST": server.url, "HOME": str(tmp_path)}

    def run(*arguments: str) -> str:
        command = [str(ollama_binary), *arguments]
        process = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert process.returncode == 0, process.stderr
        return process.stdout

    assert f"{MODEL}:latest" in run("list")
    assert "completion" in run("show", MODEL)
    assert "You said: What is this?" in run("run", MODEL, "What is this? ./face.png")

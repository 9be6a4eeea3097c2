"""What the doctor finds: on scripted servers with one fault each, and on a real server with two small models."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from mmerg.backends.dry import least
from mmerg.backends.protocol import Finish, Reply, TokenLogprob
from mmerg.checking.at_once import agreement
from mmerg.console.terminal import run_command
from mmerg.doctor import examine
from mmerg.settings.backbone import DoctorSettings
from mmerg.settings.parse import parse
from tests import tiny_text
from tests.backends.conftest import LAST, Faulty, faulty_server, json_answer, line, stream
from tests.composed import composed
from tests.llama_server import NAME, llama_server
from tests.ollama_server import TEXT_MODEL, VISION_MODEL, Server
from tests.processes import in_process
from tests.scripted_ollama import scripted_ollama

Answer = Callable[[dict[str, Any]], str]


def good(body: dict[str, Any]) -> str:
    """As a model answers that looks at its images and holds to its schema."""
    images = body["messages"][0].get("images", [])
    if "format" in body:
        return json.dumps({"a_steps": [3, 5], "b_mood": "calm"})
    seen = sha256("".join(images).encode()).hexdigest()[:8]
    options = body["options"]
    drawn = f" {options['seed']}" if options["temperature"] else ""
    return f"It shows {seen}." if images else f"Hello there.{drawn}"


class Doctor:
    """Runs the doctor in this process; `marks` is the mark of each check, `text` all that it said."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys
        self.marks: dict[str, str] = {}
        self.text = ""

    def __call__(self, url: str, *settings: str) -> int:
        config = composed("backbone=qwen2.5vl-7b", f"backend.hosts=[{url}]", *settings, name="doctor")
        code = run_command(lambda: examine(parse(config, DoctorSettings)))
        self.text = "".join(self.capsys.readouterr())
        self.marks = marks(self.text)
        return code


def marks(text: str) -> dict[str, str]:
    lines = [line.strip() for line in text.splitlines() if line.startswith("  ") and line.strip()[0] in "✓✗?"]
    return {line[2 : line.index(":")]: line[0] for line in lines}


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Doctor:
    return Doctor(capsys)


ALL_WELL = {
    **dict.fromkeys(("server", "model", "context", "reply", "speed", "schema", "logprobs", "seeds"), "✓"),
    **dict.fromkeys(("frame", "two images", "parallel"), "✓"),
    "memory": "✓",
    "likelihood": "?",  # this server writes no text that it is given
}


def test_all_is_well(doctor: Doctor) -> None:
    with scripted_ollama(answer=good) as server:
        assert doctor(server.url) == 0
    assert doctor.marks == ALL_WELL
    assert doctor.text.splitlines()[1] == f"{server.url}, backbone qwen2.5vl-7b"
    assert doctor.text.splitlines()[-1] == "nothing failed"
    assert "ollama 0.24.0" in doctor.text
    assert "num_ctx 16384 of 32768 tokens" in doctor.text


def bad_schema(body: dict[str, Any]) -> str:
    return '{"a_steps": [1, 2, 3], "b_mood": "fine"}' if "mood" in str(body.get("format")) else good(body)


def sorts(body: dict[str, Any]) -> str:
    """A server whose grammar has fields in the order of the alphabet, as Ollama 0.34."""
    return json.dumps(least(body["format"], 0), sort_keys=True) if "mood" in str(body.get("format")) else good(body)


def reverses(body: dict[str, Any]) -> str:
    """A server whose grammar has fields in an order of its own: a verdict would come before its reason."""
    return '{"b_mood": "calm", "a_steps": [3, 5]}' if "mood" in str(body.get("format")) else good(body)


def prose(body: dict[str, Any]) -> str:
    return good(body) if "format" not in body else "Here is what I think of it."


def blanks(body: dict[str, Any]) -> str:
    """A server whose schema allows any blanks between, which a small model never ends."""
    return '{"a_steps":[' + "\n" * 100 if "mood" in str(body.get("format")) else good(body)


def blank(body: dict[str, Any]) -> str:
    return good(body) if "format" in body else " "


def thoughts_in_words(body: dict[str, Any]) -> str:
    """A server that does not separate thoughts, and ignores schemas until they end."""
    return f"<think>A greeting {{or}} two.</think>\n\n{good(body)}"


def thoughts_alone(body: dict[str, Any]) -> str:
    return "<think>A greeting," if "Say hello" in body["messages"][0]["content"] else good(body)


def thinks_of_stories(body: dict[str, Any]) -> str:
    """A model that has only thought when a short reply ends."""
    return f"<think>{good(body)}" if "Tell a" in str(body["messages"]) else good(body)


def first_alone(body: dict[str, Any]) -> str:
    """A model that sees only the first of its images."""
    images = body["messages"][0].get("images", [])
    return good({**body, "messages": [{"images": images[:1] * len(images)}]})


def second_alone(body: dict[str, Any]) -> str:
    images = body["messages"][0].get("images", [])
    return good({**body, "messages": [{"images": images[-1:] * len(images)}]})


def unseeded(body: dict[str, Any]) -> str:
    return good({**body, "options": body["options"] | {"seed": 0}})


FAULTS: list[tuple[Answer, dict[str, str], str]] = [
    (bad_schema, {"schema": "✗"}, "use a server that enforces JSON schemas"),
    (sorts, {}, "fields in order"),
    (reverses, {"schema": "✗"}, "use a server that enforces JSON schemas"),
    (prose, {"schema": "✗"}, "Here is what I think"),
    (blanks, {"schema": "✗"}, "disallow whitespace in JSON"),
    (blank, {"reply": "✗", "logprobs": "✗", "seeds": "?", "two images": "?"}, "the reply is blank"),
    (thoughts_in_words, {"reply": "✗", "schema": "✗"}, "does not separate thoughts"),
    (thoughts_alone, {"reply": "✗", "schema": "✗", "logprobs": "✗"}, "use the model's instruct tag"),
    (thinks_of_stories, {}, "the same seed repeats its reply, another seed changes it"),
    (first_alone, {"two images": "✗"}, "replacing the second of two images changes nothing"),
    (second_alone, {"two images": "✗"}, "replacing the first of two images changes nothing"),
    (unseeded, {"seeds": "?"}, "5 seeds gave the same reply"),
]


@pytest.mark.parametrize(("answer", "differs", "message"), FAULTS, ids=[case[0].__name__ for case in FAULTS])
def test_a_model_with_a_fault(answer: Answer, differs: dict[str, str], message: str, doctor: Doctor) -> None:
    with scripted_ollama(answer=answer) as server:
        code = doctor(server.url)
    assert doctor.marks == ALL_WELL | differs
    assert code == int("✗" in differs.values())
    assert message in doctor.text


def test_seeds_must_act_where_the_backbone_samples(doctor: Doctor) -> None:
    with scripted_ollama(answer=unseeded) as server:
        assert doctor(server.url, "backbone.sampling={temperature: 0.5}") == 1
    assert doctor.marks == ALL_WELL | {"seeds": "✗"}
    assert "the backbone's temperature is 0.5" in doctor.text


def reply(*logprobs: tuple[str, float]) -> Reply:
    tokens = tuple(TokenLogprob(token=token, logprob=logprob) for token, logprob in logprobs)
    return Reply(text="".join(token for token, _ in logprobs), finish=Finish.STOP, logprobs=tokens)


@pytest.mark.parametrize(
    ("other", "agreed"),
    [
        ((("a", -0.1), ("b", -0.7)), "alike"),
        ((("a", -0.12), ("b", -0.7)), "alike"),
        ((("a", -0.1), ("c", -0.71), ("d", -5.0)), "tied"),
        ((("c", -0.01), ("b", -0.7)), "other"),
        ((("a", -0.1), ("c", -2.0)), "other"),
        ((("a", -0.4), ("b", -0.7)), "other"),
        ((("a", -0.1),), "other"),
    ],
)
def test_how_far_replies_agree(other: tuple[tuple[str, float], ...], agreed: str) -> None:
    assert agreement(reply(("a", -0.1), ("b", -0.7)), reply(*other)) == agreed


@pytest.mark.parametrize(("concurrency", "mark", "code"), [(1, "✓", 0), (2, "✗", 1)])
def test_calls_at_once_that_disturb_each_other(concurrency: int, mark: str, code: int, doctor: Doctor) -> None:
    numbers, guard = count(), threading.Lock()

    def unsteady(body: dict[str, Any]) -> str:
        with guard:
            steady = "format" in body or "storm" in str(body)
            return good(body) if steady else good(body) + " more" * next(numbers)

    with scripted_ollama(answer=unsteady) as server:
        assert doctor(server.url, f"backbone.concurrency={concurrency}") == code
    assert doctor.marks == ALL_WELL | {"parallel": mark}
    assert "3 of 3 groups of 2 calls at once gave other replies" in doctor.text
    assert "backbone.concurrency=1" in doctor.text


def test_more_context_than_the_model_has(doctor: Doctor) -> None:
    with scripted_ollama(answer=good) as server:
        assert doctor(server.url, "backbone.load.num_ctx=65536") == 1
    assert doctor.marks == ALL_WELL | {"context": "✗"}
    assert "set backbone.load.num_ctx=32768" in doctor.text
    assert doctor.text.splitlines()[-1] == "1 check failed"


def test_a_model_without_vision_is_asked_about_no_image(doctor: Doctor) -> None:
    with scripted_ollama(answer=good, capabilities=("completion",)) as server:
        assert doctor(server.url) == 0
    assert set(ALL_WELL) - set(doctor.marks) == {"frame", "two images"}
    assert doctor.marks["vision"] == "✓"


def test_contamination_is_looked_for_where_it_is_asked_for(doctor: Doctor) -> None:
    with scripted_ollama(answer=good) as server:
        assert doctor(server.url, "contamination=true") == 0
        done = command("backbone=qwen2.5vl-7b", f"backend.hosts=[{server.url}]", "dataset=demo", "contamination=true")
    assert doctor.marks == ALL_WELL | {"contamination": "?"}
    assert "contamination needs a dataset: add dataset=meld dataset.root=~/MELD" in doctor.text
    assert "? contamination: demo dialogues has 9 lines" in done.stdout, done.stderr


FRAME = "a frame of 672x504 px takes {} tokens"
REMEDY = (
    "start the server with LLAMA_ARG_IMAGE_MIN_TOKENS=1024 in its environment, or use larger frames: image_side 1184"
)


@pytest.mark.parametrize(
    ("version", "architecture", "tokens", "mark", "says"),
    [
        ("0.34.1", "qwen35", 336, "?", f"{FRAME.format(336)}, too few: llama.cpp requires 1024"),
        ("0.34.1", "qwen35", 336, "?", REMEDY),
        ("0.34.1", "qwen35", 1036, "✓", f"{FRAME.format(1036)}\n"),
        ("0.34.1", "gemma3", 256, "✓", f"{FRAME.format(256)}\n"),
        ("0.24.0", "qwen35", 336, "✓", f"{FRAME.format(336)}\n"),
        ("0.24.0", "mllama", 1, "?", f"{FRAME.format(1)} by the server's count, which ignores pictures"),
    ],
)
def test_the_tokens_of_a_frame(
    version: str, architecture: str, tokens: int, mark: str, says: str, doctor: Doctor
) -> None:
    with scripted_ollama(answer=good, version=version, architecture=architecture, image_tokens=tokens) as server:
        assert doctor(server.url) == 0
    assert doctor.marks["frame"] == mark
    assert says in doctor.text


def test_a_grid_of_frames_is_measured_where_one_image_is_taken(doctor: Doctor) -> None:
    with scripted_ollama(answer=good) as server:
        assert doctor(server.url, "backbone.max_images=1") == 0
    assert set(ALL_WELL) - set(doctor.marks) == {"two images"}
    assert "a frame of 1344x1008 px takes 432 tokens" in doctor.text


def test_a_host_that_is_away_does_not_hide_the_next(doctor: Doctor) -> None:
    away = "http://127.0.0.1:9"
    with scripted_ollama(answer=good) as server:
        assert doctor(f"{away},{server.url}") == 1
    first, _, second = doctor.text.partition(server.url)
    assert marks(first) == {"server": "✗"}
    assert "ollama serve" in first
    assert marks(second) == ALL_WELL
    assert doctor.text.splitlines()[-1] == "1 check failed"


def test_a_host_without_the_model_does_not_hide_the_next(doctor: Doctor) -> None:
    with serving() as other, scripted_ollama(answer=good) as server:
        assert doctor(f"{other.host},{server.url}") == 1
    first, _, second = doctor.text.partition(server.url)
    assert marks(first) == {"model": "✗"}
    assert "ollama pull qwen2.5vl:7b" in first
    assert marks(second) == ALL_WELL


def test_hosts_that_are_all_away_are_all_named(doctor: Doctor) -> None:
    assert doctor("http://127.0.0.1:9,http://127.0.0.1:7") == 2
    assert doctor.text.count("✗ server") == 2
    assert "nothing failed" not in doctor.text


@contextmanager
def serving(**answers: bytes) -> Iterator[Faulty]:
    """A server whose paths under /api answer with fixed bytes; its model `m` has 512 tokens of context."""
    with faulty_server() as server:
        for path, answer in answers.items():
            server.answer(answer, path=f"/api/{path}")
        yield server


M = ("backbone.model=m", "backbone.load.num_ctx=512")
WORDS = stream(line("Hello."), LAST)


def ps(**fields: int) -> bytes:
    return json_answer({"models": [{"model": "m:latest", "name": "m:latest", **fields}]})


def test_a_server_that_gives_no_log_probabilities(doctor: Doctor) -> None:
    with serving(chat=WORDS, ps=ps(size=100, size_vram=100, context_length=512)) as server:
        assert doctor(server.host, *M) == 1
    assert (doctor.marks["reply"], doctor.marks["logprobs"], doctor.marks["memory"]) == ("✓", "✗", "✓")
    assert "self_ppl cannot be computed" in doctor.text


@pytest.mark.parametrize(
    ("answer", "mark", "message"),
    [
        (ps(size=2**31, size_vram=2**31, context_length=512), "✓", "2.0 GiB, context 512 as loaded, all of it on"),
        (ps(size=2**31, size_vram=2**30, context_length=512), "?", "50 % of it on the CPU"),
        (ps(size=2**31, size_vram=2**31, context_length=256), "✗", "context 256 as loaded, 512 was asked for"),
        (json_answer({"models": []}), "✗", "the model is not loaded after a call"),
        (json_answer({"error": "no such page"}, "404 Not Found"), "✗", "no such page"),
    ],
)
def test_how_the_model_is_loaded(answer: bytes, mark: str, message: str, doctor: Doctor) -> None:
    with serving(chat=WORDS, ps=answer) as server:
        doctor(server.host, *M)
    assert doctor.marks["memory"] == mark
    assert message in doctor.text


def test_calls_that_fail_are_findings(doctor: Doctor) -> None:
    failed = json_answer({"error": "CUDA error: out of memory"}, "500 Internal Server Error")
    with serving(chat=failed, ps=ps(size=1, size_vram=1, context_length=512)) as server:
        assert doctor(server.host, *M) == 1
    assert {name for name, mark in doctor.marks.items() if mark == "✗"} == {
        *("frame", "reply", "speed", "schema", "logprobs", "likelihood", "seeds", "two images", "parallel")
    }
    assert "oom: " in doctor.text


def test_a_model_that_cannot_be_loaded_costs_one_call(doctor: Doctor) -> None:
    what = (
        "llama-server process has terminated: exit status 1: error loading model: unknown model architecture: 'mllama'"
    )
    with serving(chat=json_answer({"error": what}, "500 Internal Server Error")) as server:
        assert doctor(server.host, *M) == 2
        assert len(server.asked("/api/chat")) == 1
    assert doctor.marks == {"server": "✓", "model": "✗", "context": "✓"}
    assert "model_not_loaded: " in doctor.text
    assert "use another backbone, or a version of Ollama that can load this model" in doctor.text


def test_what_a_server_says_cannot_steer_the_terminal(doctor: Doctor) -> None:
    with serving(chat=stream(line("\x1b[2J[/red]"), LAST)) as server:
        doctor(server.host, *M)
    assert "\x1b" not in doctor.text
    assert "[/red]" in doctor.text


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("backbone.model=absent:1b",), "ollama pull absent:1b"),
        (("backend.hosts=[]",), "backend.hosts is empty"),
        (("backend.hosts=[http://127.0.0.1:9]",), "http://127.0.0.1:9"),
        (("backend.hosts=[nonsense]",), "nonsense"),
        (("+backbone.load.heat=1",), "unknown load option, or invalid value: heat"),
    ],
)
def test_what_is_wrong_is_said(settings: tuple[str, ...], message: str, doctor: Doctor) -> None:
    with scripted_ollama(answer=good) as server:
        assert doctor(server.url, *settings) == 2
    assert message in doctor.text


def command(*settings: str) -> subprocess.CompletedProcess[str]:
    return in_process([sys.executable, "-m", "mmerg.doctor", *settings])


SMALL = ("backbone.load.num_ctx=4096", "+backbone.load.num_thread=1")


def test_a_real_text_model(each_ollama: Server) -> None:
    done = command(
        "backbone=smollm2-135m", f"backbone.model={TEXT_MODEL}", f"backend.hosts=[{each_ollama.host}]", *SMALL
    )
    assert done.returncode == 0, done.stdout + done.stderr
    checks = marks(done.stdout)
    well = ("server", "model", "context", "vision", "reply", "schema", "logprobs", "likelihood")
    assert {name: checks[name] for name in well} == dict.fromkeys(well, "✓")
    assert "context 4096 as loaded" in done.stdout


def test_a_real_vision_model(each_ollama: Server) -> None:
    settings = (f"backbone.model={VISION_MODEL}", f"backend.hosts=[{each_ollama.host}]", *SMALL)
    done = command("backbone=qwen2.5vl-7b", *settings)
    assert done.returncode == 0, done.stdout + done.stderr
    checks = marks(done.stdout)
    names = ("schema", "logprobs", "two images", "parallel")
    assert {name: checks[name] for name in names} == dict.fromkeys(names, "✓")


@pytest.mark.skipif(find_spec("xllamacpp") is None, reason="needs the package xllamacpp")
def test_a_real_llama_server(doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMA_TOKEN", "hush-hush-3")
    settings = ("backend.adapter.dialect=llama-server", "backend.adapter.token_env=LLAMA_TOKEN")
    model = (f"backbone.model={NAME}", "backbone.load.num_ctx=4096", "backbone=smollm2-135m", "backbone.concurrency=2")
    tiny = tiny_text.write(tmp_path / "tiny.gguf")
    with llama_server(context=4096, slots=2, token="hush-hush-3", model=tiny) as url:
        assert doctor(url, "backend=openai", *settings, *model) == 0
    acting = ("server", "model", "context", "vision", "reply", "schema", "logprobs", "seeds")
    assert {name: doctor.marks[name] for name in acting} == dict.fromkeys(acting, "✓")
    assert doctor.marks["parallel"] in "✓?"  # its sums depend on what is evaluated together
    assert "num_ctx 4096 of 4096 tokens" in doctor.text
    assert "hush" not in doctor.text

"""`mmerg doctor` on scripted servers, and on real servers with small models."""

import json
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from mmerg.backends.protocol import Engine
from mmerg.console.terminal import run_command
from mmerg.doctor import examine
from mmerg.experiment.plan import plan_prompts
from mmerg.runs.auditor import update_auditor
from mmerg.settings.backbone import DoctorSettings
from mmerg.settings.parse import parse
from mmerg.systems.audit import Check
from tests import tiny_text
from tests.backends.conftest import LAST, faulty_server, json_response, line, stream
from tests.configs import compose_config, parse_settings
from tests.llama_server import NAME, llama_server
from tests.ollama_server import TEXT_MODEL, VISION_MODEL, Server
from tests.processes import in_process
from tests.scripted_ollama import scripted_ollama

Answer = Callable[[dict[str, Any]], str]


def good(body: dict[str, Any]) -> str:
    """A completion that depends on the images, and follows the schema."""
    images = body["messages"][0].get("images", [])
    if "format" in body:
        return json.dumps({"a_steps": [3, 5], "b_mood": "calm"})
    seen = sha256("".join(images).encode()).hexdigest()[:8]
    options = body["options"]
    drawn = f" {options['seed']}" if options["temperature"] else ""
    return f"It shows {seen}." if images else f"Hello there.{drawn}"


class Doctor:
    """Runs the doctor in this process. marks: the mark of each check. text: the output."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys
        self.marks: dict[str, str] = {}
        self.text = ""

    def __call__(self, url: str, *settings: str) -> int:
        config = compose_config("backbone=qwen2.5vl-7b", f"backend.hosts=[{url}]", *settings, name="doctor")
        code = run_command(lambda: examine(parse(config, DoctorSettings)))
        self.text = "".join(self.capsys.readouterr())
        self.marks = read_marks(self.text)
        return code


def read_marks(text: str) -> dict[str, str]:
    lines = [line.strip() for line in text.splitlines() if line.startswith("  ") and line.strip()[0] in "✓✗?"]
    return {line[2 : line.index(":")]: line[0] for line in lines}


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Doctor:
    return Doctor(capsys)


ALL_OK = {
    **dict.fromkeys(("server", "model", "context", "completion", "speed", "schema", "logprobs", "seeds"), "✓"),
    **dict.fromkeys(("frame", "two images", "parallel"), "✓"),
    "memory": "✓",
    "likelihood": "?",  # this server does not write a given text
}


def test_a_good_server_passes_all_checks(doctor: Doctor) -> None:
    with scripted_ollama(answer=good) as server:
        assert doctor(server.url) == 0
    assert doctor.marks == ALL_OK
    assert doctor.text.splitlines()[1] == f"{server.url}, backbone qwen2.5vl-7b"
    assert doctor.text.splitlines()[-1] == "nothing failed"
    assert "ollama 0.24.0" in doctor.text
    assert "num_ctx 16384 of 32768 tokens" in doctor.text


def test_a_context_over_the_limit_of_the_model_fails(doctor: Doctor) -> None:
    with scripted_ollama(answer=good) as server:
        assert doctor(server.url, "backbone.load.num_ctx=65536", "backbone.max_images=1") == 1
    assert doctor.marks == {name: mark for name, mark in ALL_OK.items() if name != "two images"} | {"context": "✗"}
    assert "set backbone.load.num_ctx=32768" in doctor.text
    assert "a frame of 1344x1008 px takes 432 tokens" in doctor.text
    assert doctor.text.splitlines()[-1] == "1 check failed"


def test_a_model_without_vision_gets_no_image(doctor: Doctor) -> None:
    with scripted_ollama(answer=good, capabilities=("completion",)) as server:
        assert doctor(server.url) == 0
    assert set(ALL_OK) - set(doctor.marks) == {"frame", "two images"}
    assert doctor.marks["vision"] == "✓"


def test_contamination_needs_a_dataset(doctor: Doctor) -> None:
    with scripted_ollama(answer=good) as server:
        assert doctor(server.url, "contamination=true") == 0
        done = run_command_line(
            "backbone=qwen2.5vl-7b", f"backend.hosts=[{server.url}]", "dataset=demo", "contamination=true"
        )
    assert doctor.marks == ALL_OK | {"contamination": "?"}
    assert "contamination needs a dataset: add dataset=meld dataset.root=~/MELD" in doctor.text
    assert "? contamination: demo dialogues has 9 lines" in done.stdout, done.stderr


def test_an_auditor_is_checked_before_a_run(tmp_path: Path) -> None:
    file, given = tmp_path / "auditor.json", ("dataset=demo", "system=merg")
    prompts = plan_prompts(parse_settings(*given)).compute_check_digests()
    checks = {stage: Check(form=None, why="it is at chance") for stage in ("mpa", "caef", "psp", "sgrg")}

    def examine_auditor(url: str, path: Path) -> tuple[str, str]:
        done = run_command_line("backbone=qwen2.5vl-7b", f"backend.hosts=[{url}]", *given, f"auditor={path}")
        marks = read_marks(done.stdout)
        assert marks["room"] == "✓"  # as without an auditor
        return marks["auditor"], done.stdout

    with scripted_ollama(answer=good) as server:
        engine = Engine(backend="ollama", version="1", model="m", digest=server.digest)
        update_auditor(file, engine, prompts, checks=checks)
        mark, text = examine_auditor(server.url, file)
        assert mark == "✓"
        assert "sgrg: no check, as it is at chance; no stage has a check, so runs have no audit loop" in text
        update_auditor(file, engine.model_copy(update={"digest": "another"}), prompts, checks=checks)
        mark, text = examine_auditor(server.url, file)
        assert (mark, "was measured on another model" in text) == ("✗", True)
        mark, text = examine_auditor(server.url, tmp_path / "missing.json")
        assert (mark, "there is no such file" in text) == ("✗", True)


def test_other_hosts_are_checked_after_an_unusable_one(doctor: Doctor) -> None:
    with faulty_server() as other, scripted_ollama(answer=good) as server:
        assert doctor(f"http://127.0.0.1:9,{other.host},{server.url}") == 1
    first, _, rest = doctor.text.partition(other.host)
    second, _, third = rest.partition(server.url)
    assert (read_marks(first), read_marks(second), read_marks(third)) == ({"server": "✗"}, {"model": "✗"}, ALL_OK)
    assert "ollama serve" in first
    assert "ollama pull qwen2.5vl:7b" in second
    assert doctor.text.splitlines()[-1] == "2 checks failed"


@pytest.mark.parametrize(
    ("given", "other", "mark"),
    [(-0.9, -4.0, "✓"), (-3.0, -4.0, "?"), (0.0, -4.0, "?"), (-1.0, -1.0, "?")],
)
def test_log_probabilities_of_a_given_text_must_be_like_those_of_a_completion(
    given: float, other: float, mark: str, doctor: Doctor
) -> None:
    def answer(body: dict[str, Any]) -> str:
        enum = body.get("format", {}).get("enum")
        return json.dumps(enum[0]) if enum else good(body)

    def logprob(body: dict[str, Any], text: str) -> float:
        is_given = "enum" in body.get("format", {})
        return -0.5 if not is_given else given if "Hello" in text else other

    with scripted_ollama(answer=answer, logprob=logprob) as server:
        assert doctor(server.url) == 0
    assert doctor.marks["likelihood"] == mark


def test_hosts_that_are_all_down_are_each_named_once(doctor: Doctor) -> None:
    assert doctor("http://127.0.0.1:9,http://127.0.0.1:7") == 2
    assert doctor.text.count("✗ server: unreachable") == doctor.text.count("ollama serve") == 2
    assert doctor.text.splitlines()[-1] == "no host could be checked"


M = ("backbone.model=m", "backbone.load.num_ctx=512")  # the model of `faulty_server`


def test_a_server_without_log_probabilities_fails_and_its_text_is_escaped(doctor: Doctor) -> None:
    with faulty_server() as server:
        server.respond(stream(line("\x1b[2J[/red]"), LAST))
        assert doctor(server.host, *M) == 1
    assert (doctor.marks["completion"], doctor.marks["logprobs"], doctor.marks["memory"]) == ("✓", "✗", "✗")
    assert "self_ppl cannot be computed" in doctor.text
    assert "\x1b" not in doctor.text
    assert "[/red]" in doctor.text


def test_failed_calls_are_failed_checks(doctor: Doctor) -> None:
    failed = json_response({"error": "CUDA error: out of memory"}, "500 Internal Server Error")
    with faulty_server() as server:
        server.respond(failed)
        assert doctor(server.host, *M) == 1
    assert {name for name, mark in doctor.marks.items() if mark == "✗"} == {
        *("frame", "completion", "speed", "schema", "logprobs", "likelihood", "seeds", "two images", "parallel"),
        "memory",
    }
    assert "oom: " in doctor.text


def test_a_model_that_cannot_be_loaded_gets_one_call(doctor: Doctor) -> None:
    what = (
        "llama-server process has terminated: exit status 1: error loading model: unknown model architecture: 'mllama'"
    )
    with faulty_server() as server:
        server.respond(json_response({"error": what}, "500 Internal Server Error"))
        assert doctor(server.host, *M) == 2
        assert len(server.bodies("/api/chat")) == 1
    assert doctor.marks == {"server": "✓", "model": "✗", "context": "✓"}
    assert "model_not_loaded: " in doctor.text
    assert "use another backbone, or a version of Ollama that can load this model" in doctor.text


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("backbone.model=absent:1b",), "ollama pull absent:1b"),
        (("backend.hosts=[]",), "backend.hosts is []"),
        (("backend.hosts=[nonsense]",), "nonsense"),
        (("+backbone.load.heat=1",), "unknown load option: heat"),
    ],
)
def test_wrong_settings_are_refused(settings: tuple[str, ...], message: str, doctor: Doctor) -> None:
    with scripted_ollama(answer=good) as server:
        assert doctor(server.url, *settings) == 2
    assert message in doctor.text


def run_command_line(*settings: str) -> subprocess.CompletedProcess[str]:
    return in_process([sys.executable, "-m", "mmerg.doctor", *settings])


SMALL = ("backbone.load.num_ctx=4096", "+backbone.load.num_thread=1")


def test_a_real_text_model(each_ollama: Server) -> None:
    done = run_command_line(
        "backbone=smollm2-135m", f"backbone.model={TEXT_MODEL}", f"backend.hosts=[{each_ollama.host}]", *SMALL
    )
    assert done.returncode == 0, done.stdout + done.stderr
    checks = read_marks(done.stdout)
    well = ("server", "model", "context", "vision", "completion", "schema", "logprobs", "likelihood")
    assert {name: checks[name] for name in well} == dict.fromkeys(well, "✓")
    assert "context 4096 as loaded" in done.stdout


@pytest.mark.slow
def test_a_real_vision_model(each_ollama: Server) -> None:
    settings = (f"backbone.model={VISION_MODEL}", f"backend.hosts=[{each_ollama.host}]", *SMALL)
    done = run_command_line("backbone=qwen2.5vl-7b", *settings)
    assert done.returncode == 0, done.stdout + done.stderr
    checks = read_marks(done.stdout)
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
    acting = ("server", "model", "context", "vision", "completion", "schema", "logprobs", "seeds")
    assert {name: doctor.marks[name] for name in acting} == dict.fromkeys(acting, "✓")
    assert doctor.marks["parallel"] in "✓?"  # its sums depend on what is evaluated together
    assert "num_ctx 4096 of 4096 tokens" in doctor.text
    assert "hush" not in doctor.text

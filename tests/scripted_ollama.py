"""A small HTTP server with the parts of Ollama's API, and of its OpenAI-compatible API, that runs need.

Completions depend only on the request, so equal requests get equal completions. `on_call` gets the number of each chat
call before its response, so that a test can kill the run at that moment.
"""

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from mmerg.systems.merg.schemas import Plan
from tests.backends.conftest import chat_body
from tests.engine.parts import TASKS, as_text, audit, fill_schema, to_class_names
from tests.in_thread import serving

VERSION, DIGEST, SIZE = "0.24.0", "d" * 64, 6 * 2**30
CANNOT_LOAD = (
    "llama-server process has terminated: exit status 1: error loading model: unknown model architecture: 'mllama'"
)
PLAN = {"goal": "comfort", "stance": "warm", "tactic": "question", "tone": "gentle"}


class ScriptedOllama:
    """The state of a server, which a test may change while it runs."""

    def __init__(self, on_call: Callable[[int], None], answer: Callable[[dict[str, Any]], str], digest: str) -> None:
        self.on_call, self.answer = on_call, answer
        self.version, self.digest = VERSION, digest
        self.calls = 0
        self.dies = False  # True closes the connection in the middle of each response
        self.unloadable: set[str] = set()  # models that exist but fail to load
        self.guard = threading.Lock()
        self.url = ""


class _Server(ThreadingHTTPServer):
    request_queue_size = 64  # with the default, 5, simultaneous clients wait a second


@contextmanager
def scripted_ollama(
    on_call: Callable[[int], None] = lambda _: None,  # gets the number of each chat call, from 1, before the response
    answer: Callable[[dict[str, Any]], str] | None = None,  # makes a completion from a request; by default one of MERG
    capabilities: tuple[str, ...] = ("completion", "vision"),
    models: tuple[str, ...] = ("qwen2.5vl:7b",),  # all of which are loaded
    on_gpu: float | None = None,  # the share of a model; None hides the size and context of models
    port: int = 0,  # any free one
    digest: str = DIGEST,
    logprob: Callable[[dict[str, Any], str], float] = lambda *_: -0.5,  # of each word, by request and completion
) -> Iterator[ScriptedOllama]:
    """Runs a server on a loopback port. If a schema allows one value, the completion is it, whatever `answer` says."""
    state = ScriptedOllama(on_call, answer or merg_answer, digest)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            if self.path == "/api/version":
                self._send({"version": state.version})
            else:
                more: dict[str, Any] = {}
                if self.path == "/api/ps" and on_gpu is not None:
                    more = {"size": SIZE, "size_vram": int(SIZE * on_gpu), "context_length": 16384}
                self._send(
                    {"models": [{"model": name, "name": name, "digest": state.digest, **more} for name in models]}
                )

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/api/show":
                info = {"general.architecture": "qwen25vl", "qwen25vl.context_length": 32768}
                self._send({"capabilities": list(capabilities), "model_info": info, "details": {}})
                return
            with state.guard:
                state.calls += 1
                number = state.calls
            state.on_call(number)
            if body["model"] in state.unloadable:
                self._send({"error": CANNOT_LOAD}, status=500)
                return
            schema = body.get("format") or {}
            text = json.dumps(schema["enum"][0]) if len(schema.get("enum", ())) == 1 else state.answer(body)
            if self.path == "/v1/chat/completions":
                self._send(chat_body(text))
                return
            images = sum(len(message.get("images", ())) for message in body["messages"])
            prompt = 10 + 432 * images
            counts = {"prompt_eval_count": prompt, "eval_count": len(text.split()), "prompt_eval_duration": 1000}
            words = re.findall(r"\s*\S+", text) if body.get("logprobs") else []
            tokens: list[dict[str, Any]] = [{"token": word, "logprob": logprob(body, text)} for word in words]
            if body.get("top_logprobs"):
                tokens = [
                    {**token, "top_logprobs": [token, {"token": "~", "logprob": token["logprob"] - 2}]}
                    for token in tokens
                ]
            chunk = {"message": {"role": "assistant", "content": text}, "logprobs": tokens, "done": False}
            done = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop", **counts}
            self._send(chunk, done, dies=state.dies)

        def _send(self, *lines: dict[str, Any], dies: bool = False, status: int = 200) -> None:
            data = "".join(json.dumps(line) + "\n" for line in lines).encode()
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/x-ndjson")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data[: len(data) // 2] if dies else data)
            except ConnectionError:  # the run was killed
                pass

    with _Server(("127.0.0.1", port), Handler) as server, serving(server):
        state.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield state


def merg_answer(body: dict[str, Any]) -> str:
    """Returns a valid completion for the stage of the request, whose hash decides which checks of an audit fail."""
    prompt = next(message["content"] for message in body["messages"] if message["role"] == "user")
    mark = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    [stage] = [name for name, task in TASKS.items() if task in prompt]
    match stage:
        case "mpa":
            cue = {"textual_cues": [{"turn": 1, "cue": f"words {mark[:6]}"}]}
            if re.search(r"^Frame 1 ", prompt, re.MULTILINE):
                cue["visual_cues"] = [{"frame": 1, "cue": f"a face {mark[:6]}"}]
            return json.dumps(cue)
        case "caef":
            [labels] = [field["enum"] for name, field in body["format"]["properties"].items() if "_emotion" in name]
            answer = {"emotion": labels[int(mark, 16) % len(labels)], "reasoning": mark[:6]}
            answer |= {"textual": "t", "visual": "v", "consistency": "agree"}
            return fill_schema(answer, body["format"])
        case "psp":
            return as_text(Plan(reasoning=mark[:6], **PLAN))
        case "sgrg":
            return f"I hear you, {mark[:6]}."
        case _:
            checks = to_class_names(body["format"]["properties"])
            return as_text(audit({name: mark[place] < "c" for place, name in enumerate(checks)}))

"""A chat server for `inspect_ai_task.py` that answers at once and speaks both Ollama's /api/chat and OpenAI's
/v1/chat/completions. It judges nothing: what fits the schema asked for is what comes back.

    with served(kept) as url: ...    # kept: the bodies it was asked, by path
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from benchmarks.scale import answer
from tests.in_thread import serving
from tests.scripted_ollama import DIGEST, VERSION

MODEL = "qwen2.5vl:7b"


@contextmanager
def served(kept: dict[str, list[bytes]] | None = None) -> Iterator[str]:
    """The address of a server on a free loopback port. Bodies go into `kept` as they come."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # as Ollama: else an answer's second packet waits 40 ms for a word of the first

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            tags = {"models": [{"model": MODEL, "name": MODEL, "digest": DIGEST}]}
            self._send({"version": VERSION} if self.path == "/api/version" else tags)

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/api/show":
                self._send({"capabilities": ["completion"], "model_info": {}, "details": {}})
                return
            if kept is not None:
                kept.setdefault(self.path, []).append(raw)
            body = json.loads(raw)
            self._send(*(_ollama(body) if self.path == "/api/chat" else _openai(body)))

        def _send(self, *lines: dict[str, Any]) -> None:
            data = "".join(json.dumps(line) + "\n" for line in lines).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, serving(server):
        yield f"http://127.0.0.1:{server.server_address[1]}"


def _ollama(body: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    text = answer(json.dumps(body["format"]) if "format" in body else "")
    tokens = [{"token": word, "logprob": -0.5} for word in text.split()] if body.get("logprobs") else []
    counts = {"prompt_eval_count": 10, "eval_count": len(text.split()), "prompt_eval_duration": 1000}
    said = {"message": {"role": "assistant", "content": text}, "logprobs": tokens, "done": False}
    return said, {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop", **counts}


def _openai(body: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    text = answer(json.dumps(schema) if schema else "")
    choice: dict[str, Any] = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    if body.get("logprobs"):
        choice["logprobs"] = {
            "content": [{"token": word, "logprob": -0.5, "bytes": None, "top_logprobs": []} for word in text.split()]
        }
    used = {"prompt_tokens": 10, "completion_tokens": len(text.split()), "total_tokens": 10 + len(text.split())}
    whole = {"id": "c", "object": "chat.completion", "created": 0, "model": MODEL, "choices": [choice], "usage": used}
    return (whole,)

"""Server errors: the failure of each wording, and hints for wordings that name a cause."""

import json

import pytest

from mmerg.backends.server_errors import OLLAMA
from mmerg.errors import Failure

LLAMA_SERVER_OVERFLOW = {
    "error": {
        "code": 400,
        "message": "request (9412 tokens) exceeds the available context size (8192 tokens), try increasing it",
        "type": "exceed_context_size_error",
    }
}
UNKNOWN_TYPE = {
    "error": {
        "code": 400,
        "message": 'Unable to generate parser for this template: Unrecognized schema: {"type":"banana"}',
    }
}
NO_EMBEDDINGS = {
    "error": {
        "code": 501,
        "message": "This server does not support embeddings. Start it with `--embeddings`",
        "type": "not_supported_error",
    }
}
NO_MLLAMA = (
    "llama-server process has terminated: exit status 1: error loading model: unknown model architecture: 'mllama'\n"
    "error loading model: unknown model architecture: 'mllama'"
)
STOPPED = "model runner has unexpectedly stopped, this may be due to resource limitations or an internal error"

OLD_LINE = "error: request (9030 tokens) exceeds the available context size (2048 tokens), try increasing it"

OVERFLOW = Failure.CONTEXT_OVERFLOW


def flat(message: str) -> str:
    """An error of SGLang."""
    return json.dumps({"object": "error", "message": message, "type": "BadRequest", "code": 400})


CASES = [
    (404, "model 'nope' not found", Failure.MODEL_NOT_FOUND),
    (404, 'model "nope" not found, try pulling it first', Failure.MODEL_NOT_FOUND),
    (200, "pull model manifest: file does not exist", Failure.MODEL_NOT_FOUND),
    (404, "404 page not found", Failure.BAD_REQUEST),
    (401, "unauthorized", Failure.BAD_REQUEST),
    (403, "Forbidden", Failure.BAD_REQUEST),
    (405, "405 method not allowed", Failure.BAD_REQUEST),
    (413, "Request Entity Too Large", Failure.BAD_REQUEST),
    (418, "a status that nobody knows", Failure.BAD_REQUEST),
    (408, "Request Timeout", Failure.BUSY),
    (429, "Too Many Requests", Failure.BUSY),
    (404, "model 'm' not found", Failure.MODEL_NOT_FOUND),
    (400, "the input length exceeds the context length", Failure.CONTEXT_OVERFLOW),
    (500, "the input length exceeds the context length", Failure.CONTEXT_OVERFLOW),
    (400, "input exceeds maximum context length and cannot be truncated further", Failure.CONTEXT_OVERFLOW),
    (400, "prompt too long; exceeded max context length by 12 tokens", Failure.CONTEXT_OVERFLOW),
    (400, json.dumps(LLAMA_SERVER_OVERFLOW), Failure.CONTEXT_OVERFLOW),
    (500, "failed to process inputs: image: unknown format", Failure.IMAGE_REJECTED),
    (500, "failed to process inputs: invalid JPEG format: short Huffman data", Failure.IMAGE_REJECTED),
    (500, "failed to process inputs: unexpected EOF", Failure.IMAGE_REJECTED),
    (400, "illegal base64 data at input byte 4", Failure.IMAGE_REJECTED),
    (500, "this model is missing data required for image input", Failure.IMAGE_REJECTED),
    (400, '"m" does not support vision', Failure.IMAGE_REJECTED),
    (500, "image input is not supported - hint: if this is unexpected, provide the mmproj", Failure.IMAGE_REJECTED),
    (400, "Failed to load image or audio file", Failure.IMAGE_REJECTED),
    (500, STOPPED, Failure.RUNNER_CRASH),
    # What the process logged of older calls says nothing of its end; 0.34.1 appends all of it.
    (500, f"{STOPPED}, check ollama server logs for details: {OLD_LINE}", Failure.RUNNER_CRASH),
    (200, f"an error was encountered while running the model: {OLD_LINE}", Failure.RUNNER_CRASH),
    (500, f"llama-server process no longer running: unknown {OLD_LINE}", Failure.RUNNER_CRASH),
    (200, f"an error was encountered while running the model: {OLD_LINE}\nCUDA error: out of memory", Failure.OOM),
    (200, "error reading llama-server chat response: connection reset by peer", Failure.RUNNER_CRASH),
    (500, "llama runner process has terminated: exit status 2", Failure.RUNNER_CRASH),
    (500, "llama runner process has terminated: cudaMalloc failed: out of memory", Failure.OOM),
    (500, "model requires more system memory (9.1 GiB) than is available (3.2 GiB)", Failure.OOM),
    (500, "memory layout cannot be allocated with num_gpu = 99", Failure.OOM),
    (500, "unable to allocate CUDA0 buffer", Failure.OOM),
    (500, "llama-server reported out-of-memory during startup: hipMalloc failed", Failure.OOM),
    (500, "failed to allocate compute buffers", Failure.OOM),
    (503, "server busy, please try again.  maximum pending requests exceeded", Failure.BUSY),
    (503, "Service Unavailable", Failure.BUSY),
    (503, json.dumps({"error": {"message": "Loading model", "type": "unavailable_error"}}), Failure.UNREACHABLE),
    (502, "<html>Bad Gateway</html>", Failure.RUNNER_CRASH),
    (400, '"m" does not support thinking', Failure.BAD_REQUEST),
    (400, "invalid options: num_ctxx", Failure.BAD_REQUEST),
    (501, "this model does not support embeddings", Failure.BAD_REQUEST),
    (501, json.dumps(NO_EMBEDDINGS), Failure.BAD_REQUEST),
    (500, "invalid JSON schema in format", Failure.BAD_REQUEST),
    (400, json.dumps(UNKNOWN_TYPE), Failure.BAD_REQUEST),
    (500, NO_MLLAMA, Failure.MODEL_NOT_LOADED),
    (500, "llama-server process has terminated: exit status 1", Failure.MODEL_NOT_LOADED),
    (500, "llama-server process has terminated: exit status 1: cudaMalloc failed: out of memory", Failure.OOM),
    (500, "llama-server process has terminated: signal: killed", Failure.RUNNER_CRASH),
    (500, "llama-server process has terminated: exit status 0xc0000409: stack overflow", Failure.RUNNER_CRASH),
    (500, "llama-server process no longer running: -1", Failure.RUNNER_CRASH),
    (500, "llama runner process has terminated: error loading model: wrong magic", Failure.MODEL_NOT_LOADED),
    (200, "prediction aborted, token repeat limit reached", Failure.LOOP_ABORT),
    # gemma4 on Ollama 0.32, one picture: github.com/NousResearch/hermes-agent/pull/82993
    (400, "prompt too long; exceeded max context length by 420736 tokens", Failure.CONTEXT_OVERFLOW),
    (
        500,
        json.dumps({"error": {"message": "input (437120 tokens) is too large to process"}}),
        Failure.CONTEXT_OVERFLOW,
    ),
    (500, json.dumps({"error": "Context size has been exceeded."}), Failure.CONTEXT_OVERFLOW),
    (500, json.dumps({"error": {"message": "image input is not supported - hint: …"}}), Failure.IMAGE_REJECTED),
    (400, "Multimodal data provided, but model does not support multimodal requests.", Failure.IMAGE_REJECTED),
    (499, "request canceled", Failure.SERVER_ERROR),
    (301, "<html>moved</html>", Failure.SERVER_ERROR),
    (200, "an error was encountered while running the model: unexpected EOF", Failure.RUNNER_CRASH),
    (200, "an error was encountered while running the model: CUDA error: out of memory", Failure.OOM),
    (200, "error reading llm response: connection reset by peer", Failure.RUNNER_CRASH),
    (500, "llama runner process no longer running: -1", Failure.RUNNER_CRASH),
    (200, "no space left on device", Failure.SERVER_ERROR),
    (500, "\x1b[2J" + "x" * 9000, Failure.SERVER_ERROR),  # ESC steers terminals
    # Recorded from vLLM 0.32.0
    (400, "This model's maximum context length is 4096 tokens. However, your prompt", Failure.CONTEXT_OVERFLOW),
    (400, "m is not a multimodal model", Failure.IMAGE_REJECTED),
    (404, "The model `gpt-4` does not exist. Valid aliases: m.", Failure.MODEL_NOT_FOUND),
    (400, "Grammar error: Invalid type: wibble", Failure.BAD_REQUEST),
    # github.com/vllm-project/vllm/issues/12165, and vllm/v1/engine/exceptions.py
    (400, "The prompt (total length 25938) is too long to fit into the model", Failure.CONTEXT_OVERFLOW),
    (500, "EngineCore encountered an issue. See stack trace (above) for the root cause.", Failure.RUNNER_CRASH),
    # SGLang, python/sglang/srt/managers/tokenizer_manager.py; its errors have no `error` around them
    (400, flat("The input (5000 tokens) is longer than the model's context length (2048 tokens)."), OVERFLOW),
    (400, flat("Requested token count exceeds the model's maximum context length of 2048 tokens."), OVERFLOW),
    (503, flat("The request queue is full."), Failure.BUSY),
]


@pytest.mark.parametrize(("status", "wording", "failure"), CASES)
def test_each_wording_has_its_failure(status: int, wording: str, failure: Failure) -> None:
    error = OLLAMA.classify(status, json.dumps({"error": wording}), model="nope", where="http://h:1")
    assert error.failure is failure
    assert error.hint
    assert "http://h:1" in error.where
    assert (error.what.isprintable(), len(error.what) < 600) == (True, True)


@pytest.mark.parametrize(
    ("status", "wording", "hint"),
    [
        (301, "", "redirects are not followed"),
        (401, "", "login"),
        (403, "", "login"),
        (404, "", "check that the host is an Ollama server"),
        (405, "", "check that the host is an Ollama server"),
        (413, "", "smaller frames"),
        (400, '"m" does not support thinking', "backbone.think=false"),
        (400, json.dumps(UNKNOWN_TYPE), "cannot use this JSON schema"),
        (400, "invalid JSON schema in format", "cannot use this JSON schema"),
        (400, json.dumps(NO_EMBEDDINGS), "memory.embedder.model=…"),
        (400, NO_MLLAMA, "use another backbone, or a version of Ollama that can load this model"),
    ],
)
def test_a_wording_that_names_a_cause_has_its_own_hint(status: int, wording: str, hint: str) -> None:
    assert hint in OLLAMA.classify(status, json.dumps({"error": wording})).hint

"""The errors of servers: a status and a body as a `CallError` with its `Failure` and a hint.

The wordings come from the source code of Ollama (v0.24.0 and v0.34.1), of llama.cpp's server (b10864), whose JSON
Ollama passes on as a string inside `error`, of vLLM, and of SGLang.

    raise OLLAMA.classify(400, '{"error": "the input length exceeds the context length"}', model="m", where=host)
"""

import json
import re
from dataclasses import dataclass

from mmerg.errors import CallError, Failure

UNWRAP_DEPTH = 3  # Ollama's object, llama-server's object as a string in it, and the `error` object in that
SHOWN_CHARACTERS = 500

# The first match counts. Messages of crashes often contain an out-of-memory message, so OOM comes before them.
# After "failed to process inputs" comes the decoder's message: image, png, invalid JPEG, unexpected EOF.
_WORDINGS = {
    Failure.CONTEXT_OVERFLOW: r"exceeds (the|maximum) context length|exceed_context_size_error|prompt too long|"
    r"exceeds the available context size|maximum context length|longer than the (maximum )?model'?s? |"
    r"too long to fit into the model|context size has been exceeded|is too large to process",
    Failure.OOM: r"cudamalloc failed|requires more system memory|out[ -]of[ -](device )?memory|"
    r"memory layout cannot be allocated|(unable|failed) to allocate",
    # Only if the server exits while it loads a model: a signal means a crash, and "model runner has unexpectedly
    # stopped" is the message for a loaded model.
    Failure.MODEL_NOT_LOADED: r"unknown model architecture|error loading model|(failed|unable) to load model|"
    r"llama-server process has terminated: exit status 1\b",
    Failure.IMAGE_REJECTED: r"failed to process inputs|image: unknown format|illegal base64|"
    r"missing data required for image input|image input is not supported|does not support (vision|image|multimodal)|"
    r"failed to (load|decode) image|cannot identify image|not a multimodal model|at most 0 image|"
    r"(invalid|incorrect) (image|base64)",
    Failure.RUNNER_CRASH: r"(runner|llama-server) process (has terminated|no longer running)|"
    r"error reading (llm|llama-server) |enginecore encountered",
    Failure.LOOP_ABORT: r"token repeat limit reached",
    Failure.BUSY: r"maximum pending requests exceeded|server busy|llm server loading model",
    Failure.UNREACHABLE: r"unavailable_error: loading model",  # from llama-server while it starts
    Failure.MODEL_NOT_FOUND: r"pull model manifest: file does not exist|try pulling it first|"
    r"the model `.*` does not exist|^404 (?s:.*model.*not found|.*not found.*model)",
    # Both come with a status of 500 or more: the first from Ollama before 0.30.
    Failure.BAD_REQUEST: r"invalid json schema in format|does not support embeddings",
}
# The process of a loaded model died. The message continues with the log of the process, which also has errors of
# earlier calls ("… exceeds the available context size"). In the log, only out of memory counts as the cause.
_RUNNER_DIED = (
    r"model runner has unexpectedly stopped|error was encountered while running the model|"
    r"process no longer running: (-1|unknown)\b"
)
_STATUSES = {  # for errors whose wording is unknown
    **dict.fromkeys((408, 429, 503), Failure.BUSY),
    499: Failure.SERVER_ERROR,  # the server believes that the client has left, so a retry can help
    502: Failure.RUNNER_CRASH,  # from a proxy whose server died
}
_HINTS = {
    Failure.CONTEXT_OVERFLOW: "{longer}, or send fewer or smaller frames or a shorter history",
    Failure.OOM: "use a smaller model, a smaller num_ctx, fewer or smaller frames, or OLLAMA_KV_CACHE_TYPE=q8_0",
    Failure.MODEL_NOT_LOADED: "{unloadable}",
    Failure.IMAGE_REJECTED: "send JPEG or PNG with sides of at least 32 px, to a model with the capability vision",
    Failure.RUNNER_CRASH: "see the server's log; try fewer or smaller images, or a smaller num_ctx",
    Failure.LOOP_ABORT: "the model repeats one token: try another seed, a temperature above 0, or a repeat_penalty",
    Failure.BUSY: "lower the number of calls in flight, or let the server take more (Ollama: OLLAMA_MAX_QUEUE)",
    Failure.UNREACHABLE: "wait until the model is loaded; the same command then resumes",
    Failure.MODEL_NOT_FOUND: "{pull}",
    Failure.BAD_REQUEST: "the server rejects this request; sending it again will not help",
    Failure.SERVER_ERROR: "see the server's log; {address}",
}
_STATUS_HINTS = {  # for statuses that name the cause by themselves
    **dict.fromkeys(range(300, 400), "the server redirects; redirects are not followed: {address}"),
    **dict.fromkeys((401, 403), "{login}"),
    **dict.fromkeys((404, 405), "{address}"),
    413: "send fewer or smaller frames, or let the server's proxy accept larger requests",
}
_REQUEST_HINTS = {  # for rejected requests whose wording names the cause
    r"does not support thinking": "set backbone.think=false, or use a model with the capability thinking",
    r"does not support embeddings": "use a model with the capability embedding, such as all-minilm or "
    "nomic-embed-text: memory.embedder.model=…",
    r"json schema|unrecognized schema|generate parser|grammar": "the server cannot use this JSON schema: give the "
    "output class simpler fields, or update the server",
}


@dataclass(frozen=True)
class ServerKind:
    """A kind of server, with the hints for its errors."""

    name: str
    start: str  # no server responds
    pull: str  # it lacks {model}
    address: str  # it is of another kind
    longer: str = "raise num_ctx"  # the context is too short
    unloadable: str = "see the server's log; use another model, or a version of the server that can load this one"
    login: str = "the server or its proxy requires a login: use a host without one"
    option: str = "backend.adapter.deadlines."  # prefix of the settings of its deadlines

    def classify(self, status: int, body: str, *, model: str = "", where: str = "") -> CallError:
        """Builds the error for a response with `status` and `body`; status 200 means an error line inside a stream."""
        text = unwrap(body)
        failure = _classify(status, text.lower())
        hint = _HINTS[failure]
        if failure is Failure.BAD_REQUEST or 300 <= status < 400:
            causes = (hint for wording, hint in _REQUEST_HINTS.items() if re.search(wording, text.lower()))
            hint = _STATUS_HINTS.get(status) or next(causes, hint)
        hint = hint.format(**vars(self) | {"pull": self.pull.format(model=model)})
        printable = "".join(letter if letter.isprintable() else " " for letter in text)  # ESC would steer the terminal
        message = " ".join(printable.split())[:SHOWN_CHARACTERS] or "nothing"
        place = f"{where} model {model}" if model and where else where or model
        code = "an error line" if status == 200 else f"status {status}"
        return CallError(failure, f"{self.name} responded with {code}: {message}", where=place, hint=hint)


OLLAMA = ServerKind(
    "Ollama server",
    start="start it with `ollama serve`, or set backend.hosts=[http://HOST:11434]",
    pull="ollama pull {model}",
    address="check that the host is an Ollama server, not a web page or proxy",
    unloadable="use another backbone, or a version of Ollama that can load this model (llama3.2-vision: 0.24 to 0.29); "
    "if the model is damaged, pull it again",
)


def unwrap(body: str) -> str:
    """Returns the message inside `body`. JSON objects are unpacked, even those that `error` contains as text. The
    `type` of an error stays in front of its message."""
    text = body
    for _ in range(UNWRAP_DEPTH):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return text
        inner = value.get("error", value) if isinstance(value, dict) else value
        if isinstance(inner, dict):
            return ": ".join(str(inner[key]) for key in ("type", "message") if inner.get(key)) or text
        if not isinstance(inner, str):
            return text
        text = inner
    return text


def _classify(status: int, text: str) -> Failure:
    if re.search(_RUNNER_DIED, text):
        return Failure.OOM if re.search(_WORDINGS[Failure.OOM], text) else Failure.RUNNER_CRASH
    for failure, wordings in _WORDINGS.items():
        if re.search(wordings, f"{status} {text}"):
            return failure
    return _STATUSES.get(status, Failure.BAD_REQUEST if 400 <= status < 500 else Failure.SERVER_ERROR)

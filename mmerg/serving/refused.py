"""Errors for clients: status, hint and text; `app.py` writes them in the form of the client's API."""

from mmerg.console.terminal import printable
from mmerg.errors import CallError, Failure, MmergError, SampleError, locate_error

CALL_STATUS = {Failure.CONTEXT_OVERFLOW: 400, Failure.IMAGE_REJECTED: 400, Failure.BUSY: 503, Failure.UNREACHABLE: 503}

START = "start the model's server, then try again"
AGAIN = "try again"
HINTS = {  # instead of the hints for runs: a chat has no command line
    **{Failure.UNREACHABLE: START, Failure.MODEL_NOT_FOUND: START, Failure.BUSY: "try again in a while"},
    **dict.fromkeys((Failure.TIMEOUT, Failure.RUNNER_CRASH, Failure.LOOP_ABORT, Failure.EMPTY), AGAIN),
    **dict.fromkeys((Failure.TRUNCATED, Failure.THINKING_EXHAUSTED, Failure.SCHEMA_INVALID), AGAIN),
    Failure.CODE_ERROR: "fix it, then restart the server",
}


class HttpError(MmergError):
    """The request is wrong, or one too many; `status` is HTTP's."""

    def __init__(self, what: str, *, where: str = "", hint: str = "", status: int = 400) -> None:
        super().__init__(what, where=where, hint=hint)
        self.status = status


def get_status(error: MmergError) -> int:
    if isinstance(error, HttpError):
        return error.status
    if isinstance(error, SampleError):
        return CALL_STATUS.get(error.failure, 502 if isinstance(error, CallError) else 500)
    return 503


def code_fault() -> HttpError:
    """What a client gets for a bug in the server."""
    return HttpError("internal server error; see the server's log", hint="report it with the log", status=500)


def describe_fault(error: Exception) -> str:
    """A bug, for the log: without its text, which may quote the user."""
    return f"a fault of the server: {type(error).__name__} at {locate_error(error)}"


def error_fields(error: MmergError) -> dict[str, str]:
    return {"what": error.what, "where": error.where, "hint": _hint(error)}


def error_sentence(error: MmergError) -> str:
    """An error in one line, for APIs that have one text for it. Escapes control characters of a model's server."""
    hint = _hint(error)
    return printable(f"{error.what}{f' ({error.where})' if error.where else ''}{f': {hint}' if hint else ''}")


def hint_for(failure: Failure, hint: str) -> str:
    return HINTS.get(failure, hint)


def describe_failure(failure: Failure, what: str) -> str:
    """What happened, for a person: without the fields of a schema."""
    return "the model did not answer in the requested form" if failure is Failure.SCHEMA_INVALID else what


def _hint(error: MmergError) -> str:
    return hint_for(error.failure, error.hint) if isinstance(error, SampleError) else error.hint

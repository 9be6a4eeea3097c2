"""Errors as clients of a server get them: status, hint and text. `app.py` adds the format of each API."""

from mmerg.console.terminal import printable
from mmerg.errors import CallError, Failure, MmergError, SampleError, locate_error

CALL_STATUS = {Failure.CONTEXT_OVERFLOW: 400, Failure.IMAGE_REJECTED: 400, Failure.BUSY: 503, Failure.UNREACHABLE: 503}

START = "start the model's server, then try again"
AGAIN = "try again"
HINTS = {  # replace the hints for runs, which name options of the command line
    **{Failure.UNREACHABLE: START, Failure.MODEL_NOT_FOUND: START, Failure.BUSY: "try again in a while"},
    **dict.fromkeys((Failure.TIMEOUT, Failure.RUNNER_CRASH, Failure.LOOP_ABORT, Failure.EMPTY), AGAIN),
    **dict.fromkeys((Failure.TRUNCATED, Failure.THINKING_EXHAUSTED, Failure.SCHEMA_INVALID), AGAIN),
    Failure.CODE_ERROR: "fix it, then restart the server",
}


class HttpError(MmergError):
    """The error for a request that is wrong or cannot be served now. status: the HTTP status of the response."""

    def __init__(self, what: str, *, where: str = "", hint: str = "", status: int = 400) -> None:
        super().__init__(what, where=where, hint=hint)
        self.status = status


def get_status(error: MmergError) -> int:
    if isinstance(error, HttpError):
        return error.status
    if isinstance(error, SampleError):
        return CALL_STATUS.get(error.failure, 502 if isinstance(error, CallError) else 500)
    return 503


def build_internal_error() -> HttpError:
    return HttpError("internal server error; see the server's log", hint="report it with the log", status=500)


def describe_bug(error: Exception) -> str:
    """Describes a bug for the log, without the exception's text, which may quote the user."""
    return f"a fault of the server: {type(error).__name__} at {locate_error(error)}"


def error_as_dict(error: MmergError) -> dict[str, str]:
    return {"what": error.what, "where": error.where, "hint": _get_hint(error)}


def error_as_text(error: MmergError) -> str:
    """Returns an error as one line. Control characters, which model servers may send, are escaped."""
    where = f" ({error.where})" if error.where else ""
    hint = _get_hint(error)
    return printable(f"{error.what}{where}{f': {hint}' if hint else ''}")


def choose_hint(failure: Failure, hint: str) -> str:
    """Returns the hint for users of a server. hint: that for runs, the default."""
    return HINTS.get(failure, hint)


def describe_failure(failure: Failure, what: str) -> str:
    """Describes a failure for users who do not know the schemas of completions. what: the exact description."""
    return "the model did not answer in the requested form" if failure is Failure.SCHEMA_INVALID else what


def _get_hint(error: MmergError) -> str:
    return choose_hint(error.failure, error.hint) if isinstance(error, SampleError) else error.hint

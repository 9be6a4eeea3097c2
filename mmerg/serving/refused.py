"""What a client is told that asks for something which cannot be had; `app.py` says it as the client's API does."""

from __future__ import annotations

from mmerg.errors import CallError, Failure, MmergError, SampleError, raised_at

OF_CALLS = {Failure.CONTEXT_OVERFLOW: 400, Failure.IMAGE_REJECTED: 400, Failure.BUSY: 503, Failure.UNREACHABLE: 503}


class RefusedError(MmergError):
    """The request itself is wrong, or is one too many; `status` is HTTP's."""

    def __init__(self, what: str, *, where: str = "", hint: str = "", status: int = 400) -> None:
        super().__init__(what, where=where, hint=hint)
        self.status = status


FAULT = RefusedError("the server has a fault, which its log names", hint="report it with the log", status=500)


def status_of(error: MmergError) -> int:
    """HTTP's status for an error."""
    if isinstance(error, RefusedError):
        return error.status
    if isinstance(error, SampleError):
        return OF_CALLS.get(error.failure, 502 if isinstance(error, CallError) else 500)
    return 503


def fault(error: Exception) -> str:
    """A mistake in the code, for the log: not its text, which may quote what was said."""
    return f"a fault of the server: {type(error).__name__} at {raised_at(error)}"


def plain(error: MmergError) -> dict[str, str]:
    """An error as the page is told it."""
    return {"what": error.what, "where": error.where, "hint": error.hint}


def sentence(error: MmergError) -> str:
    """An error in one line, for APIs that have one text for it."""
    return f"{error.what}{f' ({error.where})' if error.where else ''}{f': {error.hint}' if error.hint else ''}"

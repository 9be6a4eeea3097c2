"""Every error that mmerg raises on purpose.

    MmergError                  what happened, where, and what to do next
    ├── ConfigError             a setting is wrong
    ├── CorpusError             a dataset, file or line is damaged or unexpected
    ├── ClipError               a clip gives no frames
    ├── RunError                a run folder cannot be used
    │   └── UnscoredError       a run has no scores yet (scoring/score.py)
    ├── SampleError             one sample fails; the others continue
    │   ├── CallError           a call gives no completion
    │   └── CompletionError     a completion cannot be used
    └── HttpError               a request to the chat server is refused (serving/http_error.py)

Commands catch `MmergError` at the top, print it and exit with 2; `engine/sample.py` catches `SampleError` per sample.
An exception in the user's code, such as a reader, becomes one of these, with its file and line. No other code catches
broadly, so that a bug keeps its traceback.
"""

import errno
import traceback
from collections.abc import Hashable, Iterable, Sequence
from difflib import get_close_matches
from enum import StrEnum
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)


class Failure(StrEnum):
    """How a call or a sample failed. Traces and results contain the values."""

    TRUNCATED = "truncated"  # the completion reached its token limit
    THINKING_EXHAUSTED = "thinking_exhausted"  # the model wrote only thoughts
    LOOP_ABORT = "loop_abort"  # the server stopped a completion that repeated itself
    EMPTY = "empty"  # the completion is blank
    SCHEMA_INVALID = "schema_invalid"  # the completion is not the requested JSON
    CONTEXT_OVERFLOW = "context_overflow"  # the prompt does not fit the context
    IMAGE_REJECTED = "image_rejected"  # the server cannot decode or use an image
    RUNNER_CRASH = "runner_crash"  # the model's process died, or the stream ended early
    OOM = "oom"  # out of memory
    TIMEOUT = "timeout"  # a deadline passed
    BUSY = "busy"  # the server's queue is full
    UNREACHABLE = "unreachable"  # no server answers at the host
    MODEL_NOT_FOUND = "model_not_found"  # the server has no such model
    MODEL_NOT_LOADED = "model_not_loaded"  # the server has the model, but cannot load it
    BAD_REQUEST = "bad_request"  # the server refuses the request as malformed
    SERVER_ERROR = "server_error"  # any other error response
    CLIP_GONE = "clip_gone"  # a clip has disappeared since the run started
    INTERRUPTED = "interrupted"  # the user stopped the run
    NOT_CACHED = "not_cached"  # in a replay without a server, the call is not in the cache
    ABSENT = "absent"  # the imported replies of another system lack the sample
    CODE_ERROR = "code_error"  # the user's code raised an exception


class MmergError(Exception):
    """An expected failure: `what` happened, `where`, and a `hint` on what to do next."""

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what, self.where, self.hint = what, where, hint

    def __str__(self) -> str:
        where = f"\n  where: {self.where}" if self.where else ""
        hint = f"\n  next:  {self.hint}" if self.hint else ""
        return f"{self.what}{where}{hint}"


class ConfigError(MmergError):
    """A setting is wrong, or two of them do not fit together."""


class CorpusError(MmergError):
    """A dataset's folder, file or line is missing, damaged, or not in the expected format."""


class ClipError(MmergError):
    """A clip gives no frames. `reason` is one of a few fixed words (missing, unreadable, …), which reports count."""

    def __init__(self, reason: str, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.reason = reason


class RunError(MmergError):
    """A run folder is locked, damaged or belongs to another configuration."""


def make_write_error(error: OSError, path: object) -> RunError:
    """Returns the error for a file of a run or its caches that cannot be written. It ends the run."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        what = "the disk is full, or a quota is reached"
        hint = "free disk space; the same command then resumes"
    else:
        what = f"cannot write: {error.strerror or error}"
        hint = "check the path and its permissions, or set runs=… and cache_dir=… to writable folders"
    return RunError(what, where=str(path), hint=hint)


class SampleError(MmergError):
    """One sample fails; `failure` says how. It is counted as failed, and the others continue."""

    def __init__(self, failure: Failure, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.failure = failure


class CallError(SampleError):
    """A call to a backend gave no completion."""


class CompletionError(SampleError):
    """A completion cannot be used: it is blank, cut off, or violates the schema."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Returns the question "did you mean …?" with the most similar known word; "" if none is similar."""
    matches = get_close_matches(word, list(known), 1)
    return f"did you mean {matches[0]}?" if matches else ""


def group_by_reason(pairs: Iterable[tuple[Key, str]]) -> dict[Key, str]:
    """Groups (reason, name) pairs by reason. Returns the names for each reason, joined by commas, in order."""
    groups: dict[Key, list[str]] = {}
    for reason, name in pairs:
        groups.setdefault(reason, []).append(name)
    return {reason: ", ".join(names) for reason, names in groups.items()}


def preview(names: Sequence[str], most: int = 5, between: str = ", ") -> str:
    return between.join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def format_exception(error: BaseException) -> str:
    """Returns the class and text of an exception; only the class if it has no text."""
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def locate_error(error: BaseException, file: str | None = None) -> str:
    """Returns the file and line where an exception was raised; for a SyntaxError, the place of the error. If the
    exception passed through `file`, returns its last line there."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    last = [frame for frame in frames if frame.filename == file][-1:] or frames[-1:]
    return f"{last[0].filename}, line {last[0].lineno}" if last else "an unknown place"

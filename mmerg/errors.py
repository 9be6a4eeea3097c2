"""Every error that mmerg raises on purpose.

    MmergError                  what happened, where, and what to do next
    ├── ConfigError             a setting is wrong
    │   └── NoVectorError       an embedder has no vector for a text (memory/vectors.py)
    ├── CorpusError             a dataset is not what it claims to be
    ├── ClipError               one clip gives no frames
    ├── RunError                a run folder cannot be used
    │   └── UnscoredError       a run has no scores yet (scoring/score.py)
    ├── SampleError             one sample fails, the others go on
    │   ├── CallError           a server gives no whole reply
    │   └── ReplyError          a whole reply cannot be used
    └── HttpError               a request to the chat server is refused (serving/refused.py)

Commands catch `MmergError` at the top, print it and exit with 2; `engine/sample.py` catches `SampleError` per sample.
An exception of the user's code (a reader, say) becomes one of these, with its file and line. Nothing else catches
broadly, so a bug keeps its traceback.
"""

import errno
import traceback
from collections.abc import Hashable, Iterable, Sequence
from difflib import get_close_matches
from enum import StrEnum
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)


class Failure(StrEnum):
    """How a call or a sample failed. Traces and results hold the values."""

    TRUNCATED = "truncated"  # the reply reached its token limit
    THINKING_EXHAUSTED = "thinking_exhausted"  # the model wrote only thoughts, no words
    LOOP_ABORT = "loop_abort"  # the server broke off a repeating reply
    EMPTY = "empty"  # a blank reply
    SCHEMA_INVALID = "schema_invalid"  # not the JSON that was asked for
    CONTEXT_OVERFLOW = "context_overflow"  # the prompt does not fit the context
    IMAGE_REJECTED = "image_rejected"  # the server cannot decode or use an image
    RUNNER_CRASH = "runner_crash"  # the model's process died or the stream broke off
    OOM = "oom"  # out of memory
    TIMEOUT = "timeout"  # a deadline passed
    BUSY = "busy"  # the server's queue is full
    UNREACHABLE = "unreachable"  # nothing answers at the host
    MODEL_NOT_FOUND = "model_not_found"  # the server has no such model
    MODEL_NOT_LOADED = "model_not_loaded"  # the server has the model, but cannot load it
    BAD_REQUEST = "bad_request"  # the server refuses the request as malformed
    SERVER_ERROR = "server_error"  # any other error response
    CLIP_GONE = "clip_gone"  # a clip has disappeared since the run started
    INTERRUPTED = "interrupted"  # the user stopped the run
    NOT_CACHED = "not_cached"  # a replay without a server, and the call is not in the cache
    ABSENT = "absent"  # a file of replies that another system wrote has none for the sample
    CODE_ERROR = "code_error"  # a class that answers a stage raised an exception


class MmergError(Exception):
    """An expected failure: `what` happened, `where`, and a `hint` what to do next."""

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what, self.where, self.hint = what, where, hint

    def __str__(self) -> str:
        where, hint = f"\n  where: {self.where}", f"\n  next:  {self.hint}"
        return f"{self.what}{where if self.where else ''}{hint if self.hint else ''}"


class ConfigError(MmergError):
    """A setting is wrong, or two of them do not fit together."""


class CorpusError(MmergError):
    """A dataset's root, file or line is not what it claims to be."""


class ClipError(MmergError):
    """One clip gives no frames. `reason` is a short fixed word for counting (missing, unreadable, …)."""

    def __init__(self, reason: str, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.reason = reason


class RunError(MmergError):
    """A run folder is locked, damaged or belongs to another configuration."""


def write_error(error: OSError, path: object) -> RunError:
    """The error for a file of a run or its caches that cannot be written. It ends the run."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        what = "the disk is full, or a quota is reached"
        hint = "free disk space; the same command then resumes"
    else:
        what = f"this cannot be written: {error.strerror or error}"
        hint = "check the path and its permissions, or set runs=… and cache_dir=… to writable folders"
    return RunError(what, where=str(path), hint=hint)


class SampleError(MmergError):
    """One sample cannot be finished; `failure` says how. It is counted, and the others go on."""

    def __init__(self, failure: Failure, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.failure = failure


class CallError(SampleError):
    """A call to a backend gave no whole reply."""


class ReplyError(SampleError):
    """A whole reply that cannot be used: blank, cut, or not what the schema asks for."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The question "did you mean …?" with the nearest known word; "" if none is near."""
    near = get_close_matches(word, list(known), 1)
    return f"did you mean {near[0]}?" if near else ""


def group_by_reason(pairs: Iterable[tuple[Key, str]]) -> dict[Key, str]:
    """Groups (reason, name) pairs: the names of each reason, joined by commas, in order."""
    by_key: dict[Key, list[str]] = {}
    for reason, name in pairs:
        by_key.setdefault(reason, []).append(name)
    return {reason: ", ".join(names) for reason, names in by_key.items()}


def preview(names: Sequence[str], most: int = 5, between: str = ", ") -> str:
    """The first names, and the number of further ones."""
    return between.join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def format_exception(error: BaseException) -> str:
    """The class and text of any exception; only the class if it has no text, or making its text fails."""
    try:
        return f"{type(error).__name__}: {error}".removesuffix(": ")
    except Exception:  # noqa: BLE001
        return type(error).__name__


def locate_error(error: BaseException, file: str | None = None) -> str:
    """The file and line where an exception was raised, or its last line in `file` if it passed through that; for a
    SyntaxError, the place of the error."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    last = [frame for frame in frames if frame.filename == file][-1:] or frames[-1:]
    return f"{last[0].filename}, line {last[0].lineno}" if last else "an unknown place"

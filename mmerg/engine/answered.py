"""The user's own code while a sample is made: an exception of it fails the sample, with file and line.

So it is for a class that answers a stage, the output of which is held to the stage's schema, for sources and for loops.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import BaseModel

from mmerg.engine.state import Output
from mmerg.errors import Failure, MmergError, ReplyError, SampleError, raised_at
from mmerg.systems.answerer import Answerer, Asked
from mmerg.systems.schema import Bounds, parse
from mmerg.systems.system import Stage
from mmerg.systems.target import name_of

HINT = "mend it; the same command with only_failed=true does the failed samples again"


def answered(stage: Stage, by: Answerer, bounds: Bounds, asked: Asked) -> Output:
    """The stage's output as `by` gives it. Raises ReplyError for one that does not hold to the schema, and SampleError
    (code_error) where the class raises what is no error of ours."""
    who = f"{stage.name}, pass {asked.t}, {name_of(by)}"
    with code_of_the_user(who):
        given = by(asked)
    try:
        return _text(given) if stage.output is None else parse(stage.output, bounds, _json(given))
    except ReplyError as error:
        raise ReplyError(error.failure, error.what, where=who, hint=HINT) from error


@contextmanager
def code_of_the_user(who: str) -> Iterator[None]:
    """Runs code that may raise anything. Raises SampleError (code_error), naming `who` and where, for what is no error
    of ours."""
    try:
        yield
    except MmergError:
        raise
    except Exception as error:
        raise SampleError(
            Failure.CODE_ERROR, f"{type(error).__name__}: {error}", where=f"{who}, {raised_at(error)}", hint=HINT
        ) from error


def _text(given: object) -> str:
    if not isinstance(given, str):
        raise ReplyError(Failure.SCHEMA_INVALID, f"it gave {type(given).__name__}, and a text is wanted")
    if not given.strip():
        raise ReplyError(Failure.EMPTY, "its text is blank")
    return given.strip()


def _json(given: object) -> str:
    try:
        return json.dumps(given.model_dump(mode="json", exclude_unset=True) if isinstance(given, BaseModel) else given)
    except (TypeError, ValueError, RecursionError) as error:
        what = f"it gave {type(given).__name__}, of which no JSON can be made: {error}"
        raise ReplyError(Failure.SCHEMA_INVALID, what) from error

"""A small run folder, and functions for other processes."""

import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mmerg.backends.protocol import Engine
from mmerg.errors import RunError
from mmerg.runs import events
from mmerg.runs.folder import RESULTS, Run
from mmerg.runs.manifest import Corpus, Manifest, ProtocolSection, Session
from mmerg.runs.result import Result
from tests.processes import server

REFUSED = 7
MADE = Manifest(
    identity={"config": "1", "engine": "e"},
    engine=Engine(backend="scripted", version="1", model="tiny", digest="d"),
    corpus=Corpus(name="demo", split="test", labels=("joy",)),
    protocol=ProtocolSection(description="all", samples=3, dialogues=3),
    settings={"seed": 0},
    sessions=(Session(),),
)


def result(sample: str, **changes: Any) -> Result:
    return Result.model_validate({"id": sample, "status": "ok", "response": "hi", **changes})


def do(run: Run, one: Result) -> None:
    """Runs a sample: records an event and the result."""

    def work(emit: events.Emit) -> Result:
        emit(events.SampleDone(sample=one.id))
        return one

    run.record(one.id, work)


def exit_code(target: Callable[..., None], *arguments: object) -> int | None:
    """Returns the exit code of a process that calls `target(*arguments)`."""
    process = server().Process(target=target, args=arguments)
    process.start()
    process.join()
    return process.exitcode


def begin(folder: Path) -> None:
    try:
        Run(folder, MADE).__enter__()
    except RunError:
        os._exit(REFUSED)
    os._exit(0)


def fill_the_disk(folder: Path) -> None:
    """Writes with no space, with space for a part of a line, and with space again."""
    with Run(folder, MADE) as run:
        size = (folder / RESULTS).stat().st_size
        errors = []
        for room, sample in ((0, "c"), (5, "d"), (resource.RLIM_INFINITY, "e")):
            limit = room if room == resource.RLIM_INFINITY else size + room
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            try:
                do(run, result(sample))
            except RunError as error:
                errors.append(error.what)
    (folder / "errors").write_text("\n".join(errors), encoding="utf-8")


class Dies(Result):
    def line(self) -> str:
        os.kill(os.getpid(), signal.SIGKILL)
        return ""


def die_at_the_end_of_a_sample(folder: Path) -> None:
    def work(emit: events.Emit) -> Result:
        emit(events.SampleDone(sample="a"))
        return Dies(id="a", status="ok", response="better")

    with Run(folder, MADE) as run:
        run.record("a", work)

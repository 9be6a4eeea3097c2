"""`mmerg` commands without an interpreter each, which costs more than most of what they do.

    done = forked([sys.executable, "-m", "mmerg.run", "dataset=demo"], cwd=folder)
    done = in_process([sys.executable, "-m", "mmerg.run", "dataset=demo"], cwd=folder)

`in_process` calls the command's `main` in the test's own process. For `forked`, a process that has imported what
commands need is forked each time: a command has its own files, signals, environment and exit code. What an interpreter
makes of its own variables (PYTHONPATH …) and how it starts is for tests with `subprocess`.
"""

import atexit
import io
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path

NEEDED = (
    "mmerg.experiment.launch",
    "mmerg.experiment.sweep",
    "mmerg.judging.launch",
    "mmerg.reporting.write",
)
LOADED = (
    "cv2",
    "scipy.stats",
    "pandas",
    "nltk.tokenize.destructive",
    "faiss",
    "onnxruntime",
    "tokenizers",
)


@cache
def server() -> ForkServerContext:
    """The process that is forked, begun with the first command."""
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload([__name__, *NEEDED, *LOADED, "tests.warm"])
    return made


def begun(
    command: Sequence[object],
    out: Path,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    own_group: bool = False,
) -> BaseProcess:
    """The command begun; what it says goes to the files `out`/1 and `out`/2. own_group: it and the processes that it
    starts are a group, as in a terminal, so that a signal can go to all of them."""
    python, flag, module, *arguments = map(str, command)
    assert (python, flag) == (sys.executable, "-m")
    given = (module, arguments, str(cwd or Path.cwd()), dict(os.environ if env is None else env), str(out), own_group)
    process = server().Process(target=_command, args=given)
    process.start()
    return process


def start(act: Callable[..., None], *given: object) -> tuple[BaseProcess, Connection]:
    """`act(connection, *given)` begun in another process; also the end on which what it sends arrives."""
    receiving, sending = server().Pipe(duplex=False)
    process = server().Process(target=act, args=(sending, *given))
    process.start()
    sending.close()
    return process, receiving


def forked(
    command: Sequence[object], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The command once it has ended, as `subprocess.run(…, capture_output=True, text=True)` gives it."""
    with tempfile.TemporaryDirectory() as folder:
        process = begun(command, Path(folder), cwd=cwd, env=env)
        try:
            process.join()
        finally:
            process.kill()  # a test that runs out of time leaves nothing behind
        said = [(Path(folder) / stream).read_text(encoding="utf-8") for stream in "12"]
        code = process.exitcode
        process.close()
    assert code is not None
    return subprocess.CompletedProcess(list(map(str, command)), code, *said)


def in_process(
    command: Sequence[object], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The same in this process, for commands that no signal ends and that start no process. An exception that no
    command catches is raised here."""
    python, flag, module, *arguments = map(str, command)
    assert (python, flag) == (sys.executable, "-m")
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main_of(module, *arguments, cwd=cwd, env=env)
    return subprocess.CompletedProcess(list(map(str, command)), code, out.getvalue(), err.getvalue())


def main_of(module: str, *arguments: object, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> int:
    """The exit code of a command in this process. What it says is not captured."""
    main = import_module("mmerg.__main__" if module == "mmerg" else module).main
    arguments_before, environment_before = sys.argv[:], dict(os.environ)
    numbers = (signal.SIGTERM, signal.SIGINT)
    handlers_before = [signal.getsignal(number) for number in numbers]
    sys.argv[:] = [module, *map(str, arguments)]
    os.environ.update(env or {})
    try:
        with chdir(cwd or Path.cwd()):
            return int(main())
    except SystemExit as error:  # as argparse ends
        return int(str(error.code))
    finally:
        sys.argv[:] = arguments_before
        os.environ.clear()
        os.environ.update(environment_before)
        for number, handler in zip(numbers, handlers_before, strict=True):
            signal.signal(number, handler)


def _command(
    module: str, arguments: list[str], cwd: str, environment: dict[str, str], out: str, own_group: bool
) -> None:
    """In the forked process: what `python -m MODULE ARGUMENTS` does."""
    if own_group:
        os.setpgrp()
    for number in (1, 2):
        file = os.open(f"{out}/{number}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(environment)
    sys.dont_write_bytecode = bool(environment.get("PYTHONDONTWRITEBYTECODE"))
    tempfile.tempdir = None
    os.chdir(cwd)
    sys.path.insert(0, cwd)
    sys.argv[1:] = arguments
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        atexit._run_exitfuncs()

"""Runs of `mmerg` commands without an interpreter for each, whose start takes longer than most commands.

    done = forked([sys.executable, "-m", "mmerg.run", "dataset=demo"], cwd=folder)
    done = in_process([sys.executable, "-m", "mmerg.run", "dataset=demo"], cwd=folder)

`in_process` calls the command's `main` in the process of the test. `forked` forks a process that has already imported
the modules of commands, so that the command has its own files, signals, environment and exit code. Tests that set
variables which the interpreter reads at its start (PYTHONPATH …) need `subprocess`.
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

MODULES = (
    "mmerg.experiment.launch",
    "mmerg.experiment.sweep",
    "mmerg.judging.launch",
    "mmerg.reporting.write",
)
LIBRARIES = (
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
    """Returns the context of the process to fork, which starts with the first command."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, *MODULES, *LIBRARIES, "tests.warm"])
    return context


def start_command(
    command: Sequence[object],
    out: Path,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    own_group: bool = False,
) -> BaseProcess:
    """Starts the command, with its output in the files `out`/1 and `out`/2. own_group: the command and its child
    processes form a group, as in a terminal, so that a signal reaches all of them."""
    python, flag, module, *arguments = map(str, command)
    assert (python, flag) == (sys.executable, "-m")
    environment = dict(os.environ if env is None else env)
    process = server().Process(
        target=_run_command, args=(module, arguments, str(cwd or Path.cwd()), environment, str(out), own_group)
    )
    process.start()
    return process


def start_process(function: Callable[..., None], *arguments: object) -> tuple[BaseProcess, Connection]:
    """Starts `function(connection, *arguments)` in another process. Returns it and the connection's receiving end."""
    receiving, sending = server().Pipe(duplex=False)
    process = server().Process(target=function, args=(sending, *arguments))
    process.start()
    sending.close()
    return process, receiving


def forked(
    command: Sequence[object], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs the command, like `subprocess.run(…, capture_output=True, text=True)`."""
    with tempfile.TemporaryDirectory() as folder:
        process = start_command(command, Path(folder), cwd=cwd, env=env)
        try:
            process.join()
        finally:
            process.kill()  # if the test times out
        output = [(Path(folder) / stream).read_text(encoding="utf-8") for stream in "12"]
        code = process.exitcode
        process.close()
    assert code is not None
    return subprocess.CompletedProcess(list(map(str, command)), code, *output)


def in_process(
    command: Sequence[object], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs the command like `forked`, but in this process: for commands that get no signals and start no processes.
    Raises the exceptions that the command does not catch."""
    python, flag, module, *arguments = map(str, command)
    assert (python, flag) == (sys.executable, "-m")
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run_main(module, *arguments, cwd=cwd, env=env)
    return subprocess.CompletedProcess(list(map(str, command)), code, out.getvalue(), err.getvalue())


def run_main(module: str, *arguments: object, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> int:
    """Runs a command in this process and returns its exit code. Does not capture its output."""
    main = import_module("mmerg.__main__" if module == "mmerg" else module).main
    arguments_before, environment_before = sys.argv[:], dict(os.environ)
    numbers = (signal.SIGTERM, signal.SIGINT)
    handlers_before = [signal.getsignal(number) for number in numbers]
    sys.argv[:] = [module, *map(str, arguments)]
    os.environ.update(env or {})
    try:
        with chdir(cwd or Path.cwd()):
            return int(main())
    except SystemExit as error:  # argparse raises it
        return int(str(error.code))
    finally:
        sys.argv[:] = arguments_before
        os.environ.clear()
        os.environ.update(environment_before)
        for number, handler in zip(numbers, handlers_before, strict=True):
            signal.signal(number, handler)


def _run_command(
    module: str, arguments: list[str], cwd: str, environment: dict[str, str], out: str, own_group: bool
) -> None:
    """Runs `python -m MODULE ARGUMENTS` in the forked process."""
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

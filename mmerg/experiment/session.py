"""The description of a run's start for the manifest: versions, the commit, and settings that do not affect results."""

import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from subprocess import run as run_process

from mmerg.runs.identity import get_runtime_settings
from mmerg.runs.manifest import Session
from mmerg.settings.kinds import Plain

PACKAGES = (
    *("mmerg", "xllamacpp", "opencv-python-headless", "numpy", "faiss-cpu", "pydantic", "jinja2"),
    *("onnxruntime", "tokenizers", "av", "pillow", "rapidfuzz"),
)


def new_session(settings: Plain) -> Session:
    return Session(versions=read_versions(), git_commit=read_git_commit(), how=get_runtime_settings(settings))


def read_versions() -> dict[str, str]:
    """Reads versions of Python and of packages that can change a result."""
    numbers = {"python": sys.version.split()[0]}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            numbers[package] = version(package)
    return numbers


def read_git_commit() -> str | None:
    """Reads the commit of the checkout with this code, with "-dirty" if files were changed; None without a checkout."""
    here = Path(__file__).parents[1]
    if not (here.parent / ".git").exists():
        return None
    command = ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        done = run_process(command, capture_output=True, text=True, check=False)
    except OSError:  # git is not installed
        return None
    return done.stdout.strip() or None

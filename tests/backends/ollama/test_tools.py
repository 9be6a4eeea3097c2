"""The tools that give tests their server and their vision model."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ollama_server import ROOT

VERSION = "0.24.0"
VISION_SHA256 = "02dd6701768f753cf9e11b671c15a9e814f72531354627ae61ab9922165ab5ea"


def test_the_vision_model_has_the_same_bytes_everywhere(vision_gguf: Path) -> None:
    assert hashlib.sha256(vision_gguf.read_bytes()).hexdigest() == VISION_SHA256


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def check(**environment: str) -> subprocess.CompletedProcess[str]:
    tool = [sys.executable, str(ROOT / "tools" / "get_ollama.py"), "--check"]
    clean = {name: value for name, value in os.environ.items() if name not in {"MMERG_OLLAMA", "PATH"}}
    return subprocess.run(tool, env=clean | environment, capture_output=True, text=True, check=False)


def test_places_are_looked_at_in_order(tmp_path: Path) -> None:
    cached = program(tmp_path / "cache" / "mmerg" / "ollama" / VERSION / "ollama")
    on_path = program(tmp_path / "bin" / "ollama")
    named = program(tmp_path / "named")
    places = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": str(tmp_path / "none")}
    assert check(**places).stdout.splitlines()[-1] == str(cached)
    places["PATH"] = str(on_path.parent)
    assert check(**places).stdout.splitlines()[-1] == str(on_path)
    places["MMERG_OLLAMA"] = str(named)
    assert check(**places).stdout.splitlines()[-1] == str(named)


@pytest.mark.parametrize(
    ("named", "said"), [("", "run: python tools/get_ollama.py"), ("/none", "MMERG_OLLAMA is /none")]
)
def test_without_a_binary_the_reason_is_said(tmp_path: Path, named: str, said: str) -> None:
    done = check(XDG_CACHE_HOME=str(tmp_path), PATH=str(tmp_path), MMERG_OLLAMA=named)
    assert (done.returncode, done.stdout) == (3, "")
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []

"""The tools that give tests their server and their vision model."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.get_ollama import main

VERSION = "0.24.0"
VISION_SHA256 = "02dd6701768f753cf9e11b671c15a9e814f72531354627ae61ab9922165ab5ea"


def test_the_vision_model_has_the_same_bytes_everywhere(vision_gguf: Path) -> None:
    assert hashlib.sha256(vision_gguf.read_bytes()).hexdigest() == VISION_SHA256


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """`get_ollama.py --check` with these variables: its exit code and what it prints on either stream."""

    def run(**environment: str) -> tuple[int, str, str]:
        monkeypatch.delenv("MMERG_OLLAMA", raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return main(["--check"]), *capsys.readouterr()

    return run


def test_places_are_looked_at_in_order(tmp_path: Path, check: Callable[..., tuple[int, str, str]]) -> None:
    cached = program(tmp_path / "cache" / "mmerg" / "ollama" / VERSION / "ollama")
    on_path = program(tmp_path / "bin" / "ollama")
    named = program(tmp_path / "named")
    places = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": str(tmp_path / "none")}
    assert check(**places) == (0, f"{cached}\n", "")
    places["PATH"] = str(on_path.parent)
    assert check(**places) == (0, f"{on_path}\n", "")
    places["MMERG_OLLAMA"] = str(named)
    assert check(**places) == (0, f"{named}\n", "")


@pytest.mark.parametrize(
    ("named", "reason"), [("", "run: python tools/get_ollama.py"), ("/none", "MMERG_OLLAMA is /none")]
)
def test_without_a_binary_the_reason_is_said(
    tmp_path: Path, check: Callable[..., tuple[int, str, str]], named: str, reason: str
) -> None:
    code, out, err = check(XDG_CACHE_HOME=str(tmp_path), PATH=str(tmp_path), MMERG_OLLAMA=named)
    assert (code, out) == (3, "")
    assert reason in err
    assert list(tmp_path.iterdir()) == []

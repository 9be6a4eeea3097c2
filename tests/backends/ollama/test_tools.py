"""The tools that give tests their servers and their vision model."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.get_ollama import NEW, OLD, main

VISION_SHA256 = "1b487ea2f52a558910c48c5c83533fbe9b1616a9afe258ab98fca342e45612b3"


def test_the_vision_model_has_the_same_bytes_everywhere(vision_ggufs: tuple[Path, Path]) -> None:
    assert hashlib.sha256(b"".join(file.read_bytes() for file in vision_ggufs)).hexdigest() == VISION_SHA256


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """`get_ollama.py --check` with these options and variables: its exit code and what it prints on either stream."""

    def run(*options: str, **environment: str) -> tuple[int, str, str]:
        monkeypatch.delenv("MMERG_OLLAMA", raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return main(["--check", *options]), *capsys.readouterr()

    return run


def test_binaries_are_found_in_order(tmp_path: Path, check: Callable[..., tuple[int, str, str]]) -> None:
    old, new = (program(tmp_path / "cache" / "mmerg" / "ollama" / each / "bin" / "ollama") for each in (OLD, NEW))
    on_path = program(tmp_path / "bin" / "ollama")
    named = program(tmp_path / "named")
    places = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": str(tmp_path / "none")}
    assert check(**places) == (0, f"{new}\n", "")
    places["PATH"] = str(on_path.parent)
    assert check(**places) == (0, f"{on_path}\n", "")
    places["MMERG_OLLAMA"] = str(named)
    assert check(**places) == (0, f"{named}\n", "")
    assert check("--version", OLD, **places) == (0, f"{old}\n", "")


@pytest.mark.parametrize(
    ("options", "named", "reason"),
    [
        ((), "", "no ollama on PATH or in "),
        ((), "/none", "MMERG_OLLAMA is /none"),
        (("--version", NEW), "", f"{NEW}/bin/ollama; run: python tools/get_ollama.py --version {NEW}"),
    ],
)
def test_without_a_binary_the_reason_is_printed(
    tmp_path: Path, check: Callable[..., tuple[int, str, str]], options: tuple[str, ...], named: str, reason: str
) -> None:
    code, out, err = check(*options, XDG_CACHE_HOME=str(tmp_path), PATH=str(tmp_path), MMERG_OLLAMA=named)
    assert (code, out) == (3, "")
    assert reason in err
    assert list(tmp_path.iterdir()) == []

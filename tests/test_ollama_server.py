"""The fixtures for a real server: without a binary tests skip, or fail where one is required."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.engine.parts import ROOT


@pytest.mark.parametrize(("required", "code", "told"), [("", 0, "1 skipped"), ("1", 1, "1 error")])
def test_a_missing_binary(required: str, code: int, told: str) -> None:
    environment = os.environ | {"MMERG_OLLAMA": "/nowhere/ollama", "MMERG_REQUIRE_OLLAMA": required}
    test = "tests/test_doctor.py::test_a_real_text_model"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", test]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert told in done.stdout

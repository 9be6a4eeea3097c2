"""A training that the system ends: nothing that a run would take is left, and the same command starts clean."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mmerg.errors import ConfigError
from mmerg.sem.artefact import CARD, WEIGHTS, read
from tests.sem.talks import HASHED, train

ROOT = Path(__file__).parents[2]
CHILD = """
import os, signal, sys
from pathlib import Path
from tests.sem.talks import train
talks, out, event, name, *settings = sys.argv[1:]

def watch(seen, arguments):
    if seen == event and name in str(arguments[0]):
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(watch)
train(Path(talks), Path(out), *settings)
"""


@pytest.mark.parametrize(
    ("event", "name", "settings"),
    [
        ("none", "", (*HASHED, "+features.embedder.kill_at=2")),  # between training and validation
        ("open", CARD, ()),
        ("os.rename", ".sem.", ()),  # all is written, and not in its place yet
    ],
)
def test_a_killed_training_leaves_no_model(
    event: str, name: str, settings: tuple[str, ...], talks: Path, sem: Path, tmp_path: Path
) -> None:
    out = tmp_path / "sem"
    lexicon = f"lexicon={talks}/vad.txt"
    line = [sys.executable, "-c", CHILD, str(talks), str(out), event, name, lexicon, *settings]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, check=False, timeout=300)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert not out.exists()
    with pytest.raises(ConfigError, match="there is no small empathetic model"):
        read(out)
    assert train(talks, out, lexicon) == 0
    for file in (CARD, WEIGHTS):
        assert (out / file).read_bytes() == (sem / file).read_bytes()

"""A training that the system ends: nothing that a run would take is left, and the same command starts clean."""

import os
import signal
import sys
from pathlib import Path

import pytest

from mmerg.errors import ConfigError
from mmerg.sem.artefact import read
from tests.processes import server
from tests.sem.talks import HASHED, train


def train_until(event: str, name: str, talks: Path, out: Path, settings: tuple[str, ...]) -> None:
    """In a process of its own: a training that ends as by SIGKILL once the interpreter is about to do `event` (an audit
    event) with a file whose path has `name` in it."""

    def watch(audited: str, arguments: tuple[object, ...]) -> None:
        if audited == event and name in str(arguments[0]):
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    train(talks, out, *settings)


@pytest.mark.parametrize(
    ("event", "name", "settings"),
    [
        ("none", "", (*HASHED, "+features.embedder.kill_at=2")),  # between training and validation
        ("os.rename", ".sem.json.", ()),  # all is written, and not in its place yet
    ],
)
def test_a_killed_training_leaves_no_model(
    event: str, name: str, settings: tuple[str, ...], talks: Path, sem: Path, tmp_path: Path
) -> None:
    out, lexicon = tmp_path / "sem.json", f"lexicon={talks}/vad.txt"
    process = server().Process(target=train_until, args=(event, name, talks, out, (lexicon, *settings)))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert not out.exists()
    with pytest.raises(ConfigError, match="there is no small empathetic model"):
        read(out)
    assert train(talks, out, lexicon) == 0
    assert out.read_bytes() == sem.read_bytes()

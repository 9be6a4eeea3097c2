"""What stands in a run's identity for the files that a class of the user's is given."""

from pathlib import Path

import pytest

from mmerg.storage.files import sha256_of
from mmerg.systems.target import by_content


def test_a_file_counts_by_what_it_holds_and_a_word_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("history", "facts.txt"):
        (tmp_path / name).write_text("a fact")
    settled = by_content({"text": "history", "file": "facts.txt", "whole": str(tmp_path / "history")}, object())
    digest = sha256_of(tmp_path / "history")
    assert settled == {"text": "history", "file": digest, "whole": digest}

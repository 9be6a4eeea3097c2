"""What stands in a run's identity for the files that a class of the user's is given."""

from pathlib import Path

import pytest

from mmerg.runs.identity import name_files
from mmerg.storage.files import sha256_of


def test_a_file_counts_by_what_it_holds_and_a_word_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("history", "facts.txt"):
        (tmp_path / name).write_text("a fact")
    digests: dict[str, str] = {}
    given = {"text": "history", "file": "facts.txt", "whole": str(tmp_path / "history")}
    assert name_files(given, object(), digests) == {"text": "history", "file": "facts.txt", "whole": "history"}
    assert digests == dict.fromkeys(("facts.txt", "history"), sha256_of(tmp_path / "history"))

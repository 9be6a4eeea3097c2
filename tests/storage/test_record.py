"""Files of figures hold any text."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmerg.scoring.score import Score
from mmerg.storage.record import read_record, write_record

ANY = st.text(max_size=5)


@given(ANY, st.floats(allow_nan=False, allow_infinity=False))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, text: str, value: float) -> None:
    path = tmp_path_factory.mktemp("files") / "score.json"
    score = Score(name=text, value=value, n=3, interval=(value, value), why=text)
    write_record(path, score)
    assert read_record(path, Score) == score


@pytest.mark.parametrize("rubbish", [b"", b"[]", b"\xff", b"[" * 100_000, b'{"name": 1}'])
def test_what_is_no_such_file_is_refused(rubbish: bytes, tmp_path: Path) -> None:
    path = tmp_path / "score.json"
    path.write_bytes(rubbish)
    with pytest.raises(ValueError, match=r"."):
        read_record(path, Score)
    with pytest.raises(FileNotFoundError):
        read_record(tmp_path / "none", Score)

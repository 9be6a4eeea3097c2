"""Files are complete or absent, private, and never written through a symlink."""

import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mmerg.errors import ConfigError, RunError
from mmerg.storage.files import compute_sha256, locate, make_private_folder, write_atomically, write_output


def test_a_file_and_its_folders_are_private(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b" / "text.txt"
    write_atomically(file, "näive \ud800")
    assert file.read_text(encoding="utf-8") == "näive \\ud800"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent, tmp_path / "a")] == [
        0o600,
        0o700,
        0o700,
    ]


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    def fail_midway() -> Iterator[bytes]:
        yield b"new"
        raise OSError(28, "No space left on device")

    file = tmp_path / "file"
    write_atomically(file, b"old")
    with pytest.raises(RunError, match="the disk is full"):
        write_atomically(file, fail_midway())
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_symlink_is_replaced_and_its_target_is_not_written(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("theirs", encoding="utf-8")
    link = tmp_path / "run" / "manifest.json"
    make_private_folder(link.parent)
    link.symlink_to(outside)
    write_atomically(link, "ours", durable=True)
    assert (outside.read_text(encoding="utf-8"), link.read_text(encoding="utf-8")) == ("theirs", "ours")
    assert not link.is_symlink()


def test_an_output_is_written_through_symlinks_and_into_devices_and_pipes(tmp_path: Path) -> None:
    target, link, pipe, null = tmp_path / "target", tmp_path / "link", tmp_path / "pipe", tmp_path / "null"
    link.symlink_to(target)
    write_output(link, "first")
    write_output(link, "second")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "second"
    null.symlink_to("/dev/null")
    write_output(null, "text")
    assert stat.S_ISCHR(null.stat().st_mode)
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as threads:
        read = threads.submit(pipe.read_text, encoding="utf-8")
        write_output(pipe, "text")
        assert read.result() == "text"
    assert pipe.is_fifo()


def test_a_file_of_a_package_is_found_and_has_a_digest() -> None:
    assert locate("package:hydra/__init__.py", "-").name == "__init__.py"
    assert len(compute_sha256(locate("package:hydra/__init__.py", "-"))) == 64


@pytest.mark.parametrize(
    ("reference", "what"),
    [
        ("/no/such/file", "there is no such file"),
        ("package:hydra/none.bin", "there is no such file"),
        ("package:hydra", "there is no such file"),
        ("package:no_such_package_here/x", "is not installed"),
    ],
)
def test_the_error_for_a_missing_file_has_the_hint(reference: str, what: str) -> None:
    with pytest.raises(ConfigError, match=what) as refused:
        locate(reference, "backbone.gguf=/path/model.gguf")
    assert "backbone.gguf=/path/model.gguf" in refused.value.hint

"""Memories on disk are built once, written as a whole, and separate for each corpus, key and model."""

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from mmerg.errors import RunError, SampleError
from mmerg.memory.entries import Origin
from mmerg.memory.guards import Query
from mmerg.memory.memory import Memory
from mmerg.memory.store import open_memory
from mmerg.memory.vectors import Vectors
from mmerg.settings.sources import KeySettings as Key
from tests.memory.parts import Broken, Letters, corpus, dialogue, ignore_progress, wanted

SOURCE = corpus(dialogue("a", "X: abc", "Y: bcd", "X: cde"), dialogue("b", "X: abc", "Y: xyz"))
QUERY = Query(Origin("q"), "abc bcd", "abc bcd")


def open_source(folder: Path, embedder: Letters) -> Memory:
    return open_memory(folder, SOURCE, Key(), embedder, ignore_progress)[0]


def list_memories(folder: Path) -> list[Path]:
    """The memories in a folder."""
    return sorted(folder.glob("*.vectors"))


def test_a_memory_is_built_once_and_then_opened(tmp_path: Path) -> None:
    first, second = Letters(), Letters()
    built, again = open_source(tmp_path, first), open_source(tmp_path, second)
    assert sorted(first.embedded) == ["abc", "abc\nbcd"]  # a/2 and b/2 have the same history: embedded once
    assert second.embedded == []
    assert again.digest == built.digest
    assert again.nearest(QUERY, wanted(top_k=3)) == built.nearest(QUERY, wanted(top_k=3))


def test_the_same_corpus_gives_the_same_file_which_only_the_user_can_read(tmp_path: Path) -> None:
    memory = open_source(tmp_path / "one", Letters())
    open_source(tmp_path / "two", Letters())
    [one], [two] = list_memories(tmp_path / "one"), list_memories(tmp_path / "two")
    assert one.read_bytes() == two.read_bytes()
    assert (one.name, one.stat().st_mode & 0o777) == (f"{memory.digest[:16]}.vectors", 0o600)


@pytest.mark.parametrize("change", ["embedder", "key", "words"])
def test_another_embedder_key_or_corpus_gives_another_memory(change: str, tmp_path: Path) -> None:
    before = open_source(tmp_path, Letters())
    source, key, embedder = SOURCE, Key(), Letters()
    match change:
        case "embedder":
            embedder = Letters("another model")
        case "key":
            key = Key(turns=1)
        case "words":
            source = corpus(dialogue("a", "X: abc", "Y: bcd", "X: cdf"), SOURCE.dialogues[1])
    after, _ = open_memory(tmp_path, source, key, embedder, ignore_progress)
    assert after.digest != before.digest
    assert len(list_memories(tmp_path)) == 2
    assert embedder.embedded


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def link(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.with_name("nowhere"))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "flipped": flip,
    "empty": lambda path: path.write_bytes(b""),
    "a link to nowhere": link,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_memory_is_rebuilt(damage: str, tmp_path: Path) -> None:
    before_damage = open_source(tmp_path, Letters()).nearest(QUERY, wanted(top_k=3))
    [path] = list_memories(tmp_path)
    before = path.read_bytes()
    DAMAGES[damage](path)
    embedder = Letters()
    rebuilt = open_source(tmp_path, embedder)
    assert embedder.embedded
    assert (path.read_bytes(), path.is_symlink()) == (before, False)
    assert rebuilt.nearest(QUERY, wanted(top_k=3)) == before_damage


def test_a_failed_build_leaves_no_memory(tmp_path: Path) -> None:
    bad = corpus(dialogue("a", "X: fine", "Y: bcd"), dialogue("b", "X: nan", "Y: xyz"))
    for _ in range(2):
        with pytest.raises(SampleError, match="no unit vector for b/2"):
            open_memory(tmp_path, bad, Key(), Broken(), ignore_progress)
    assert list_memories(tmp_path) == []


def test_an_unwritable_folder_is_refused_before_anything_is_embedded(tmp_path: Path) -> None:
    cache, embedder = tmp_path / "cache", Letters()
    cache.write_text("", encoding="utf-8")
    with pytest.raises(RunError, match="cannot write") as caught:
        open_source(cache, embedder)
    assert (caught.value.where, embedder.embedded) == (str(cache), [])


def test_two_processes_build_a_memory_once(tmp_path: Path) -> None:
    started = threading.Event()

    class Slow(Letters):
        def embed(self, texts: Sequence[str]) -> Vectors:
            started.set()
            time.sleep(0.2)
            return super().embed(texts)

    first = threading.Thread(target=open_source, args=(tmp_path, Slow()))
    first.start()
    assert started.wait(60)
    embedder = Letters()
    open_source(tmp_path, embedder)
    first.join()
    assert (embedder.embedded, len(list_memories(tmp_path))) == ([], 1)

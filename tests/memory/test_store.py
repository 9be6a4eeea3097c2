"""Memories on disk: built once, whole or not at all, and separate for each corpus, key and model."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from mmerg.errors import ConfigError, RunError
from mmerg.memory.entries import Origin
from mmerg.memory.guards import Query
from mmerg.memory.memory import Memory
from mmerg.memory.store import open_memory
from mmerg.memory.vectors import Vectors
from mmerg.settings.sources import KeySettings as Key
from tests.memory.parts import Broken, Letters, Watching, corpus, dialogue, wanted

SOURCE = corpus(dialogue("a", "X: abc", "Y: bcd", "X: cde"), dialogue("b", "X: abc", "Y: xyz"))
QUERY = Query(Origin("q"), "abc bcd", "abc bcd")


def opened(folder: Path, embedder: Letters, watch: Watching | None = None) -> Memory:
    return open_memory(folder, SOURCE, Key(), embedder, watch or Watching())[0]


def files(folder: Path) -> list[Path]:
    """The memories in a folder."""
    return sorted(folder.glob("*.vectors"))


def test_it_is_built_once_and_opened_after(tmp_path: Path) -> None:
    first, second = Letters(), Letters()
    built, again = opened(tmp_path, first), opened(tmp_path, second)
    assert sorted(first.asked) == ["abc", "abc\nbcd"]  # a/2 and b/2 have the same history: embedded once
    assert second.asked == []
    assert again.digest == built.digest
    assert again.nearest(QUERY, wanted(top_k=3)) == built.nearest(QUERY, wanted(top_k=3))


def test_the_same_corpus_gives_the_same_bytes_for_the_user_alone(tmp_path: Path) -> None:
    memory = opened(tmp_path / "one", Letters())
    opened(tmp_path / "two", Letters())
    [one], [two] = files(tmp_path / "one"), files(tmp_path / "two")
    assert one.read_bytes() == two.read_bytes()
    assert (one.name, one.stat().st_mode & 0o777) == (f"{memory.digest[:16]}.vectors", 0o600)


@pytest.mark.parametrize("change", ["embedder", "key", "words"])
def test_another_embedder_key_or_corpus_is_another_memory(change: str, tmp_path: Path) -> None:
    before = opened(tmp_path, Letters())
    source, key, embedder = SOURCE, Key(), Letters()
    match change:
        case "embedder":
            embedder = Letters("another model")
        case "key":
            key = Key(turns=1)
        case "words":
            source = corpus(dialogue("a", "X: abc", "Y: bcd", "X: cdf"), SOURCE.dialogues[1])
    after, _ = open_memory(tmp_path, source, key, embedder, Watching())
    assert after.digest != before.digest
    assert len(files(tmp_path)) == 2
    assert embedder.asked


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def link(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.with_name("nowhere"))


HARMS: dict[str, Callable[[Path], object]] = {
    "flipped": flip,
    "empty": lambda path: path.write_bytes(b""),
    "a link to nowhere": link,
}


@pytest.mark.parametrize("harm", HARMS)
def test_a_damaged_memory_is_rebuilt(harm: str, tmp_path: Path) -> None:
    answer = opened(tmp_path, Letters()).nearest(QUERY, wanted(top_k=3))
    [path] = files(tmp_path)
    before = path.read_bytes()
    HARMS[harm](path)
    watch, embedder = Watching(), Letters()
    mended = opened(tmp_path, embedder, watch)
    assert watch.notes == [f"the memory in {path} is damaged; rebuilding it"]
    assert embedder.asked
    assert (path.read_bytes(), path.is_symlink()) == (before, False)
    assert mended.nearest(QUERY, wanted(top_k=3)) == answer


def test_a_build_that_fails_leaves_nothing_to_open(tmp_path: Path) -> None:
    bad = corpus(dialogue("a", "X: fine", "Y: bcd"), dialogue("b", "X: nan", "Y: xyz"))
    for _ in range(2):
        with pytest.raises(ConfigError, match="no unit vector for b/2"):
            open_memory(tmp_path, bad, Key(), Broken(), Watching())
    assert files(tmp_path) == []


@pytest.mark.parametrize("wrong", ["lock", "file"])
def test_an_unwritable_folder_is_refused_before_anything_is_embedded(wrong: str, tmp_path: Path) -> None:
    cache = place = tmp_path / "cache"
    if wrong == "lock":
        place = cache / f"{opened(tmp_path / 'whole', Letters()).digest[:16]}.lock"
        place.mkdir(parents=True)
    else:
        cache.write_text("", encoding="utf-8")
    embedder = Letters()
    with pytest.raises(RunError, match="cannot be written") as caught:
        opened(cache, embedder)
    assert (caught.value.where, embedder.asked) == (str(place), [])


def test_two_processes_build_a_memory_once(tmp_path: Path) -> None:
    begun, done = threading.Event(), threading.Event()

    class Held(Letters):
        def embed(self, texts: Sequence[str]) -> Vectors:
            begun.set()
            assert done.wait(60)
            return super().embed(texts)

    class Freeing(Watching):
        def note(self, text: str) -> None:
            super().note(text)
            done.set()

    first = threading.Thread(target=opened, args=(tmp_path, Held()))
    first.start()
    assert begun.wait(60)
    watch, embedder = Freeing(), Letters()
    opened(tmp_path, embedder, watch)
    first.join()
    assert watch.notes == ["another process is building this memory; waiting for it"]
    assert (embedder.asked, len(files(tmp_path))) == ([], 1)

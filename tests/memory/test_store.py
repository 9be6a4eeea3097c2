"""Memories on disk: built once, whole or not at all, never met by another corpus or model."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mmerg.errors import ConfigError, RunError
from mmerg.memory.entries import Origin
from mmerg.memory.guards import Query
from mmerg.memory.memory import Memory
from mmerg.memory.store import Store
from mmerg.memory.vectors import AT_ONCE, unit
from mmerg.settings.model import KeySettings as Key
from tests.memory.parts import Broken, Letters, Watching, corpus, dialogue, wanted

ROOT = Path(__file__).parents[2]
SOURCE = corpus(dialogue("a", "X: abc", "Y: bcd", "X: cde"), dialogue("b", "X: abc", "Y: xyz"))
QUERY = Query(Origin("q"), "abc bcd", "abc bcd")


def opened(folder: Path, embedder: Letters, watch: Watching | None = None, key: Key | None = None) -> Memory:
    return Store(folder, watch or Watching()).open(SOURCE, key or Key(), embedder)[0]


def folders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir())


def contents(folder: Path) -> dict[str, bytes]:
    """The files of the only memory in a folder."""
    [path] = folders(folder)
    return {file.name: file.read_bytes() for file in path.iterdir()}


def test_it_is_built_once_and_opened_after(tmp_path: Path) -> None:
    first, second = Letters(), Letters()
    built, again = opened(tmp_path, first), opened(tmp_path, second)
    assert sorted(first.asked) == ["abc", "abc\nbcd"]  # a/2 and b/2 have the same history: embedded once
    assert second.asked == []
    assert again.digest == built.digest
    assert again.nearest(QUERY, wanted(top_k=3)) == built.nearest(QUERY, wanted(top_k=3))
    assert isinstance(again.vectors, np.memmap)


def test_what_lies_on_disk(tmp_path: Path) -> None:
    memory = opened(tmp_path, Letters())
    [path] = folders(tmp_path)
    assert path.name == memory.digest[:16]
    assert sorted(file.name for file in path.iterdir()) == ["entries.jsonl", "manifest.json", "vectors.npy"]
    manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["made_of"]["corpus"] == {"name": "mine", "split": "train", "fingerprint": "f"}
    assert manifest["made_of"]["key"] == {"text": "history", "turns": 3, "emotion": False}
    assert (manifest["made_of"]["embedder"], manifest["made_of"]["entries"]["count"]) == ("letters", 3)
    lines = (path / "entries.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["a/2", "a/3", "b/2"]


def test_the_same_corpus_gives_the_same_bytes(tmp_path: Path) -> None:
    opened(tmp_path / "one", Letters())
    opened(tmp_path / "two", Letters())
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


@pytest.mark.parametrize("change", ["embedder", "key", "fingerprint", "words", "label"])
def test_whatever_changes_begins_another(change: str, tmp_path: Path) -> None:
    before = opened(tmp_path, Letters())
    source, key, embedder = SOURCE, Key(), Letters()
    match change:
        case "embedder":
            embedder = Letters("another model")
        case "key":
            key = Key(turns=1)
        case "fingerprint":
            source = replace(source, fingerprint="g")
        case "words":
            source = corpus(dialogue("a", "X: abc", "Y: bcd", "X: cdf"), SOURCE.dialogues[1])
        case "label":
            source = corpus(SOURCE.dialogues[0], dialogue("b", "X: abc", "Y [joy]: xyz"))
    after, _ = Store(tmp_path, Watching()).open(source, key, embedder)
    assert after.digest != before.digest
    assert len(folders(tmp_path)) == 2
    assert embedder.asked


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


HARMS: dict[str, Callable[[Path], object]] = {
    "cut": cut,
    "flipped": flip,
    "gone": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
}


@pytest.mark.parametrize("name", ["vectors.npy", "entries.jsonl", "manifest.json"])
@pytest.mark.parametrize("harm", HARMS)
def test_damage_is_told_and_mended(name: str, harm: str, tmp_path: Path) -> None:
    answer = opened(tmp_path, Letters()).nearest(QUERY, wanted(top_k=3))
    before = contents(tmp_path)
    [path] = folders(tmp_path)
    HARMS[harm](path / name)
    watch, embedder = Watching(), Letters()
    mended = opened(tmp_path, embedder, watch)
    assert watch.notes == [f"the memory in {path} is damaged; it is built again"]
    assert embedder.asked
    assert contents(tmp_path) == before
    assert mended.nearest(QUERY, wanted(top_k=3)) == answer


def test_a_build_that_was_killed_leaves_nothing_behind(tmp_path: Path) -> None:
    memory = opened(tmp_path / "whole", Letters())
    part = tmp_path / "cache" / f"{memory.digest[:16]}.part"
    part.mkdir(parents=True)
    (part / "vectors.npy").write_bytes(b"half")
    opened(tmp_path / "cache", Letters())
    assert [path.name for path in folders(tmp_path / "cache")] == [memory.digest[:16]]


def test_a_build_that_fails_leaves_nothing_to_open(tmp_path: Path) -> None:
    bad = corpus(dialogue("a", "X: fine", "Y: bcd"), dialogue("b", "X: nan", "Y: xyz"))
    for _ in range(2):
        with pytest.raises(ConfigError, match="no vector of length 1 for b/2"):
            Store(tmp_path, Watching()).open(bad, Key(), Broken())
    assert folders(tmp_path) == []


def test_progress_is_told_by_distinct_texts(tmp_path: Path) -> None:
    many = corpus(*(dialogue(f"d{n}", f"X: word {n // 2}", "Y: reply") for n in range(4 * AT_ONCE)))
    watch = Watching()
    Store(tmp_path, watch).open(many, Key(), Letters())
    assert watch.steps == [(AT_ONCE, 2 * AT_ONCE), (2 * AT_ONCE, 2 * AT_ONCE)]


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="nothing is forbidden to this user")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(RunError, match="cannot be written"):
        opened(tmp_path / "memory", Letters())


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("", encoding="utf-8")
    embedder = Letters()
    with pytest.raises(RunError, match="cannot be written") as caught:
        opened(tmp_path / "memory", embedder)
    assert (caught.value.where, embedder.asked) == (str(tmp_path / "memory"), [])


def test_what_is_there_is_opened_without_writing(tmp_path: Path) -> None:
    memory = opened(tmp_path, Letters())
    lock = tmp_path / f"{memory.digest[:16]}.lock"
    lock.unlink(missing_ok=True)
    lock.mkdir()  # nobody can take it, as in a folder that is read-only
    embedder = Letters()
    again = opened(tmp_path, embedder)
    assert embedder.asked == []
    assert again.nearest(QUERY, wanted(top_k=3)) == memory.nearest(QUERY, wanted(top_k=3))


PLACES: dict[str, Callable[[Path, Path], object]] = {
    "file": lambda place, _: place.write_text("mine", encoding="utf-8"),
    "dangling link": lambda place, other: place.symlink_to(other / "nowhere"),
    "link to a folder": lambda place, other: place.symlink_to(other),
    "link to a file": lambda place, other: place.symlink_to(other / "kept"),
}


@pytest.mark.parametrize("suffix", ["", ".part"])
@pytest.mark.parametrize("kind", PLACES)
def test_something_else_in_its_place_gives_way(kind: str, suffix: str, tmp_path: Path) -> None:
    name = opened(tmp_path / "whole", Letters()).digest[:16]
    cache, other = tmp_path / "cache", tmp_path / "other"
    for folder in (cache, other):
        folder.mkdir()
    (other / "kept").write_text("kept", encoding="utf-8")
    place = cache / f"{name}{suffix}"
    PLACES[kind](place, other)
    there_when_asked: list[bool] = []

    class Looking(Letters):
        def embed(self, texts):  # type: ignore[no-untyped-def]
            there_when_asked.append(os.path.lexists(place))
            return super().embed(texts)

    watch = Watching()
    opened(cache, Looking(), watch)
    assert set(there_when_asked) == {False}
    assert len(watch.notes) == (0 if suffix else 1)
    assert contents(cache) == contents(tmp_path / "whole")
    assert (other / "kept").read_text(encoding="utf-8") == "kept"


@pytest.mark.parametrize("kind", ["lock", "folder"])
def test_what_cannot_be_written_is_named_before_anything_is_embedded(kind: str, tmp_path: Path) -> None:
    name = opened(tmp_path / "whole", Letters()).digest[:16]
    embedder, cache = Letters(), tmp_path / "cache"
    wrong = cache / f"{name}.lock" if kind == "lock" else cache
    if kind == "lock":
        wrong.mkdir(parents=True)
    else:
        wrong.symlink_to(tmp_path / "nowhere")
    with pytest.raises(RunError, match="cannot be written") as caught:
        opened(cache, embedder)
    assert (caught.value.where, embedder.asked) == (str(wrong), [])


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no file here fails when it is read")
@pytest.mark.parametrize("name", ["vectors.npy", "manifest.json"])
def test_what_the_system_refuses_to_read_is_not_thrown_away(name: str, tmp_path: Path) -> None:
    opened(tmp_path, Letters())
    [path] = folders(tmp_path)
    (path / name).rename(tmp_path / "kept")
    (path / name).symlink_to("/proc/self/mem")  # EIO where nothing is mapped, as of a disk that fails
    watch, embedder = Watching(), Letters()
    with pytest.raises(RunError, match="this memory cannot be read: Input/output error"):
        opened(tmp_path, embedder, watch)
    assert (watch.notes, embedder.asked) == ([], [])
    (tmp_path / "kept").replace(path / name)
    opened(tmp_path, embedder, watch)
    assert (watch.notes, embedder.asked) == ([], [])


def test_an_embedder_that_changes_its_dimensions_is_refused(tmp_path: Path) -> None:
    class Changing(Letters):
        def embed(self, texts):  # type: ignore[no-untyped-def]
            vectors = super().embed(texts)
            return vectors if len(texts) == AT_ONCE else unit(vectors[:, -1:])

    many = corpus(*(dialogue(f"d{n}", f"X: word {n}", "Y: reply") for n in range(AT_ONCE + 1)))
    with pytest.raises(ConfigError, match=r"arrays of shapes \(128, 27\) and \(1, 1\)"):
        Store(tmp_path, Watching()).open(many, Key(), Changing())
    assert folders(tmp_path) == []


BUILDER = """
import sys, time
from pathlib import Path
from mmerg.memory.store import Store
from mmerg.settings.model import KeySettings
from tests.memory.parts import Letters, Watching
from tests.memory.test_store import QUERY, SOURCE

class Slow(Letters):
    def embed(self, texts):
        (Path(sys.argv[1]) / "begun").touch()
        time.sleep(0.5)
        return super().embed(texts)

embedder, watch = Slow(), Watching()
memory, _ = Store(Path(sys.argv[1]) / "memory", watch).open(SOURCE, KeySettings(), embedder)
print(memory.digest, len(embedder.asked), *watch.notes, sep="|")
"""


def test_two_processes_that_want_the_same_memory(tmp_path: Path) -> None:
    command = [sys.executable, "-c", BUILDER, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=100)[0].strip().split("|") for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert said[0][0] == said[1][0]
    assert sorted(one[1] for one in said) == ["0", "2"]  # one embeds both texts, the other none
    assert len(folders(tmp_path / "memory")) == 1


def test_who_waits_is_told_so(tmp_path: Path) -> None:
    begun, done = threading.Event(), threading.Event()

    class Held(Letters):
        def embed(self, texts):  # type: ignore[no-untyped-def]
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
    assert embedder.asked == []

"""Reply caches as files: a base that is only read, several as one, the oldest dropped; replies on a scratch disk."""

import signal
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType

import pytest

from mmerg.backends.cache import REPLIES, Cache, stored_engine, with_cache
from mmerg.backends.cache_files import merge_caches, prune_cache, read_contents
from mmerg.backends.protocol import Engine, Message, Request, Sampling
from mmerg.backends.scripted import ENGINE, Scripted
from mmerg.cache import main
from mmerg.console.terminal import end_in_good_order
from mmerg.errors import CallError, ConfigError, RunError
from mmerg.experiment.scratch import on_scratch
from mmerg.runs.shards import Shard
from tests.backends.cache_users import die_with_a_reply
from tests.composed import settings_of
from tests.processes import begun, start
from tests.scripted_ollama import scripted_ollama
from tests.test_run import Runner, corpus_in

OTHER = Engine(backend="scripted", version="2", model="script", digest="1" * 64)


def ask(text: str) -> Request:
    return Request((Message("user", text),), Sampling())


def filled(path: Path, *texts: str, answer: str = "reply to {}", engine: Engine = ENGINE) -> Path:
    with closing(Cache(Scripted(lambda request: answer.format(request.messages[0].text), engine), path)) as cache:
        for text in texts:
            cache.complete(ask(text))
    return path


def reply_in(path: Path, text: str) -> str | None:
    """The reply that a file holds to a call, None for none."""
    with closing(Cache(Scripted([]), path, "read")) as cache:
        try:
            return cache.complete(ask(text)).text
        except CallError:
            return None


def test_a_base_answers_and_stays_byte_for_byte_as_it_is(tmp_path: Path) -> None:
    base = filled(tmp_path / "shared" / "base.sqlite", "a", "b")
    merge_caches([base], base)
    before, modes = base.read_bytes(), (base.stat().st_mtime_ns, sorted(base.parent.iterdir()))
    base.chmod(0o400)
    base.parent.chmod(0o500)
    own = tmp_path / "own" / "replies.sqlite"
    inner = Scripted(["new"])
    with closing(with_cache(inner, own, "on", base)) as cache:
        assert (cache.complete(ask("a")).text, cache.complete(ask("a")).cached) == ("reply to a", True)
        assert not cache.complete(ask("c")).cached
        assert cache.complete(ask("c")).cached
    base.parent.chmod(0o700)
    assert inner.calls == 1
    assert base.read_bytes() == before
    assert (base.stat().st_mtime_ns, sorted(base.parent.iterdir())) == modes
    assert read_contents(own).replies == 1  # what the base has is not kept twice


def test_with_a_base_a_replay_needs_no_cache_of_its_own(tmp_path: Path) -> None:
    base = filled(tmp_path / "base.sqlite", "a")
    own = tmp_path / "replies.sqlite"
    with closing(with_cache(Scripted([]), own, "read", base)) as cache:
        assert cache.complete(ask("a")).text == "reply to a"
    assert stored_engine(own, "scripted", "script", {}, base) == ENGINE
    assert not own.exists()
    filled(own, "b", engine=OTHER)
    with pytest.raises(ConfigError, match="replies of 2 engines"):
        stored_engine(own, "scripted", "script", {}, base)


def test_off_is_without_the_base_too(tmp_path: Path) -> None:
    base = filled(tmp_path / "base.sqlite", "a")
    with closing(with_cache(Scripted(["asked"]), tmp_path / "own", "off", base)) as cache:
        assert cache.complete(ask("a")).text == "asked"


@pytest.mark.parametrize("spoiled", ["missing", "written", "foreign"])
def test_a_base_that_cannot_be_one_is_refused(spoiled: str, tmp_path: Path) -> None:
    base = tmp_path / "base.sqlite"
    open_still = Cache(Scripted(["x"]), base)
    match spoiled:
        case "written":
            open_still.complete(ask("a"))
            match = "is being written"
        case "foreign":
            base.write_text("no database", encoding="utf-8")
            match = "file is not a database"
        case _:
            match = "no cache file to read from"
    with closing(with_cache(Scripted(["x"]), tmp_path / "own", "on", base)) as cache:
        with pytest.raises(ConfigError, match=match) as error:
            cache.complete(ask("a"))
        assert error.value.where == str(base)
        assert "mmerg cache merge" in error.value.hint
    open_still.close()


def test_merging_keeps_all_of_the_first_and_adds_what_is_new(tmp_path: Path) -> None:
    a = filled(tmp_path / "a.sqlite", "one", "two")
    b = filled(tmp_path / "b.sqlite", "two", "three", answer="another to {}")
    to = tmp_path / "deep" / "base.sqlite"
    assert merge_caches([a, b], to) == 3
    assert [reply_in(to, text) for text in ("one", "two", "three", "four")] == [
        *("reply to one", "reply to two", "another to three", None)
    ]
    c = filled(tmp_path / "c.sqlite", "one", "four", answer="last to {}", engine=ENGINE)
    assert merge_caches([c], to) == 1
    assert reply_in(to, "one") == "reply to one"
    assert merge_caches([c], to) == 0
    assert read_contents(to).engines == (ENGINE,)
    assert not read_contents(to).in_use
    assert oct(to.stat().st_mode)[-3:] == "600"


def test_replies_of_a_process_that_was_killed_are_merged_too(tmp_path: Path) -> None:
    """What it wrote lies in the log beside the file."""
    path = tmp_path / "a.sqlite"
    process, _ = start(die_with_a_reply, path)
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert read_contents(path).in_use
    assert merge_caches([path], tmp_path / "to.sqlite") == 1
    with pytest.raises(ConfigError, match="is being written"):
        prune_cache(path, 0)


def test_pruning_drops_the_oldest(tmp_path: Path) -> None:
    path = filled(tmp_path / "a.sqlite", *(f"{number} " + "word " * 60_000 for number in range(5)))
    assert prune_cache(path, 10) == 5
    before = path.stat().st_size
    assert 1 <= (left := prune_cache(path, 1)) < 5
    assert path.stat().st_size < before
    texts = [f"{number} " + "word " * 60_000 for number in range(5)]
    assert [reply_in(path, text) is not None for text in texts] == [False] * (5 - left) + [True] * left
    assert prune_cache(path, 0) == 0


def test_a_damaged_source_leaves_the_target_alone(tmp_path: Path) -> None:
    to = filled(tmp_path / "to.sqlite", "a")
    bad = filled(tmp_path / "bad.sqlite", *map(str, range(300)))
    content = bytearray(bad.read_bytes())
    content[8192:-4096] = b"\xff" * (len(content) - 12288)
    bad.write_bytes(content)
    before = to.read_bytes()
    with pytest.raises(ConfigError):
        merge_caches([bad], to)
    assert to.read_bytes() == before


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    for number in (1, 2):
        filled(Shard(number, 2).folder(run) / "replies.sqlite", "same", f"own {number}")
    to = tmp_path / "base.sqlite"
    assert main(["merge", str(to), str(run)]) == 0
    assert main(["info", str(to)]) == 0
    assert main(["prune", str(to), "--mb", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"3 new of 2 files; {to} holds 3"
    assert lines[1].startswith(f"{to}: 3 replies, 0.0 MB")
    assert lines[2].strip() == ENGINE.brief()
    assert lines[3] == f"{to}: 0 of 3 replies are left"
    assert main(["info", str(tmp_path)]) == 2
    assert "there is no replies.sqlite here" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong", [["merge", "a"], ["prune", "a"], ["prune", "a", "--mb", "-1"], ["info", "a", "--mb", "1"]]
)
def test_a_wrong_command_line_is_refused(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(wrong)
    assert ended.value.code == 2


def test_a_run_keeps_its_replies_on_scratch_and_takes_them_along_when_it_is_ended(tmp_path: Path) -> None:
    """SIGTERM in the middle, as when a job is preempted; another machine then goes on, and asks nothing twice."""
    started: list[BaseProcess] = []
    ended = threading.Event()

    def stop(call: int) -> None:
        if call == 9 and not ended.is_set():
            started[0].terminate()
            ended.wait(60)  # without an answer

    with scripted_ollama(stop) as server:
        run = Runner(corpus_in(tmp_path), tmp_path / "runs", server.url)
        given = (f"scratch={tmp_path / 'local'}", "shard=1/1", "backbone.concurrency=1", "memory=none", "limit=2")
        started.append(begun(run.arguments(*given), tmp_path, cwd=run.corpus))
        started[0].join()
        ended.set()
        assert started[0].exitcode == 130
        replies = Shard(1, 1).folder(run.folder()) / "replies.sqlite"
        assert (kept := read_contents(replies).replies) == 8
        assert list((tmp_path / "local").iterdir()) == []
        assert not (tmp_path / "runs" / ".cache" / "replies.sqlite").exists()
        calls = server.calls
        assert run(*given).returncode == 0
        assert server.calls - calls == read_contents(replies).replies - kept > 0


def filled_on_scratch(folder: Path, act: Callable[[Path], object]) -> None:
    """Two replies for the run folder `run`, and `act`, called with their place, before they are copied there."""
    kept, settings = folder / "run" / REPLIES, settings_of("dataset=demo", f"scratch={folder / 'local'}")
    with on_scratch(settings, kept.parent) as own:
        filled(Path(own.cache_dir) / REPLIES, "same", "new")
        act(kept)


def test_a_scratch_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "local").touch()
    with pytest.raises(ConfigError, match="local cannot be used: File exists") as caught:
        filled_on_scratch(tmp_path, lambda _: None)
    assert (caught.value.where, "scratch=/tmp" in caught.value.hint) == ("scratch", True)


def test_replies_that_cannot_be_copied_from_scratch_stay_there(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="new replies were not copied to") as caught:
        filled_on_scratch(tmp_path, lambda kept: kept.mkdir(parents=True))
    kept = tmp_path / "run" / REPLIES
    kept.rmdir()
    assert merge_caches([Path(caught.value.where)], kept) == 2


def test_sigterm_in_the_midst_of_a_copy_from_scratch_waits_for_its_end(tmp_path: Path) -> None:
    """It comes when the new file is about to take its place."""

    def end(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name == "replacing":
            sys.setprofile(None)
            signal.raise_signal(signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    end_in_good_order()
    try:
        with pytest.raises(KeyboardInterrupt):
            filled_on_scratch(tmp_path, lambda _: sys.setprofile(end))
    finally:
        sys.setprofile(None)
        signal.signal(signal.SIGTERM, before)
    assert read_contents(tmp_path / "run" / REPLIES).replies == 2

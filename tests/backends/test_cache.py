"""The completion cache: exact replay, its keys, one call for identical requests, and a file that survives a kill."""

import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from mmerg.backends.cache import Cache, CacheMode, build_replay_backend, find_stored_engine, wrap_in_cache
from mmerg.backends.protocol import Completion, Finish, Image, Message, Request, Sampling, TokenLogprob
from mmerg.backends.scripted import ENGINE, Scripted
from mmerg.errors import CallError, ConfigError, Failure
from tests.backends.cache_users import ask_slowly, hello, write_completions
from tests.processes import start_process

REQUEST = Request((Message("system", "be kind"), Message("user", "hello", (Image("ab" * 32, b"jpeg"),))), Sampling())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "cache.sqlite"


def count(path: Path) -> int:
    database = sqlite3.connect(path)
    try:
        return int(database.execute("SELECT count(*) FROM completions").fetchone()[0])
    finally:
        database.close()


def test_a_hit_repeats_the_stored_completion_exactly(path: Path) -> None:
    completion = Completion(
        text="ça va — 😀",
        finish=Finish.LENGTH,
        thinking="hm",
        logprobs=(TokenLogprob(token="\n", logprob=-0.1), TokenLogprob(token="😀", logprob=float("-inf"))),
        prompt_tokens=7,
        reused_tokens=3,
        response_tokens=2,
        prompt_seconds=0.1 + 0.2,
        seconds=1 / 3,
        host="http://127.0.0.1:1",
    )
    inner = Scripted([completion])
    backend = Cache(inner, path)
    assert backend.complete(REQUEST) == completion
    assert backend.complete(REQUEST) == completion.model_copy(update={"cached": True})
    backend.close()
    again = Cache(Scripted([]), path)
    assert again.complete(REQUEST) == completion.model_copy(update={"cached": True})
    again.close()
    assert inner.calls == 1


@pytest.mark.parametrize(
    ("text", "kept"),
    [("a\ud83d", "a\ufffd"), ("\ude00\ud83d.", "\ufffd\ufffd."), ("\ud83d\ude00", "😀"), ("\0a\0", "\0a\0")],
    ids=["half a pair", "two halves in the wrong order", "a pair in two halves", "NUL"],
)
def test_texts_that_utf8_cannot_encode_are_repaired(path: Path, text: str, kept: str) -> None:
    request = Request((Message("user", text),), replace(REQUEST.sampling, stop=(text,)))
    logprobs = (TokenLogprob(token=text, logprob=-0.1),)
    backend = Cache(Scripted([Completion(text=text, thinking=text, finish=Finish.STOP, logprobs=logprobs)]), path)
    for cached in (False, True):
        made = backend.complete(request)
        assert (made.text, made.thinking, made.logprobs[0].token, made.cached) == (kept, kept, kept, cached)
        assert Completion.model_validate_json(made.model_dump_json()) == made
    backend.close()


def test_other_requests_and_engines_have_their_own_completions(path: Path) -> None:
    other = ENGINE.model_copy(update={"version": "2"})
    for engine, request, hit in (
        (ENGINE, REQUEST, False),
        (ENGINE, replace(REQUEST, logprobs=True), False),
        (other, REQUEST, False),
        (ENGINE, REQUEST, True),
    ):
        with closing(Cache(Scripted(["x"], engine), path)) as backend:
            assert backend.complete(request).cached is hit
    off = wrap_in_cache(Scripted(["x"]), path.with_name("off"), "off")
    assert not off.complete(REQUEST).cached
    assert not path.with_name("off").exists()


def test_mode_read_writes_nothing(path: Path) -> None:
    with closing(Cache(Scripted(["stored"]), path)) as writer:
        writer.complete(REQUEST)
    before = path.read_bytes()
    other = replace(REQUEST, logprobs=True)
    with closing(Cache(Scripted(lambda request: "asked"), path, mode="read")) as backend:
        made = [backend.complete(request) for request in (REQUEST, other, other)]
    assert [(each.text, each.cached) for each in made] == [("stored", True), ("asked", False), ("asked", False)]
    assert path.read_bytes() == before


def test_only_whole_completions_are_stored(path: Path) -> None:
    inner = Scripted([CallError(Failure.TIMEOUT, "late"), Completion(text="I I I", finish=Finish.ABORT), "whole"])
    with closing(Cache(inner, path)) as backend:
        with pytest.raises(CallError, match="late"):
            backend.complete(REQUEST)
        made = [backend.complete(REQUEST) for _ in range(3)]
    assert [(each.text, each.cached) for each in made] == [("I I I", False), ("whole", False), ("whole", True)]


@pytest.mark.slow
def test_a_process_killed_while_writing_leaves_a_file_that_works(path: Path) -> None:
    process, numbers = start_process(write_completions, path, 0, 10**6)
    for _ in range(20):
        last = numbers.recv()
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert count(path) > last  # all that the process reported
    inner = Scripted(lambda request: "new")
    backend = Cache(inner, path)
    kept = [backend.complete(Request((Message("user", f"number {n} "),), Sampling())) for n in range(last + 1)]
    assert all(completion.cached and completion.text.startswith("number") for completion in kept)
    assert backend.complete(REQUEST).text == "new"
    backend.close()


def test_processes_that_start_together_share_a_file(path: Path) -> None:
    started = [start_process(write_completions, path, 25 * number, 50) for number in range(3)]
    for number, (process, numbers) in enumerate(started):
        assert [numbers.recv() for _ in range(50)] == list(range(25 * number, 25 * number + 50))
        process.join()
        assert process.exitcode == 0
    assert count(path) == 100


def write_torn_file(path: Path) -> None:
    with closing(Cache(Scripted(lambda request: "long " * 2000), path)) as cache:
        for number in range(20):
            cache.complete(replace(REQUEST, sampling=Sampling(seed=number)))
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))


@pytest.mark.parametrize(
    ("make", "mode", "says"),
    [
        (lambda path: None, "read", "the file does not exist"),
        (lambda path: path.write_text("my notes, " * 200), "on", "not a database"),
        (write_torn_file, "on", "cannot be used"),
    ],
    ids=["missing", "text", "torn"],
)
def test_an_unusable_file_is_refused_and_not_changed(
    path: Path, make: Callable[[Path], object], mode: CacheMode, says: str
) -> None:
    path.parent.mkdir()
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    inner = Scripted(lambda request: "x")
    with closing(Cache(inner, path, mode)) as backend, pytest.raises(ConfigError, match=says) as caught:
        backend.complete(REQUEST)
    assert (caught.value.where, inner.calls, "cache_dir" in caught.value.hint) == (str(path), 0, True)
    assert (path.read_bytes() if path.is_file() else b"") == before


def test_a_stored_completion_that_cannot_be_read_is_reported_and_requested_again(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(Cache(Scripted(["old"]), path)) as cache:
        cache.complete(REQUEST)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE completions SET completion = 'no JSON'")
    with closing(Cache(Scripted(["new"]), path)) as backend:
        assert [backend.complete(REQUEST).text for _ in range(2)] == ["new", "new"]
    assert "cannot be read and is ignored" in caplog.text


def test_close_closes_the_inner_backend_and_interrupts_later_calls(path: Path) -> None:
    inner = Scripted(lambda request: "x")
    backend = Cache(inner, path)
    assert backend.describe() == ENGINE
    backend.complete(REQUEST)
    backend.close()
    for closed in (backend, inner):
        with pytest.raises(CallError) as caught:
            closed.complete(REQUEST)
        assert caught.value.failure is Failure.INTERRUPTED
    assert not path.with_name("cache.sqlite-wal").exists()


def test_identical_calls_of_processes_are_made_once(tmp_path: Path) -> None:
    completions = [start_process(ask_slowly, tmp_path, 0.2)[1] for _ in range(3)]
    assert [completion.recv() for completion in completions] == ["the answer"] * 3
    assert (tmp_path / "calls").read_text() == "called\n"


def test_a_killed_process_releases_its_lock(tmp_path: Path) -> None:
    holder, _ = start_process(ask_slowly, tmp_path, 3600.0)
    while not list(tmp_path.glob("*[0-9a-f].lock")):  # the call's, not that of opening the file
        time.sleep(0.01)
    caught: list[str] = []
    backend = Cache(Scripted(["mine"]), tmp_path / "completions.sqlite")
    thread = threading.Thread(target=lambda: caught.append(backend.complete(hello()).text))
    thread.start()
    thread.join(0.1)
    assert caught == []
    holder.kill()
    thread.join(60)
    assert caught == ["mine"]
    assert sorted(file.name for file in tmp_path.glob("*.lock")) == []
    backend.close()


def test_closing_ends_the_wait_for_another_call(
    path: Path, in_thread: Callable[[Callable[[], object]], Callable[[], object]]
) -> None:
    call_started, go_on = threading.Event(), threading.Event()

    def answer(request: Request) -> str:
        call_started.set()
        go_on.wait(60)
        return "x"

    with closing(Cache(Scripted(answer), path)) as backend:
        first_call = in_thread(lambda: backend.complete(REQUEST))
        call_started.wait(60)
        other = Cache(Scripted(["y"]), path)
        second_call = in_thread(lambda: other.complete(REQUEST))
        other.close()
        with pytest.raises(CallError) as caught:
            second_call()
        go_on.set()
        first_call()
    assert caught.value.failure is Failure.INTERRUPTED


LOADED = ENGINE.model_copy(update={"load": {"num_ctx": 4096, "think": False, "adapter": 1}})


def test_a_replay_needs_no_server_and_finds_its_engine_in_the_cache(path: Path) -> None:
    for engine in (LOADED, ENGINE.model_copy(update={"model": "other"})):
        cache = Cache(Scripted([f"by {engine.model}"], engine), path)
        cache.complete(REQUEST)
        cache.close()
    engine = find_stored_engine(path, "scripted", "script", {"num_ctx": 4096, "think": False})
    assert engine == LOADED
    again = Cache(build_replay_backend(engine), path, "read")
    assert again.describe() == LOADED
    assert (again.complete(REQUEST).text, again.complete(REQUEST).cached) == ("by script", True)
    with pytest.raises(CallError, match="not in the cache") as caught:
        again.complete(replace(REQUEST, logprobs=True))
    again.close()
    assert caught.value.failure is Failure.NOT_CACHED


def test_an_ambiguous_engine_is_refused(path: Path) -> None:
    newer = LOADED.model_copy(update={"version": "2"})
    for engine in (LOADED, newer):
        cache = Cache(Scripted(["x"], engine), path)
        cache.complete(REQUEST)
        cache.close()
    for model, load, parts in (
        ("script", {"num_ctx": 4096}, ("2 engines", LOADED.brief(), newer.brief())),
        ("script", {"num_ctx": 1}, ("no engines", LOADED.brief())),
        ("absent", {}, ("no engines", LOADED.brief())),
    ):
        with pytest.raises(ConfigError) as caught:
            find_stored_engine(path, "scripted", model, load)
        assert all(part in caught.value.what for part in parts)
        assert caught.value.where == str(path)

"""Studies for tests, of runs whose names no rater may see."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx

from mmerg.rating.launch import create
from mmerg.rating.page import build_server
from mmerg.rating.store import RatingStore
from mmerg.rating.study import read_links, read_study
from mmerg.serving.launch import open_listener
from mmerg.settings.commands import RateSettings
from tests.scoring.run_builder import build_run, result
from tests.serving.running import client_of

NAMES = ("zebra", "giraffe")  # of runs
SECRET = (*NAMES, "okapi", "quagga", "dia1", "dia2")  # names of runs, systems, models and samples
FEELINGS = ("sadness", "joy", "anger")
BARE: dict[str, Any] = {"visual": "none", "gold": 0.0, "repeats": 0.0}


def write_runs(folder: Path, count: int = 12, *names: str, replies: int = 0) -> list[Path]:
    """Writes runs over `count` dialogues. replies: another number gives other replies."""
    folders = []
    for number, name in enumerate(names or NAMES):
        lines = [
            result(
                f"dia{dialogue}/3",
                f"I am number {number + replies} and I hear you in conversation {dialogue}.",
                "sadness",
                gold=FEELINGS[dialogue % 3],
                gold_response=f"What people say in conversation {dialogue}.",
            )
            for dialogue in range(count)
        ]
        folders.append(build_run(folder / name, lines, system="okapi", model="quagga", config={"seed": number}))
    return folders


def create_study(folder: Path, count: int = 12, **settings: Any) -> Path:
    """Creates a study in `folder`/study; by default only of text, without checks and repeats."""
    place = folder / "study"
    paths = [path for name in NAMES if (path := folder / name).exists()] or write_runs(folder, count)
    assert create(RateSettings(**BARE | {"items": count} | settings), place, paths) == 0
    return place


class Rater:
    """A rater who uses HTTP as the page does."""

    def __init__(self, client: httpx.Client, token: str) -> None:
        self.client, self.sent = client, 0
        self.headers = {"Authorization": f"Bearer {token}"}

    def get(self, path: str) -> httpx.Response:
        return self.client.get(path, headers=self.headers)

    def post(self, path: str, **fields: Any) -> httpx.Response:
        self.sent += 1
        return self.client.post(path, headers=self.headers, json={"id": f"{id(self)}-{self.sent}"} | fields)

    def answer(self, place: int, question: str, value: Any, **more: Any) -> httpx.Response:
        return self.post("/answers", place=place, question=question, value=value, **more)

    def rate(self, place: int, **answers: Any) -> dict[str, Any]:
        for question, value in answers.items():
            assert self.answer(place, question, value).status_code == 200
        return self.submit(place)

    def submit(self, place: int) -> dict[str, Any]:
        done: dict[str, Any] = self.post("/submit", place=place, question="submit", value="ok", ms=1000).json()
        return done


@contextmanager
def serving(folder: Path, port: int = 0) -> Iterator[dict[str, Rater]]:
    """Serves a study. Yields clients of its raters."""
    links = read_links(folder)
    with closing(open_listener("127.0.0.1", port)) as listening, RatingStore(folder, read_study(folder)) as store:
        server = build_server(store, links, RateSettings())
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            with client_of(f"http://127.0.0.1:{listening.getsockname()[1]}") as client:
                yield {rater: Rater(client, token) for rater, token in links.items()}
        finally:
            server.should_exit = True
            thread.join()
